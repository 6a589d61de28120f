//! The signed documents of a hub: heads, cards, and the description of a space. Pure.
//!
//! A document is JSON followed by an Ed25519 signature of it for its place and name. The hub sees ids, numbers, hashes
//! and public keys; names of people and devices are sealed.

use std::collections::BTreeMap;

use cerberus_record::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::crypto::{self, Key, SIGNATURE_BYTES, Secrets, hex};
use super::transport::Place;

/// The version of all documents.
pub const VERSION: u32 = 1;
const DOCUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The place of the documents of the space itself.
pub const SPACE_PLACE: &str = "space";
/// The name of the document that describes the space.
pub const SPACE_DOCUMENT: &str = "space";
/// Begins the name of a device's card, which ends with the device's id.
pub const CARD: &str = "card-";
/// Begins the name of a request to be let in.
pub const REQUEST: &str = "request-";

/// How far a stream goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    pub generation: u64,
    pub sequence: u64,
    /// Of the last batch; zeros if there is none.
    #[serde(with = "hex")]
    pub hash: Key,
}

impl Reach {
    pub fn is_after(&self, other: &Reach) -> bool {
        (self.generation, self.sequence) > (other.generation, other.sequence)
    }
}

/// What a device says about its stream of a place, and about those of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub v: u32,
    pub reach: Reach,
    /// The clock of the device when it wrote this.
    pub at: Timestamp,
    /// How far it has read the others. A stream that is shown to us shorter than to somebody else is withheld from us.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, Reach>,
    /// Which list of recent heads it is in; 0 if the place has none. See `listing.rs`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub era: u64,
    /// Of a device that has no card of its own in the space: a container, or the copy of a home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
}

impl Head {
    /// Who vouches for the device, if it has no card of its own in the space.
    pub fn by(&self) -> Option<&String> {
        self.card.as_ref().map(|card| &card.by)
    }
}

fn is_none(era: &u64) -> bool {
    *era == 0
}

/// The public part of a device, vouched for by another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    pub device: String,
    #[serde(with = "hex")]
    pub sign: Key,
    #[serde(with = "hex")]
    pub agree: Key,
    /// What the device or its owner is called, sealed for the space.
    #[serde(default)]
    pub name: String,
    /// May only read and write this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Nobody works on it: it stands for the recovery code, or for a key that is given to containers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_key: bool,
    /// Who let it in, and that device's signature.
    pub by: String,
    #[serde(with = "hex")]
    pub certificate: [u8; SIGNATURE_BYTES],
}

impl Card {
    /// What the certificate signs.
    fn claims(&self) -> Vec<u8> {
        let project = self.project.as_deref().unwrap_or_default();
        let is_key = if self.is_key { "key" } else { "" };
        let texts = [self.device.as_str(), self.by.as_str(), project, is_key];
        let texts: Vec<u8> = texts.iter().flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect();
        [texts.as_slice(), &self.sign, &self.agree].concat()
    }

    /// Signed by the device that lets it in.
    pub fn certified(mut self, space: &str, secrets: &Secrets) -> Option<Card> {
        self.certificate = secrets.signature(&[b"card", space.as_bytes()], &self.claims())?;
        Some(self)
    }

    pub fn is_certified(&self, space: &str, by: &Key) -> bool {
        crypto::is_signed(by, &[b"card", space.as_bytes()], &self.claims(), &self.certificate)
    }
}

/// A device that was removed, and those of the ones it let in that remain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    pub device: String,
    #[serde(default)]
    pub keeps: Vec<String>,
}

/// A key of the space, wrapped for devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrapped {
    pub epoch: u32,
    /// Which key it is: two devices may begin the same epoch.
    pub id: String,
    /// Device to wrapped key, in hexadecimal digits.
    pub to: BTreeMap<String, String>,
}

/// The document of a device in the space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Papers {
    pub v: u32,
    pub card: Card,
    #[serde(default)]
    pub removed: Vec<Removal>,
    #[serde(default)]
    pub keys: Vec<Wrapped>,
    /// Device to what it needs to know when it is let in, wrapped.
    #[serde(default)]
    pub welcome: BTreeMap<String, String>,
    /// The keys for names of what this device forgot before it joined, sealed for the space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub names: String,
}

