//! Where agents keep their files and how we are installed into them. A file in each agent's own folder says it.
//!
//! This folder knows the user's environment only through [`Surroundings`].

mod profile;
mod surroundings;
pub mod transcripts;
pub mod versions;
pub mod wiring;

use cerberus_record::id::Agent;

pub use profile::{
    FileEntry, HookTrust, InstallScope, NOTES_BY_FOLDER, NotesFile, Profile, SessionFile, SettingsFile, TrustedHooks,
    first_lines, folder_name, in_dir,
};
pub use surroundings::Surroundings;

/// How Cerberus is installed into each agent, in display order.
pub fn all() -> impl Iterator<Item = &'static Profile> {
    crate::ALL.into_iter().map(|profile| profile.install)
}

impl Profile {
    pub fn of(agent: Agent) -> Option<&'static Profile> {
        crate::profile(agent).map(|profile| profile.install)
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
