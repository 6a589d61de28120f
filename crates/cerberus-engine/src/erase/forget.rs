//! Really gone: records are blanked in the journal where they stand, rewritten without the words where only some are
//! meant, and the view is made anew without them, its free pages and logs included.
//!
//! Every offset stays, so hooks may append meanwhile. Only what the user asked for is ever forgotten. A record that is
//! rewritten stands a second time at the end of the journal until that is done: killed at any instant nothing else is
//! lost, and the same wish once more completes it. Which records are meant is core's to decide.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use cerberus_core::brief::base;
use cerberus_core::clean::glob::Glob;
use cerberus_core::clean::text::{Clean, Keep, without_words};
use cerberus_core::forget::{Fate, Paths, Traces, Wish};
use cerberus_core::model::event::{Event, Record};
use cerberus_core::model::id::{Agent, MemoryId, ProjectId};
use cerberus_core::model::memory::{Evidence, Status};
use cerberus_core::model::time::Timestamp;

use rustix::fs::{FlockOperation, flock};

use crate::journal::{self, JournalError};
use crate::loops;
use crate::os::clock::Clock;
use crate::os::failures;
use crate::os::failures::Failure;
use crate::os::fault;
use crate::os::home::{Access, Home};
use crate::sessions::legacy;
use crate::store::fold;
use crate::store::fold::FoldError;
use crate::store::{self, MemoryRow, SessionRow, Store};

/// A hook writes into the segment of the day; a clock may be set, a machine may sleep in between.
const STILL_OPEN: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// What is meant by a wish, and what it comes to.
#[derive(Debug, Default)]
pub struct Forgotten {
    /// Sessions of which a record goes.
    pub sessions: usize,
    pub records: usize,
    /// Records that lose some words.
    pub rewritten: usize,
    pub memories: Vec<MemoryId>,
}

/// The wish for these sessions, with everything they left.
pub fn of_sessions(sessions: &[SessionRow]) -> Wish {
    let name = |session: &SessionRow| Some((Agent::from_name(&session.agent)?, session.agent_session_id.clone()));
    Wish::Sessions(sessions.iter().filter_map(name).collect())
}

/// The wish for files of a project, and for what was said of them.
pub fn of_paths(store: &Store, projects: &[ProjectId], glob: Glob) -> store::Result<Wish> {
    let (meant, others): (Vec<String>, Vec<String>) =
        store.all_files(projects)?.into_iter().partition(|path| glob.matches(path));
    // A bare name that another file has too may mean that one.
    let shared: HashSet<&str> = others.iter().map(|path| base(path)).collect();
    let bases = meant.iter().map(|path| base(path)).filter(|name| name.contains('.') && !shared.contains(name));
    let bases = bases.map(str::to_string).collect();
    Ok(Wish::Paths(Paths { glob, projects: projects.iter().cloned().collect(), bases }))
}

/// What would go; nothing is changed.
pub fn preview(home: &Home, store: &Store, wish: &Wish) -> Result<Forgotten, FoldError> {
    Ok(Plan::of(home, wish, &all_memories(store)?)?.summary())
}

/// Forgets what is meant.
pub fn forget(home: &Home, clock: &Clock, store: &mut Store, wish: &Wish) -> Result<Forgotten, FoldError> {
    let memories = all_memories(store)?;
    // Nobody else rewrites a record while we hold this.
    let transaction = store.begin_fold()?;
    let plan = Plan::of(home, wish, &memories)?;
    let mark = home.open(&home.forgetting(), Access::AppendOrMake).map_err(|source| failed(home, source))?;
    flock(&mark, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(home, error.into()))?;
    pass(home, "forget-marked")?;
    plan.rewrite(home, clock.wall)?;
    blank(home, &plan.gone)?;
    pass(home, "forget-blanked")?;
    shrink(home, clock.wall).map_err(|source| failed(home, source))?;
    plan.forget_copies(home, wish).map_err(|source| failed(home, source))?;
    fold::anew(home, &transaction)?;
    transaction.forget_terms()?;
    transaction.commit()?;
    pass(home, "forget-folded")?;
    wipe(home, store)?;
    Ok(plan.summary())
}

/// Completes what was cut short as far as it is known: the view. Says whether anything was.
pub fn complete(home: &Home, clock: &Clock, store: &mut Store) -> Result<bool, FoldError> {
    let Ok(mark) = home.open(&home.forgetting(), Access::Read) else { return Ok(false) };
    // Whoever is at it still holds it.
    if flock(&mark, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    let transaction = store.begin_fold()?;
    fold::anew(home, &transaction)?;
    transaction.forget_terms()?;
    transaction.commit()?;
    wipe(home, store)?;
    failures::note(
        home,
        clock.now,
        "forgetting",
        &"it was cut short; run the same command again to be sure that all is gone",
    );
    Ok(true)
}

fn wipe(home: &Home, store: &Store) -> Result<(), FoldError> {
    store.wipe_deleted()?;
    match std::fs::remove_file(home.forgetting()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(home, error).into()),
        _ => Ok(()),
    }
}

