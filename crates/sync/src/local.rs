//! What this home knows about sync: its keys, its spaces, how far it has sent and read, and what waits to be sent. Pure,
//! but for random numbers.

use std::collections::{BTreeMap, BTreeSet};

use cerberus_record::id::ProjectId;
use cerberus_record::order::DeviceId;
use cerberus_record::time::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::base::BaseState;
use super::batch::ProjectKey;
use super::chain;
use super::crypto::{self, Key, Secrets, hex};
use super::document::{Pass, Proof, Reach, SPACE_PLACE};
use super::listing::Listing;
use super::transport::{Place, Stream};
use super::{Result, SyncError};

pub use super::files::Files;

pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| SyncError::NoRandomBytes)?;
    Ok(bytes)
}

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

/// The secret keys of a device, as this home stores them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFile {
    #[serde(with = "hex")]
    pub sign: Key,
    #[serde(with = "hex")]
    pub agree: Key,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The user stopped sharing it: its stream is to be emptied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ending: bool,
    /// While it ends: other devices keep what they have read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_kept: bool,
    /// Why its sharing ended here without `unshare`: the project was opted out or made private. `share` begins it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
pub struct Space {
    pub number: u32,
    pub id: String,
    /// The name of the team; `None` for the user's own devices.
    #[serde(default)]
    pub team: Option<String>,
    pub hub: String,
    /// What this device, or its user in a team, is called.
    pub name: String,
    /// The keys of the space, as the chain says.
    #[serde(default)]
    pub keys: Vec<SpaceKey>,
    /// Keys of one project only: this home is a container.
    #[serde(default)]
    pub scoped: Vec<SpaceKey>,
    #[serde(default)]
    pub granted: Option<Granted>,
    /// The project had few heads when the key of this container was printed.
    #[serde(default)]
    pub is_small: bool,
    /// The keys of the device that this home was before, until they have let in the new one.
    #[serde(default)]
    pub former: Option<DeviceFile>,
    /// Devices and grants that must be removed whenever they are in the chain: the recovery key has signed one without
    /// their removal.
    #[serde(default)]
    pub removals_due: BTreeSet<String>,
    #[serde(default)]
    pub codes: Vec<Pending>,
    /// The secret of the code with which this home asked to be let in.
    #[serde(default)]
    pub asked_with: Option<String>,
    #[serde(default)]
    pub projects: Vec<Shared>,
    #[serde(default)]
    pub next_project: u32,
}

impl Space {
    pub fn label(&self) -> String {
        match &self.team {
            Some(team) => format!("team {team}"),
            None => "your own devices".to_string(),
        }
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
        self.projects.push(Shared {
            number,
            id,
            project,
            name,
            root,
            names: Vec::new(),
            is_ending: false,
            is_kept: false,
            ended: None,
        });
        let last = self.projects.len() - 1;
        &mut self.projects[last]
    }
}

/// All spaces of this home.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spaces {
    #[serde(default)]
    pub(super) v: u32,
    #[serde(default)]
    pub spaces: Vec<Space>,
    #[serde(default)]
    pub next: u32,
}

impl Spaces {
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

/// What is known about one stream of this device, and about those of the others in the same place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamState {
    pub generation: u64,
    /// The last batch that was sealed, and its hash.
    pub sealed: u64,
    #[serde(with = "hex")]
    pub hash: Key,
    /// The last batch that the hub has.
    pub sent: u64,
    /// The last batch that a head of ours names.
    #[serde(default)]
    pub published: u64,
    /// How many batches it had when everything was sealed anew.
    #[serde(default)]
    pub packed: u64,
    /// How many records the sealed batches of this generation hold.
    #[serde(default)]
    pub records: u64,
    /// Segment to the offset up to which its records are sealed.
    #[serde(default)]
    pub folded: BTreeMap<String, u64>,
    /// Says whether anything was forgotten since.
    #[serde(default)]
    pub lists: String,
    /// The next push begins a new generation.
    #[serde(default)]
    pub is_to_rewrite: bool,
    /// The generation that a request to forget began, until every device has confirmed it.
    #[serde(default)]
    pub forgotten_in: Option<u64>,
    #[serde(default)]
    pub seen: BTreeMap<String, Seen>,
    /// How long the replicas were when `seen` was noted. If they are longer, a process was killed in between.
    #[serde(default)]
    pub replica_bytes: u64,
    /// The last head that was written, without its time.
    #[serde(default)]
    pub head: String,
    /// What others signed that the hub does not show any more.
    #[serde(default)]
    pub proofs: BTreeMap<String, Proof>,
    #[serde(default)]
    pub listing: Listing,
    #[serde(default)]
    pub base: BaseState,
}

impl Default for StreamState {
    fn default() -> StreamState {
        StreamState {
            generation: 1,
            sealed: 0,
            hash: [0; 32],
            sent: 0,
            published: 0,
            packed: 0,
            records: 0,
            folded: BTreeMap::new(),
            lists: String::new(),
            is_to_rewrite: false,
            forgotten_in: None,
            seen: BTreeMap::new(),
            replica_bytes: 0,
            head: String::new(),
            proofs: BTreeMap::new(),
            listing: Listing::default(),
            base: BaseState::default(),
        }
    }
}

/// What is known about a space between two exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceState {
    #[serde(default)]
    pub streams: BTreeMap<u32, StreamState>,
    #[serde(default)]
    pub pushed_at: Option<Timestamp>,
    #[serde(default)]
    pub pulled_at: Option<Timestamp>,
    /// What was wrong in the last exchange, for people.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Why the hub did not take or give anything the last time: it is full, or it refused.
    #[serde(default)]
    pub refused: Option<String>,
    /// Names of devices, as the chain says.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// Whether the hub keeps sealed bytes after they were removed.
    #[serde(default)]
    pub hub_keeps: bool,
}