/// The document that describes the space, signed by the device that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Founding {
    pub v: u32,
    pub device: String,
    #[serde(with = "hex")]
    pub sign: Key,
    /// Says whether a key is the key of this space.
    #[serde(with = "hex")]
    pub check: Key,
    /// Says whether a recovery code belongs to this space.
    #[serde(with = "hex")]
    pub recovery: Key,
    /// A [`Secret`], sealed with the first key of the space.
    pub sealed: String,
}

/// What only the devices of a space know about it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// The name of the team; `None` for the user's own devices.
    pub team: Option<String>,
    /// The key for the names of forgotten records.
    #[serde(with = "hex")]
    pub names: Key,
}

impl Founding {
    pub fn check_of(key: &Key, space: &str) -> Key {
        crypto::mac(key, &[b"check", space.as_bytes()])
    }

    pub fn recovery_of(secret: &[u8], space: &str, device: &str, sign: &Key) -> Key {
        let key = crypto::derive(secret, b"", &[b"recovery"]);
        crypto::mac(&key, &[b"founder", space.as_bytes(), device.as_bytes(), sign])
    }
}

/// Why a document is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    Forged,
    Newer,
    NotADocument,
}

fn purpose<'a>(place: &'a Place, name: &'a str) -> [&'a [u8]; 4] {
    [b"document", place.space.as_bytes(), place.project.as_bytes(), name.as_bytes()]
}

/// The bytes of a signed document.
pub fn signed<T: Serialize>(secrets: &Secrets, place: &Place, name: &str, body: &T) -> Option<Vec<u8>> {
    let body = serde_json::to_vec(body).ok()?;
    let signature = secrets.signature(&purpose(place, name), &body)?;
    Some([body.as_slice(), &signature].concat())
}

/// Reads a document without believing it.
pub fn claimed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unusable> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(Unusable::NotADocument);
    }
    let length = bytes.len().checked_sub(SIGNATURE_BYTES).ok_or(Unusable::NotADocument)?;
    let body = &bytes[..length];
    let version: Version = serde_json::from_slice(body).map_err(|_| Unusable::NotADocument)?;
    if version.v > VERSION {
        return Err(Unusable::Newer);
    }
    serde_json::from_slice(body).map_err(|_| Unusable::NotADocument)
}

/// Reads a document of the device with this key.
pub fn verified<T: DeserializeOwned>(public: &Key, place: &Place, name: &str, bytes: &[u8]) -> Result<T, Unusable> {
    let read = claimed(bytes)?;
    let (body, signature) = bytes.split_at(bytes.len() - SIGNATURE_BYTES);
    match crypto::is_signed(public, &purpose(place, name), body, signature) {
        true => Ok(read),
        false => Err(Unusable::Forged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        let reach = Reach { generation: 1, sequence: 2, hash: [3; 32] };
        Head { v: VERSION, reach, at: Timestamp::EPOCH, seen: BTreeMap::new(), era: 0, card: None }
    }

    #[test]
    fn a_document_is_believed_for_one_key_place_and_name() {
        let secrets = Secrets::of(b"one");
        let public = secrets.sign_public().unwrap();
        let place = Place { space: "s".to_string(), project: "p".to_string() };
        let bytes = signed(&secrets, &place, "a", &head()).unwrap();
        assert_eq!(verified::<Head>(&public, &place, "a", &bytes), Ok(head()));
        assert_eq!(verified::<Head>(&public, &place, "b", &bytes), Err(Unusable::Forged));
        let elsewhere = Place { project: "q".to_string(), ..place.clone() };
        assert_eq!(verified::<Head>(&public, &elsewhere, "a", &bytes), Err(Unusable::Forged));
        let other = Secrets::of(b"other").sign_public().unwrap();
        assert_eq!(verified::<Head>(&other, &place, "a", &bytes), Err(Unusable::Forged));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(verified::<Head>(&public, &place, "a", &changed).is_err(), "byte {at}");
            assert!(verified::<Head>(&public, &place, "a", &bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_newer_document_is_told_apart() {
        let secrets = Secrets::of(b"one");
        let place = Place { space: "s".to_string(), project: "p".to_string() };
        let bytes = signed(&secrets, &place, "a", &serde_json::json!({ "v": VERSION + 1, "new": true })).unwrap();
        assert_eq!(claimed::<Head>(&bytes), Err(Unusable::Newer));
        assert_eq!(claimed::<Head>(&[0; 100]), Err(Unusable::NotADocument));
        assert_eq!(claimed::<Head>(b""), Err(Unusable::NotADocument));
    }
}
