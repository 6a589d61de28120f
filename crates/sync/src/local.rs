//! What this home knows about sync: its keys, its spaces, how far it has sent and read, and what waits to be sent. Pure.

use std::collections::{BTreeMap, BTreeSet};

use cerberus_record::id::ProjectId;
use cerberus_record::order::DeviceId;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::batch::ProjectKey;
use super::chain::{self, Chain, ChainState};
use super::crypto::{self, Key, Secrets, hex};
use super::document::{Pass, Proof, Reach, SPACE_PLACE};
use super::transport::{Place, Stream};
use super::{Result, SyncError};

/// This device: its id and its secret keys.
#[derive(Clone, Debug)]
pub struct Device {
    pub id: DeviceId,
    pub secrets: Secrets,
}

impl Device {
    /// The device with these keys: its id is the hash of the one that signs.
    pub fn of(secrets: Secrets) -> Result<Device> {
        let sign = secrets.sign_public().ok_or(SyncError::NoRandomBytes)?;
        let id = DeviceId::parse(&chain::id_of(&sign)).ok_or(SyncError::NoRandomBytes)?;
        Ok(Device { id, secrets })
    }
}

/// A key of the space in one epoch.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceKey {
    pub epoch: u32,
    #[serde(with = "hex")]
    pub key: Key,
}

impl SpaceKey {
    /// Says which key it is and nothing about it.
    pub fn check(&self, space: &str) -> Key {
        crypto::mac(&self.key, &[b"check", space.as_bytes(), &self.epoch.to_be_bytes()])
    }
}

/// What makes this home a container: the secret key of a grant, and the link of the chain that it was printed after.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    #[serde(with = "hex")]
    pub secret: Key,
    pub number: u64,
    #[serde(with = "hex")]
    pub head: Key,
}

/// A project that this home shares in a space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shared {
    /// This home's number for it, used in names of files.
    pub number: u32,
    /// Its name on the hub, which says nothing without the key of the space.
    pub id: String,
    /// The project here; empty for what belongs to the space itself.
    pub project: String,
    pub name: String,
    pub root: String,
    /// What this machine and its user were called when the project was shared. Kept, because whoever exchanges later must
    /// leave out the same names.
    pub names: Vec<String>,
    /// This device sends whole conversations too.
    pub has_conversations: bool,
    /// The user stopped sharing it: its stream is to be emptied.
    pub is_ending: bool,
    /// While it ends: other devices keep what they have read.
    pub is_kept: bool,
    /// Why its sharing ended here without `unshare`: the project was opted out or made private. `share` begins it again.
    pub ended: Option<String>,
}

impl Shared {
    pub fn project(&self) -> ProjectId {
        ProjectId::from_stored(self.project.clone())
    }

    /// Whether nothing of it is exchanged any more.
    pub fn is_over(&self) -> bool {
        self.ended.is_some() && !self.is_ending
    }

    /// The user shares it, perhaps again.
    pub fn begin(&mut self) {
        (self.is_ending, self.is_kept, self.ended) = (false, false, None);
    }

    /// Whether this stands for the space itself and not for a project.
    pub fn is_space(&self) -> bool {
        self.id == SPACE_PLACE
    }
}

/// A code that was printed and not used yet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub secret: String,
    pub until: Timestamp,
}

/// A space of this home.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Space {
    pub number: u32,
    pub id: String,
    /// The name of the team; `None` for the user's own devices.
    pub team: Option<String>,
    pub hub: String,
    /// What this device, or its user in a team, is called.
    pub name: String,
    /// The keys of the space, as the chain says.
    pub keys: Vec<SpaceKey>,
    /// Keys of one project only: this home is a container.
    pub scoped: Vec<SpaceKey>,
    pub granted: Option<Granted>,
    /// The project had few heads when the key of this container was printed.
    pub is_small: bool,
    /// The keys of the device that this home was before, until they have let in the new one.
    pub former: Option<Secrets>,
    /// Devices and grants that must be removed whenever they are in the chain: the recovery key has signed one without
    /// their removal.
    pub removals_due: BTreeSet<String>,
    pub codes: Vec<Pending>,
    /// The secret of the code with which this home asked to be let in.
    pub asked_with: Option<String>,
    pub projects: Vec<Shared>,
    pub next_project: u32,
}

impl Space {
    pub fn label(&self) -> String {
        label(self.team.as_deref())
    }

    /// From now on another chain counts, which the recovery key has signed. The keys of the one that is known do not; its
    /// removals are made again.
    pub fn follow(&mut self, known: &Chain, other: &ChainState) {
        self.removals_due.extend(known.removals_missing_in(other));
        self.keys.clear();
    }

    /// Whether this home still waits to be let in.
    pub fn is_waiting(&self) -> bool {
        self.asked_with.is_some()
    }

    /// What a container shows with its heads.
    pub fn pass(&self, device: &Device, project: &str) -> Option<Pass> {
        let grant = Secrets::of(&self.granted.as_ref()?.secret);
        Pass::new(&grant, &self.id, project, device.secrets.sign_public()?)
    }

    pub fn place(&self, project: &str) -> Place {
        Place { space: self.id.clone(), project: project.to_string() }
    }

    pub fn stream(&self, project: &str, device: DeviceId) -> Stream {
        Stream { place: self.place(project), device: device.to_string() }
    }

    /// The keys of a project, the one to write with first.
    pub fn project_keys(&self, project: &str) -> Vec<ProjectKey> {
        let derived = self.keys.iter().map(|one| ProjectKey::of(&one.key, one.epoch, &self.id, project));
        let given = self.scoped.iter().map(|one| ProjectKey { epoch: one.epoch, key: one.key });
        let mut keys: Vec<ProjectKey> = derived.chain(given).collect();
        keys.sort_by_key(|key| (std::cmp::Reverse(key.epoch), key.id()));
        keys
    }

