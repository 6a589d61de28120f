//! The source of truth: append-only daily segments, each record one line in one write and one sync.
//!
//! SIGKILL can cut a write short. Because every line begins with a line break, a torn line never swallows the record
//! after it; readers skip it and count it. Every record carries its place in one order, which never changes
//! (`line.rs`). Only `rewrite.rs` ever changes what was written. Private data is hidden here, so that it cannot reach
//! the journal.

mod error;
pub mod forgotten;
mod line;
mod own;
mod read;
pub mod rewrite;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cerberus_record::event::Record;
use cerberus_record::order::Order;
use cerberus_record::time::Timestamp;

pub use error::JournalError;
pub use line::{ChecksummedLine, FORMAT, SEAL_BYTES, decode, encode, encode_open, seal, sealed_line};
pub use own::own_record;
pub use read::{
    CHUNK_BYTES, JournalLine, LinePosition, Segment, Stretch, each_line, end, end_of_day, is_replica, is_replica_of,
    micros, rank, read, read_little, replica_of, segments, stretches,
};

use cerberus_os::fault::{self, WriteFault};
use cerberus_os::home::{Access, Home, create_dir};
use cerberus_os::{device, platform};

use self::line::{STAMP_BYTES_MAX, last_order};
use self::read::segment_of;
use crate::project::opted_out::OptedOut;

/// A write that was cut short is repeated from its torn line on, which stays, alone on its line.
const TRIES_MAX: usize = 3;

/// Appends one record durably: when this returns, the record survives a crash of the machine.
pub fn append(home: &Home, wall: Timestamp, record: &Record) -> Result<(), JournalError> {
    append_all(home, wall, std::slice::from_ref(record))
}

/// Appends many records with one sync per chunk. If interrupted, the first of them have been written, each whole.
pub fn append_all(home: &Home, wall: Timestamp, records: &[Record]) -> Result<(), JournalError> {
    append_after(home, wall, 0, records)
}

/// The same, with places after the sequence number `after`.
pub(crate) fn append_after(home: &Home, wall: Timestamp, after: u64, records: &[Record]) -> Result<(), JournalError> {
    append_grouped(home, wall, after, records.iter().map(|record| (0, record)))
}

/// Appends groups of records, several with one sync. A group that fits into one write is written in one.
pub fn append_groups(home: &Home, wall: Timestamp, groups: &[Vec<Record>]) -> Result<(), JournalError> {
    let numbered =
        groups.iter().enumerate().flat_map(|(number, group)| group.iter().map(move |record| (number, record)));
    append_grouped(home, wall, 0, numbered)
}

fn append_grouped<'r, 'e: 'r>(
    home: &Home,
    wall: Timestamp,
    after: u64,
    records: impl Iterator<Item = (usize, &'r Record<'e>)>,
) -> Result<(), JournalError> {
    const FULL: usize = CHUNK_BYTES as usize / 4;
    let mut records = records.peekable();
    let opted_out = OptedOut::new(home);
    while let Some((mut group, _)) = records.peek().copied() {
        let mut writer = Writer::open(home, wall)?;
        writer.last.seq = writer.last.seq.max(after);
        let (mut chunk, mut group_start) = (Vec::new(), 0);
        let fits = |chunk: &Vec<u8>, group_start: usize, is_same: bool| {
            chunk.len() < FULL || is_same && chunk.len() - group_start < FULL
        };
        while let Some((number, record)) = records.next_if(|(number, _)| fits(&chunk, group_start, *number == group)) {
            if number != group {
                (group, group_start) = (number, chunk.len());
            }
            let order = writer.next_order();
            // Hides what the user keeps private.
            let line = match opted_out.hidden(record) {
                None => encode(record, order)?,
                Some(event) => encode(&Record { event, ..record.clone() }, order)?,
            };
            if chunk.is_empty() { chunk = line } else { chunk.extend(line) }
        }
        writer.write(&chunk)?;
    }
    Ok(())
}