fn all_memories(store: &Store) -> store::Result<Vec<MemoryRow>> {
    let lists = Status::ALL
        .into_iter()
        .map(|status| store.memories(status, Timestamp::LAST))
        .collect::<store::Result<Vec<_>>>()?;
    Ok(lists.into_iter().flatten().collect())
}

fn failed(home: &Home, source: io::Error) -> JournalError {
    JournalError::Write { path: home.root().to_path_buf(), source }
}

fn pass(home: &Home, label: &str) -> Result<(), JournalError> {
    fault::point(label).map(|_| ()).map_err(|source| failed(home, source))
}

/// Where a wish stands in the journal.
#[derive(Default)]
struct Plan {
    gone: Vec<Line>,
    rewritten: Vec<(Line, String)>,
    memories: Vec<MemoryId>,
    sessions: HashSet<(Agent, String)>,
    /// Files of the original tool whose records are meant.
    seeds: Vec<String>,
    /// The time from the first to the last record that is meant.
    span: Option<(Timestamp, Timestamp)>,
    roots: HashSet<String>,
}

impl Plan {
    fn of(home: &Home, wish: &Wish, memories: &[MemoryRow]) -> Result<Plan, JournalError> {
        let mut traces = Traces::default();
        each_line(home, |_, line| {
            if let Read::Record(record) = line {
                traces.add(wish, &record);
            }
        })?;
        let mut plan = Plan::default();
        let goes = |row: &&MemoryRow| traces.add_memory(wish, row.id.as_str(), &row.memory);
        plan.memories = memories.iter().filter(goes).map(|row| row.id.clone()).collect();
        each_line(home, |at, line| match line {
            Read::Record(record) => plan.add(wish, &traces, at, &record),
            Read::Stump(stump) if wish.may_be_in(&stump) => plan.gone.push(at),
            Read::Stump(_) => {}
        })?;
        Ok(plan)
    }

    fn add(&mut self, wish: &Wish, traces: &Traces, at: Line, record: &Record) {
        let own = wish.fate(record);
        let is_meant = own != Fate::Stays;
        let fate = if is_meant { own } else { traces.fate(wish, record) };
        if is_meant {
            let (first, last) = self.span.unwrap_or((record.at, record.at));
            self.span = Some((first.min(record.at), last.max(record.at)));
            self.roots.insert(record.place.root.to_string());
            if matches!(record.event, Event::Seed(_)) {
                self.seeds.push(record.key.to_string());
            }
        }
        match fate {
            Fate::Stays => {}
            Fate::Goes => {
                if is_meant {
                    self.sessions.insert((record.agent, record.session.to_string()));
                }
                self.gone.push(at);
            }
            Fate::Becomes(json) => self.rewritten.push((at, json)),
        }
    }

    fn summary(&self) -> Forgotten {
        Forgotten {
            sessions: self.sessions.len(),
            records: self.gone.len(),
            rewritten: self.rewritten.len(),
            memories: self.memories.clone(),
        }
    }

    /// Writes records anew where they stand. Until that is done they stand at the end, too; the same twice is once.
    fn rewrite<'a>(&'a self, home: &Home, wall: Timestamp) -> Result<(), JournalError> {
        let parsed = |(line, json): &'a (Line, String)| Some((line, serde_json::from_str(json).ok()?));
        let (lines, records): (Vec<&Line>, Vec<Record>) = self.rewritten.iter().filter_map(parsed).unzip();
        let ends: HashMap<String, u64> =
            journal::segments(home)?.into_iter().map(|found| (found.name, found.bytes)).collect();
        let mut copies = HashSet::new();
        journal::append_all(home, wall, &records)?;
        pass(home, "forget-copied")?;
        for (line, record) in lines.iter().zip(&records) {
            let encoded = journal::encode(record)?.trim_ascii().to_vec();
            // A record never grows; one that did would run into the next.
            let mut bytes = vec![b'\n'; line.length];
            if let Some(place) = bytes.get_mut(..encoded.len()) {
                place.copy_from_slice(&encoded);
                overwrite(home, line, &bytes)?;
            }
            copies.insert(encoded);
        }
        sync(home, self.rewritten.iter().map(|(line, _)| line))?;
        pass(home, "forget-rewritten")?;
        let mut doubled = Vec::new();
        each_line_bytes(home, |line, bytes| {
            let is_new = ends.get(&line.segment).is_none_or(|end| line.offset >= *end);
            if is_new && copies.contains(bytes) {
                doubled.push(line);
            }
        })?;
        blank(home, &doubled)
    }

    /// What is kept beside the journal and the view.
    fn forget_copies(&self, home: &Home, wish: &Wish) -> io::Result<()> {
        legacy::forget(home, &self.seeds)?;
        loops::forget::forget(home, wish)?;
        let is_meant = |failure: &Failure| match (wish, self.span) {
            (Wish::Paths(paths), _) => paths.are_named_in(&failure.detail),
            (Wish::Projects { names, .. }, _) => {
                names.iter().any(|name| failure.detail.contains(name.as_str()))
                    || self.roots.iter().any(|root| failure.detail.contains(root.as_str()))
            }
            (_, Some((first, last))) => (first..=last).contains(&failure.at),
            (_, None) => false,
        };
        failures::forget(home, is_meant)?;
        home.other_views().iter().try_for_each(std::fs::remove_file)
    }
}

