//! Really gone: records are blanked in the journal where they stand, and their rows leave the view.
//!
//! Blanking keeps every offset, so hooks may append meanwhile. Only what the user asked for is ever forgotten. A record
//! of which only some words are forgotten is appended without them before the old one is blanked: killed in between,
//! nothing else of it is lost.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::FileExt;

use cerberus_core::event::{Event, Record};
use cerberus_core::memory::Evidence;
use cerberus_core::text::{Clean, Keep, without_words};

use crate::clock::Clock;
use crate::fold::FoldError;
use crate::home::{Access, Home};
use crate::journal::{self, JournalError};
use crate::store::{MemoryRow, SessionRow, Store};

/// Removes sessions with everything they left.
pub fn sessions(home: &Home, store: &mut Store, sessions: &[SessionRow]) -> Result<(), FoldError> {
    let names: HashSet<(&str, &str)> =
        sessions.iter().map(|session| (session.agent.as_str(), session.agent_session_id.as_str())).collect();
    // The journal first: it is the truth, and a view made anew must not bring back what is gone.
    let lines = find(home, |record| names.contains(&(record.agent.name(), &*record.session)))?;
    blank(home, &lines)?;
    Ok(store.forget_sessions(sessions)?)
}

/// Removes memories, and their words from the prompts that they were learnt from: they would be learnt again.
pub fn memories(home: &Home, clock: &Clock, store: &mut Store, memories: &[MemoryRow]) -> Result<(), FoldError> {
    let ids: HashSet<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    let evidence: Vec<_> = memories.iter().flat_map(|memory| &memory.memory.background.evidence).collect();
    let is_source = |record: &Record| evidence.iter().any(|said| is_from(said, record));
    let transaction = store.begin_fold()?;
    let changes = find(home, |record| matches!(&record.event, Event::Memory(change) if ids.contains(&*change.id)))?;
    let said = find(home, is_source)?;
    let kept: Vec<Record> = said.iter().filter_map(Line::record).map(|record| without(record, &evidence)).collect();
    journal::append_all(home, clock.wall, &kept)?;
    blank(home, &changes)?;
    blank(home, &said)?;
    for record in &kept {
        transaction.forget_event(record)?;
        transaction.apply(record)?;
    }
    for memory in memories {
        transaction.forget_memory(&memory.id)?;
    }
    transaction.forget_terms()?;
    transaction.commit()?;
    Ok(store.wipe_deleted()?)
}

fn is_from(said: &Evidence, record: &Record) -> bool {
    record.key == said.key && record.session == said.session && record.agent.name() == &*said.agent
}

/// The record without the words of the user's that it is evidence for.
fn without<'a>(mut record: Record<'a>, evidence: &[&Evidence]) -> Record<'a> {
    let words: Vec<&str> = evidence.iter().filter(|said| is_from(said, &record)).map(|said| &*said.text).collect();
    let cut = |text: &mut Clean<'a>, keep| {
        let rest = words.iter().fold(text.to_string(), |rest, said| without_words(&rest, said));
        *text = Clean::new(rest, keep);
    };
    match &mut record.event {
        Event::Prompt { text } => cut(text, Keep::PROMPT),
        Event::Tool(used) => used.error.iter_mut().for_each(|error| cut(error, Keep::ERROR)),
        _ => {}
    }
    record
}

/// A record where it stands in the journal.
struct Line {
    segment: String,
    offset: u64,
    bytes: Vec<u8>,
}

impl Line {
    fn record(&self) -> Option<Record<'_>> {
        journal::decode(&self.bytes).and_then(|whole| serde_json::from_slice(whole).ok())
    }
}

/// The records that `is_wanted`, in the order of the journal.
fn find(home: &Home, is_wanted: impl Fn(&Record) -> bool) -> Result<Vec<Line>, JournalError> {
    let mut found = Vec::new();
    for segment in journal::segments(home)? {
        for stretch in journal::stretches(home, &segment.name) {
            let (mut at, stretch) = stretch?;
            for bytes in stretch.bytes.split(|byte| *byte == b'\n') {
                let record = journal::decode(bytes).and_then(|whole| serde_json::from_slice::<Record>(whole).ok());
                if record.is_some_and(|record| is_wanted(&record)) {
                    found.push(Line { segment: segment.name.clone(), offset: at, bytes: bytes.to_vec() });
                }
                at += bytes.len() as u64 + 1;
            }
        }
    }
    Ok(found)
}

/// Overwrites lines with line breaks, durably.
fn blank(home: &Home, lines: &[Line]) -> Result<(), JournalError> {
    for of_segment in lines.chunk_by(|a, b| a.segment == b.segment) {
        let path = home.journal_dir().join(&of_segment[0].segment);
        let write = || -> io::Result<()> {
            let file = home.open(&path, Access::Overwrite)?;
            for line in of_segment {
                file.write_all_at(&vec![b'\n'; line.bytes.len()], line.offset)?;
            }
            file.sync_data()
        };
        write().map_err(|source| JournalError::Write { path: path.clone(), source })?;
    }
    Ok(())
}
