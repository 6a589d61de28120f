//! What people want to know about sync, from what this home remembers. Nothing here asks a hub.

use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;
use cerberus_store::view::Store;
use serde::{Serialize, Serializer};

use super::files::Files;
use super::local::{Space, SpaceState};
use super::project::SharedProject;
use super::transport::redacted;
use super::{Result, batch, consent, forget, links, names};

#[derive(Debug, Serialize)]
pub struct SpaceStatus {
    /// As the hub knows it.
    pub space: String,
    /// `null` for the user's own devices.
    pub team: Option<String>,
    pub hub: String,
    /// This device, and what it is called.
    pub device: String,
    pub name: String,
    /// This device waits to be let in.
    pub waiting: bool,
    pub epoch: u32,
    pub devices: Vec<DeviceStatus>,
    /// Keys for containers.
    pub grants: Vec<GrantStatus>,
    pub projects: Vec<ProjectStatus>,
    #[serde(serialize_with = "written")]
    pub last_push: Option<Timestamp>,
    #[serde(serialize_with = "written")]
    pub last_pull: Option<Timestamp>,
    /// Records that are not on the hub yet.
    pub unsent: usize,
    pub problems: Vec<String>,
    /// Devices that have confirmed the last request to forget, of those that had the data.
    pub forget_confirmed: Option<[usize; 2]>,
    /// The hub keeps sealed bytes of forgotten records for a while.
    pub hub_keeps: bool,
}

#[derive(Debug, Serialize)]
pub struct DeviceStatus {
    pub device: String,
    pub name: String,
    pub is_this: bool,
    /// Who let it in; `null` for the first.
    pub let_in_by: Option<String>,
    /// When it last wrote, by its own clock.
    #[serde(serialize_with = "written")]
    pub last_head: Option<Timestamp>,
}

/// A key with which containers of one project read and append.
#[derive(Debug, Serialize)]
pub struct GrantStatus {
    pub grant: String,
    /// For which project.
    pub name: String,
    /// The device that made it.
    pub by: String,
}

#[derive(Debug, Serialize)]
pub struct ProjectStatus {
    pub name: String,
    pub root: String,
    pub generation: u64,
    pub batches: u64,
    /// Why it is no longer shared, without `unshare`.
    pub ended: Option<String>,
    /// Why nothing of it is exchanged now.
    pub paused: Option<String>,
}

fn written<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    at.map(|at| at.to_string()).serialize(serializer)
}

/// Everything about the spaces of this home.
pub fn status(home: &Home, store: &Store, now: Timestamp) -> Result<Vec<SpaceStatus>> {
    let files = Files::new(home);
    let spaces = files.spaces()?.spaces;
    if spaces.is_empty() {
        return Ok(Vec::new());
    }
    let own = files.device()?.id.to_string();
    spaces.iter().map(|space| one(home, store, now, space, &files.state(space)?, &own)).collect()
}

fn one(
    home: &Home,
    store: &Store,
    now: Timestamp,
    space: &Space,
    state: &SpaceState,
    own: &str,
) -> Result<SpaceStatus> {
    let mut unsent = 0;
    for shared in space.projects.iter().filter(|shared| !shared.is_over()) {
        let stream = state.streams.get(&shared.number).cloned().unwrap_or_default();
        let project = SharedProject { home, space, shared };
        unsent += project.gather(store, &stream.folded)?.entries.len();
        if stream.sealed.sequence > stream.sent {
            let sealed = project.kept()?;
            let counts = sealed.iter().filter_map(|(_, batch)| batch::header(&batch.bytes).ok());
            unsent += counts.map(|(header, ..)| header.count).sum::<usize>();
        }
    }
    let heads = state.streams.values().flat_map(|stream| &stream.seen);
    let last_head = |device: &str| heads.clone().filter(|(one, _)| *one == device).map(|(_, seen)| seen.at).max();
    let chain = links::known(&Files::new(home), space)?;
    let let_in_by = |device: &str| {
        let member = chain.as_ref()?.state.members.get(device)?;
        let is_first = chain.as_ref()?.links.first().is_some_and(|first| first.link.is_adding(device));
        (!is_first).then(|| names::name_of(&state.names, &member.by))
    };
    let grants = chain.iter().flat_map(|chain| names::grants(space, &chain.state));
    let grants = grants.map(|[grant, name, by]| GrantStatus { grant, name, by }).collect();
    let devices = state.names.iter().map(|(device, name)| DeviceStatus {
        device: device.clone(),
        name: name.clone(),
        is_this: device == own,
        let_in_by: let_in_by(device),
        last_head: last_head(device),
    });
    let projects = space.projects.iter().filter(|shared| !shared.is_space()).map(|shared| -> Result<ProjectStatus> {
        let stream = state.streams.get(&shared.number).cloned().unwrap_or_default();
        let (name, root, ended) = (shared.name.clone(), shared.root.clone(), shared.ended.clone());
        let paused = match ended {
            None => consent::pause(home, now, store, shared)?.map(|block| block.to_string()),
            Some(_) => None,
        };
        Ok(ProjectStatus { name, root, generation: stream.sealed.generation, batches: stream.sent, ended, paused })
    });
    Ok(SpaceStatus {
        space: space.id.clone(),
        team: space.team.clone(),
        hub: redacted(&space.hub),
        device: own.to_string(),
        name: space.name.clone(),
        waiting: space.is_waiting(),
        epoch: space.key().map_or(0, |key| key.epoch),
        devices: devices.collect(),
        grants,
        projects: projects.collect::<Result<_>>()?,
        last_push: state.pushed_at,
        last_pull: state.pulled_at,
        unsent,
        problems: state.problems.iter().chain(&state.refused).cloned().collect(),
        forget_confirmed: forget::confirmed(space, state),
        hub_keeps: state.hub_keeps,
    })
}
