use std::io::{BufRead, IsTerminal};

use cerberus_core::clean::text::Keep;
use cerberus_core::model::memory::Status;
use cerberus_engine::memory::change::MemoryWriter;
use cerberus_engine::memory::distill;
use cerberus_engine::store::{MemoryRow, Store};
use serde_json::json;

use super::DOCTOR;
use super::edit::in_editor;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::keys;

/// Review the proposals one by one
///
/// Each proposal is shown with what you said. Press a to approve it, e to edit and approve it, r to reject it
/// permanently, l to leave it for later, u to undo the last answer, q to quit. If the input is not a terminal, answers
/// are read one per line, and `e NEW TEXT` edits.
#[derive(clap::Args)]
pub struct Review {}

/// The user's answer to a proposal.
enum Answer {
    Approve,
    /// With this text, or with the one from the editor.
    Reword(Option<String>),
    Reject,
    Later,
    Undo,
    Quit,
}

impl Review {
    pub fn run(self, context: &Context) -> Result<()> {
        let located = context.located();
        let mut store = context.store()?;
        context.require_person(&store, "review proposals", "cerberus memory review")?;
        let keeper = context.keeper(&located);
        let mut rows = distill::pending(&keeper, &mut store).hint(DOCTOR)?;
        let mut reviewing = Reviewing { keeper, store: &mut store, decided: Vec::new(), approved: 0, rejected: 0 };
        reviewing.go_through(&mut rows, context.json)?;
        let (approved, rejected) = (reviewing.approved, reviewing.rejected);
        let left = rows.len() - approved - rejected;
        match context.json {
            true => render::json(&json!({"approved": approved, "rejected": rejected, "left": left})),
            false if rows.is_empty() => render::line("no proposals to review"),
            false => render::line(&format!("{approved} approved, {rejected} rejected, {left} left for later")),
        }
        Ok(())
    }
}

struct Reviewing<'a> {
    keeper: MemoryWriter<'a>,
    store: &'a mut Store,
    /// The indexes of the decided proposals, in order.
    decided: Vec<(usize, Status)>,
    approved: usize,
    rejected: usize,
}

impl Reviewing<'_> {
    fn go_through(&mut self, rows: &mut [MemoryRow], is_quiet: bool) -> Result<()> {
        let mut at = 0;
        while let Some(row) = rows.get(at) {
            if !is_quiet {
                show(row, at, rows.len());
            }
            match ask()? {
                Answer::Approve => self.decide(at, row, None)?,
                Answer::Reword(words) => {
                    let words = match words {
                        Some(words) => words,
                        None => in_editor(&row.memory.content)?,
                    };
                    self.decide(at, row, Some(words))?;
                }
                Answer::Reject => {
                    super::changed(self.keeper.decide(self.store, row, Status::Rejected))?;
                    self.decided.push((at, Status::Rejected));
                    self.rejected += 1;
                }
                Answer::Later => {}
                Answer::Undo => {
                    at = self.undo_last(rows, at)?;
                    continue;
                }
                Answer::Quit => return Ok(()),
            }
            at += 1;
        }
        Ok(())
    }

    fn decide(&mut self, at: usize, row: &MemoryRow, words: Option<String>) -> Result<()> {
        let mut memory = row.memory.clone();
        memory.status = Status::Approved;
        if let Some(words) = words.as_deref().map(str::trim).filter(|words| !words.is_empty()) {
            memory.content = self.keeper.home.cleaner().clean(words.to_string(), Keep::MEMORY);
        }
        let superseded = super::changed(self.keeper.revise(self.store, row, memory))?;
        super::print_superseded(&superseded);
        self.decided.push((at, Status::Approved));
        self.approved += 1;
        Ok(())
    }

    /// Undoes the last answer. Returns the index of its proposal, which is loaded again.
    fn undo_last(&mut self, rows: &mut [MemoryRow], at: usize) -> Result<usize> {
        let Some((last, status)) = self.decided.pop() else { return Ok(at) };
        let find = |store: &Store| super::find(store, rows[last].id.as_str(), self.keeper.clock.now);
        let decided = find(self.store)?;
        super::changed(self.keeper.undo(self.store, &decided))?;
        rows[last] = find(self.store)?;
        match status {
            Status::Approved => self.approved -= 1,
            _ => self.rejected -= 1,
        }
        Ok(last)
    }
}

fn show(row: &MemoryRow, at: usize, of: usize) {
    let memory = &row.memory;
    render::line("");
    render::line(&format!(
        "{} of {of}  {}  {}  {}  confidence {:.2}",
        at + 1,
        row.id,
        &*memory.category,
        &*memory.scope,
        memory.confidence
    ));
    render::line(&format!("  {}", &*memory.content));
    render::line(&format!("  source: {} ({})", row.origin().word(), row.origin().title()));
    if let Some(rationale) = &memory.background.rationale {
        render::line(&format!("  why: {}", &**rationale));
    }
    for said in &memory.background.evidence {
        let who = if row.origin().is_users() { "you said" } else { "the words" };
        render::line(&format!("  {who}: {}", &*said.text));
    }
    render::line("  [a]pprove  [e]dit  [r]eject  [l]ater  [u]ndo  [q]uit");
}

/// Waits for a valid answer. The end of the input means quit.
fn ask() -> Result<Answer> {
    let stdin = std::io::stdin();
    loop {
        let (key, words) = if stdin.is_terminal() {
            (keys::pressed().hint("use `cerberus memory approve` and `cerberus memory reject` instead")?, None)
        } else {
            let mut line = String::new();
            if stdin.lock().read_line(&mut line).unwrap_or(0) == 0 {
                return Ok(Answer::Quit);
            }
            let (key, words) = line.trim().split_at(line.trim().len().min(1));
            (key.chars().next().unwrap_or('\n'), Some(words.trim().to_string()).filter(|words| !words.is_empty()))
        };
        match key {
            'a' | 'y' => return Ok(Answer::Approve),
            'e' => return Ok(Answer::Reword(words)),
            'r' | 'n' => return Ok(Answer::Reject),
            'l' | ' ' | '\n' | '\r' => return Ok(Answer::Later),
            'u' => return Ok(Answer::Undo),
            'q' | '\u{3}' | '\u{4}' | '\u{1b}' => return Ok(Answer::Quit),
            _ => render::talk("  press a, e, r, l, u or q"),
        }
    }
}
