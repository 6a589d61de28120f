//! A batch: up to 500 records of one stream, compressed and sealed. Its header is readable and authenticated.
//!
//! | bytes | field |
//! |---|---|
//! | 3 + 1 | `CBB`, the version |
//! | 4 | epoch of the key |
//! | 8 | id of the project's key |
//! | 8 | generation |
//! | 8 | sequence, from 1 |
//! | 8 | place of the first record |
//! | 4 | number of records |
//! | 32 | hash of the previous batch of this generation, or zeros |
//! | 16 | salt |
//!
//! The body is one line per record: its sequence number, a space, its JSON. Pure: the salt is an argument.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::crypto::{self, KEY_BYTES, Key, SALT_BYTES, Salt, TAG_BYTES};
use super::transport::Stream;

pub const RECORDS_MAX: usize = 500;
pub const SEALED_BYTES_MAX: usize = 1024 * 1024;
const HEADER_BYTES: usize = 3 + 1 + 4 + KEY_ID_BYTES + 8 + 8 + 8 + 4 + KEY_BYTES + SALT_BYTES;
const MAGIC: &[u8] = b"CBB";
const VERSION: u8 = 1;
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub epoch: u32,
    pub key: KeyId,
    pub generation: u64,
    pub sequence: u64,
    pub first: u64,
    pub count: u32,
    pub previous: Key,
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
        if HEADER_BYTES + body.len() + TAG_BYTES <= SEALED_BYTES_MAX {
            let (Position { generation, sequence, previous }, first) = (position, entries[0].seq);
            let (epoch, key_id, count) = (key.epoch, key.id(), count as u32);
            let header = Header { epoch, key: key_id, generation, sequence, first, count, previous, salt };
            let header_bytes = header.bytes();
            let sealed = crypto::seal(&body_key(key, stream, &header), &header_bytes, body)?;
            return Some(([header_bytes, sealed].concat(), count as usize));
        }
        count /= 2;
    }
    None
}

/// Reads the header alone.
pub fn header(bytes: &[u8]) -> Result<Header, BatchError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(BatchError::NotABatch)?;
    match rest.first() {
        Some(&VERSION) => {}
        Some(other) => return Err(BatchError::NewerVersion(*other)),
        None => return Err(BatchError::NotABatch),
    }
    if bytes.len() < HEADER_BYTES + TAG_BYTES || bytes.len() > SEALED_BYTES_MAX {
        return Err(BatchError::NotABatch);
    }
    let mut reader = BatchReader { bytes: &rest[1..] };
    let mut header = || -> Option<Header> {
        Some(Header {
            epoch: u32::from_be_bytes(reader.array()?),
            key: reader.array()?,
            generation: u64::from_be_bytes(reader.array()?),
            sequence: u64::from_be_bytes(reader.array()?),
            first: u64::from_be_bytes(reader.array()?),
            count: u32::from_be_bytes(reader.array()?),
            previous: reader.array()?,
            salt: reader.array()?,
        })
    };
    header().ok_or(BatchError::NotABatch)
}

/// Opens a batch of this stream with one of these keys.
pub fn open(keys: &[ProjectKey], stream: &Stream, bytes: &[u8]) -> Result<(Header, Vec<Entry>), BatchError> {
    let header = header(bytes)?;
    let key = keys.iter().find(|key| key.id() == header.key && key.epoch == header.epoch);
    let key = key.ok_or(BatchError::UnknownKey)?;
    let (header_bytes, sealed) = bytes.split_at(HEADER_BYTES);
    let body = crypto::open(&body_key(key, stream, &header), header_bytes, sealed.to_vec());
    let entries = inflated(&body.ok_or(BatchError::NotSealed)?).ok_or(BatchError::Contents)?;
    let is_right = entries.len() == header.count as usize
        && entries.len() <= RECORDS_MAX
        && entries.first().is_some_and(|first| first.seq == header.first);
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

impl Header {
    fn bytes(&self) -> Vec<u8> {
        let (generation, sequence) = (self.generation.to_be_bytes(), self.sequence.to_be_bytes());
        let (epoch, first, count) = (self.epoch.to_be_bytes(), self.first.to_be_bytes(), self.count.to_be_bytes());
        let fields: [&[u8]; 8] =
            [&epoch, &self.key, &generation, &sequence, &first, &count, &self.previous, &self.salt];
        [MAGIC, &[VERSION], &fields.concat()].concat()
    }
}

struct BatchReader<'a> {
    bytes: &'a [u8],
}

impl BatchReader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_at_checked(N)?;
        self.bytes = rest;
        first.try_into().ok()
    }
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
        assert_eq!((header.generation, header.sequence, header.first, header.previous), (2, 7, 1, [9; 32]));
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
        bytes[3] = 2;
        assert_eq!(open(&[key()], &stream("a"), &bytes), Err(BatchError::NewerVersion(2)));
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
