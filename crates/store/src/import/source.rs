//! What is imported, from whom and where to; and what came of it.

use std::path::Path;
use std::time::Duration;

use cerberus_agents::install::transcripts::{Database, TranscriptDatabaseError};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::id::{Agent, fnv1a};

use crate::project::identity::Located;

/// The source and the destination of an import.
pub struct Import<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub agent: Agent,
    /// If set, the transcript's own folder is mapped to this project.
    pub project: Option<&'a Located>,
    pub forgotten: TakeForgotten,
    /// An agent runs the import: it may have written the transcript itself.
    pub by_agent: bool,
    /// The user who imports, as a number; `None` if files are the user's, whoever owns them.
    pub user: Option<u32>,
}

/// Whether an import restores forgotten events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeForgotten {
    No,
    /// The user wants them back.
    Yes,
}

/// Opens the database in which an agent keeps its sessions; waits this long if it is locked.
pub(super) type DatabaseOpener = fn(&Path, Duration) -> Result<Box<dyn Database>, TranscriptDatabaseError>;

/// Whose transcript it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    User,
    Other,
}

/// The result of importing one transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    pub sessions: usize,
    pub new_events: usize,
    pub known_events: usize,
    pub damaged_lines: usize,
    /// Lines of which long texts were kept in part.
    pub shortened_lines: usize,
    /// Sessions of private or opted-out projects, which were skipped.
    pub private_sessions: usize,
    /// Events that were forgotten earlier, and therefore skipped.
    pub forgotten_events: usize,
}

impl ImportReport {
    pub fn add(&mut self, other: ImportReport) {
        self.sessions += other.sessions;
        self.new_events += other.new_events;
        self.known_events += other.known_events;
        self.damaged_lines += other.damaged_lines;
        self.shortened_lines += other.shortened_lines;
        self.private_sessions += other.private_sessions;
        self.forgotten_events += other.forgotten_events;
    }
}

/// The key of a record that takes these prompts back.
pub fn undone_key<'a>(prompts: impl Iterator<Item = &'a str>) -> String {
    format!("undone-{:016x}", fnv1a(prompts.collect::<Vec<_>>().join("\n").as_bytes()))
}
