//! The only way to change what is in the journal: forgetting, redaction, retention and discarding all use it.
//!
//! A changed record is appended again with the place it always had; then its old line is overwritten with line breaks.
//! No offset moves, so hooks may append meanwhile. A list of what is forgotten is appended with the new versions. If
//! the process is killed at any moment, the next fold finds the list and removes what is left, and nothing on the list
//! ever comes back.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use cerberus_agents::transcripts::shared_part;
use cerberus_os::fault;
use cerberus_os::home::{Access, Home};
use cerberus_os::outside;
use cerberus_os::platform;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Forgotten, ForgottenRecord, Location, Record};
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use super::forgotten::Namer;
use super::line::{ChecksummedLine, FORMAT, decode, encode_open};
use super::read::{JournalLine, LinePosition, each_line, segments};
use super::{JournalError, append_after, append_all, append_lines};

/// A hook appends to the segment of the day; meanwhile the clock may change or the machine may sleep.
const STILL_OPEN: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// How many names one record lists.
const NAMES_MAX: usize = 500;

/// What happens to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineChange {
    Remove,
    /// The new record, as JSON.
    Replace(String),
}

/// Changes to be made together.
#[derive(Debug, Default)]
pub struct Rewrite {
    pub lines: Vec<(LinePosition, LineChange)>,
    /// Sessions of which nothing up to the given time may come back.
    pub sessions: Vec<(Agent, String, Timestamp)>,
    /// Files of which nothing said until now may be left on other devices: agent, session and path.
    pub files: Vec<(String, String, String)>,
    /// A time of which nothing may be left.
    pub period: Option<(Timestamp, Timestamp)>,
    /// When it was asked for: older changes of a memory that is removed do not come back from other devices either.
    pub asked_at: Option<Timestamp>,
}

/// Changes the journal durably. The caller must hold the view's write lock, and must call [`done`] once nothing else
/// holds what was removed.
pub fn rewrite(home: &Home, wall: Timestamp, rewrite: &Rewrite) -> Result<(), JournalError> {
    begin(home)?;
    let PreparedLines { copies, forgotten, broken, last_seq } = prepare(home, wall, rewrite)?;
    // A torn line has no name to be listed by, and no value: it is removed at once.
    overwrite(home, &broken.iter().collect::<Vec<_>>(), "rewrite-broken")?;
    append_lines(home, wall, &copies)?;
    pass(home, "rewrite-copied")?;
    // The copies have old places; the next record must not follow those.
    append_after(home, wall, last_seq, &lists(home, wall, forgotten))?;
    pass(home, "rewrite-listed")?;
    let positions: Vec<&LinePosition> = rewrite.lines.iter().map(|(position, _)| position).collect();
    overwrite(home, &positions, "rewrite-line")?;
    pass(home, "rewrite-removed")?;
    shrink(home, wall).map_err(|source| failed(home, source))
}

/// Removes lines with records that were forgotten before.
pub fn remove(home: &Home, lines: &[LinePosition]) -> Result<(), JournalError> {
    begin(home)?;
    overwrite(home, &lines.iter().collect::<Vec<_>>(), "rewrite-line")
}

/// Records that the named records are no longer forgotten and may be stored again.
pub fn unforget(home: &Home, wall: Timestamp, mut names: Forgotten<'static>) -> Result<(), JournalError> {
    names.is_taken_back = true;
    append_all(home, wall, &lists(home, wall, names))
}

/// Whether a removal is in progress or was interrupted. The view may then still contain what was removed.
pub fn is_unfinished(home: &Home) -> bool {
    fs::symlink_metadata(home.rewriting()).is_ok()
}

/// Marks that a removal begins. Until [`done`] is called, every command completes it first.
pub fn begin(home: &Home) -> Result<(), JournalError> {
    home.open(&home.rewriting(), Access::AppendOrCreate).map(drop).map_err(|source| failed(home, source))?;
    // The last report may show what is to be removed, and hashes of it may be among what was denied.
    [home.report(), home.denied()]
        .iter()
        .try_for_each(|path| remove_if_there(path))
        .map_err(|source| failed(home, source))
}

