//! Reads single lines of blocks, by their place or by their hash.

use std::collections::HashMap;
use std::rc::Rc;

use cerberus_agents::conversation::{Part, each_part};
use cerberus_os::home::Home;

use crate::error::ArchiveError;
use crate::index::{ArchiveIndex, PassagePlace};
use crate::segment::{self, BlockHead, BlockText};

/// Reads lines of blocks, and the lines they refer to. Keeps the blocks that it read last.
pub struct LineReader<'a> {
    home: &'a Home,
    index: &'a ArchiveIndex,
    known: HashMap<i64, Option<Rc<BlockText>>>,
    bytes: usize,
}

/// How much text of unpacked blocks a reader keeps, and of how many.
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;
const KEPT_BLOCKS_MAX: usize = 32;

impl<'a> LineReader<'a> {
    pub fn new(home: &'a Home, index: &'a ArchiveIndex) -> LineReader<'a> {
        LineReader { home, index, known: HashMap::new(), bytes: 0 }
    }

    /// A block by its number; `None` if it is gone or damaged.
    fn block(&mut self, id: i64) -> Result<Option<Rc<BlockText>>, ArchiveError> {
        if let Some(block) = self.known.get(&id) {
            return Ok(block.clone());
        }
        if self.known.len() >= KEPT_BLOCKS_MAX || self.bytes >= KEPT_BYTES_MAX {
            self.known.clear();
            self.bytes = 0;
        }
        let block = match self.index.block_place(id)? {
            Some(place) => segment::block_text(self.home, place)?.map(Rc::new),
            None => None,
        };
        self.bytes += block.as_ref().map_or(0, |block| block.bytes());
        self.known.insert(id, block.clone());
        Ok(block)
    }

    /// The line with this hash.
    pub fn line(&mut self, hash: u64) -> Result<Option<String>, ArchiveError> {
        let Some((id, number)) = self.index.line_place(hash)? else { return Ok(None) };
        Ok(self.block(id)?.and_then(|block| block.line(number).map(str::to_string)))
    }

    /// Whether the line with this hash is this text.
    pub fn is_line(&mut self, hash: u64, text: &str) -> Result<bool, ArchiveError> {
        let Some((id, number)) = self.index.line_place(hash)? else { return Ok(false) };
        Ok(self.block(id)?.is_some_and(|block| block.line(number) == Some(text)))
    }

    /// The part that a passage is in, and the head of its block.
    pub fn part(&mut self, place: &PassagePlace) -> Result<Option<(Part, BlockHead)>, ArchiveError> {
        let Some(block) = self.block(place.block)? else { return Ok(None) };
        let Some(value) = block.line(place.line).and_then(|line| serde_json::from_slice(line.as_bytes()).ok()) else {
            return Ok(None);
        };
        let (mut found, mut number) = (None, 0);
        each_part(&value, &mut |part| {
            if number == place.part {
                found = Some(part.into_owned());
            }
            number += 1;
        });
        Ok(found.map(|part| (part, block.head.clone())))
    }
}
