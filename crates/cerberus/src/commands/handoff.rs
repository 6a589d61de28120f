use std::io::{IsTerminal, Read};

use cerberus_agents::install::Surroundings;
use cerberus_loop::handoff::written;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::Note;
use cerberus_record::fact::FactKind;
use cerberus_store::sessions::find::live_session;
use cerberus_store::sessions::recover;
use cerberus_store::view::recorder::Recorder;
use serde_json::json;

use crate::commands::brief::BriefArgs;
use crate::commands::noted;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Write a handoff, so that the context can be cleared
///
/// Takes the agent's own handoff on standard input: Markdown with the headings Current Objective, Completed, Pending, Key
/// Decisions, Known Issues and Notes (`--form` prints it). Records every item in the live session, together with what
/// the session's transcript has beyond its hooks. Then shows what the next session will be told. Without input, only the
/// transcript is read.
#[derive(clap::Args)]
pub struct HandoffArgs {
    /// Print the form of a handoff
    #[arg(long)]
    form: bool,
}

const HANDOFF_BYTES_MAX: u64 = 256 * 1024;

impl HandoffArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        if self.form {
            render::block(&written::request());
            return Ok(());
        }
        let located = context.located();
        context.may_store(&located)?;
        let notes = notes(context)?;
        complete_live_session(context)?;
        let recorded = noted::append(context, notes, false)?;
        let briefing = BriefArgs::after_clear().briefing(context)?;
        let text = briefing.brief.text;
        if context.json {
            let codes: Vec<&str> = recorded.iter().map(|one| one.code.as_str()).collect();
            render::json(&json!({"recorded": codes, "text": text}));
            return Ok(());
        }
        render::talk(&format!(
            "cerberus: {} recorded; the next session will be told:",
            render::count(recorded.len(), "item")
        ));
        if !text.is_empty() {
            render::block(&text);
        }
        Ok(())
    }
}

/// The items of the handoff on standard input.
fn notes(context: &Context) -> Result<Vec<Note<'static>>> {
    let stdin = std::io::stdin();
    let mut text = String::new();
    if !stdin.is_terminal() {
        let read = stdin.take(HANDOFF_BYTES_MAX).read_to_string(&mut text);
        read.hint("the handoff must be UTF-8 text")?;
    }
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let written = written::read(&text).ok_or_else(|| anyhow::anyhow!("no handoff was found in the text"));
    let written = written.hint("`cerberus handoff --form` prints the form")?;
    let objective = written.objective.as_deref().map(|text| Note {
        kind: FactKind::Objective,
        text: context.home.cleaner().clean(text.to_string(), Keep::SUBJECT),
        why: None,
        sort: None,
        severity: None,
        custom_key: None,
        for_team: false,
        resolved: false,
    });
    Ok(objective.into_iter().chain(written.notes(context.home.cleaner())).collect())
}

/// Adds what the hooks of the live session did not report.
fn complete_live_session(context: &Context) -> Result<()> {
    let located = context.located();
    let mut store = context.store()?;
    if let Some(session) = live_session(&store, &located, &context.clock)? {
        let surroundings = Surroundings::new(&|name| std::env::var_os(name), located.root);
        let mut recorder = Recorder::journal(&context.home, &context.clock, &mut store);
        recover::complete(&mut recorder, &surroundings, &session)?;
    }
    Ok(())
}
