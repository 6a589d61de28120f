//! Writing the archive: reads what is new in a transcript, cleans it, and appends it in blocks. Whoever is killed when,
//! the next writer goes on where the last whole block ends.
//!
//! Only what the journal has a record of is stored: what was said while the user had paused stays out.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use cerberus_agents::conversation::reduce::{KeepFiles, Reducer};
use cerberus_agents::conversation::{Call, PartKind, parts, time_of};
use cerberus_os::fault;
use cerberus_os::home::{Access, Home};
use cerberus_os::outside;
use cerberus_record::event::Location;
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::time::Timestamp;
use cerberus_store::import::files::{self, FileLines};
use serde_json::Value;

use crate::clean::LineCleaner;
use crate::error::ArchiveError;
use crate::index::{ArchiveIndex, LineReader, REFERENCE_BYTES_MIN, line_hash, reference, referred};
use crate::segment::{
    self, BLOCK_TEXT_BYTES, Block, BlockHead, BlockPlace, SEGMENT_BYTES, lock, segment_path, segments,
};

/// Limit for a transcript that is one JSON object.
pub const WHOLE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How many bytes before the end of what was read are remembered.
const MARK_BYTES: u64 = 1024;

/// How much later than the record a line may be written, in milliseconds.
const SLACK_MILLIS: i64 = 5_000;

/// How much text may wait for a record that is as late.
const WAITING_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a line costs that waits, besides its text.
const WAITING_LINE_BYTES: usize = 64;

/// What is added until it is made durable.
const COMMIT_BYTES: u64 = 16 * 1024 * 1024;

/// A transcript, and the session that it is of.
pub struct Source<'a> {
    pub agent: Agent,
    pub session: &'a str,
    pub location: Location<'static>,
    pub path: &'a Path,
    pub is_main: bool,
    /// When events of the session were recorded, in order.
    pub recorded: &'a [Timestamp],
}

/// The archive, locked for writing.
pub struct Archive<'h> {
    home: &'h Home,
    pub index: ArchiveIndex,
    keep: KeepFiles,
    /// The segment that is written to.
    number: u32,
    file: File,
    offset: u64,
    /// How much text was added since the last commit.
    uncommitted: u64,
    _lock: File,
}