/// Removes memories, and their words from the prompts that they were learnt from: they would be learnt again.
pub fn memories(home: &Home, clock: &Clock, store: &mut Store, memories: &[MemoryRow]) -> Result<(), FoldError> {
    let ids: HashSet<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
    let evidence: Vec<_> = memories.iter().flat_map(|memory| &memory.memory.background.evidence).collect();
    let transaction = store.begin_fold()?;
    let (mut changes, mut said, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    each_line(home, |at, line| {
        let Read::Record(record) = line else { return };
        if matches!(&record.event, Event::Memory(change) if ids.contains(&*change.id)) {
            changes.push(at);
        } else if evidence.iter().any(|said| is_from(said, &record)) {
            kept.extend(serde_json::to_string(&without(*record, &evidence)));
            said.push(at);
        }
    })?;
    let kept: Vec<Record> = kept.iter().filter_map(|json| serde_json::from_str(json).ok()).collect();
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

/// Where a line stands in the journal.
struct Line {
    segment: String,
    offset: u64,
    length: usize,
}

/// What a line is.
enum Read<'a> {
    Record(Box<Record<'a>>),
    /// Cut short when it was written.
    Stump(String),
}

/// Every record and stump, in the order of the journal. What a newer version wrote is left alone.
fn each_line(home: &Home, mut look: impl FnMut(Line, Read)) -> Result<(), JournalError> {
    each_line_bytes(home, |line, bytes| match journal::decode(bytes) {
        Some(whole) => {
            if let Ok(record) = serde_json::from_slice(whole) {
                look(line, Read::Record(Box::new(record)));
            }
        }
        None => look(line, Read::Stump(String::from_utf8_lossy(bytes).into_owned())),
    })
}

fn each_line_bytes(home: &Home, mut look: impl FnMut(Line, &[u8])) -> Result<(), JournalError> {
    for segment in journal::segments(home)? {
        for stretch in journal::stretches(home, &segment.name) {
            let (mut offset, stretch) = stretch?;
            for bytes in stretch.bytes.split(|byte| *byte == b'\n') {
                if !bytes.is_empty() {
                    look(Line { segment: segment.name.clone(), offset, length: bytes.len() }, bytes);
                }
                offset += bytes.len() as u64 + 1;
            }
        }
    }
    Ok(())
}

/// How many bytes of the journal each session has.
pub fn bytes_of_sessions(home: &Home) -> Result<HashMap<(Agent, String), u64>, JournalError> {
    let mut found = HashMap::new();
    each_line(home, |line, read| {
        if let Read::Record(record) = read
            && !record.event.is_of_no_session()
        {
            *found.entry((record.agent, record.session.to_string())).or_default() += line.length as u64;
        }
    })?;
    Ok(found)
}

/// Segments that no hook appends to any more are written anew without their blank lines; empty ones go.
fn shrink(home: &Home, wall: Timestamp) -> io::Result<()> {
    let open_since = wall.minus(STILL_OPEN).day();
    let segments = journal::segments(home).map_err(io::Error::other)?;
    for segment in segments.iter().filter(|segment| segment.name < open_since) {
        let path = home.journal_dir().join(&segment.name);
        let bytes = crate::os::outside::whole(home.open(&path, Access::Read)?, segment.bytes)?;
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let kept: Vec<u8> = lines.iter().flat_map(|line| [b"\n", *line, b"\n"].concat()).collect();
        match kept.is_empty() {
            true => std::fs::remove_file(&path)?,
            false if kept.len() < bytes.len() => home.replace(&path, &kept)?,
            false => {}
        }
    }
    Ok(())
}

/// Overwrites lines with line breaks, durably.
fn blank(home: &Home, lines: &[Line]) -> Result<(), JournalError> {
    lines.iter().try_for_each(|line| overwrite(home, line, &vec![b'\n'; line.length]))?;
    sync(home, lines.iter())
}

fn overwrite(home: &Home, line: &Line, bytes: &[u8]) -> Result<(), JournalError> {
    let path = home.journal_dir().join(&line.segment);
    let written = home.open(&path, Access::Overwrite).and_then(|file| file.write_all_at(bytes, line.offset));
    written.map_err(|source| JournalError::Write { path, source })
}

fn sync<'a>(home: &Home, lines: impl Iterator<Item = &'a Line>) -> Result<(), JournalError> {
    let segments: HashSet<&str> = lines.map(|line| line.segment.as_str()).collect();
    for segment in segments {
        let path = home.journal_dir().join(segment);
        let synced = home.open(&path, Access::Overwrite).and_then(|file| file.sync_data());
        synced.map_err(|source| JournalError::Write { path, source })?;
    }
    Ok(())
}
