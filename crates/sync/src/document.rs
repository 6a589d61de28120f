//! The signed documents of a hub. Pure.
//!
//! A document is JSON followed by an Ed25519 signature of it for its place and name. The hub sees ids, numbers, hashes
//! and public keys; names of people and devices are sealed.

use std::collections::BTreeMap;

use cerberus_record::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::chain::{ChainState, id_of};
use super::crypto::{self, Key, SIGNATURE_BYTES, Secrets, hex};
use super::transport::Place;
pub use super::transport::{CHAIN, REQUEST, SPACE_PLACE};

/// The version of all documents.
pub const VERSION: u32 = 4;
const DOCUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The name of a document that spaces of the first format have.
pub const FIRST_FORMAT: &str = "space";

/// How far a stream goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    pub generation: u64,
    pub sequence: u64,
    /// Of the last batch; zeros if there is none.
    #[serde(with = "hex")]
    pub hash: Key,
}

/// The beginning of a stream.
impl Default for Reach {
    fn default() -> Reach {
        Reach { generation: 1, sequence: 0, hash: [0; 32] }
    }
}

impl Reach {
    fn bytes(&self) -> Vec<u8> {
        [self.generation.to_be_bytes().as_slice(), &self.sequence.to_be_bytes(), &self.hash].concat()
    }

    pub fn is_after(&self, other: &Reach) -> bool {
        (self.generation, self.sequence) > (other.generation, other.sequence)
    }
}

/// What a device says about its stream of a place, and about those of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub v: u32,
    pub reach: Reach,
    /// Of the reach alone, so that others can prove it.
    #[serde(with = "hex")]
    pub signature: [u8; SIGNATURE_BYTES],
    /// The clock of the device when it wrote this.
    pub at: Timestamp,
    /// How far it has read the others. A stream that is shown to us shorter than to somebody else is withheld from us.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, Reach>,
    /// Which list of recent heads it is in; 0 if the place has none. See `listing.rs`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub era: u64,
    /// What others signed that the hub does not show any more, or shows differently.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proofs: BTreeMap<String, Proof>,
    /// Of a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Pass>,
    /// The project is not shared any more; who has read it keeps it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_kept: bool,
}

impl Head {
    /// A head that says how far a stream of the device with these keys goes, and nothing else yet.
    pub fn of(secrets: &Secrets, place: &Place, device: &str, reach: Reach) -> Option<Head> {
        let Proof { reach, signature } = Proof::new(secrets, place, device, reach)?;
        let (at, seen, proofs) = (Timestamp::EPOCH, BTreeMap::new(), BTreeMap::new());
        Some(Head { v: VERSION, reach, signature, at, seen, era: 0, proofs, pass: None, is_kept: false })
    }

    /// The grant, if a container wrote it.
    pub fn by(&self) -> Option<&String> {
        self.pass.as_ref().map(|pass| &pass.by)
    }
}

fn is_none(era: &u64) -> bool {
    *era == 0
}

/// How far a stream goes, signed by its device: it proves that the device wrote that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub reach: Reach,
    #[serde(with = "hex")]
    pub signature: [u8; SIGNATURE_BYTES],
}

impl Proof {
    pub fn new(secrets: &Secrets, place: &Place, device: &str, reach: Reach) -> Option<Proof> {
        let signature = secrets.signature(&purpose(b"reach", place, device), &reach.bytes())?;
        Some(Proof { reach, signature })
    }

    pub fn holds(&self, sign: &Key, place: &Place, device: &str) -> bool {
        crypto::is_signed(sign, &purpose(b"reach", place, device), &self.reach.bytes(), &self.signature)
    }
}

/// What a container shows of itself: its key, signed with the key of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    #[serde(with = "hex")]
    pub sign: Key,
    /// The grant.
    pub by: String,
    #[serde(with = "hex")]
    pub signature: [u8; SIGNATURE_BYTES],
}

impl Pass {
    pub fn new(secrets: &Secrets, space: &str, project: &str, sign: Key) -> Option<Pass> {
        let signature = secrets.signature(&[b"pass", space.as_bytes(), project.as_bytes()], &sign)?;
        Some(Pass { sign, by: id_of(&secrets.sign_public()?), signature })
    }

    /// The key of this device in this project, if a grant that still counts was given for it.
    pub fn key(&self, trust: &ChainState, space: &str, project: &str, device: &str) -> Option<Key> {
        let grant = trust.grants.get(&self.by).map(|made| &made.grant).filter(|grant| grant.project == project)?;
        let purpose: [&[u8]; 3] = [b"pass", space.as_bytes(), project.as_bytes()];
        let is_signed = crypto::is_signed(&grant.sign, &purpose, &self.sign, &self.signature);
        (is_signed && id_of(&self.sign) == device).then_some(self.sign)
    }
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

/// Why a document is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    Forged,
    Newer,
    NotADocument,
}

fn purpose<'a>(what: &'a [u8], place: &'a Place, name: &'a str) -> [&'a [u8]; 4] {
    [what, place.space.as_bytes(), place.project.as_bytes(), name.as_bytes()]
}

/// The bytes of a signed document.
pub fn signed<T: Serialize>(secrets: &Secrets, place: &Place, name: &str, body: &T) -> Option<Vec<u8>> {
    let body = serde_json::to_vec(body).ok()?;
    let signature = secrets.signature(&purpose(b"document", place, name), &body)?;
    Some([body.as_slice(), &signature].concat())
}

/// The version that a document, or a key of containers, says it has.
pub fn version(json: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    serde_json::from_slice(json).map(|Version { v }| v).ok()
}

/// Whether a link, of whatever version, says that it follows the one with this number and hash.
pub fn follows(bytes: &[u8], number: u64, hash: &Key) -> bool {
    #[derive(Deserialize)]
    struct Follows {
        number: u64,
        #[serde(with = "hex")]
        previous: Key,
    }
    let body = &bytes[..bytes.len().saturating_sub(SIGNATURE_BYTES)];
    let follows = serde_json::from_slice::<Follows>(body);
    follows.is_ok_and(|next| Some(next.number) == number.checked_add(1) && next.previous == *hash)
}

/// Reads a document without believing it.
pub fn claimed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unusable> {
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(Unusable::NotADocument);
    }
    let length = bytes.len().checked_sub(SIGNATURE_BYTES).ok_or(Unusable::NotADocument)?;
    let body = &bytes[..length];
    if version(body).ok_or(Unusable::NotADocument)? > VERSION {
        return Err(Unusable::Newer);
    }
    serde_json::from_slice(body).map_err(|_| Unusable::NotADocument)
}

/// Reads a document of the device with this key.
pub fn verified<T: DeserializeOwned>(public: &Key, place: &Place, name: &str, bytes: &[u8]) -> Result<T, Unusable> {
    let read = claimed(bytes)?;
    if is_signed(public, place, name, bytes) { Ok(read) } else { Err(Unusable::Forged) }
}

/// Whether the device with this key signed a document.
pub fn is_signed(public: &Key, place: &Place, name: &str, bytes: &[u8]) -> bool {
    let length = bytes.len().saturating_sub(SIGNATURE_BYTES);
    let (body, signature) = bytes.split_at(length);
    crypto::is_signed(public, &purpose(b"document", place, name), body, signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        let reach = Reach { generation: 1, sequence: 2, hash: [3; 32] };
        let (seen, proofs) = (BTreeMap::new(), BTreeMap::new());
        Head {
            v: VERSION,
            reach,
            signature: [4; 64],
            at: Timestamp::EPOCH,
            seen,
            era: 0,
            proofs,
            pass: None,
            is_kept: false,
        }
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