/// Appends lines that already have their place.
fn append_lines(home: &Home, wall: Timestamp, lines: &[Vec<u8>]) -> Result<(), JournalError> {
    let mut lines = lines.iter().peekable();
    while lines.peek().is_some() {
        let mut chunk = Vec::new();
        while let Some(line) = lines.next_if(|_| (chunk.len() as u64) < CHUNK_BYTES / 4) {
            chunk.extend_from_slice(line);
        }
        Writer::open(home, wall)?.write(&chunk)?;
    }
    Ok(())
}

/// Appends lines that already have their place to a segment of their own.
pub fn append_to(home: &Home, segment: &str, lines: &[Vec<u8>]) -> Result<(), JournalError> {
    let path = home.journal_dir().join(segment);
    let mut lines = lines.iter().peekable();
    while lines.peek().is_some() {
        let mut chunk = Vec::new();
        while let Some(line) = lines.next_if(|_| (chunk.len() as u64) < CHUNK_BYTES / 4) {
            chunk.extend_from_slice(line);
        }
        let written = open_segment(home, &path).and_then(|mut file| write(&mut file, &chunk));
        written.map_err(|source| JournalError::Write { path: path.clone(), source })?;
    }
    Ok(())
}

/// The segment of the day, opened for appending.
struct Writer {
    path: PathBuf,
    file: File,
    /// The place of the last record; only its device counts if there is none.
    last: Order,
    wall_micros: u64,
}

impl Writer {
    fn open(home: &Home, wall: Timestamp) -> Result<Writer, JournalError> {
        let path = home.journal_dir().join(segment_of(wall));
        let opened = open_segment(home, &path).and_then(|file| {
            // A process that appends at the same moment may take the same number; then the order is decided by their
            // names. Only one device appends to a segment.
            let last = match last_order(&end_of(&file)?) {
                Some(order) => order,
                None => Order { seq: 0, device: device::id(home)? },
            };
            Ok((file, last))
        });
        match opened {
            Ok((file, last)) => Ok(Writer { path, file, last, wall_micros: micros(wall) }),
            Err(source) => Err(JournalError::Write { path, source }),
        }
    }

    fn next_order(&mut self) -> Order {
        self.last.seq = Order::next_seq(self.wall_micros, Some(self.last.seq));
        self.last
    }

    fn write(mut self, lines: &[u8]) -> Result<(), JournalError> {
        write(&mut self.file, lines).map_err(|source| JournalError::Write { path: self.path, source })
    }
}

fn open_segment(home: &Home, path: &Path) -> io::Result<File> {
    fault::point("journal-open")?;
    match home.open(path, Access::Append) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dir(&home.journal_dir())?;
            let file = home.open(path, Access::AppendOrCreate)?;
            // The new file name must be as durable as the contents.
            home.sync_folder(&home.journal_dir())?;
            Ok(file)
        }
        opened => opened,
    }
}

/// The last bytes of a file: enough to hold the fields after the last record.
fn end_of(file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let mut end = vec![0; (STAMP_BYTES_MAX + SEAL_BYTES + 1).min(length as usize)];
    let start = length - end.len() as u64;
    let read = platform::read_at(file, &mut end, start)?;
    end.truncate(read);
    Ok(end)
}

