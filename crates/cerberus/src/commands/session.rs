use std::io::IsTerminal;
use std::path::PathBuf;

use cerberus_recall::brief::Section;
use cerberus_recall::summary::render::Format;
use cerberus_record::event::StartSource;
use cerberus_record::seed::{SeedExport, SeedMetadata, SeedSummary};
use cerberus_record::session::SessionStatus;
use cerberus_store::brief::question::{Budget, Question};
use cerberus_store::brief::recall::{self, Briefing};
use cerberus_store::project::guides::UserFolders;
use cerberus_store::same_project::joined::joined;
use cerberus_store::sessions::{find, legacy, lifecycle};
use serde_json::json;

use crate::context::Context;
use crate::failure::{CommandFailure, Hint, Result};
use crate::render;
use crate::render::time::LocalTime;

/// Complete, export or import what a project carries over from session to session
#[derive(clap::Args)]
pub struct SessionArgs {
    #[command(subcommand)]
    pub(super) command: SessionCommand,
}

#[derive(clap::Subcommand)]
pub(super) enum SessionCommand {
    /// Mark a session as completed, so that its open items no longer carry over
    ///
    /// Without an id, all sessions of this project; on a terminal it asks first. `--undo` takes it back.
    Complete {
        /// The session, or the beginning of its id [default: all sessions of this project]
        id: Option<String>,

        /// Take it back: its items carry over again [default: what was completed last in this project]
        #[arg(long)]
        undo: bool,

        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Print what the project carries over, as one JSON object
    Export {
        /// json: every item with its source; seed: the exact `active-{project}.json` format of the original tool;
        /// summary: the format the original tool used with a model, with the summary of the last session
        #[arg(long, default_value = "json", value_parser = ["json", "seed", "summary"])]
        format: String,
    },
    /// Import an `active-{project}.json` file into this project
    Import {
        /// The file of the original tool
        file: PathBuf,
    },
}

impl SessionArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        match self.command {
            SessionCommand::Complete { id, undo: true, .. } => reopen(context, id),
            SessionCommand::Complete { id, yes, .. } => complete(context, id, yes),
            SessionCommand::Export { format } if format == "summary" => export_summary(context),
            SessionCommand::Export { format } => export(context, format == "seed"),
            SessionCommand::Import { file } => import(context, &file),
        }
    }
}
fn complete(context: &Context, id: Option<String>, is_confirmed: bool) -> Result<()> {
    let store = context.store()?;
    let sessions = match id {
        Some(id) => vec![context.session(&store, &id)?],
        None => {
            let mut recent = find::recent_sessions(&store, &context.located(), context.clock.now)?;
            recent.retain(|session| session.state.status.carries_over());
            // It can be undone, so a script need not confirm it.
            if !recent.is_empty() && std::io::stdin().is_terminal() {
                let local = LocalTime::new(context.clock.now);
                for session in &recent {
                    let title = store.title(session, context.clock.now)?;
                    render::talk(&format!("{}  {}  {title}", session.id, local.when(session.started_at)));
                }
                let which = render::counted(recent.len(), "this session", "these sessions");
                render::confirm(&format!("Complete {which}?"), is_confirmed)?;
            }
            recent
        }
    };
    lifecycle::complete(&context.home, &context.clock, &sessions)?;
    let ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    match context.json {
        true => render::json(&json!({"completed": ids})),
        false if ids.is_empty() => render::line("no session of this project carries over"),
        false => {
            let done = render::count(ids.len(), "session");
            render::sentence(&format!("completed {done}; `cerberus session complete --undo` takes it back"));
        }
    }
    Ok(())
}

/// Takes completions back: of one session, or of those that were completed together last.
fn reopen(context: &Context, id: Option<String>) -> Result<()> {
    let store = context.store()?;
    let completed = match id {
        Some(id) => vec![context.session(&store, &id)?],
        None => {
            let projects = joined(&store, &context.located(), context.clock.now)?.ids;
            store.last_completed(&projects, context.clock.now)?
        }
    };
    let completed: Vec<_> =
        completed.into_iter().filter(|session| session.state.status == SessionStatus::Completed).collect();
    if completed.is_empty() {
        return Err(anyhow::anyhow!("no completed session was found"))
            .hint("`cerberus log` lists the sessions and their states");
    }
    lifecycle::reopen(&context.home, &context.clock, &completed)?;
    let ids: Vec<&str> = completed.iter().map(|session| session.id.as_str()).collect();
    context.answer(&json!({"reopened": ids}), || {
        render::line(&format!("reopened {}", render::count(ids.len(), "session")))
    })
}

