//! The agents we live in: one file an agent that says where it is, which of its files we are written into, and how.
//!
//! A new agent is a new file here and a line in [`ALL`]. Nothing in here knows the user's environment but what
//! [`Surroundings`] is given.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod opencode;
mod surroundings;
pub mod transcripts;
pub mod wiring;

use std::path::{Path, PathBuf};

use cerberus_core::agents;
use cerberus_core::agents::stream::StreamEvent;
use cerberus_core::model::id::Agent;
use cerberus_core::settings::Part;

use self::transcripts::TranscriptFiles;

pub use surroundings::Surroundings;

/// Every agent that we can be wired into, in the order they are shown.
pub const ALL: [&Profile; 6] =
    [&claude_code::PROFILE, &codex::PROFILE, &gemini::PROFILE, &opencode::PROFILE, &cursor::PROFILE, &copilot::PROFILE];

/// What there is to know about an agent.
#[derive(Debug)]
pub struct Profile {
    pub agent: Agent,
    /// Where it keeps what is the user's own.
    pub dir: fn(&Surroundings) -> Option<PathBuf>,
    /// The files that we are written into.
    pub files: fn(&Surroundings, Scope) -> Vec<SettingsFile>,
    /// What the user still has to do once we are written in.
    pub afterwards: Option<&'static str>,
    /// Does the agent itself still have to accept what is written?
    pub trust: fn(&Surroundings, Scope) -> Trust,
    /// Are we there as a plugin, which brings the same hooks?
    pub has_plugin: fn(&Surroundings) -> bool,
    /// Names of the instructions that it reads by itself in a project's folders.
    pub guides: &'static [&'static str],
    /// The user's own instructions, given its folder and the project's.
    pub user_guides: fn(dir: &Path, root: &Path) -> Vec<UserGuide>,
    pub transcripts: Option<&'static TranscriptFiles>,
    /// The file that says how full a session's context is, where its output does not.
    pub session_file: Option<SessionFile>,
}

/// Instructions that a user wrote for all projects, or the agent for this one.
#[derive(Debug)]
pub struct UserGuide {
    pub path: PathBuf,
    /// Only so many lines of it are read.
    pub lines_max: Option<usize>,
}

impl UserGuide {
    fn whole(path: PathBuf) -> UserGuide {
        UserGuide { path, lines_max: None }
    }
}

/// A file that an agent writes while a session goes on.
#[derive(Clone, Copy, Debug)]
pub struct SessionFile {
    pub find: fn(dir: &Path, session: &str) -> Option<PathBuf>,
    pub read: fn(line: &[u8]) -> Vec<StreamEvent>,
}

/// Whose sessions we are wired into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of the user's.
    User,
    /// Those in this project.
    Project,
}

impl Scope {
    pub const ALL: [Scope; 2] = [Scope::User, Scope::Project];

    pub fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }

    pub fn from_name(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// A file of an agent, and what of ours goes into it.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub parts: &'static [Part],
}

/// Whether an agent runs hooks that are written into its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It does not ask.
    NotNeeded,
    /// It was asked and keeps its word for these many of our events, of so many.
    Given { events: usize, of: usize },
    /// It asks, and what came of it cannot be read.
    Unknown(String),
}

impl Profile {
    pub fn of(agent: Agent) -> Option<&'static Profile> {
        ALL.into_iter().find(|profile| profile.agent == agent)
    }

    /// Its program, as it is found on PATH.
    pub fn program(&self) -> &'static str {
        agents::profile(self.agent).map_or("", |known| known.program)
    }

    /// Is it on this machine?
    pub fn is_found(&self, surroundings: &Surroundings) -> bool {
        (self.dir)(surroundings).is_some_and(|dir| dir.is_dir()) || surroundings.on_path(self.program()).is_some()
    }
}

/// For agents that run what is written into their files.
fn no_trust_needed(_: &Surroundings, _: Scope) -> Trust {
    Trust::NotNeeded
}

/// For agents that know us by their files alone.
fn no_plugin(_: &Surroundings) -> bool {
    false
}

/// The files that exist as soon as a folder is known.
fn in_dir(dir: Option<PathBuf>, files: &[(&str, &'static [Part])]) -> Vec<SettingsFile> {
    let file = |dir: &PathBuf, (name, parts): &(&str, &'static [Part])| SettingsFile { path: dir.join(name), parts };
    dir.iter().flat_map(|dir| files.iter().map(move |listed| file(dir, listed))).collect()
}

#[cfg(test)]
mod tests;
