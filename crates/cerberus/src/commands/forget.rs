use cerberus_os::clock::Clock;
use cerberus_recall::forget::ForgetRequest;
use cerberus_record::clean::glob::Glob;
use cerberus_record::time::Timestamp;
use cerberus_store::browse::find;
use cerberus_store::erase::forget::{self, ForgetMatches};
use cerberus_store::same_project::joined::{JoinedProject, joined};
use cerberus_store::view::{SessionRow, Store};
use serde_json::json;

use super::memory::forget::MemoryForgetArgs as ForgetMemories;
use super::memory::found::find;
use super::project::{self, ProjectFolders};
use crate::capabilities;
use crate::context::{Context, the_one};
use crate::failure::{CommandFailure, DOCTOR, Hint, Result};
use crate::render;

/// Permanently delete captured data: from the journal, the view, the index, receipts and free pages
///
/// Choose what to delete: sessions, this project, files and statements about them, a period of time, or memories. What
/// other sessions were told about it is deleted too, and so are memories that were learned only from it and that nobody
/// approved. This cannot be undone.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct ForgetArgs {
    /// A session with everything captured from it, by the id that `cerberus log` shows or the agent's own; may be
    /// repeated
    #[arg(long, value_name = "ID", group = "what", conflicts_with_all = ["project", "path", "since", "until", "memory"])]
    pub(super) session: Vec<String>,

    /// This project in all its folders (see `cerberus project`): all its sessions, and the memories of its scope
    #[arg(long, group = "what", conflicts_with_all = ["path", "since", "until", "memory"])]
    pub(super) project: bool,

    /// Files of this project that match a pattern (*.pem, secrets/, src/**/plan.md), and sentences that name them
    #[arg(long, value_name = "GLOB", group = "what", value_parser = glob, conflicts_with_all = ["since", "until", "memory"])]
    pub(super) path: Option<Glob>,

    /// Everything captured at or after this time (RFC 3339), in all projects
    #[arg(long, value_name = "TIME", group = "what", value_parser = Timestamp::parse, conflicts_with = "memory")]
    pub(super) since: Option<Timestamp>,

    /// Everything captured before this time; with --since, everything between the two
    #[arg(long, value_name = "TIME", group = "what", value_parser = Timestamp::parse, conflicts_with = "memory")]
    pub(super) until: Option<Timestamp>,

    /// A memory, by its id or the start of its id; may be repeated
    #[arg(long, value_name = "ID", group = "what")]
    pub(super) memory: Vec<String>,

    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,

    /// Only show what would be forgotten
    #[arg(long)]
    pub(super) dry_run: bool,
}

fn glob(pattern: &str) -> std::result::Result<Glob, String> {
    Glob::parse_exact(pattern).map_err(|wrong| format!("{wrong}; to forget a whole project, use --project"))
}

