//! How Cerberus is installed into one agent, and where that agent keeps its files.

use std::path::{Path, PathBuf};

use cerberus_record::id::Agent;
use cerberus_record::words;

use super::surroundings::Surroundings;
use super::transcripts::TranscriptFiles;
use crate::settings::strict::Syntax;
use crate::settings::{Part, WiredHook};
use crate::stream::StreamEvent;

/// How Cerberus is installed into one agent, and where that agent keeps its files.
#[derive(Debug)]
pub struct Profile {
    pub agent: Agent,
    /// The folder with the user's own settings.
    pub dir: fn(&Surroundings) -> Option<PathBuf>,
    /// Where its program may be besides on PATH.
    pub programs: fn(&Surroundings) -> Vec<PathBuf>,
    /// The settings files that we are installed into.
    pub files: fn(&Surroundings, InstallScope) -> Vec<SettingsFile>,
    /// What the user still has to do after installing.
    pub afterwards: Option<&'static str>,
    /// Whether the agent itself has accepted the installed hooks.
    pub trust: fn(&Surroundings, InstallScope) -> HookTrust,
    /// Whether we are installed as a plugin, which brings the same hooks.
    pub has_plugin: fn(&Surroundings) -> bool,
    /// The names of the instruction files that it reads in a project's folders.
    pub guides: &'static [&'static str],
    /// The files of instructions that the user wrote for all projects, in the agent's folder.
    pub user_guides: &'static [&'static str],
    /// Where the agent keeps notes of its own about a project.
    pub notes: Option<NotesFile>,
    pub transcripts: Option<&'static TranscriptFiles>,
    /// The file that says how full a session's context is, if the output does not.
    pub session_file: Option<SessionFile>,
}

impl Profile {
    /// An agent whose program is on PATH, that asks nobody about hooks and has no plugins of ours. What a profile does not
    /// say is as here.
    pub const DEFAULT: Profile = Profile {
        agent: Agent::MANUAL,
        dir: |_| None,
        programs: |_| Vec::new(),
        files: |_, _| Vec::new(),
        afterwards: None,
        trust: |_, _| HookTrust::NotNeeded,
        has_plugin: |_| false,
        guides: &[],
        user_guides: &[],
        notes: None,
        transcripts: None,
        session_file: None,
    };
}

/// The file in which an agent notes what it wants to remember of a project.
#[derive(Clone, Copy, Debug)]
pub struct NotesFile {
    /// Given the agent's folder and the top of the project.
    pub path: fn(dir: &Path, root: &Path) -> Option<PathBuf>,
    /// The part of its text that is about the project.
    pub about: fn(text: &str, root: &Path) -> String,
}

/// Agents load this many lines of such a file.
pub(super) const NOTES_LINES_MAX: usize = 200;

/// For a file about one project, in a folder named after it.
pub const NOTES_BY_FOLDER: NotesFile = NotesFile {
    path: |dir, root| Some(dir.join("projects").join(folder_name(root)).join("memory").join("MEMORY.md")),
    about: |text, _| first_lines(text),
};

pub fn first_lines(text: &str) -> String {
    text.split_inclusive('\n').take(NOTES_LINES_MAX).collect()
}

/// The name of a project's folder: its path, with `-` for everything but letters and digits.
pub fn folder_name(root: &Path) -> String {
    root.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// A file that the agent writes during a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionFile {
    pub find: fn(dir: &Path, session: &str) -> Option<PathBuf>,
    pub read: fn(line: &[u8]) -> Vec<StreamEvent>,
}

words! {
    /// Which sessions we are installed for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum InstallScope {
        /// All sessions of the user.
        User = "user",
        /// The sessions in this project.
        Project = "project",
    }
}

/// A settings file of an agent, and the parts of ours that go into it.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub parts: &'static [Part],
    /// What the agent accepts in this file.
    pub syntax: Syntax,
    /// The file whose hooks the user trusts by entries in this one; they are removed together.
    pub trusts: Option<TrustedHooks>,
}

/// Hooks that the agent runs only after the user accepted them.
#[derive(Clone, Debug)]
pub struct TrustedHooks {
    pub path: PathBuf,
    pub parts: &'static [Part],
    /// The key under which the trust in one of these hooks is stored.
    pub key: fn(path: &Path, hook: &WiredHook) -> String,
}

/// Whether an agent runs the hooks in its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookTrust {
    /// It runs them without asking the user.
    NotNeeded,
    /// The user accepted `events` of our `of` hook events.
    Given { events: usize, of: usize },
    /// The agent asks, but the answer cannot be read.
    Unknown(String),
    /// This setting in this file switches all hooks off.
    Disabled { setting: &'static str, file: PathBuf },
}

/// The name of a settings file, its parts, and what the agent accepts in it.
pub type FileEntry = (&'static str, &'static [Part], Syntax);

/// The settings files in `dir`; none if the folder is unknown.
pub fn in_dir(dir: Option<PathBuf>, files: &[FileEntry]) -> Vec<SettingsFile> {
    let file = |dir: &PathBuf, &(name, parts, syntax): &FileEntry| SettingsFile {
        path: dir.join(name),
        parts,
        syntax,
        trusts: None,
    };
    dir.iter().flat_map(|dir| files.iter().map(move |listed| file(dir, listed))).collect()
}
