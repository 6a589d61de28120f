//! The files of the archive. A segment is a sequence of blocks; a block holds lines of one conversation, compressed, and
//! a head in plain JSON that says whose they are.
//!
//! A block is appended in one write and synced. Its checksum covers head and lines: what was cut off by a crash is
//! removed by the next writer, and what is damaged loses nothing but itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cerberus_agents::conversation::Call;
use cerberus_os::home::{Access, Home, create_dir};
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

use crate::error::ArchiveError;

const MAGIC: &[u8; 4] = b"CRB1";
/// Magic, length of the head, length of the lines, checksum.
const FRAME_BYTES: usize = 16;

/// How much text a block holds. A reader unpacks a block to show one line of it.
pub const BLOCK_TEXT_BYTES: usize = 128 * 1024;

/// No block is longer: one line may be.
const BLOCK_BYTES_MAX: usize = 64 * 1024 * 1024;

/// When a segment has this size, the next one begins.
pub const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;

const LEVEL: i32 = 6;

/// What a block holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockHead {
    pub agent: Agent,
    pub session: String,
    pub project: ProjectId,
    /// The root of the project.
    pub root: String,
    /// The transcript.
    pub source: String,
    /// Whether the source is the session's own transcript, not that of one of its subagents.
    pub is_main: bool,
    /// The bytes of the source that the block was made from.
    pub from: u64,
    pub to: u64,
    /// A hash of the source's bytes just before `to`: it may have been written anew.
    pub mark: u64,
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    /// The calls that have no result yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub open: BTreeMap<String, Call>,
    /// The size of the lines before compression.
    pub text_bytes: u64,
}

/// One block, unpacked.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub head: BlockHead,
    /// JSON lines of the transcript, or `=HASH` for a line that another block holds.
    pub lines: Vec<String>,
}

/// One block of which a few lines are wanted.
#[derive(Debug)]
pub struct BlockText {
    pub head: BlockHead,
    text: String,
}

impl BlockText {
    pub fn line(&self, number: usize) -> Option<&str> {
        self.lines().nth(number)
    }

    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines()
    }

    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    fn into_block(self) -> Block {
        Block { lines: self.lines().map(str::to_string).collect(), head: self.head }
    }
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockPlace {
    pub segment: u32,
    pub offset: u64,
    pub bytes: u64,
}

impl Block {
    pub fn pack(&self) -> Result<Vec<u8>, ArchiveError> {
        let mut text = self.lines.join("\n");
        text.push('\n');
        pack(&self.head, &text, &mut packer()?)
    }
}

/// A block with these lines, each of which ends with a line break.
pub fn pack(head: &BlockHead, text: &str, packer: &mut Compressor<'_>) -> Result<Vec<u8>, ArchiveError> {
    let head = serde_json::to_vec(&BlockHead { text_bytes: text.len() as u64, ..head.clone() })?;
    let head_end = FRAME_BYTES + head.len();
    // In place, because a line may be long.
    let mut packed = vec![0; head_end + compress_bound(text.len())];
    let line_bytes = packer.compress_to_buffer(text.as_bytes(), &mut packed[head_end..])?;
    packed.truncate(head_end + line_bytes);
    let checksum = checksum(&head, &packed[head_end..]);
    packed[..4].copy_from_slice(MAGIC);
    packed[4..8].copy_from_slice(&(head.len() as u32).to_le_bytes());
    packed[8..12].copy_from_slice(&(line_bytes as u32).to_le_bytes());
    packed[12..FRAME_BYTES].copy_from_slice(&checksum.to_le_bytes());
    packed[FRAME_BYTES..head_end].copy_from_slice(&head);
    Ok(packed)
}

/// Compresses lines. To make one takes longer than to use it.
pub fn packer() -> io::Result<Compressor<'static>> {
    Compressor::new(LEVEL)
}

fn checksum(head: &[u8], lines: &[u8]) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(head);
    hash.update(lines);
    hash.finalize()
}

/// Waits until no other process writes the archive.
pub fn lock(home: &Home) -> io::Result<File> {
    create_dir(&home.archive_dir())?;
    home.lock(&home.archive_dir().join("lock"))
}

