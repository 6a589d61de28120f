//! How far transcripts had been read when something was forgotten of them. Where damage takes their blocks, they are read
//! again, and what is not newer does not come back: it is not known any more which of it was forgotten.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use cerberus_os::home::Home;
use cerberus_record::id::fnv1a;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::ArchiveError;
use crate::index::ArchiveIndex;
use crate::reading::Source;
use crate::segment::{self, BlockHead, BlockPlace};

/// Stays when the archive is deleted.
pub(crate) const FILE: &str = "reached.json";

/// More than a list of transcripts has.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Times differ by no less.
const INSTANT: Duration = Duration::from_millis(1);

/// By the hash of session and transcript: which they are is nobody's business.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reached {
    sources: BTreeMap<String, ReachedPlace>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ReachedPlace {
    to: u64,
    last_at: Option<Timestamp>,
}

impl Reached {
    pub fn read(home: &Home) -> Result<Reached, ArchiveError> {
        match home.text(&home.archive_dir().join(FILE), BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Reached::default()),
            text => Ok(serde_json::from_slice(text?.as_bytes()).unwrap_or_default()),
        }
    }

    pub fn save(&self, home: &Home) -> Result<(), ArchiveError> {
        Ok(home.replace(&home.archive_dir().join(FILE), &serde_json::to_vec(self)?)?)
    }

    /// Something of what was read so far was forgotten.
    pub fn note(&mut self, head: &BlockHead) {
        self.add(hash(head.agent.name(), &head.session, &head.source), head.to, head.last_at);
    }

    /// The same of every block that cannot be read: nobody knows what it had.
    pub fn note_lost(&mut self, home: &Home, index: &ArchiveIndex) -> Result<(), ArchiveError> {
        let sql = "SELECT segment, start, bytes, agent, session, source, read_to, last_at FROM block
            JOIN conversation ON conversation.id = block.conversation";
        let mut statement = index.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let place = BlockPlace { segment: row.get(0)?, offset: row.get(1)?, bytes: row.get(2)? };
            let (agent, session, source): (String, String, String) = (row.get(3)?, row.get(4)?, row.get(5)?);
            let is_its_own = |head: &BlockHead| head.session == session && head.source == source;
            if !segment::block_text(home, place)?.is_some_and(|block| is_its_own(&block.head)) {
                let last_at = row.get::<_, Option<i64>>(7)?.map(Timestamp::from_millis);
                self.add(hash(&agent, &session, &source), row.get(6)?, last_at);
            }
        }
        Ok(())
    }

    fn add(&mut self, source: String, to: u64, last_at: Option<Timestamp>) {
        let place = self.sources.entry(source).or_default();
        place.to = place.to.max(to);
        place.last_at = place.last_at.max(last_at);
    }

    /// If blocks of a transcript are lost of which something was forgotten: only what is not older than this is new.
    /// `known` is its last block that is there.
    pub fn after_loss(&self, source: &Source, known: Option<&BlockHead>) -> Option<Timestamp> {
        let source = hash(source.agent.name(), source.session, &source.path.to_string_lossy());
        let place = self.sources.get(&source)?;
        let is_lost = known.is_none_or(|head| head.to < place.to && head.last_at <= place.last_at);
        is_lost.then(|| place.last_at.unwrap_or(Timestamp::EPOCH).plus(INSTANT))
    }
}

fn hash(agent: &str, session: &str, source: &str) -> String {
    format!("{:016x}", fnv1a(format!("{agent}\n{session}\n{source}").as_bytes()))
}
