//! What links of the chain say. Nothing here is believed yet.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::crypto::{self, Key, SIGNATURE_BYTES, hex};

/// Signs in the name of the recovery key.
pub const RECOVERY: &str = "recovery";

/// The public keys of a device, or of the recovery code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    #[serde(with = "hex")]
    pub sign: Key,
    #[serde(with = "hex")]
    pub agree: Key,
}

/// The id of whoever signs with a key.
pub fn id_of(sign: &Key) -> String {
    hex::text(&crypto::sha256(&[b"device", sign])[..8])
}

/// A device as a link adds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberDevice {
    pub keys: Keys,
    /// What the device or its owner is called, sealed for the space.
    pub name: String,
    /// The keys for names of what it forgot before it joined, sealed for the space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub names: String,
}

/// The beginning of an epoch: a new key of the space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    pub number: u32,
    /// Says which key it is and nothing about it.
    #[serde(with = "hex")]
    pub check: Key,
    /// Member to the key, wrapped for it.
    pub to: BTreeMap<String, String>,
    /// The keys of the epochs before, sealed with this one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
}

/// What containers of one project may do with the key that belongs to it: read and append there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    #[serde(with = "hex")]
    pub sign: Key,
    /// The project, as the hub knows it.
    pub project: String,
    /// Sealed for the space.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainChange {
    Found {
        recovery: Keys,
        first: MemberDevice,
        epoch: Epoch,
        /// What only members know about the space, sealed with the first key.
        sealed: String,
    },
    Add {
        device: MemberDevice,
        /// The key of the epoch, wrapped for it.
        key: String,
        /// Proves to it that whoever lets it in knows its pairing code. Empty if it needs no proof.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        welcome: String,
    },
    Remove {
        gone: BTreeSet<String>,
        /// Whom they let in, and who stays.
        let_in: BTreeSet<String>,
        epoch: Epoch,
    },
    Leave,
    Rotate(Epoch),
    Grant(Grant),
    Recovery {
        recovery: Keys,
        key: String,
        /// The new key's signature of the link before.
        #[serde(with = "hex")]
        confirmed: [u8; SIGNATURE_BYTES],
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub v: u32,
    pub number: u64,
    /// The hash of the link before; zeros in the first.
    #[serde(with = "hex")]
    pub previous: Key,
    /// Who signs it.
    pub by: String,
    pub change: ChainChange,
}

impl Link {
    /// Whether it lets a device in, or founds the space with it.
    pub fn is_adding(&self, id: &str) -> bool {
        match &self.change {
            ChainChange::Found { first: device, .. } | ChainChange::Add { device, .. } => {
                id_of(&device.keys.sign) == id
            }
            _ => false,
        }
    }
}

/// A link as it was shown. It is not believed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownLink {
    pub link: Link,
    pub hash: Key,
    pub bytes: Vec<u8>,
}

/// Why a link is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefusal {
    #[error("it does not follow the link before it")]
    NotNext,
    #[error("{0} may not make this change")]
    NotEntitled(String),
    #[error("it is not signed by {0}")]
    NotSigned(String),
    #[error("{0} was in this space before")]
    Known(String),
    #[error("{0} is not in this space")]
    Unknown(String),
    #[error("its key is not the next one, or not for the members it leaves")]
    WrongEpoch,
    #[error("it does not name whom the removed devices let in")]
    Unnamed,
    #[error("a part of it is too long")]
    TooLong,
    #[error("the space has as many devices, or as many changes, as it may have")]
    Full,
}