/// Marks the removal as finished: nothing holds what was removed any more.
pub fn done(home: &Home) -> Result<(), JournalError> {
    remove_if_there(&home.rewriting()).map_err(|source| failed(home, source))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What is appended before anything is overwritten.
struct PreparedLines {
    /// The new versions of replaced records.
    copies: Vec<Vec<u8>>,
    /// The names of everything that is forgotten.
    forgotten: Forgotten<'static>,
    /// Lines to be removed that are no records.
    broken: Vec<LinePosition>,
    last_seq: u64,
}

fn prepare(home: &Home, wall: Timestamp, rewrite: &Rewrite) -> Result<PreparedLines, JournalError> {
    let namer = Namer::open(home)?;
    let changes: HashMap<&LinePosition, &LineChange> = rewrite.lines.iter().map(|(at, change)| (at, change)).collect();
    let (mut copies, mut records, mut shared, mut broken) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut last_seq = 0;
    // Changes of each memory: those that are removed, all, and the time after the last.
    let mut memories: BTreeMap<String, (usize, usize, Timestamp)> = BTreeMap::new();
    each_line(home, |position, line| {
        let JournalLine::Whole(sealed) = line else {
            broken.extend(changes.contains_key(&position).then_some(position));
            return;
        };
        last_seq = position.order(&sealed).seq.max(last_seq);
        let change = changes.get(&position);
        if let Some((id, at)) = memory_of(&sealed) {
            let (removed, all, until) = memories.entry(id).or_insert((0, 0, Timestamp::EPOCH));
            *removed += usize::from(change == Some(&&LineChange::Remove));
            *all += 1;
            *until = at.plus(Duration::from_millis(1)).max(*until);
        }
        let Some(change) = change else { return };
        let kept = match change {
            LineChange::Remove => {
                shared.extend(shared_name(&namer, &sealed, wall));
                None
            }
            LineChange::Replace(json) => {
                let open = json.trim_end().strip_suffix('}').unwrap_or(json).as_bytes();
                copies.push(encode_open(open, sealed.version.max(FORMAT), position.order(&sealed)));
                Some(namer.version(open))
            }
        };
        records.extend(name_of(&namer, &sealed).map(|record| ForgottenRecord { record, kept }));
    })?;
    let sessions = rewrite.sessions.iter();
    let sessions = sessions.map(|(agent, session, until)| (namer.session(agent.name(), session), *until));
    // On another device, the same change is written in other words. The memory as a whole has one name everywhere.
    let gone = memories.into_iter().filter(|(_, (removed, all, _))| *removed > 0 && removed == all);
    let gone = gone.map(|(id, (_, _, last))| (namer.memory(&id), rewrite.asked_at.unwrap_or(last).max(last)));
    let until = rewrite.asked_at.unwrap_or(wall);
    let files = rewrite.files.iter().map(|(agent, session, path)| (namer.file(agent, session, path), until));
    let sessions = sessions.chain(shared).chain(gone).chain(files).collect();
    let periods = rewrite.period.into_iter().collect();
    let forgotten = Forgotten { records, sessions, periods, is_taken_back: false };
    Ok(PreparedLines { copies, forgotten, broken, last_seq })
}

/// The memory that a line is about, and when it was changed.
fn memory_of(sealed: &ChecksummedLine) -> Option<(String, Timestamp)> {
    let record = sealed.record()?;
    match &record.event {
        Event::Memory(change) => Some((change.id.to_string(), record.at)),
        _ => None,
    }
}

/// The name of a record. If a newer version wrote it, only the fields that identify it are read.
fn name_of(namer: &Namer, sealed: &ChecksummedLine) -> Option<Clean<'static>> {
    #[derive(Deserialize)]
    struct Newer {
        agent: String,
        session: String,
        key: String,
    }
    match sealed.record() {
        Some(record) => Some(namer.record(&record, sealed.open_record())),
        None => {
            let newer: Newer = serde_json::from_slice(sealed.json).ok()?;
            Some(namer.event(&newer.agent, &newer.session, &newer.key))
        }
    }
}

