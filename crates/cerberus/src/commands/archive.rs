use std::path::PathBuf;
use std::time::{Duration, Instant};

use cerberus_agents::conversation::{Part, parts};
use cerberus_archive::update::ArchiveUpdate;
use cerberus_archive::{self as archive, ArchiveError, Conversation, write};
use cerberus_os::ahead;
use cerberus_os::failures;
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;
use cerberus_store::config::KeepInArchive;
use cerberus_store::summary::detached;
use cerberus_store::view::{SessionRow, Store};
use serde_json::json;

use super::sync;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::progress::Progress;

/// Keep conversations that agents delete: what was said, run and printed
///
/// This happens by itself after every turn, in the background. The command does it now, for all known sessions, and
/// says what the archive holds. Secrets and private passages are cut, and the contents of files that a tool read or
/// wrote are left out; `[archive] keep` in config.toml changes that: "nothing", "conversation", "edits", "everything".
#[derive(clap::Args)]
pub struct ArchiveArgs {
    /// Delete everything in the archive. To keep it empty, set `keep = "nothing"` first
    #[arg(long)]
    pub(super) delete: bool,

    /// Run as after a turn: only recent sessions, silently, within a time limit
    #[arg(long, hide = true)]
    pub(super) detached: bool,
}

/// How long the process after a turn runs at most.
const DETACHED_MAX: Duration = Duration::from_secs(60);

/// What was active earlier was archived after its own turns.
const RECENT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The name in the list of failures.
const FAILURE: &str = "archive";

impl ArchiveArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        if self.detached {
            detached::end_in_time(DETACHED_MAX);
            if let Err(failure) = in_background(context) {
                failures::note(&context.home, context.clock.now, FAILURE, &format!("{:#}", failure.error));
            }
            return Ok(());
        }
        if self.delete {
            archive::erase::delete(&context.home).hint("delete the folder `archive` in the home")?;
            return context.answer(&json!({"deleted": true}), || render::line("the archive is empty"));
        }
        let limits = context.config()?.archive;
        context.require_privacy_rules()?;
        let mut added = 0;
        if let Some(keep) = limits.keep.files() {
            let store = context.swept_store()?;
            let sessions = store.sessions(&[], limits.oldest(context.clock.now), context.clock.now)?;
            let surroundings = context.agent_surroundings();
            let mut update = ArchiveUpdate::begin(&context.home, &context.clock, &surroundings, &store, keep, 1)?;
            let mut progress = Progress::new("sessions archived");
            for (done, session) in sessions.iter().enumerate() {
                update.sessions(std::slice::from_ref(session), None)?;
                progress.at(done + 1, sessions.len());
            }
            added = update.finish().hint(ROOM)?;
            expire(context)?;
        }
        let held = ArchiveHoldings::of(context)?;
        context.answer(&json!({"added_bytes": added, "archive": held.json()}), || render::line(&held.line()))
    }
}

const ROOM: &str = "what was archived is kept; make room, then run `cerberus archive`";

fn in_background(context: &Context) -> Result<()> {
    // The home may be gone by now.
    let limits = context.config()?.archive;
    let Some(keep) = limits.keep.files().filter(|_| context.home.journal_dir().is_dir()) else { return Ok(()) };
    context.require_privacy_rules()?;
    let store = context.store()?;
    let since = limits.oldest(context.clock.now).max(context.clock.now.minus(RECENT));
    let mut sessions = store.newest_sessions(&[], since, context.clock.now)?;
    sessions.sort_by_key(|session| std::cmp::Reverse(session.last_activity));
    let surroundings = context.agent_surroundings();
    let mut update = ArchiveUpdate::begin(&context.home, &context.clock, &surroundings, &store, keep, 1)?;
    update.sessions(&sessions, Some(Instant::now() + DETACHED_MAX))?;
    update.finish()?;
    expire(context)
}

/// Removes what is older or more than the settings allow.
fn expire(context: &Context) -> Result<()> {
    let limits = context.config()?.archive;
    if limits.retention.is_none() && limits.max_size.is_none() {
        return Ok(());
    }
    let before = context.clock.of_deletion().map_or(Timestamp::EPOCH, |now| limits.oldest(now));
    Ok(archive::erase::expire(&context.home, before, limits.max_size.map(|size| size.bytes))?)
}

/// Archives transcripts that were imported. An import does not fail because of it.
pub fn imported(context: &Context, store: &Store, files: &[(Agent, std::path::PathBuf)]) -> Result<()> {
    let Some(keep) = context.config()?.archive.keep.files() else { return Ok(()) };
    let surroundings = context.agent_surroundings();
    let run = || -> std::result::Result<(), ArchiveError> {
        let mut update =
            ArchiveUpdate::begin(&context.home, &context.clock, &surroundings, store, keep, ahead::workers())?;
        update.files(files)?;
        update.finish().map(drop)
    };
    if let Err(error) = run() {
        tell_failure(context, &error);
    }
    Ok(())
}

fn tell_failure(context: &Context, error: &dyn std::fmt::Display) {
    failures::note(&context.home, context.clock.now, FAILURE, error);
    render::talk(&format!("cerberus: the conversations could not be archived: {error}"));
}

/// Removes what an import added beyond the settings. An import does not fail because of it.
pub fn expire_imported(context: &Context) {
    if let Err(failure) = expire(context) {
        tell_failure(context, &failure.error);
    }
}