/// Everything that carries over, without a budget.
fn carried_over(context: &Context, format: Format) -> Result<Briefing> {
    let question = Question {
        now: context.clock.now,
        is_past: context.is_past,
        source: StartSource::Startup,
        budget: Budget { session_tokens: usize::MAX, memory_tokens: 0, both_tokens: usize::MAX },
        chars_max: usize::MAX,
        prompt: None,
        folders: &UserFolders::default(),
        format,
        reminder: false,
        session: None,
    };
    recall::brief(&context.store()?, &context.located(), &question, None).map_err(CommandFailure::from)
}

fn export(context: &Context, is_seed: bool) -> Result<()> {
    let briefing = carried_over(context, Format::Codes)?;
    let section = |section: Section| -> Vec<String> {
        let items = briefing.brief.items.iter().filter(|item| item.section == section);
        items.map(|item| item.code.clone()).collect()
    };
    let newest = briefing.brief.items.iter().map(|item| item.at).max().unwrap_or(context.clock.now);
    let seed = SeedExport {
        session_id: briefing.session_id.as_ref().map_or_else(|| newest.stamp(), |id| id.to_string()),
        project: briefing.project.clone(),
        timestamp: newest.to_string(),
        files: section(Section::Files),
        functions: section(Section::Functions),
        decisions: section(Section::Decisions),
        blockers: section(Section::Blockers),
        next_actions: section(Section::Next),
        metadata: SeedMetadata { expires_at: cerberus_record::seed::expiry(newest).to_string() },
    };
    if is_seed {
        render::json(&seed);
        return Ok(());
    }
    let mut value = serde_json::to_value(&seed).hint("this is a bug; please report it")?;
    let items = briefing.brief.items.iter().map(|item| {
        json!({"kind": item.kind, "code": item.code, "text": item.text, "path": item.path,
            "session": item.session, "at": item.at.to_string()})
    });
    value["items"] = items.collect();
    render::json(&value);
    Ok(())
}

fn export_summary(context: &Context) -> Result<()> {
    let briefing = carried_over(context, Format::Summary)?;
    let missing = || anyhow::anyhow!("the last session has no summary");
    let summary = briefing.summary.ok_or_else(missing).hint("`cerberus summarize` writes one")?;
    let expires_at = briefing.expires_at.unwrap_or_else(|| cerberus_record::seed::expiry(summary.row.at));
    render::json(&SeedSummary {
        session_id: summary.session.to_string(),
        project: briefing.project,
        summary: summary.row.text,
        key_context: summary.row.key_context,
        next_actions: summary.row.next_actions,
        token_estimate: briefing.brief.tokens,
        timestamp: summary.row.at.to_string(),
        expires_at: expires_at.to_string(),
    });
    Ok(())
}

fn import(context: &Context, path: &std::path::Path) -> Result<()> {
    let read = legacy::read(&context.home, path)
        .map_err(|reason| anyhow::anyhow!("{} cannot be imported: {reason}", path.display()));
    let (file, key) =
        read.hint("the file was not changed; files of the original tool are named `active-{project}.json`")?;
    let located = context.located();
    context.may_store(&located)?;
    let store = context.store()?;
    let location = located.location(context.home.cleaner());
    let project = location.name.to_string();
    let is_new = legacy::journal_seed(&context.home, &context.clock, &store, &file, &key, location)?;
    if project != file.project {
        render::talk(&format!(
            "cerberus: the file belongs to the project {:?}; it was imported into {project:?}",
            file.project
        ));
    }
    match (context.json, is_new) {
        (true, _) => render::json(&json!({"session_id": file.session_id, "project": project, "imported": is_new})),
        (false, true) => render::line(&format!("imported session {} into {project}", file.session_id)),
        (false, false) => render::line(&format!("session {} was already imported", file.session_id)),
    }
    Ok(())
}