/// The segments, oldest first.
pub fn segments(home: &Home) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(home.archive_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".segment"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

pub fn segment_path(home: &Home, number: u32) -> PathBuf {
    home.archive_dir().join(format!("{number:08}.segment"))
}

/// What is at one place of a segment.
pub enum FoundBlock {
    Block(BlockPlace, Box<Block>),
    /// Bytes that are no block, up to the next one or the end.
    Damaged {
        from: u64,
        to: u64,
    },
}

/// Reads a segment block by block, from an offset. Never more than one block is in memory.
pub fn each_block(
    home: &Home,
    number: u32,
    path: &Path,
    from: u64,
    mut take: impl FnMut(FoundBlock) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut file = home.open(path, Access::Read)?;
    let end = file.metadata()?.len();
    let mut at = from;
    while at < end {
        match read_at(&mut file, number, at)? {
            Some((place, block)) => {
                at += place.bytes;
                take(FoundBlock::Block(place, Box::new(block.into_block())))?;
            }
            None => {
                let next = next_block(&mut file, number, at + 1, end)?;
                take(FoundBlock::Damaged { from: at, to: next })?;
                at = next;
            }
        }
    }
    Ok(())
}

/// The block at a known place; `None` if it is damaged.
pub fn block(home: &Home, place: BlockPlace) -> Result<Option<Block>, ArchiveError> {
    Ok(block_text(home, place)?.map(BlockText::into_block))
}

pub fn block_text(home: &Home, place: BlockPlace) -> Result<Option<BlockText>, ArchiveError> {
    let mut file = match home.open(&segment_path(home, place.segment), Access::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    Ok(read_at(&mut file, place.segment, place.offset)?.map(|(_, block)| block))
}

/// Whether a segment ends here with the beginning of a block, as a killed writer leaves it. Anything else is damage.
pub fn is_torn(home: &Home, path: &Path, from: u64) -> io::Result<bool> {
    let mut file = home.open(path, Access::Read)?;
    let left = file.metadata()?.len().saturating_sub(from);
    file.seek(SeekFrom::Start(from))?;
    let mut frame = Vec::new();
    file.take(FRAME_BYTES as u64).read_to_end(&mut frame)?;
    let number = |at: usize| u64::from(u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]));
    let begins = MAGIC.iter().zip(&frame).all(|(magic, byte)| magic == byte);
    Ok(begins && (frame.len() < FRAME_BYTES || left < FRAME_BYTES as u64 + number(4) + number(8)))
}

fn read_at(
    file: &mut (impl Read + Seek),
    segment: u32,
    offset: u64,
) -> Result<Option<(BlockPlace, BlockText)>, ArchiveError> {
    file.seek(SeekFrom::Start(offset))?;
    let mut frame = [0; FRAME_BYTES];
    if let Err(error) = file.read_exact(&mut frame) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error.into()) };
    }
    let number = |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let (head_bytes, line_bytes) = (number(4) as usize, number(8) as usize);
    if &frame[..4] != MAGIC || head_bytes.saturating_add(line_bytes) > BLOCK_BYTES_MAX {
        return Ok(None);
    }
    let mut head = Vec::new();
    file.take((head_bytes + line_bytes) as u64).read_to_end(&mut head)?;
    if head.len() < head_bytes + line_bytes {
        return Ok(None);
    }
    let lines = head.split_off(head_bytes);
    if checksum(&head, &lines) != number(12) {
        return Ok(None);
    }
    let Ok(head) = serde_json::from_slice::<BlockHead>(&head) else { return Ok(None) };
    let Ok(text) = zstd::bulk::decompress(&lines, head.text_bytes.min(BLOCK_BYTES_MAX as u64) as usize) else {
        return Ok(None);
    };
    let Ok(text) = String::from_utf8(text) else { return Ok(None) };
    let bytes = (FRAME_BYTES + head_bytes + line_bytes) as u64;
    Ok(Some((BlockPlace { segment, offset, bytes }, BlockText { head, text })))
}

/// Where the next whole block begins, or the end.
fn next_block(file: &mut (impl Read + Seek), segment: u32, from: u64, end: u64) -> Result<u64, ArchiveError> {
    let mut at = from;
    let mut bytes = vec![0; 1024 * 1024];
    while at < end {
        file.seek(SeekFrom::Start(at))?;
        let read = file.read(&mut bytes)?;
        if read < MAGIC.len() {
            return Ok(end);
        }
        for found in (0..=read - MAGIC.len()).filter(|found| bytes[*found..].starts_with(MAGIC)) {
            if read_at(file, segment, at + found as u64)?.is_some() {
                return Ok(at + found as u64);
            }
        }
        at += (read - MAGIC.len() + 1) as u64;
    }
    Ok(end)
}
