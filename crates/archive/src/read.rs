//! What the archive has, and the lines of one conversation.

use std::collections::HashSet;
use std::path::Path;

use cerberus_os::home::Home;
use cerberus_record::id::Agent;

use crate::clean::with_name;
use crate::conversation::Conversation;
use crate::error::ArchiveError;
use crate::index::{ArchiveIndex, referred};
use crate::lines::LineReader;
use crate::segment;
use crate::terms::line_hash;

/// What the archive has of a session; `None` if nothing.
pub fn find(home: &Home, agent: Agent, session: &str) -> Result<Option<Conversation>, ArchiveError> {
    match ArchiveIndex::open(home)? {
        Some(index) => Ok(index.conversations(Some((agent, session)))?.pop()),
        None => Ok(None),
    }
}

/// Everything that the archive has, newest first.
pub fn conversations(home: &Home) -> Result<Vec<Conversation>, ArchiveError> {
    ArchiveIndex::open(home)?.map_or(Ok(Vec::new()), |index| index.conversations(None))
}

/// How many bytes of the archive cannot be read, and how many are not in its index.
pub fn faults(home: &Home) -> Result<(u64, u64), ArchiveError> {
    let Some(index) = ArchiveIndex::open(home)? else { return Ok((0, 0)) };
    Ok((index.damaged_bytes()?, index.missing_bytes(home)?))
}

/// The cleaned lines of a conversation, in their order, without those of its subagents. They are the agent's own JSON, so
/// that the transcript can be put back: secrets are `[redacted:…]`, contents of files are `[not kept: …]`, and signatures
/// and encrypted thoughts are left out.
pub fn lines(home: &Home, conversation: &Conversation, take: &mut dyn FnMut(&str)) -> Result<(), ArchiveError> {
    let Some((newest, older)) = conversation.own_sources.split_first() else { return Ok(()) };
    if older.is_empty() {
        return lines_of(home, conversation, newest, take);
    }
    // The newest is a copy that went on, or it begins where an older one ends.
    let mut known = HashSet::new();
    lines_of(home, conversation, newest, &mut |line| {
        known.insert(line_hash(line));
    })?;
    for source in older.iter().rev() {
        lines_of(home, conversation, source, &mut |line| {
            if known.insert(line_hash(line)) {
                take(line);
            }
        })?;
    }
    lines_of(home, conversation, newest, take)
}

/// Those of one of its transcripts.
pub fn lines_of(
    home: &Home,
    conversation: &Conversation,
    source: &Path,
    take: &mut dyn FnMut(&str),
) -> Result<(), ArchiveError> {
    let Some(index) = ArchiveIndex::open(home)? else { return Ok(()) };
    let mut reader = LineReader::new(home, &index);
    for (place, of, _) in index.blocks_of(conversation.agent, &conversation.session)? {
        if Path::new(&of) != source {
            continue;
        }
        let Some(block) = segment::block_text(home, place)? else { continue };
        for line in block.lines() {
            match referred(line) {
                Some(hash) => reader.line(hash)?.iter().for_each(|line| take(&with_name(line, &conversation.session))),
                None => take(&with_name(line, &conversation.session)),
            }
        }
    }
    Ok(())
}
