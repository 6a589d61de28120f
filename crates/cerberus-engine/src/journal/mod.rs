//! The truth: append-only daily segments, each record `\n{…,"crc":"…"}\n` in one write and one sync.
//!
//! SIGKILL can cut a write short. Because every record begins with a line break, a stump never swallows the record
//! after it; readers skip the stump and count it. Nothing here rewrites or deletes a segment. What is private to the
//! owner of the home is hidden here, so that no way to the journal can forget it.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cerberus_core::model::event::Record;
use cerberus_core::model::time::Timestamp;
use serde::Serialize;

use crate::os::fault;
use crate::os::fault::Writing;
use crate::os::home::{Access, Home, create_dir};

/// A write that was cut short is tried again whole; the stump stays, alone on its line.
const TRIES_MAX: usize = 3;

/// How much a reader takes at once. A record is far smaller.
const CHUNK_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot write the journal {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read the journal {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot encode a record: {0}")]
    Encode(#[from] serde_json::Error),
}

/// The line a record becomes.
pub fn encode(record: &Record) -> Result<Vec<u8>, JournalError> {
    Ok(sealed_line(record)?)
}

/// An object as a line of its own, with its checksum as the last field.
pub fn sealed_line<T: Serialize>(object: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(1024);
    line.push(b'\n');
    serde_json::to_writer(&mut line, object)?;
    line.pop();
    let seal = seal(&line[1..]);
    line.extend_from_slice(seal.as_bytes());
    line.push(b'\n');
    Ok(line)
}

/// What stands at the end of a record's line.
pub const SEAL_BYTES: usize = ",\"crc\":\"01234567\"}".len();

/// The seal of a line whose other bytes are `body`.
pub fn seal(body: &[u8]) -> String {
    format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(body))
}

/// The record of a line, or `None` for a stump.
pub fn decode(line: &[u8]) -> Option<&[u8]> {
    let (body, seal) = line.split_at_checked(line.len().checked_sub(SEAL_BYTES)?)?;
    let hex = seal.strip_prefix(b",\"crc\":\"")?.strip_suffix(b"\"}")?;
    let crc = u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
    (crc32fast::hash(body) == crc).then_some(line)
}

/// The line a record becomes in this home: what is private to its owner is hidden first.
fn line(home: &Home, record: &Record) -> Result<Vec<u8>, JournalError> {
    match home.wishes().hide(&record.event) {
        None => encode(record),
        Some(event) => encode(&Record { event, ..record.clone() }),
    }
}

/// Appends one record, durably: when this returns, the record survives the machine going down.
pub fn append(home: &Home, wall: Timestamp, record: &Record) -> Result<(), JournalError> {
    let line = line(home, record)?;
    let path = home.journal_dir().join(segment_name(wall));
    write(home, &path, &line).map_err(|source| JournalError::Write { path, source })
}

/// Appends many records with a sync a chunk. Cut short, it has written a beginning of them, each whole.
pub fn append_all(home: &Home, wall: Timestamp, records: &[Record]) -> Result<(), JournalError> {
    let path = home.journal_dir().join(segment_name(wall));
    let mut chunk = Vec::new();
    for (index, record) in records.iter().enumerate() {
        chunk.extend(line(home, record)?);
        if chunk.len() as u64 >= CHUNK_BYTES / 4 || index + 1 == records.len() {
            write(home, &path, &chunk).map_err(|source| JournalError::Write { path: path.clone(), source })?;
            chunk.clear();
        }
    }
    Ok(())
}

fn segment_name(wall: Timestamp) -> String {
    format!("{}.jsonl", wall.day())
}

fn write(home: &Home, path: &Path, line: &[u8]) -> io::Result<()> {
    fault::point("journal-open")?;
    let mut file = match home.open(path, Access::Append) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dir(&home.journal_dir())?;
            let file = home.open(path, Access::AppendOrMake)?;
            // The new name must survive as surely as what is written under it.
            home.open_folder(&home.journal_dir())?.sync_all()?;
            file
        }
        opened => opened?,
    };
    for _ in 0..TRIES_MAX {
        let written = match fault::point("journal-write")? {
            Writing::Whole => file.write(line)?,
            Writing::Short => file.write(&line[..line.len() / 2])?,
        };
        if written == line.len() {
            fault::point("journal-sync")?;
            file.sync_data()?;
            fault::point("journal-done")?;
            return Ok(());
        }
    }
    Err(io::Error::other("the record could not be written in one piece; is the disk full?"))
}

/// A segment that exists, and how long it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub name: String,
    pub bytes: u64,
}

