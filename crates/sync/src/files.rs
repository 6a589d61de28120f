//! The files in which this home keeps what it knows about sync.
//!
//! Everything is below `sync/` in the home, readable by its owner only. Names of files are numbers that this home gave.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use cerberus_os::device;
use cerberus_os::fault;
use cerberus_os::home::{Home, create_dir};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::chain::Chain;
use super::crypto::{Secrets, hex};
use super::local::{Device, Shared, Space, SpaceState, Spaces, StreamState};
use super::{Result, SyncError, at, random};

/// Of a file that this home wrote. What others may add to it is limited when it arrives.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;

/// The version of the file of spaces. Those of the first had no chain; the second wrapped keys in another way, and the
/// third handed one earlier key on.
const SPACES_VERSION: u32 = 4;

pub struct Files<'h> {
    pub(super) home: &'h Home,
}

impl<'h> Files<'h> {
    pub fn new(home: &'h Home) -> Files<'h> {
        Files { home }
    }

    /// Waits until no other process of this home exchanges anything.
    pub fn lock(&self) -> Result<File> {
        let path = self.path("lock");
        at(&path, self.home.lock(&path))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.sync_dir().join(name)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let path = self.path(name);
        let text = match self.home.text(&path, FILE_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => at(&path, text)?,
        };
        let read = serde_json::from_slice(text.as_bytes()).map(Some);
        read.map_err(|error| SyncError::Damaged { path, reason: error.to_string() })
    }

    fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let path = self.path(name);
        let written = serde_json::to_vec_pretty(value).map_err(io::Error::other).and_then(|bytes| {
            create_dir(&self.home.sync_dir())?;
            fault::point("sync-state")?;
            self.home.replace(&path, &bytes)
        });
        at(&path, written)
    }

    pub fn spaces(&self) -> Result<Spaces> {
        let file: Value = self.read("spaces.json")?.unwrap_or_default();
        let has_any = file["spaces"].as_array().is_some_and(|spaces| !spaces.is_empty());
        if has_any && file["v"].as_u64() < Some(SPACES_VERSION.into()) {
            return Err(SyncError::EarlierFormat);
        }
        Ok(self.read("spaces.json")?.unwrap_or_default())
    }

    /// The spaces to which one is added. Those of an earlier format are given up.
    pub fn spaces_to_extend(&self) -> Result<Spaces> {
        match self.spaces() {
            Err(SyncError::EarlierFormat) => {
                let next = self.read::<Value>("spaces.json")?.and_then(|file| file["next"].as_u64());
                let next = next.and_then(|next| u32::try_from(next).ok()).unwrap_or_default();
                Ok(Spaces { next, ..Spaces::default() })
            }
            spaces => spaces,
        }
    }

    pub fn save_spaces(&self, spaces: &Spaces) -> Result<()> {
        self.write("spaces.json", &Spaces { v: SPACES_VERSION, ..spaces.clone() })
    }

    /// The links of a space's chain that this device has seen.
    pub fn links(&self, space: &Space) -> Result<Vec<Vec<u8>>> {
        let links: Vec<String> = self.read(&format!("chain-{}.json", space.number))?.unwrap_or_default();
        Ok(links.iter().filter_map(|link| hex::bytes(link)).collect())
    }

    pub fn save_chain(&self, space: &Space, chain: &Chain) -> Result<()> {
        let links: Vec<String> = chain.links.iter().map(|shown| hex::text(&shown.bytes)).collect();
        self.write(&format!("chain-{}.json", space.number), &links)
    }

    pub fn state(&self, space: &Space) -> Result<SpaceState> {
        Ok(self.read(&format!("state-{}.json", space.number))?.unwrap_or_default())
    }

    /// Keys that were used count no more, so everything is sealed and sent once more.
    pub(super) fn send_again(&self, space: &Space) -> Result<()> {
        let mut state = self.state(space)?;
        state.streams.values_mut().for_each(|stream| stream.is_to_rewrite = true);
        self.save_state(space, &state)
    }

    pub fn save_state(&self, space: &Space, state: &SpaceState) -> Result<()> {
        self.write(&format!("state-{}.json", space.number), state)
    }

    /// Saves the state of one stream before anything of it is sent.
    pub fn save_stream(&self, space: &Space, shared: &Shared, stream: &StreamState) -> Result<()> {
        let mut state = self.state(space)?;
        state.streams.insert(shared.number, stream.clone());
        self.save_state(space, &state)
    }

    /// This device; makes its keys on first use.
    pub fn device(&self) -> Result<Device> {
        match self.read("device.json")? {
            Some(secrets) => self.named(secrets),
            None => self.new_device(),
        }
    }

    /// Makes new keys, and with them another device.
    pub fn new_device(&self) -> Result<Device> {
        let secrets = Secrets { sign: random()?, agree: random()? };
        self.write("device.json", &secrets)?;
        self.named(secrets)
    }

    /// The id of a device is the hash of its signing key, also in its own journal.
    fn named(&self, secrets: Secrets) -> Result<Device> {
        let made = Device::of(secrets)?;
        let (id, path) = (made.id, self.home.device());
        let named = device::id(self.home).and_then(|known| match known == id {
            true => Ok(()),
            false => self.home.replace(&path, id.to_string().as_bytes()),
        });
        at(&path, named)?;
        Ok(made)
    }
}
