use std::io::{BufRead, IsTerminal};

use cerberus_checks::derive::derive;
use cerberus_checks::enforce;
use cerberus_record::clean::text::{self, Keep};
use cerberus_record::memory::MemoryStatus;
use cerberus_store::browse::proposals::{ListedQuote, proposals};
use cerberus_store::memory::change::MemoryWriter;
use cerberus_store::view::{MemoryRow, Store};
use serde_json::json;

use super::edit::{has_editor, in_editor};
use super::{changed, found};
use crate::commands::check::counted;
use crate::commands::check::replayed::ReplayedCheck;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::platform;
use crate::render;
use crate::render::page::page;
use crate::render::style::{Line, Screen, Style, wrapped};
use crate::render::words;

/// Review the proposals one by one
///
/// Each proposal is shown with the prompt you said it in, the newest first. Press a to approve it, e to edit and approve it, r to reject it
/// permanently, l to leave it for later, u to undo the last answer, q to quit. Without an editor in EDITOR, e asks for
/// the new text in place. If the input is not a terminal, answers are read one per line, and `e NEW TEXT` edits.
#[derive(clap::Args)]
pub struct MemoryReviewArgs {}

/// How much of a prompt is shown.
const PROMPT_CHARS_MAX: usize = 400;

const KEYS: &str = "a approve   e edit   r reject   l later   u undo   q quit";

/// The user's answer to a proposal.
enum ReviewAnswer {
    Approve,
    /// With this text, or with the one from the editor.
    Reword(Option<String>),
    Reject,
    Later,
    Undo,
    Quit,
}

impl MemoryReviewArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let located = context.located();
        let mut store = context.store()?;
        let keeper = context.keeper(&located);
        let mut found = proposals(&keeper, &context.agent_surroundings(), &mut store)?;
        let quotes: Vec<Vec<ListedQuote>> = found.iter_mut().map(|one| std::mem::take(&mut one.quotes)).collect();
        let mut rows: Vec<MemoryRow> = found.into_iter().map(|one| one.row).collect();
        let mut reviewing =
            ReviewRun { context, keeper, store: &mut store, decided: Vec::new(), approved: 0, rejected: 0 };
        reviewing.go_through(&mut rows, &quotes, context.json)?;
        let (approved, rejected) = (reviewing.approved, reviewing.rejected);
        let left = rows.len() - approved - rejected;
        match context.json {
            true => render::json(&json!({"approved": approved, "rejected": rejected, "left": left})),
            false if rows.is_empty() => render::sentence(NOTHING),
            false => render::line(&format!("{approved} approved, {rejected} rejected, {left} left for later")),
        }
        if !context.json {
            suggest_lowering(context, &store)?;
        }
        Ok(())
    }
}

const NOTHING: &str =
    "nothing to review; a rule is proposed when an agent quotes you, or when you type the same wish again";

/// What a proposal would stop if it were a check, if it clearly says what to check.
fn as_check(context: &Context, store: &Store, row: &MemoryRow) -> Result<Option<String>> {
    let Some(rule) = derive(&row.memory.content) else { return Ok(None) };
    let words = rule.to_string();
    let check = enforce::check_of(store, row, rule, context.clock.now)?;
    let summary = ReplayedCheck::of_check(context, check)?.summary();
    Ok(Some(format!("as a check ({words}) it {summary}; once approved: cerberus check add {} --level remind", row.id)))
}

/// Names the checks that agents mostly override: perhaps they are not what the user wants.
fn suggest_lowering(context: &Context, store: &Store) -> Result<()> {
    let tallies = enforce::tallies(store, context.clock.now)?;
    for row in enforce::all(&context.home, store, context.clock.now)? {
        let tally = tallies.iter().find(|(id, _)| id == row.id().as_str()).map(|(_, tally)| *tally);
        if let Some(tally) = tally.filter(|tally| row.is_on() && tally.is_mostly_overridden()) {
            let id = row.id();
            render::line(&format!("the check of {id} is mostly overridden: {}", counted(&tally)));
            render::line(&format!("  to lower it: cerberus check level {id} tell"));
        }
    }
    Ok(())
}

struct ReviewRun<'a> {
    context: &'a Context,
    keeper: MemoryWriter<'a>,
    store: &'a mut Store,
    /// The indexes of the decided proposals, in order.
    decided: Vec<(usize, MemoryStatus)>,
    approved: usize,
    rejected: usize,
}

