//! A project that this home shares in a space, with what others call it and which of its records they may see.

use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use cerberus_store::same_project::joined::Projects;
use cerberus_store::view::Store;

use super::Result;
use super::batch::{ProjectKey, RECORD_BYTES_MAX, SPACE_RECORD_BYTES_MAX};
use super::files::Files;
use super::local::{Shared, Space};
use super::transport::Place;
use crate::share::ShareAudience;

#[derive(Clone, Copy)]
pub struct SharedProject<'a> {
    pub home: &'a Home,
    pub space: &'a Space,
    pub shared: &'a Shared,
}

impl<'a> SharedProject<'a> {
    pub fn files(&self) -> Files<'a> {
        Files::new(self.home)
    }

    pub fn place(&self) -> Place {
        self.space.place(&self.shared.id)
    }

    /// The keys of the project, the one to write with first.
    pub fn keys(&self) -> Vec<ProjectKey> {
        self.space.project_keys(&self.shared.id)
    }

    pub fn audience(&self) -> ShareAudience {
        if self.space.team.is_some() { ShareAudience::Team } else { ShareAudience::Me }
    }

    /// The largest record of a stream.
    pub fn record_bytes_max(&self) -> usize {
        if self.shared.is_space() { SPACE_RECORD_BYTES_MAX } else { RECORD_BYTES_MAX }
    }

    /// All ids of the project here.
    pub fn ids(&self, store: &Store) -> Result<Vec<ProjectId>> {
        if self.shared.is_space() {
            return Ok(Vec::new());
        }
        let own = self.shared.project();
        let joined = Projects::load(store, Timestamp::LAST)?.joined(store, &own)?;
        Ok([own].into_iter().chain(joined.into_iter().map(|member| member.project)).collect())
    }
}