/// The name of the same event in a transcript, which has another key there. It must not come back either.
fn shared_name(namer: &Namer, sealed: &ChecksummedLine, wall: Timestamp) -> Option<(Clean<'static>, Timestamp)> {
    let record = sealed.record()?;
    let name = namer.shared(record.agent.name(), &record.session, shared_part(&record.key)?);
    Some((name, wall.max(record.at.plus(Duration::from_millis(1)))))
}

/// The records that list what was forgotten.
fn lists(home: &Home, wall: Timestamp, mut names: Forgotten<'static>) -> Vec<Record<'static>> {
    let mut lists = Vec::new();
    while !names.records.is_empty() || !names.sessions.is_empty() || !names.periods.is_empty() {
        let records = names.records.split_off(names.records.len().saturating_sub(NAMES_MAX));
        let sessions = names.sessions.split_off(names.sessions.len().saturating_sub(NAMES_MAX));
        let key = format!("forgotten-{}-{}-{}", wall.millis(), std::process::id(), lists.len());
        let nowhere = Clean::word("");
        lists.push(Record {
            at: wall,
            key: home.cleaner().clean(key, Keep::NAME),
            agent: Agent::MANUAL,
            imported: false,
            heard_by: None,
            by_agent: false,
            origin: None,
            session: nowhere.clone(),
            location: Location {
                project: ProjectId::of_anchor(b""),
                name: nowhere.clone(),
                root: nowhere.clone(),
                cwd: nowhere,
                branch: None,
            },
            event: Event::Forgotten(Forgotten {
                records,
                sessions,
                periods: std::mem::take(&mut names.periods),
                is_taken_back: names.is_taken_back,
            }),
        });
    }
    lists
}

fn overwrite(home: &Home, lines: &[&LinePosition], label: &str) -> Result<(), JournalError> {
    for lines in lines.chunk_by(|a, b| a.segment == b.segment) {
        let path = home.journal_dir().join(&lines[0].segment);
        let write = || -> io::Result<()> {
            let file = home.open(&path, Access::Overwrite)?;
            for line in lines {
                platform::write_all_at(&file, &vec![b'\n'; line.length], line.offset)?;
                fault::point(label)?;
            }
            file.sync_data()
        };
        write().map_err(|source| JournalError::Write { path: path.clone(), source })?;
    }
    Ok(())
}

/// Rewrites segments that no hook appends to any more without empty lines, and deletes those without records. Records
/// of the first format are given the place they had, because their offset is about to change.
fn shrink(home: &Home, wall: Timestamp) -> io::Result<()> {
    let open_since = wall.minus(STILL_OPEN).day();
    for segment in segments(home).map_err(io::Error::other)?.iter().filter(|segment| segment.name < open_since) {
        let path = home.journal_dir().join(&segment.name);
        let bytes = outside::whole(home.open(&path, Access::Read)?, segment.bytes)?;
        let mut kept = Vec::with_capacity(bytes.len());
        let mut offset = 0;
        for line in bytes.split(|byte| *byte == b'\n') {
            let position = LinePosition { segment: segment.name.clone(), offset, length: line.len() };
            offset += line.len() as u64 + 1;
            match decode(line) {
                Some(sealed) if sealed.order.is_none() => {
                    kept.extend(encode_open(sealed.open_record(), sealed.version, position.order(&sealed)));
                }
                _ if line.is_empty() => {}
                _ => kept.extend([b"\n", line, b"\n"].concat()),
            }
        }
        match kept.is_empty() {
            true => fs::remove_file(&path)?,
            // Only if a line was removed: giving old records their place is no reason to rewrite a segment.
            false if bytes.windows(3).any(|window| window == b"\n\n\n") => home.replace(&path, &kept)?,
            false => {}
        }
    }
    Ok(())
}

fn failed(home: &Home, source: io::Error) -> JournalError {
    JournalError::Write { path: home.root().to_path_buf(), source }
}

fn pass(home: &Home, label: &str) -> Result<(), JournalError> {
    fault::point(label).map(|_| ()).map_err(|source| failed(home, source))
}