impl<'h> Archive<'h> {
    /// Waits until no other process writes.
    pub fn open(home: &'h Home, keep: KeepFiles) -> Result<Archive<'h>, ArchiveError> {
        let lock = lock(home)?;
        let index = ArchiveIndex::open_writable(home)?;
        let (number, file, offset) = last_segment(home)?;
        index.begin()?;
        Ok(Archive { home, index, keep, number, file, offset, uncommitted: 0, _lock: lock })
    }

    /// Adds what is new in a transcript. Returns how many bytes of text that is.
    pub fn add(&mut self, source: &Source) -> Result<u64, ArchiveError> {
        let plain = files::plain_name(source.path);
        if plain.ends_with(".json") {
            let bytes = files::read_within(source.path, WHOLE_BYTES_MAX).map_err(ArchiveError::Unreadable)?;
            return self.add_whole(source, &bytes);
        }
        let is_plain = source.path.ends_with(&plain);
        let known = self.known(source)?;
        let mut from = known.as_ref().map_or(0, |head| head.to);
        let is_same =
            |head: &BlockHead| is_plain && matches!(mark(source.path, from), Ok(Some(mark)) if mark == head.mark);
        if is_plain && known.as_ref().is_some_and(|head| !is_same(head)) {
            // The agent wrote it anew.
            from = 0;
        }
        let mut lines = FileLines::after(source.path, from).map_err(ArchiveError::Unreadable)?;
        // A line that is still being written is read next time.
        let mut next = || Ok(lines.next_line()?.filter(|line| line.is_ended).map(|line| (line.bytes, line.to)));
        let mark = |to: u64| if is_plain { Ok(mark(source.path, to)?.unwrap_or_default()) } else { Ok(0) };
        self.add_lines(source, known, from, &mut next, &mark)
    }

    /// Adds what is new in a transcript that is one JSON object, such as an export.
    pub fn add_whole(&mut self, source: &Source, bytes: &[u8]) -> Result<u64, ArchiveError> {
        let known = self.known(source)?;
        let hash = fnv1a(bytes);
        if known.as_ref().is_some_and(|head| head.mark == hash) {
            return Ok(0);
        }
        let mut lines = whole_lines(bytes).into_iter();
        let to = bytes.len() as u64;
        self.add_lines(source, known, 0, &mut || Ok(lines.next().map(|line| (line, to))), &|_| Ok(hash))
    }

    fn known(&self, source: &Source) -> Result<Option<BlockHead>, ArchiveError> {
        let path = source.path.to_string_lossy();
        match self.index.last_block(source.agent, source.session, &path)? {
            Some(place) => Ok(segment::block(self.home, place)?.map(|block| block.head)),
            None => Ok(None),
        }
    }

    fn add_lines(
        &mut self,
        source: &Source,
        known: Option<BlockHead>,
        from: u64,
        next: &mut dyn FnMut() -> io::Result<Option<(Vec<u8>, u64)>>,
        mark: &dyn Fn(u64) -> io::Result<u64>,
    ) -> Result<u64, ArchiveError> {
        let cleaner = LineCleaner::new(self.home, source.agent, source.session, source.location.clone());
        // What is read again was stored or forgotten; only what is newer is new.
        let after = known.as_ref().filter(|_| from == 0).and_then(|head| head.last_at);
        let stored = if after.is_some() { self.stored(source)? } else { Vec::new() };
        let open = known.filter(|_| from > 0).map(|head| head.open).unwrap_or_default();
        cleaner.reducer(self.keep, |mut reducer| {
            reducer.open = open;
            let mut adding = Adding {
                source,
                from,
                to: from,
                recorded: Recorded::new(source.recorded),
                lines: Vec::new(),
                bytes: 0,
                first_at: None,
                last_at: after,
                added: 0,
            };
            while let Some((line, to)) = next()? {
                let Ok(mut value) = serde_json::from_slice::<Value>(&line) else { continue };
                let at = time_of(&value);
                let is_prompt = parts(&value).first().is_some_and(|part| part.kind == PartKind::Prompt);
                let text = cleaner.line(&mut reducer, &mut value);
                let is_known = after.is_some()
                    && (stored.binary_search(&line_hash(&text)).is_ok() || at.is_none_or(|at| Some(at) < after));
                adding.recorded.push(at, is_prompt, (!is_known).then_some(text), to);
                for (at, text, to) in adding.recorded.take() {
                    adding.line(self, at, text, to)?;
                    if adding.bytes >= BLOCK_TEXT_BYTES {
                        adding.flush(self, &reducer, mark)?;
                    }
                }
            }
            for (at, text, to) in adding.recorded.finish() {
                adding.line(self, at, text, to)?;
            }
            adding.flush(self, &reducer, mark)?;
            Ok(adding.added)
        })
    }

    /// The hashes of the lines that are stored of a session, sorted.
    fn stored(&self, source: &Source) -> Result<Vec<u64>, ArchiveError> {
        let mut found = Vec::new();
        for (place, ..) in self.index.blocks_of(source.agent, source.session)? {
            let Some(block) = segment::block(self.home, place)? else { continue };
            found.extend(block.lines.iter().map(|line| referred(line).unwrap_or_else(|| line_hash(line))));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// A reference to the same line of another session, if there is one.
    fn shared(&self, text: &str) -> Result<Option<String>, ArchiveError> {
        if text.len() < REFERENCE_BYTES_MIN {
            return Ok(None);
        }
        let hash = line_hash(text);
        if self.index.line_place(hash)?.is_none() {
            return Ok(None);
        }
        let held = LineReader::new(self.home, &self.index).line(hash)?;
        Ok((held.as_deref() == Some(text)).then(|| reference(hash)))
    }

    fn append(&mut self, block: &Block) -> Result<(), ArchiveError> {
        if self.offset >= SEGMENT_BYTES {
            self.file.sync_data()?;
            self.number += 1;
            self.file = self.home.open(&segment_path(self.home, self.number), Access::AppendOrCreate)?;
            self.offset = 0;
        }
        let packed = block.pack()?;
        fault::point("archive-write")?;
        self.file.write_all(&packed)?;
        fault::point("archive-written")?;
        let place = BlockPlace { segment: self.number, offset: self.offset, bytes: packed.len() as u64 };
        self.offset += place.bytes;
        self.index.add(place, block)?;
        self.uncommitted += block.head.text_bytes;
        if self.uncommitted >= COMMIT_BYTES { self.commit() } else { Ok(()) }
    }

    /// Makes everything durable that was added.
    pub fn commit(&mut self) -> Result<(), ArchiveError> {
        self.file.sync_data()?;
        fault::point("archive-synced")?;
        self.index.commit()?;
        fault::point("archive-done")?;
        self.uncommitted = 0;
        self.index.begin()
    }
}

/// A head is not compressed, so it names no file.
fn nameless(call: &Call) -> Call {
    Call { file: call.file.as_ref().map(|_| String::new()), ..call.clone() }
}

/// The segment to append to, and its length.
fn last_segment(home: &Home) -> Result<(u32, File, u64), ArchiveError> {
    let (number, path) = segments(home)?.pop().unwrap_or_else(|| (1, segment_path(home, 1)));
    let file = home.open(&path, Access::AppendOrCreate)?;
    let end = file.metadata()?.len();
    Ok((number, file, end))
}

/// The lines that go into the next block.
struct Adding<'a> {
    source: &'a Source<'a>,
    from: u64,
    to: u64,
    recorded: Recorded<'a>,
    lines: Vec<String>,
    bytes: usize,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    added: u64,
}

impl Adding<'_> {
    fn line(
        &mut self,
        archive: &Archive,
        at: Option<Timestamp>,
        text: Option<String>,
        to: u64,
    ) -> Result<(), ArchiveError> {
        self.to = to;
        let Some(text) = text else { return Ok(()) };
        self.first_at = self.first_at.or(at);
        self.last_at = self.last_at.max(at);
        let text = archive.shared(&text)?.unwrap_or(text);
        self.bytes += text.len();
        self.lines.push(text);
        Ok(())
    }

    fn flush(
        &mut self,
        archive: &mut Archive,
        reducer: &Reducer,
        mark: &dyn Fn(u64) -> io::Result<u64>,
    ) -> Result<(), ArchiveError> {
        if self.to == self.from && self.lines.is_empty() {
            return Ok(());
        }
        let source = self.source;
        let head = BlockHead {
            agent: source.agent,
            session: source.session.to_string(),
            project: source.location.project.clone(),
            root: source.location.root.to_string(),
            source: source.path.to_string_lossy().into_owned(),
            is_main: source.is_main,
            from: self.from,
            to: self.to,
            mark: mark(self.to)?,
            first_at: self.first_at.take(),
            last_at: self.last_at,
            open: reducer.open.iter().map(|(id, call)| (id.clone(), nameless(call))).collect(),
            text_bytes: self.bytes as u64,
        };
        archive.append(&Block { head, lines: std::mem::take(&mut self.lines) })?;
        self.from = self.to;
        self.added += std::mem::take(&mut self.bytes) as u64;
        Ok(())
    }
}

/// Holds lines back until it is known that their turn was recorded as late as they are.
struct Recorded<'a> {
    times: &'a [Timestamp],
    waiting: Vec<(Option<Timestamp>, Option<String>, u64)>,
    bytes: usize,
    ready: Vec<(Option<Timestamp>, Option<String>, u64)>,
    /// The prompt of the turn was recorded.
    is_turn: bool,
}

