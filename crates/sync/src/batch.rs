//! A batch: up to 500 records of one stream, compressed and sealed. Pure: the salt is an argument.
//!
//! It begins with `CBB`, the version, and the header as a line of JSON, which is readable and authenticated. The body is one
//! line per record: its sequence number, a space, its JSON.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use super::crypto::{self, Key, Salt, TAG_BYTES, hex};
use super::transport::Stream;

pub const RECORDS_MAX: usize = 500;
pub const SEALED_BYTES_MAX: usize = 1024 * 1024;
/// No header, with what stands before it, is longer.
const HEADER_BYTES_MAX: usize = 512;
const MAGIC: &[u8] = b"CBB";
const VERSION: u8 = 2;
const KEY_ID_BYTES: usize = 8;
/// What a batch may grow to when it is opened.
const PLAIN_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The largest record that is sent and stored.
pub const RECORD_BYTES_MAX: usize = 64 * 1024;
/// A record with names of what was forgotten, and a memory that applies everywhere, may be larger.
pub const SPACE_RECORD_BYTES_MAX: usize = 256 * 1024;

/// What a line has besides its JSON: a number, a space, a line break.
const LINE_BYTES_MAX: u64 = 22;

pub type KeyId = [u8; KEY_ID_BYTES];

/// The key of one project in one epoch of a space. It follows from the key of the space, so that a container can be
/// given one project without the others.
#[derive(Clone, PartialEq, Eq)]
pub struct ProjectKey {
    pub epoch: u32,
    pub key: Key,
}

impl std::fmt::Debug for ProjectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProjectKey of epoch {}", self.epoch)
    }
}

impl ProjectKey {
    pub fn of(space_key: &Key, epoch: u32, space: &str, project: &str) -> ProjectKey {
        let purpose = [b"project".as_slice(), space.as_bytes(), project.as_bytes()];
        ProjectKey { epoch, key: crypto::derive(space_key, b"", &purpose) }
    }

    /// Says which key it is and nothing about it.
    pub fn id(&self) -> KeyId {
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&crypto::mac(&self.key, &[b"id"])[..KEY_ID_BYTES]);
        id
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Of the key of the project, and which key that is.
    pub epoch: u32,
    #[serde(with = "hex")]
    pub key: KeyId,
    pub generation: u64,
    /// From 1.
    pub sequence: u64,
    /// The number of records.
    pub count: usize,
    /// The hash of the batch before it in this generation, or zeros.
    #[serde(with = "hex")]
    pub previous: Key,
    #[serde(with = "hex")]
    pub salt: Salt,
}

/// A record on its way: its place in its device's journal, and its JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub seq: u64,
    pub json: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    #[error("not a batch")]
    NotABatch,
    #[error("written by a newer version of Cerberus (batch format {0})")]
    NewerVersion(u8),
    #[error("sealed with a key that this device does not have")]
    UnknownKey,
    #[error("not sealed with this space's key for this place, or damaged")]
    NotSealed,
    #[error("its contents are not what its header says")]
    Contents,
}

/// The position of a batch in its stream, and what follows from the one before.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    pub generation: u64,
    pub sequence: u64,
    pub previous: Key,
}

/// Seals the first of these entries: as many as fit. Returns the bytes and how many. `None` if not even one fits.
pub fn seal(
    key: &ProjectKey,
    stream: &Stream,
    position: Position,
    salt: Salt,
    entries: &[Entry],
) -> Option<(Vec<u8>, usize)> {
    let mut plain_bytes = 0;
    let fits = |entry: &&Entry| {
        plain_bytes += LINE_BYTES_MAX + entry.json.len() as u64;
        plain_bytes < PLAIN_BYTES_MAX
    };
    let mut count = entries.iter().take(RECORDS_MAX).take_while(fits).count();
    while count > 0 {
        let body = deflated(&entries[..count])?;
        if HEADER_BYTES_MAX + body.len() + TAG_BYTES <= SEALED_BYTES_MAX {
            let Position { generation, sequence, previous } = position;
            let header = Header { epoch: key.epoch, key: key.id(), generation, sequence, count, previous, salt };
            let head = [MAGIC, &[VERSION], &serde_json::to_vec(&header).ok()?, b"\n"].concat();
            let sealed = crypto::seal(&body_key(key, stream, &header), &head, body)?;
            return Some(([head, sealed].concat(), count));
        }
        count /= 2;
    }
    None
}

/// Reads the header. Returns it with its bytes, and what is sealed.
pub fn header(bytes: &[u8]) -> Result<(Header, &[u8], &[u8]), BatchError> {
    match bytes.strip_prefix(MAGIC).and_then(<[u8]>::first) {
        Some(&VERSION) if bytes.len() <= SEALED_BYTES_MAX => {}
        Some(other) if *other != VERSION => return Err(BatchError::NewerVersion(*other)),
        _ => return Err(BatchError::NotABatch),
    }
    let end = bytes.iter().take(HEADER_BYTES_MAX).position(|byte| *byte == b'\n').ok_or(BatchError::NotABatch)?;
    let (head, sealed) = bytes.split_at(end + 1);
    let header = serde_json::from_slice(&head[MAGIC.len() + 1..]).map_err(|_| BatchError::NotABatch)?;
    Ok((header, head, sealed))
}

