//! What the archive has, and the lines of one conversation.

use cerberus_os::home::Home;
use cerberus_record::id::Agent;

use crate::clean::with_name;
use crate::conversation::Conversation;
use crate::error::ArchiveError;
use crate::index::{ArchiveIndex, LineReader, referred};
use crate::segment;

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

/// The cleaned lines of one of a conversation's transcripts, in their order. They are the agent's own JSON, so that the
/// transcript can be put back: secrets are `[redacted:…]`, contents of files are `[not kept: …]`, and signatures and
/// encrypted thoughts are left out.
pub fn lines(
    home: &Home,
    conversation: &Conversation,
    source: usize,
    take: &mut dyn FnMut(&str),
) -> Result<(), ArchiveError> {
    let Some(index) = ArchiveIndex::open(home)? else { return Ok(()) };
    let wanted = conversation.sources.get(source).map(|path| path.to_string_lossy().into_owned());
    let mut reader = LineReader::new(home, &index);
    for (place, of, _) in index.blocks_of(conversation.agent, &conversation.session)? {
        if Some(of) != wanted {
            continue;
        }
        let Some(block) = segment::block(home, place)? else { continue };
        for line in block.lines {
            let line = match referred(&line) {
                Some(hash) => reader.line(hash)?,
                None => Some(line),
            };
            if let Some(line) = line {
                take(&with_name(&line, &conversation.session));
            }
        }
    }
    Ok(())
}