impl ReviewRun<'_> {
    fn go_through(&mut self, rows: &mut [MemoryRow], quotes: &[Vec<ListedQuote>], is_quiet: bool) -> Result<()> {
        let say = |what: &str| {
            if !is_quiet {
                render::line(&format!("  -> {what}"));
            }
        };
        let mut at = 0;
        while let Some(row) = rows.get(at) {
            if !is_quiet {
                show(row, quotes.get(at).map_or(&[], Vec::as_slice), at, rows.len());
                if let Some(line) = as_check(self.context, self.store, row)? {
                    render::line(&format!("  {line}"));
                }
            }
            match ask()? {
                ReviewAnswer::Approve => {
                    self.decide(at, row, None)?;
                    say("approved; it is told from the next session on");
                }
                ReviewAnswer::Reword(words) => {
                    match words.map_or_else(|| new_text(&row.memory.content), |words| Ok(Some(words)))? {
                        Some(words) => {
                            say(&format!("approved as: {}", words.trim()));
                            self.decide(at, row, Some(words))?;
                        }
                        None => {
                            say("not changed");
                            continue;
                        }
                    }
                }
                ReviewAnswer::Reject => {
                    changed::changed(self.keeper.decide(self.store, row, MemoryStatus::Rejected))?;
                    self.decided.push((at, MemoryStatus::Rejected));
                    self.rejected += 1;
                    say("rejected; it is not proposed again");
                }
                ReviewAnswer::Later => say("left for later"),
                ReviewAnswer::Undo => {
                    let before = self.decided.len();
                    at = self.undo_last(rows, at)?;
                    say(if self.decided.len() < before { "undone" } else { "nothing to undo" });
                    continue;
                }
                ReviewAnswer::Quit => return Ok(()),
            }
            at += 1;
        }
        Ok(())
    }

    fn decide(&mut self, at: usize, row: &MemoryRow, words: Option<String>) -> Result<()> {
        let mut memory = row.memory.clone();
        memory.status = MemoryStatus::Approved;
        if let Some(words) = words.as_deref().map(str::trim).filter(|words| !words.is_empty()) {
            memory.content = self.keeper.home.cleaner().clean(words.to_string(), Keep::MEMORY);
        }
        let superseded = changed::changed(self.keeper.revise(self.store, row, memory))?;
        changed::print_superseded(&superseded);
        self.decided.push((at, MemoryStatus::Approved));
        self.approved += 1;
        Ok(())
    }

    /// Undoes the last answer. Returns the index of its proposal, which is loaded again.
    fn undo_last(&mut self, rows: &mut [MemoryRow], at: usize) -> Result<usize> {
        let Some((last, status)) = self.decided.pop() else { return Ok(at) };
        let find = |store: &Store| found::find(store, rows[last].id.as_str(), self.keeper.clock.now);
        let decided = find(self.store)?;
        changed::changed(self.keeper.undo(self.store, &decided))?;
        rows[last] = find(self.store)?;
        match status {
            MemoryStatus::Approved => self.approved -= 1,
            _ => self.rejected -= 1,
        }
        Ok(last)
    }
}

/// The proposal, with the user's words. What says the same is shown once.
fn show(row: &MemoryRow, quotes: &[ListedQuote], at: usize, of: usize) {
    let (memory, screen) = (&row.memory, Screen::of_stdout());
    let mut lines = vec![Line::new()];
    let place = format!("{} of {of}", at + 1);
    let about = format!("  a {} · {} · {}", &*memory.category, words::scope(&row.scope()), row.id);
    lines.push(Line::of(Style::Heading, place).faint(about));
    let columns = if screen.is_bounded { screen.columns.saturating_sub(2) } else { usize::MAX };
    lines.extend(
        wrapped(&memory.content, columns).into_iter().map(|text| Line::new().plain("  ").add(Style::Strong, text)),
    );
    let mut shown: Vec<String> = vec![memory.content.to_lowercase()];
    let mut add = |label: &str, text: &str| {
        if !text.is_empty() && !shown.contains(&text.to_lowercase()) {
            shown.push(text.to_lowercase());
            let text = format!("{label}: {text}");
            lines.extend(wrapped(&text, columns).into_iter().map(|text| Line::new().plain("  ").faint(text)));
        }
    };
    let who = if row.origin().is_users() { "you said" } else { "the words" };
    for quote in quotes {
        add(who, &quote.text);
        // A prompt of one sentence was just shown.
        let prompt = text::line(&quote.prompt, PROMPT_CHARS_MAX);
        if prompt.chars().count() > quote.text.chars().count() {
            add("in", &format!("“{prompt}”"));
        }
    }
    if let Some(why) = &memory.background.rationale {
        add("why", why);
    }
    add("source", &row.origin_title());
    lines.push(Line::new().plain("  ").faint(KEYS));
    page(&Screen { rows: None, ..screen }, &lines);
}

/// The new words of a proposal: from the editor, or typed in place. `None` if nothing was given.
fn new_text(old: &str) -> Result<Option<String>> {
    if has_editor() {
        return in_editor(old).map(Some);
    }
    if !std::io::stdin().is_terminal() {
        render::talk("  write the new text after e: `e NEW TEXT`");
        return Ok(None);
    }
    render::ask("  new text (empty: no change): ");
    let mut line = String::new();
    let _ = std::io::stdin().lock().read_line(&mut line);
    Ok(Some(line.trim().to_string()).filter(|line| !line.is_empty()))
}

/// Waits for a valid answer. The end of the input means quit.
fn ask() -> Result<ReviewAnswer> {
    let stdin = std::io::stdin();
    loop {
        let (key, words) = if stdin.is_terminal() {
            (platform::pressed_key().hint("use `cerberus memory approve` and `cerberus memory reject` instead")?, None)
        } else {
            let mut line = String::new();
            if stdin.lock().read_line(&mut line).unwrap_or(0) == 0 {
                return Ok(ReviewAnswer::Quit);
            }
            let (key, words) = line.trim().split_at(line.trim().len().min(1));
            (key.chars().next().unwrap_or('\n'), Some(words.trim().to_string()).filter(|words| !words.is_empty()))
        };
        match key {
            'a' | 'y' => return Ok(ReviewAnswer::Approve),
            'e' => return Ok(ReviewAnswer::Reword(words)),
            'r' | 'n' => return Ok(ReviewAnswer::Reject),
            'l' | ' ' | '\n' | '\r' => return Ok(ReviewAnswer::Later),
            'u' => return Ok(ReviewAnswer::Undo),
            'q' | '\u{3}' | '\u{4}' | '\u{1b}' => return Ok(ReviewAnswer::Quit),
            _ => render::talk(&format!("  {KEYS}")),
        }
    }
}