/// All segments, in order.
pub fn segments(home: &Home) -> Result<Vec<Segment>, JournalError> {
    let dir = home.journal_dir();
    let read_error = |source| JournalError::Read { path: dir.clone(), source };
    let entries = match home.open_folder(&dir).and_then(|_| fs::read_dir(&dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(read_error)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(read_error)?;
        if let Some(name) = entry.file_name().to_str().filter(|name| name.ends_with(".jsonl")) {
            let bytes = entry.metadata().map_err(read_error)?.len();
            found.push(Segment { name: name.to_string(), bytes });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// A stretch of a segment in whole lines: what was read, and where the next stretch begins.
#[derive(Debug)]
pub struct Stretch {
    pub bytes: Vec<u8>,
    pub next_offset: u64,
}

/// Reads on from `offset`. A last line without its end is left for later: its writer may be at work.
pub fn read(home: &Home, segment: &str, offset: u64) -> Result<Stretch, JournalError> {
    let path = home.journal_dir().join(segment);
    let mut bytes = Vec::new();
    let filled = home.open(&path, Access::Read).and_then(|mut file| {
        file.seek(SeekFrom::Start(offset))?;
        file.take(CHUNK_BYTES).read_to_end(&mut bytes)
    });
    filled.map_err(|source| JournalError::Read { path, source })?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    // A stretch without a line break is no journal; step over it rather than read it forever.
    let whole = if whole == 0 && bytes.len() as u64 == CHUNK_BYTES { bytes.len() } else { whole };
    bytes.truncate(whole);
    Ok(Stretch { next_offset: offset + whole as u64, bytes })
}

/// All stretches of a segment, each with where it begins.
pub fn stretches<'a>(
    home: &'a Home,
    segment: &'a str,
) -> impl Iterator<Item = Result<(u64, Stretch), JournalError>> + 'a {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let begun = offset;
        match read(home, segment, offset) {
            Ok(stretch) if stretch.next_offset == offset => None,
            Ok(stretch) => {
                offset = stretch.next_offset;
                Some(Ok((begun, stretch)))
            }
            Err(error) => Some(Err(error)),
        }
    })
}

impl Stretch {
    /// The lines that hold something: records, and stumps.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerberus_core::clean::text::{Clean, Keep};
    use cerberus_core::model::event::{Event, Place};
    use cerberus_core::model::id::{Agent, ProjectId};