impl<'a> Recorded<'a> {
    fn new(times: &'a [Timestamp]) -> Recorded<'a> {
        Recorded { times, waiting: Vec::new(), bytes: 0, ready: Vec::new(), is_turn: true }
    }

    fn push(&mut self, at: Option<Timestamp>, is_prompt: bool, text: Option<String>, to: u64) {
        if let Some(at) = at.filter(|_| is_prompt) {
            self.settle(at.millis() - 1);
            let near = |time: &Timestamp| (time.millis() - at.millis()).abs() <= SLACK_MILLIS;
            self.is_turn = self.times.iter().any(near);
        }
        self.bytes += WAITING_LINE_BYTES + text.as_ref().map_or(0, String::len);
        self.waiting.push((at, text, to));
        if self.bytes > WAITING_BYTES_MAX {
            self.settle(i64::MAX);
        }
    }

    /// Decides about what waits: its turn ended before this time.
    fn settle(&mut self, until: i64) {
        let last = self
            .times
            .partition_point(|time| time.millis() <= until)
            .checked_sub(1)
            .map(|last| self.times[last].millis());
        for (at, text, to) in self.waiting.drain(..) {
            let is_recorded =
                self.is_turn && at.is_none_or(|at| last.is_some_and(|last| at.millis() <= last + SLACK_MILLIS));
            self.ready.push((at, text.filter(|_| is_recorded), to));
        }
        self.bytes = 0;
    }

    fn take(&mut self) -> Vec<(Option<Timestamp>, Option<String>, u64)> {
        std::mem::take(&mut self.ready)
    }

    fn finish(&mut self) -> Vec<(Option<Timestamp>, Option<String>, u64)> {
        self.settle(i64::MAX);
        self.take()
    }
}

/// A hash of the bytes before an offset.
fn mark(path: &Path, to: u64) -> io::Result<Option<u64>> {
    let mut file = outside::open(path)?;
    let from = to.saturating_sub(MARK_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(to - from).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 == to - from).then(|| fnv1a(&bytes)))
}

/// The messages of a transcript that is one object, a line each, after a line with everything else.
fn whole_lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for mut value in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().map_while(Result::ok) {
        let messages = value.get_mut("messages").map(Value::take);
        found.push(value.to_string().into_bytes());
        if let Some(Value::Array(messages)) = messages {
            found.extend(messages.iter().map(|message| message.to_string().into_bytes()));
        }
    }
    found
}

/// The room that the archive takes, its index included.
pub fn stored_bytes(home: &Home) -> (u64, u64) {
    let length = |path: &Path| fs::symlink_metadata(path).map_or(0, |known| known.len());
    let segments = segments(home).unwrap_or_default().iter().map(|(_, path)| length(path)).sum();
    let index = crate::index::index_file(home);
    (segments, length(&index) + length(&index.with_extension("db-wal")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_record_is_bounded_also_where_no_text_is_stored() {
        let mut recorded = Recorded::new(&[]);
        for to in 0..(2 * WAITING_BYTES_MAX / WAITING_LINE_BYTES) as u64 {
            recorded.push(None, false, None, to);
            recorded.take();
        }
        assert!(recorded.waiting.len() <= WAITING_BYTES_MAX / WAITING_LINE_BYTES, "{}", recorded.waiting.len());
    }
}