impl ForgetArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        if !self.memory.is_empty() {
            return self.memories(context);
        }
        let mut store = context.store()?;
        let request = self.request(context, &store)?;
        let folders = self.folders(context, &store)?;
        let mut meant = forget::preview(&context.home, &store, &request)?;
        for capability in capabilities::ALL {
            let counted = capability.count_copies(&context.home, &context.cwd, &request);
            meant.checkpoints += counted.map_err(anyhow::Error::from_boxed).hint(DOCTOR)?;
            meant.conversations += capability.count_conversations(&context.home, &request).hint(DOCTOR)?;
        }
        if self.dry_run || is_nothing(&meant) {
            return self.tell(context, &meant, &folders);
        }
        // Proposals that were learned from a session are the user's to decide about.
        if !meant.memories.is_empty() {
            context.require_person(&store, "forget memories", "cerberus forget … (with the same options)")?;
        }
        folders.iter().for_each(|folder| render::talk(&format!("{SAME_PROJECT}{folder}")));
        render::confirm(&format!("Permanently forget {}?", said(&meant)), self.yes)?;
        const AGAIN: &str = "some of it may already be deleted; run the command again to forget the rest";
        for capability in capabilities::ALL {
            let removed = capability.remove_copies(&context.home, &context.cwd, &request);
            removed.map_err(anyhow::Error::from_boxed).hint(AGAIN)?;
        }
        let mut gone =
            forget::forget(&context.home, &context.clock, &mut store, &request, capabilities::ALL).hint(AGAIN)?;
        (gone.checkpoints, gone.conversations) = (meant.checkpoints, meant.conversations);
        super::sync::after_forget(context)?;
        self.tell(context, &gone, &folders)
    }

    /// The other folders of the project to forget.
    fn folders(&self, context: &Context, store: &Store) -> Result<Vec<String>> {
        if !self.project {
            return Ok(Vec::new());
        }
        let folders = ProjectFolders::load(context, store, &context.located())?;
        Ok(folders.joined.iter().map(|member| project::path(member).to_string()).collect())
    }

    fn request(&self, context: &Context, store: &Store) -> Result<ForgetRequest> {
        let located = context.located();
        let JoinedProject { ids, names } = joined(store, &located, context.clock.now)?;
        if self.project {
            return Ok(ForgetRequest::Projects { ids: ids.into_iter().collect(), names: names.into_iter().collect() });
        }
        if let Some(glob) = &self.path {
            return forget::of_paths(store, &ids, glob.clone()).map_err(CommandFailure::from);
        }
        if self.session.is_empty() {
            let (since, until) = (self.since.unwrap_or(Timestamp::EPOCH), self.until.unwrap_or(END));
            return Ok(ForgetRequest::Between(since, until));
        }
        Ok(forget::of_sessions(&sessions(store, &self.session)?))
    }

    fn memories(&self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let now = context.clock.now;
        let rows = self.memory.iter().map(|id| find(&store, id, now)).collect::<Result<Vec<_>>>()?;
        let meant =
            ForgetMatches { memories: rows.into_iter().map(|row| row.id).collect(), ..ForgetMatches::default() };
        if !self.dry_run {
            drop(store);
            render::confirm(&format!("Permanently forget {}?", said(&meant)), self.yes)?;
            ForgetMemories::of(self.memory.clone()).forget(context, false)?;
            super::sync::after_forget(context)?;
        }
        self.tell(context, &meant, &[])
    }

    fn tell(&self, context: &Context, meant: &ForgetMatches, folders: &[String]) -> Result<()> {
        if context.json {
            render::json(&json!({
                "sessions": meant.sessions, "records": meant.records, "rewritten": meant.rewritten,
                "of_newer_version": meant.of_newer_version, "unreadable": meant.unreadable,
                "memories": meant.memories, "checkpoints": meant.checkpoints,
                "conversations": meant.conversations, "dry_run": self.dry_run, "also_in": folders,
            }));
            return Ok(());
        }
        match (is_nothing(meant), self.dry_run) {
            (true, _) => render::line("nothing to forget"),
            (false, true) => {
                render::line(&format!("would forget {}", said(meant)));
                folders.iter().for_each(|folder| render::line(&format!("{SAME_PROJECT}{folder}")));
            }
            (false, false) => {
                render::line(&format!("forgotten: {}", said(meant)));
                render::talk("cerberus: `cerberus import` will not bring it back");
            }
        }
        if meant.of_newer_version > 0 {
            let records = render::count(meant.of_newer_version, "record");
            render::talk(&format!("cerberus: {records} written by a newer version could only be deleted entirely"));
        }
        if meant.unreadable > 0 {
            let records = render::count(meant.unreadable, "record");
            render::talk(&format!(
                "cerberus: {records} written by a newer version could not be read and were kept; update Cerberus and \
                 run the command again"
            ));
        }
        Ok(())
    }
}

/// The sessions with these ids, ours or the agents' own.
pub fn sessions(store: &Store, ids: &[String]) -> Result<Vec<SessionRow>> {
    let mut sessions = Vec::new();
    for id in ids {
        // Two agents may use the same id of their own.
        let own = store.agent_sessions(id, END)?;
        if !own.is_empty() {
            sessions.extend(own);
            continue;
        }
        // Also one that began after the time that the command is asked about.
        let found = find::by_id(store, &Clock::new(Some(END)), id)?;
        sessions.push(the_one(found, id)?);
    }
    Ok(sessions)
}

/// Followed by the path of another folder of the same project.
const SAME_PROJECT: &str = "includes the same project in ";

/// Later than any record.
const END: Timestamp = Timestamp::LAST;

fn is_nothing(meant: &ForgetMatches) -> bool {
    meant.records + meant.rewritten + meant.checkpoints + meant.conversations == 0 && meant.memories.is_empty()
}

fn said(meant: &ForgetMatches) -> String {
    let mut parts = Vec::new();
    if meant.records > 0 {
        let sessions = render::count(meant.sessions, "session");
        parts.push(format!("{} of {sessions}", render::count(meant.records, "record")));
    }
    if meant.rewritten > 0 {
        parts.push(format!("parts of {}", render::count(meant.rewritten, "other record")));
    }
    if !meant.memories.is_empty() {
        let ids: Vec<&str> = meant.memories.iter().map(|id| id.as_str()).collect();
        parts.push(format!("{} ({})", render::counted(ids.len(), "memory", "memories"), ids.join(", ")));
    }
    if meant.checkpoints > 0 {
        parts.push(render::count(meant.checkpoints, "checkpoint"));
    }
    if meant.conversations > 0 {
        parts.push(format!("parts of {}", render::count(meant.conversations, "conversation")));
    }
    parts.join(", ")
}