    fn record(text: &str) -> Record<'_> {
        let clean = |text| Clean::new(text, Keep::PROMPT);
        let place = Place {
            project: ProjectId::of_anchor(b"/p"),
            name: clean("p"),
            root: clean("/p"),
            cwd: clean("/p"),
            branch: None,
        };
        let event = Event::Prompt { text: clean(text) };
        Record {
            at: Timestamp::EPOCH,
            key: clean("k"),
            agent: Agent::ClaudeCode,
            imported: false,
            heard_by: None,
            session: clean("s"),
            place,
            event,
        }
    }

    #[test]
    fn what_is_appended_is_read_back_and_stumps_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        append(&home, Timestamp::EPOCH, &record("one\n\"two\"")).unwrap();
        let path = home.journal_dir().join("1970-01-01.jsonl");
        let line = encode(&record("torn")).unwrap();
        home.open(&path, Access::Append).unwrap().write_all(&line[..line.len() / 2]).unwrap();
        let before = read(&home, "1970-01-01.jsonl", 0).unwrap();
        assert_eq!(before.lines().filter_map(decode).count(), 1);
        append(&home, Timestamp::EPOCH, &record("three")).unwrap();

        let found = segments(&home).unwrap();
        assert_eq!(found.len(), 1);
        let rest = read(&home, &found[0].name, before.next_offset).unwrap();
        assert_eq!(rest.next_offset, found[0].bytes);
        let lines: Vec<_> = rest.lines().map(decode).collect();
        assert_eq!(lines.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
        let back: Record = serde_json::from_slice(lines[1].unwrap()).unwrap();
        assert_eq!(back, record("three"));
    }

    #[test]
    fn any_flipped_byte_is_noticed() {
        let line = encode(&record("x")).unwrap();
        let line = &line[1..line.len() - 1];
        assert!(decode(line).is_some());
        for at in 0..line.len() {
            let mut broken = line.to_vec();
            broken[at] ^= 1;
            assert!(decode(&broken).is_none(), "byte {at}");
            assert!(decode(&line[..at]).is_none(), "cut at {at}");
        }
    }

    #[test]
    fn the_home_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        append(&home, Timestamp::EPOCH, &record("x")).unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(home.root()), 0o700);
        assert_eq!(mode(&home.journal_dir()), 0o700);
        assert_eq!(mode(&home.journal_dir().join("1970-01-01.jsonl")), 0o600);
    }

    /// A home whose journal has this one segment.
    fn home_with(dir: &tempfile::TempDir, segment: &str, bytes: &[u8]) -> Home {
        let home = Home::new(dir.path().join("home"));
        create_dir(&home.journal_dir()).unwrap();
        fs::write(home.journal_dir().join(segment), bytes).unwrap();
        home
    }

    #[test]
    fn a_long_segment_is_read_in_stretches_of_whole_lines() {
        let text = "x".repeat(5_000);
        let line = encode(&record(&text)).unwrap();
        let count = 2 * CHUNK_BYTES as usize / line.len() + 2;
        let dir = tempfile::tempdir().unwrap();
        let home = home_with(&dir, "1970-01-01.jsonl", &line.repeat(count));
        let stretches: Vec<(u64, Stretch)> = stretches(&home, "1970-01-01.jsonl").collect::<Result<_, _>>().unwrap();
        assert_eq!(stretches.len(), 3);
        let mut expected = 0;
        for (begun, stretch) in &stretches {
            assert_eq!(*begun, expected);
            expected += stretch.bytes.len() as u64;
            assert_eq!(stretch.next_offset, expected);
            assert!(stretch.bytes.len() as u64 <= CHUNK_BYTES && stretch.lines().all(|line| decode(line).is_some()));
        }
        assert_eq!(expected, segments(&home).unwrap()[0].bytes);
        assert_eq!(stretches.iter().flat_map(|(_, stretch)| stretch.lines()).count(), count);
    }

    #[test]
    fn what_is_no_line_is_waited_for_unless_it_is_too_long_to_be_one() {
        let whole = encode(&record("after")).unwrap();
        let chunk = CHUNK_BYTES as usize;
        for (before, records, next_offset) in [
            // Its writer may be at work.
            ("x".repeat(9), 0, 0),
            ("x".repeat(chunk - 1), 0, 0),
            // No journal at all: stepped over.
            ("x".repeat(chunk), 0, chunk),
            ("x".repeat(chunk + 9), 0, chunk),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let home = home_with(&dir, "1970-01-01.jsonl", before.as_bytes());
            let read = read(&home, "1970-01-01.jsonl", 0).unwrap();
            assert_eq!((read.next_offset, read.bytes.len()), (next_offset as u64, next_offset), "{}", before.len());
            assert_eq!(read.lines().filter_map(decode).count(), records);
            let home = home_with(&dir, "1970-01-01.jsonl", &[before.as_bytes(), &whole].concat());
            let all: Vec<(u64, Stretch)> = stretches(&home, "1970-01-01.jsonl").collect::<Result<_, _>>().unwrap();
            let found = all.iter().flat_map(|(_, stretch)| stretch.lines()).filter_map(decode).count();
            assert_eq!(found, 1, "a record after {} bytes of anything is read", before.len());
        }
    }

    #[test]
    fn segments_are_the_files_of_the_journal_in_order() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(segments(&Home::new(dir.path().join("nothing"))).unwrap(), []);
        let home = home_with(&dir, "1970-01-02.jsonl", b"two");
        fs::write(home.journal_dir().join("1970-01-01.jsonl"), b"one one").unwrap();
        fs::write(home.journal_dir().join("notes.txt"), b"not ours").unwrap();
        let segment = |name: &str, bytes| Segment { name: name.to_string(), bytes };
        assert_eq!(segments(&home).unwrap(), [segment("1970-01-01.jsonl", 7), segment("1970-01-02.jsonl", 3)]);
        assert!(matches!(read(&home, "1970-01-03.jsonl", 0), Err(JournalError::Read { .. })));
    }

    #[test]
    fn many_records_are_all_appended_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let texts: Vec<String> = (0..300).map(|number| format!("{number} {}", "x".repeat(5_000))).collect();
        let records: Vec<Record> = texts.iter().map(|text| record(text)).collect();
        append_all(&home, Timestamp::EPOCH, &records[..299]).unwrap();
        append_all(&home, Timestamp::EPOCH, &[]).unwrap();
        append_all(&home, Timestamp::EPOCH, &records[299..]).unwrap();
        let written = fs::read(home.journal_dir().join("1970-01-01.jsonl")).unwrap();
        let expected: Vec<u8> = records.iter().flat_map(|record| encode(record).unwrap()).collect();
        assert!(written == expected, "{} bytes, not {}", written.len(), expected.len());
    }
}
