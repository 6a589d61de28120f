//! The supported agents. One file per agent says where the agent keeps its files and how we are installed into them.
//!
//! To add an agent, add a file here and an entry to [`ALL`]. This folder knows the user's environment only through
//! [`Surroundings`].

mod profile;
mod surroundings;
pub mod transcripts;
pub mod versions;
pub mod wiring;

use cerberus_record::id::Agent;

use crate::claude_code::install as claude_code;
use crate::cline::install as cline;
use crate::codex::install as codex;
use crate::copilot::install as copilot;
use crate::cursor::install as cursor;
use crate::gemini::install as gemini;
use crate::opencode::install as opencode;
use crate::qwen_code::install as qwen_code;

pub use profile::{
    FileEntry, HookTrust, InstallScope, NOTES_BY_FOLDER, NotesFile, Profile, SessionFile, SettingsFile, TrustedHooks,
    first_lines, folder_name, in_dir,
};
pub use surroundings::Surroundings;

/// Every agent that we can be installed into, in display order.
pub const ALL: [&Profile; 8] = [
    &claude_code::PROFILE,
    &codex::PROFILE,
    &gemini::PROFILE,
    &opencode::PROFILE,
    &cursor::PROFILE,
    &copilot::PROFILE,
    &qwen_code::PROFILE,
    &cline::PROFILE,
];

impl Profile {
    pub fn of(agent: Agent) -> Option<&'static Profile> {
        ALL.into_iter().find(|profile| profile.agent == agent)
    }

    /// The name of its program on PATH.
    pub fn program(&self) -> &'static str {
        crate::profile(self.agent).map_or("", |known| known.program)
    }

    /// Whether it is installed on this machine.
    pub fn is_found(&self, surroundings: &Surroundings) -> bool {
        (self.dir)(surroundings).is_some_and(|dir| dir.is_dir()) || surroundings.on_path(self.program()).is_some()
    }
}

#[cfg(test)]
mod tests;