/// Opens a batch of this stream with one of these keys.
pub fn open(keys: &[ProjectKey], stream: &Stream, bytes: &[u8]) -> Result<(Header, Vec<Entry>), BatchError> {
    let (header, head, sealed) = header(bytes)?;
    let key = keys.iter().find(|key| key.id() == header.key && key.epoch == header.epoch);
    let key = key.ok_or(BatchError::UnknownKey)?;
    let body = crypto::open(&body_key(key, stream, &header), head, sealed.to_vec());
    let entries = inflated(&body.ok_or(BatchError::NotSealed)?).ok_or(BatchError::Contents)?;
    let is_right = (1..=RECORDS_MAX).contains(&entries.len()) && entries.len() == header.count;
    if is_right { Ok((header, entries)) } else { Err(BatchError::Contents) }
}

fn body_key(key: &ProjectKey, stream: &Stream, header: &Header) -> Key {
    let purpose: [&[u8]; 6] = [
        b"batch",
        stream.place.space.as_bytes(),
        stream.place.project.as_bytes(),
        stream.device.as_bytes(),
        &header.generation.to_be_bytes(),
        &header.sequence.to_be_bytes(),
    ];
    crypto::derive(&key.key, &header.salt, &purpose)
}

/// Compresses entries as they are written in a batch.
pub fn deflated(entries: &[Entry]) -> Option<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    for entry in entries {
        encoder.write_all(format!("{} ", entry.seq).as_bytes()).ok()?;
        encoder.write_all(entry.json.as_bytes()).ok()?;
        encoder.write_all(b"\n").ok()?;
    }
    encoder.finish().ok()
}

/// Reads entries back. Never more than a fixed number of bytes, whatever the input says.
pub fn inflated(body: &[u8]) -> Option<Vec<Entry>> {
    let mut text = String::new();
    let mut reader = DeflateDecoder::new(body).take(PLAIN_BYTES_MAX);
    reader.read_to_string(&mut text).ok()?;
    if text.len() as u64 == PLAIN_BYTES_MAX {
        return None;
    }
    let entry = |line: &str| {
        let (seq, json) = line.split_once(' ')?;
        Some(Entry { seq: seq.parse().ok()?, json: json.to_string() })
    };
    text.lines().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::super::transport::Place;
    use super::*;

    fn stream(device: &str) -> Stream {
        Stream { place: Place { space: "s".to_string(), project: "p".to_string() }, device: device.to_string() }
    }

    fn key() -> ProjectKey {
        ProjectKey::of(&[3; 32], 1, "s", "p")
    }

    fn entries(count: u64) -> Vec<Entry> {
        (1..=count).map(|seq| Entry { seq, json: format!("{{\"text\":\"record {seq}\"}}") }).collect()
    }

    const POSITION: Position = Position { generation: 2, sequence: 7, previous: [9; 32] };

    #[test]
    fn a_batch_is_read_back_by_the_same_key_for_the_same_place_only() {
        let (bytes, count) = seal(&key(), &stream("a"), POSITION, [1; 16], &entries(3)).unwrap();
        assert_eq!(count, 3);
        let (header, found) = open(&[key()], &stream("a"), &bytes).unwrap();
        assert_eq!((header.generation, header.sequence, header.count, header.previous), (2, 7, 3, [9; 32]));
        assert_eq!(found, entries(3));
        assert_eq!(open(&[key()], &stream("b"), &bytes), Err(BatchError::NotSealed), "another device's stream");
        let other = ProjectKey::of(&[4; 32], 1, "s", "p");
        assert_eq!(open(&[other], &stream("a"), &bytes), Err(BatchError::UnknownKey));
        assert_ne!(ProjectKey::of(&[3; 32], 1, "s", "q"), key(), "another project has another key");
    }

    #[test]
    fn the_same_batch_is_the_same_bytes_and_any_changed_byte_is_noticed() {
        let sealed = || seal(&key(), &stream("a"), POSITION, [1; 16], &entries(2)).unwrap().0;
        let bytes = sealed();
        assert_eq!(bytes, sealed());
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(open(&[key()], &stream("a"), &changed).is_err(), "byte {at}");
            assert!(open(&[key()], &stream("a"), &bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_newer_version_is_told_apart_from_damage() {
        let (mut bytes, _) = seal(&key(), &stream("a"), POSITION, [1; 16], &entries(1)).unwrap();
        bytes[3] = 3;
        assert_eq!(open(&[key()], &stream("a"), &bytes), Err(BatchError::NewerVersion(3)));
        assert_eq!(open(&[key()], &stream("a"), b"CB"), Err(BatchError::NotABatch));
    }

    #[test]
    fn batches_are_bounded_in_records_and_bytes() {
        let (_, count) = seal(&key(), &stream("a"), POSITION, [1; 16], &entries(900)).unwrap();
        assert_eq!(count, RECORDS_MAX);
        // Random text does not compress.
        let mut state = 1_u64;
        let mut noise = |length: usize| -> String {
            (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    char::from(b' ' + (state >> 57) as u8 % 90)
                })
                .collect()
        };
        let large: Vec<Entry> = (1..=8).map(|seq| Entry { seq, json: noise(400_000) }).collect();
        let (bytes, count) = seal(&key(), &stream("a"), POSITION, [1; 16], &large).unwrap();
        assert!(bytes.len() <= SEALED_BYTES_MAX && (1..8).contains(&count), "{count} in {}", bytes.len());
        let huge = [Entry { seq: 1, json: noise(3_000_000) }];
        assert_eq!(seal(&key(), &stream("a"), POSITION, [1; 16], &huge), None);
    }

    #[test]
    fn what_inflates_without_end_is_refused() {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        for _ in 0..9 {
            encoder.write_all(&vec![b'x'; 1024 * 1024]).unwrap();
        }
        assert_eq!(inflated(&encoder.finish().unwrap()), None);
    }
}