    /// The newest key of the space.
    pub fn key(&self) -> Option<&SpaceKey> {
        self.keys.iter().min_by_key(|one| (std::cmp::Reverse(one.epoch), one.key))
    }

    pub fn is_container(&self) -> bool {
        self.granted.is_some()
    }

    /// Adds a project, or returns the one that has this name already.
    pub fn add_project(&mut self, id: &str, project: &ProjectId, name: &str, root: &str) -> &mut Shared {
        if let Some(at) = self.projects.iter().position(|known| known.id == id) {
            self.projects[at].begin();
            return &mut self.projects[at];
        }
        let number = self.next_project;
        self.next_project += 1;
        let [id, project, name, root] = [id, project.as_str(), name, root].map(str::to_string);
        self.projects.push(Shared { number, id, project, name, root, ..Shared::default() });
        let last = self.projects.len() - 1;
        &mut self.projects[last]
    }
}

/// Who a space is shared with, for people.
pub fn label(team: Option<&str>) -> String {
    team.map_or_else(|| "your own devices".to_string(), |team| format!("team {team}"))
}

/// All spaces of this home.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spaces {
    pub(super) v: u32,
    pub spaces: Vec<Space>,
    pub next: u32,
}

impl Spaces {
    /// The space with this number, as this home gave it.
    pub fn numbered(&mut self, number: u32) -> Result<&mut Space> {
        let found = self.spaces.iter_mut().find(|space| space.number == number);
        found.ok_or_else(|| SyncError::NoSpace("this number".to_string()))
    }

    /// The space with this team name, or the user's own.
    pub fn named(&mut self, team: Option<&str>) -> Option<&mut Space> {
        self.spaces.iter_mut().find(|space| space.team.as_deref() == team)
    }
}

/// How far another device's stream was read, and what its device said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub reach: Reach,
    /// The clock of that device when it wrote its head, and ours when we read it.
    pub at: Timestamp,
    pub read_at: Timestamp,
    /// The generation of our own stream that it has confirmed.
    #[serde(default)]
    pub confirmed: u64,
    /// The grant, if it is a container.
    pub by: Option<String>,
    /// How much text was read of this generation.
    #[serde(default)]
    pub bytes: u64,
    /// The version of the program to which some of its records were unknown. Another one reads the stream again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_to: Option<String>,
    /// The device's signature of the reach, in hexadecimal digits; empty if it is not known.
    #[serde(default)]
    pub signature: String,
}

impl Seen {
    pub fn proof(&self) -> Option<Proof> {
        Some(Proof { reach: self.reach.clone(), signature: hex::array(&self.signature)? })
    }
}

/// What this device knows about bases of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BaseState {
    /// Of the last base that this device wrote; 0 if there is none.
    pub generation: u64,
    /// Records that came and went since `since_at`.
    pub since: u64,
    pub since_at: Option<Timestamp>,
    /// Something of it was forgotten, or the project is not shared any more.
    pub is_outdated: bool,
}

/// What this device knows about the lists of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Listing {
    /// 0 while the place has no lists.
    pub era: u64,
    /// When the whole place was listed.
    pub whole_at: Option<Timestamp>,
}

/// What is known about one stream of this device, and about those of the others in the same place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamState {
    /// The generation, and the last batch that was sealed.
    pub sealed: Reach,
    /// The last batch that the hub has.
    pub sent: u64,
    /// The last batch that a head of ours names.
    pub published: u64,
    /// How many batches it had when everything was sealed anew.
    pub packed: u64,
    /// How many records the sealed batches of this generation hold.
    pub records: u64,
    /// Segment to the offset up to which its records are sealed.
    pub folded: BTreeMap<String, u64>,
    /// Says whether anything was forgotten since.
    pub lists: String,
    /// The next push begins a new generation.
    pub is_to_rewrite: bool,
    /// The generation that a request to forget began, until every device has confirmed it.
    pub forgotten_in: Option<u64>,
    pub seen: BTreeMap<String, Seen>,
    /// How long the replicas were when `seen` was noted. If they are longer, a process was killed in between.
    pub replica_bytes: u64,
    /// The last head that was written, without its time.
    pub head: String,
    /// What others signed that the hub does not show any more.
    pub proofs: BTreeMap<String, Proof>,
    pub listing: Listing,
    pub base: BaseState,
}

/// What this device has sent of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentConversation {
    /// The project's name on the hub.
    pub project: String,
    pub generation: u64,
    /// Empty if it is not on the hub any more, or if that is not known.
    pub mark: String,
}

/// What is known about a space between two exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpaceState {
    pub streams: BTreeMap<u32, StreamState>,
    pub pushed_at: Option<Timestamp>,
    pub pulled_at: Option<Timestamp>,
    /// What was wrong in the last exchange, for people.
    pub problems: Vec<String>,
    /// Why the hub did not take or give anything the last time: it is full, or it refused.
    pub refused: Option<String>,
    /// Names of devices, as the chain says.
    pub names: BTreeMap<String, String>,
    /// The hash of the last link that is told, or is among the news.
    pub told: String,
    /// What others changed about who belongs to the space, until somebody is told.
    pub news: Vec<String>,
    /// Whether the hub keeps sealed bytes after they were removed.
    pub hub_keeps: bool,
    /// By their places.
    pub conversations: BTreeMap<String, SentConversation>,
}