fn write(file: &mut File, mut lines: &[u8]) -> io::Result<()> {
    for _ in 0..TRIES_MAX {
        let written = match fault::point("journal-write")? {
            WriteFault::Whole => file.write(lines)?,
            WriteFault::Short => file.write(&lines[..lines.len() / 2])?,
        };
        if written == lines.len() {
            fault::point("journal-sync")?;
            file.sync_data()?;
            fault::point("journal-done")?;
            return Ok(());
        }
        // Whole lines before the torn one are there.
        lines = &lines[lines[..written].iter().rposition(|byte| *byte == b'\n').unwrap_or(0)..];
    }
    Err(io::Error::other("the record could not be written in one piece; is the disk full?"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cerberus_agents::claude_code;
    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::clean::text::Keep;
    use cerberus_record::event::{Event, Location};
    use cerberus_record::id::ProjectId;

    use super::rewrite::{LineChange, Rewrite};
    use super::*;

    pub fn record(text: &str) -> Record<'_> {
        let clean = |text| BUILT_IN.clean(text, Keep::PROMPT);
        let location = Location {
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
            agent: claude_code::AGENT,
            imported: false,
            heard_by: None,
            by_agent: false,
            origin: None,
            session: clean("s"),
            location,
            event,
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn orders(home: &Home) -> Vec<u64> {
        let mut found = Vec::new();
        let add = |position: LinePosition, line: JournalLine| {
            if let JournalLine::Whole(sealed) = line {
                found.push(position.order(&sealed).seq);
            }
        };
        each_line(home, add).unwrap();
        found
    }

    #[test]
    fn appended_records_are_read_back_and_broken_lines_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        append(&home, Timestamp::EPOCH, &record("one\n\"two\"")).unwrap();
        let path = home.journal_dir().join("1970-01-01.jsonl");
        let line = encode(&record("torn"), Order::default()).unwrap();
        home.open(&path, Access::Append).unwrap().write_all(&line[..line.len() / 2]).unwrap();
        let before = read(&home, "1970-01-01.jsonl", 0).unwrap();
        assert_eq!(before.lines().filter_map(|(_, line)| decode(line)).count(), 1);
        append(&home, Timestamp::EPOCH, &record("three")).unwrap();

        let found = segments(&home).unwrap();
        assert_eq!(found.len(), 1);
        let rest = read(&home, &found[0].name, before.next_offset).unwrap();
        assert_eq!(rest.next_offset, found[0].bytes);
        let lines: Vec<_> = rest.lines().map(|(_, line)| decode(line)).collect();
        assert_eq!(lines.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
        assert_eq!(lines[1].unwrap().record(), Some(record("three")));
    }

    #[test]
    fn records_are_numbered_in_the_order_of_writing_even_when_the_clock_is_set_back() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        append(&home, at(9_000), &record("a")).unwrap();
        append_all(&home, at(5_000), &[record("b"), record("c")]).unwrap();
        append(&home, at(9_001), &record("d")).unwrap();
        assert_eq!(orders(&home), [9_000_000, 9_000_001, 9_000_002, 9_001_000]);
        let device = fs::read_to_string(home.device()).unwrap();
        let text = fs::read_to_string(home.journal_dir().join("1970-01-01.jsonl")).unwrap();
        assert_eq!(text.matches(&format!("\"v\":2,\"device\":\"{}\"", device.trim())).count(), 4);
    }

    /// Every prompt of the journal, with its position.
    fn prompts(home: &Home) -> Vec<(LinePosition, String)> {
        let mut found = Vec::new();
        each_line(home, |position, line| {
            let JournalLine::Whole(sealed) = line else { return };
            if let Some(Record { event: Event::Prompt { text }, .. }) = sealed.record() {
                found.push((position, text.to_string()));
            }
        })
        .unwrap();
        found
    }

    #[test]
    fn a_rewritten_record_keeps_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        append_all(&home, at(9_000), &[record("first"), record("second"), record("third")]).unwrap();
        let longer = serde_json::to_string(&record("a much longer second text than there was before")).unwrap();
        let change = |(position, text): (LinePosition, String)| match text.as_str() {
            "first" => Some((position, LineChange::Remove)),
            "second" => Some((position, LineChange::Replace(longer.clone()))),
            _ => None,
        };
        let lines = prompts(&home).into_iter().filter_map(change).collect();
        rewrite::rewrite(&home, at(9_000), &Rewrite { lines, ..Rewrite::default() }).unwrap();
        let text = fs::read_to_string(home.journal_dir().join("1970-01-01.jsonl")).unwrap();
        assert!(!text.contains("first") && !text.contains("\"second\""), "{text}");
        // The bytes are at the end, but the place is the old one; the list of forgotten records follows.
        assert_eq!(orders(&home), [9_000_002, 9_000_001, 9_000_003]);
        assert!(rewrite::is_unfinished(&home));
        rewrite::done(&home).unwrap();
        assert!(!rewrite::is_unfinished(&home));
    }

    #[test]
    fn closed_segments_are_shrunk_and_old_records_keep_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        append(&home, at(1_000), &record("gone")).unwrap();
        let path = home.journal_dir().join("1970-01-01.jsonl");
        let old: Vec<u8> = ["x", "y"].iter().flat_map(|text| sealed_line(&record(text)).unwrap()).collect();
        home.open(&path, Access::Append).unwrap().write_all(&old).unwrap();
        let before = orders(&home);
        let gone = prompts(&home).into_iter().filter(|(_, text)| text == "gone");
        let lines = gone.map(|(position, _)| (position, LineChange::Remove)).collect();
        rewrite::rewrite(&home, at(30 * 86_400_000), &Rewrite { lines, ..Rewrite::default() }).unwrap();
        assert_eq!(orders(&home)[..2], before[1..]);
        assert!(!fs::read(&path).unwrap().windows(4).any(|window| window == b"gone"));
    }

    #[test]
    fn only_the_owner_can_read_the_home() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        append(&home, Timestamp::EPOCH, &record("x")).unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(home.root()), 0o700);
        assert_eq!(mode(&home.journal_dir()), 0o700);
        assert_eq!(mode(&home.journal_dir().join("1970-01-01.jsonl")), 0o600);
        assert_eq!(mode(&home.device()), 0o600);
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
        let line = encode(&record(&text), Order::default()).unwrap();
        let count = 2 * CHUNK_BYTES as usize / line.len() + 2;
        let dir = tempfile::tempdir().unwrap();
        let home = home_with(&dir, "1970-01-01.jsonl", &line.repeat(count));
        let stretches: Vec<Stretch> = stretches(&home, "1970-01-01.jsonl").collect::<Result<_, _>>().unwrap();
        assert_eq!(stretches.len(), 3);
        let mut expected = 0;
        for stretch in &stretches {
            assert_eq!(stretch.offset, expected);
            expected += stretch.bytes.len() as u64;
            assert_eq!(stretch.next_offset, expected);
            assert!(
                stretch.bytes.len() as u64 <= CHUNK_BYTES && stretch.lines().all(|(_, line)| decode(line).is_some())
            );
        }
        assert_eq!(expected, segments(&home).unwrap()[0].bytes);
        assert_eq!(stretches.iter().flat_map(|stretch| stretch.lines()).count(), count);
    }

    #[test]
    fn an_incomplete_line_is_awaited_unless_it_is_too_long() {
        let whole = encode(&record("after"), Order::default()).unwrap();
        let chunk = CHUNK_BYTES as usize;
        for (before, records, next_offset) in [
            // Its writer may still be writing.
            ("x".repeat(9), 0, 0),
            ("x".repeat(chunk - 1), 0, 0),
            // Not part of a journal: skipped.
            ("x".repeat(chunk), 0, chunk),
            ("x".repeat(chunk + 9), 0, chunk),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let home = home_with(&dir, "1970-01-01.jsonl", before.as_bytes());
            let read = read(&home, "1970-01-01.jsonl", 0).unwrap();
            assert_eq!((read.next_offset, read.bytes.len()), (next_offset as u64, next_offset), "{}", before.len());
            assert_eq!(read.lines().filter_map(|(_, line)| decode(line)).count(), records);
            let home = home_with(&dir, "1970-01-01.jsonl", &[before.as_bytes(), &whole].concat());
            let all: Vec<Stretch> = stretches(&home, "1970-01-01.jsonl").collect::<Result<_, _>>().unwrap();
            let found = all.iter().flat_map(|stretch| stretch.lines()).filter_map(|(_, line)| decode(line)).count();
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
        let device = device::id(&home).unwrap();
        let encoded = |(at, record): (usize, &Record)| encode(record, Order { seq: 1 + at as u64, device }).unwrap();
        let expected: Vec<u8> = records.iter().enumerate().flat_map(encoded).collect();
        assert!(written == expected, "{} bytes, not {}", written.len(), expected.len());
    }
}