/// Says that what is asked takes a while: the index of the archive is gone.
pub fn tell_if_lost(context: &Context) -> Result<()> {
    if archive::index::is_lost(&context.home)? {
        render::talk("cerberus: the index of the archive is lost or damaged; it is made anew");
    }
    Ok(())
}

/// A conversation to read or to put back.
pub enum HeldConversation {
    /// In the archive.
    Here(Conversation),
    /// The lines that another device of the user has sent.
    Fetched(Vec<String>),
}

impl HeldConversation {
    pub fn find(context: &Context, store: &Store, session: &SessionRow) -> Result<Option<HeldConversation>> {
        let Some(agent) = Agent::from_name(&session.agent) else { return Ok(None) };
        tell_if_lost(context)?;
        match archive::find(&context.home, agent, &session.agent_session_id)? {
            Some(here) => Ok(Some(HeldConversation::Here(here))),
            None => Ok(sync::fetch(context, store, session)?.map(HeldConversation::Fetched)),
        }
    }

    /// Its lines, without those of subagents.
    pub fn lines(&self, context: &Context, take: &mut dyn FnMut(&str)) -> std::result::Result<(), ArchiveError> {
        match self {
            HeldConversation::Here(here) => archive::lines(&context.home, here, take),
            HeldConversation::Fetched(lines) => {
                lines.iter().for_each(|line| take(line));
                Ok(())
            }
        }
    }

    /// The transcripts that it was read from on this device, the newest first.
    pub fn sources(&self) -> &[PathBuf] {
        match self {
            HeldConversation::Here(here) => &here.own_sources,
            HeldConversation::Fetched(_) => &[],
        }
    }

    /// Passes on its parts, in order.
    pub fn each_part(&self, context: &Context, take: &mut dyn FnMut(Part)) -> Result<()> {
        self.lines(context, &mut |line| {
            if let Ok(value) = serde_json::from_slice(line.as_bytes()) {
                parts(&value).into_iter().for_each(&mut *take);
            }
        })?;
        Ok(())
    }
}

/// What was said in a session until now; empty if that is not known.
#[cfg(feature = "loop")]
pub fn conversation_so_far(context: &Context, store: &Store, session: &SessionRow) -> Vec<Part> {
    let read = || -> Result<Vec<Part>> {
        let keep = context.config()?.archive.keep.files().filter(|_| session.device.is_none());
        if let Some(keep) = keep {
            context.require_privacy_rules()?;
            let surroundings = context.agent_surroundings();
            let mut update = ArchiveUpdate::begin(&context.home, &context.clock, &surroundings, store, keep, 1)?;
            update.sessions(std::slice::from_ref(session), None)?;
            update.finish()?;
        }
        let mut found = Vec::new();
        if let Some(kept) = HeldConversation::find(context, store, session)? {
            kept.each_part(context, &mut |part| found.push(part))?;
        }
        Ok(found)
    };
    read().unwrap_or_else(|failure| {
        render::talk(&format!("cerberus: its conversation cannot be read: {:#}", failure.error));
        Vec::new()
    })
}

/// What the archive holds.
pub struct ArchiveHoldings {
    conversations: usize,
    text_bytes: u64,
    bytes: u64,
    index_bytes: u64,
    damaged_bytes: u64,
    /// What is not in the index.
    missing_bytes: u64,
    is_off: bool,
}

impl ArchiveHoldings {
    pub fn of(context: &Context) -> Result<ArchiveHoldings> {
        let all = archive::conversations(&context.home)?;
        let (bytes, index_bytes) = write::stored_bytes(&context.home);
        let (damaged_bytes, missing_bytes) = archive::faults(&context.home)?;
        Ok(ArchiveHoldings {
            conversations: all.len(),
            text_bytes: all.iter().map(|one| one.text_bytes).sum(),
            bytes,
            index_bytes,
            damaged_bytes,
            missing_bytes,
            is_off: context.config().is_ok_and(|config| config.archive.keep == KeepInArchive::Nothing),
        })
    }

    pub fn json(&self) -> serde_json::Value {
        json!({
            "conversations": self.conversations, "text_bytes": self.text_bytes, "bytes": self.bytes,
            "index_bytes": self.index_bytes, "damaged_bytes": self.damaged_bytes, "missing_bytes": self.missing_bytes,
            "is_off": self.is_off,
        })
    }

    pub fn line(&self) -> String {
        let damaged = match self.damaged_bytes {
            0 => String::new(),
            bytes => format!(", {} damaged: run `cerberus doctor --rebuild`", render::bytes(bytes)),
        };
        let missing = match self.missing_bytes {
            0 => String::new(),
            bytes => format!(", {} not in the index yet: `cerberus archive` adds it", render::bytes(bytes)),
        };
        match (self.is_off, self.conversations) {
            (true, 0) => "off".to_string(),
            (true, _) => format!(
                "off; it still takes {}, `cerberus archive --delete` removes it",
                render::bytes(self.bytes + self.index_bytes)
            ),
            (false, 0) if self.damaged_bytes + self.missing_bytes == 0 => "empty".to_string(),
            (false, _) => format!(
                "{}, {} ({} of text), index {}{damaged}{missing}",
                render::count(self.conversations, "conversation"),
                render::bytes(self.bytes),
                render::bytes(self.text_bytes),
                render::bytes(self.index_bytes),
            ),
        }
    }
}
