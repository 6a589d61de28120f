//! Reading the journal: segments, stretches of whole lines, and the position and place of each line.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};

use cerberus_os::home::{Access, Home};
use cerberus_record::event::Record;
use cerberus_record::order::{DeviceId, Order};
use cerberus_record::time::Timestamp;

use super::JournalError;
use super::line::{ChecksummedLine, decode};

/// How much of the end is read. Hooks that run at the same time write far less.
const END_BYTES: u64 = 256 * 1024;

/// How much is read at once. A record is far smaller.
pub const CHUNK_BYTES: u64 = 4 * 1024 * 1024;

/// An existing segment and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub name: String,
    pub bytes: u64,
}

/// The segment of a day.
pub fn segment_of(wall: Timestamp) -> String {
    format!("{}.jsonl", wall.day())
}

/// The segment for what arrived on a day from other devices. The numbers are those of a space and a project here.
pub fn replica_of(wall: Timestamp, space: u32, project: u32) -> String {
    format!("{}{REPLICA}{space}-{project}.jsonl", wall.day())
}

/// Whether a segment holds what other devices recorded.
pub fn is_replica(segment: &str) -> bool {
    segment.contains(REPLICA)
}

/// Whether a segment is a replica of this space and project.
pub fn is_replica_of(segment: &str, space: u32, project: u32) -> bool {
    segment.ends_with(&format!("{REPLICA}{space}-{project}.jsonl"))
}

const REPLICA: &str = "-replica-";

/// The place of a record as one number.
pub fn rank(record: &Record, order: Order) -> i64 {
    order.rank(&[record.agent.name(), &record.session, &record.key])
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

/// A stretch of a segment in whole lines, and where the next stretch begins.
#[derive(Debug)]
pub struct Stretch {
    pub segment: String,
    pub offset: u64,
    pub bytes: Vec<u8>,
    pub next_offset: u64,
    /// When the day of its segment began.
    day_seq: u64,
}

/// The location of a line's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LinePosition {
    pub segment: String,
    pub offset: u64,
    pub length: usize,
}

impl LinePosition {
    pub fn order(&self, sealed: &ChecksummedLine) -> Order {
        sealed.order.unwrap_or_else(|| derived_order(day_seq(&self.segment), self.offset))
    }
}

/// The place of a record of the first format, which carries none: the day of its segment, then its offset.
fn derived_order(day_seq: u64, offset: u64) -> Order {
    Order { seq: day_seq.saturating_add(offset), device: DeviceId::default() }
}

fn day_seq(segment: &str) -> u64 {
    let day = segment.trim_end_matches(".jsonl");
    micros(Timestamp::parse(&format!("{day}T00:00:00Z")).unwrap_or(Timestamp::EPOCH))
}

pub fn micros(moment: Timestamp) -> u64 {
    moment.millis().unsigned_abs().saturating_mul(1_000)
}

/// Reads on from `offset`. An incomplete last line is left for later: its writer may still be writing it.
pub fn read(home: &Home, segment: &str, offset: u64) -> Result<Stretch, JournalError> {
    read_from(home, segment, CHUNK_BYTES, |_| offset)
}

/// The same with fewer bytes, but at least one line.
pub fn read_little(home: &Home, segment: &str, offset: u64, bytes_max: u64) -> Result<Stretch, JournalError> {
    let stretch = read_from(home, segment, bytes_max, |_| offset)?;
    if stretch.next_offset > offset { Ok(stretch) } else { read(home, segment, offset) }
}

/// Reads on from where `begin` says, which is given the length of the segment.
fn read_from(
    home: &Home,
    segment: &str,
    bytes_max: u64,
    begin: impl FnOnce(u64) -> u64,
) -> Result<Stretch, JournalError> {
    let path = home.journal_dir().join(segment);
    let filled = home.open(&path, Access::Read).and_then(|mut file| {
        let length = file.metadata()?.len();
        let offset = begin(length);
        // One more byte shows that this is the end.
        let mut bytes = Vec::with_capacity(length.saturating_sub(offset).min(bytes_max) as usize + 1);
        file.seek(SeekFrom::Start(offset))?;
        file.take(bytes_max).read_to_end(&mut bytes)?;
        Ok((offset, bytes))
    });
    let (offset, mut bytes) = filled.map_err(|source| JournalError::Read { path, source })?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    // A stretch without a line break is not part of a journal; skip it instead of reading it forever.
    let whole = if whole == 0 && bytes.len() as u64 == CHUNK_BYTES { bytes.len() } else { whole };
    bytes.truncate(whole);
    let (segment, day_seq) = (segment.to_string(), day_seq(segment));
    Ok(Stretch { segment, offset, next_offset: offset + whole as u64, bytes, day_seq })
}

/// All stretches of a segment.
pub fn stretches<'a>(home: &'a Home, segment: &'a str) -> impl Iterator<Item = Result<Stretch, JournalError>> + 'a {
    let mut offset = 0;
    std::iter::from_fn(move || match read(home, segment, offset) {
        Ok(stretch) if stretch.next_offset == offset => None,
        Ok(stretch) => {
            offset = stretch.next_offset;
            Some(Ok(stretch))
        }
        Err(error) => Some(Err(error)),
    })
}

/// The end of a day's segment: the records that were written last.
pub fn end(home: &Home, wall: Timestamp) -> Result<Stretch, JournalError> {
    end_of_day(home, wall, END_BYTES)
}

/// At most this much of the end of a day's segment, and of no more than one stretch.
pub fn end_of_day(home: &Home, wall: Timestamp, bytes_max: u64) -> Result<Stretch, JournalError> {
    read_from(home, &segment_of(wall), CHUNK_BYTES, |length| length.saturating_sub(bytes_max.min(CHUNK_BYTES)))
}

impl Stretch {
    /// The readable records, each with its rank in the order of all records.
    pub fn records(&self) -> impl Iterator<Item = (i64, Record<'_>)> {
        self.lines().filter_map(|(offset, line)| {
            let sealed = decode(line)?;
            let record = sealed.record()?;
            Some((rank(&record, self.order(offset, &sealed)), record))
        })
    }

    /// The lines that are not empty, each with its offset: records and torn lines.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut start = 0;
        memchr::memchr_iter(b'\n', &self.bytes).chain([self.bytes.len()]).filter_map(move |end| {
            let (offset, line) = (self.offset + start as u64, &self.bytes[start..end]);
            start = end + 1;
            (!line.is_empty()).then_some((offset, line))
        })
    }

    pub fn order(&self, offset: u64, sealed: &ChecksummedLine) -> Order {
        sealed.order.unwrap_or_else(|| derived_order(self.day_seq, offset))
    }

    pub fn position(&self, offset: u64, line: &[u8]) -> LinePosition {
        LinePosition { segment: self.segment.clone(), offset, length: line.len() }
    }
}

/// What a line of the journal contains.
#[derive(Debug)]
pub enum JournalLine<'a> {
    Whole(ChecksummedLine<'a>),
    /// Torn when it was written, or damaged since.
    Broken(&'a [u8]),
}

/// Calls `look` for every line of the journal, segment by segment.
pub fn each_line(home: &Home, mut look: impl FnMut(LinePosition, JournalLine)) -> Result<(), JournalError> {
    for segment in segments(home)? {
        for stretch in stretches(home, &segment.name) {
            let stretch = stretch?;
            for (offset, bytes) in stretch.lines() {
                look(
                    stretch.position(offset, bytes),
                    decode(bytes).map_or(JournalLine::Broken(bytes), JournalLine::Whole),
                );
            }
        }
    }
    Ok(())
}
