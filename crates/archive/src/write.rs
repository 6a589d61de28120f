//! Writing the archive: reads what is new in a transcript, cleans it, and appends it in blocks. Whoever is killed when,
//! the next writer goes on where the last whole block ends.
//!
//! Only what the journal has a record of is stored: what was said while the user had paused stays out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use cerberus_agents::conversation::Call;
use cerberus_agents::conversation::reduce::KeepFiles;
use cerberus_os::ahead::ahead;
use cerberus_os::fault;
use cerberus_os::home::{Access, Home};
use cerberus_os::outside;
use cerberus_record::id::fnv1a;
use cerberus_record::time::Timestamp;
use cerberus_store::import::files;
use zstd::bulk::Compressor;

use crate::error::ArchiveError;
use crate::index::{ArchiveIndex, LineReader, REFERENCE_BYTES_MIN, reference, referred};
use crate::reached::Reached;
pub use crate::reading::Source;
use crate::reading::{Piece, ReadLine, ReadPiece, Reading, SourceForm, read_lines};
use crate::segment::{
    self, BLOCK_TEXT_BYTES, Block, BlockHead, BlockPlace, SEGMENT_BYTES, lock, packer, segment_path, segments,
};
use crate::terms::{LineTerms, StoredLine, line_hash};

/// How many bytes before the end of what was read are remembered.
const MARK_BYTES: u64 = 1024;

/// How much later than the record a line may be written, in milliseconds.
const SLACK_MILLIS: i64 = 5_000;

/// How much text may wait for a record that is as late.
const WAITING_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a line costs that waits, besides its text.
const WAITING_LINE_BYTES: usize = 96;

/// And a call that has no result yet.
const OPEN_CALL_BYTES: usize = 128;

/// What is added until it is made durable.
const COMMIT_BYTES: u64 = 16 * 1024 * 1024;

/// The archive, locked for writing.
pub struct Archive<'h> {
    home: &'h Home,
    pub index: ArchiveIndex,
    keep: KeepFiles,
    /// How many threads read transcripts ahead.
    workers: usize,
    reached: Reached,
    packer: Compressor<'static>,
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
    pub fn open(home: &'h Home, keep: KeepFiles, workers: usize) -> Result<Archive<'h>, ArchiveError> {
        let lock = lock(home)?;
        let index = ArchiveIndex::open_writable(home)?;
        let (number, file, offset) = last_segment(home)?;
        index.begin()?;
        let (reached, packer) = (Reached::read(home)?, packer()?);
        Ok(Archive { home, index, keep, workers, reached, packer, number, file, offset, uncommitted: 0, _lock: lock })
    }

    /// Adds what is new in a transcript. Returns how many bytes of text that is.
    pub fn add(&mut self, source: &Source) -> Result<u64, ArchiveError> {
        let mut added = Ok(0);
        self.add_all(std::slice::from_ref(source), &mut |done| {
            added = done;
            Ok(())
        })?;
        added
    }

    /// Adds what is new in several transcripts, of which none is another one's. Tells of each how many bytes of text that
    /// is, or that it cannot be read.
    pub fn add_all(
        &mut self,
        sources: &[Source],
        tell: &mut dyn FnMut(Result<u64, ArchiveError>) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let readings: Vec<Reading> = sources.iter().map(|source| self.reading(source)).collect::<Result<_, _>>()?;
        ahead(self.workers, &readings, &read_lines, &mut |reading, pieces| tell(self.add_lines(reading, pieces)))
    }

    /// Adds what is new in a transcript that is one JSON object, such as an export.
    pub fn add_whole(&mut self, source: &Source, bytes: &[u8]) -> Result<u64, ArchiveError> {
        let known = self.known(source)?;
        let reading =
            Reading { home: self.home, keep: self.keep, source, form: SourceForm::Held(bytes), known, from: 0 };
        let mut added = 0;
        ahead(1, &[reading], &read_lines, &mut |reading, pieces| {
            added = self.add_lines(reading, pieces)?;
            Ok::<(), ArchiveError>(())
        })?;
        Ok(added)
    }

    /// Where reading goes on.
    fn reading<'s>(&self, source: &'s Source<'s>) -> Result<Reading<'s>, ArchiveError>
    where
        'h: 's,
    {
        let plain = files::plain_name(source.path);
        let form = match source.path.ends_with(&plain) {
            _ if plain.ends_with(".json") => SourceForm::Whole,
            true => SourceForm::Plain,
            false => SourceForm::Packed,
        };
        let known = self.known(source)?;
        let is_lost = self.reached.after_loss(source, known.as_ref()).is_some();
        let goes_on = form != SourceForm::Whole && !is_lost;
        let mut from = known.as_ref().filter(|_| goes_on).map_or(0, |head| head.to);
        let is_same = |head: &BlockHead| matches!(mark(source.path, from), Ok(Some(mark)) if mark == head.mark);
        if form == SourceForm::Plain && known.as_ref().is_some_and(|head| !is_same(head)) {
            // The agent wrote it anew.
            from = 0;
        }
        Ok(Reading { home: self.home, keep: self.keep, source, form, known, from })
    }

    fn known(&self, source: &Source) -> Result<Option<BlockHead>, ArchiveError> {
        let path = source.path.to_string_lossy();
        let last = self.index.last_block(self.home, source.agent, source.session, &path)?;
        Ok(last.map(|block| block.head))
    }

    fn add_lines(&mut self, reading: &Reading, pieces: &mut dyn Iterator<Item = Piece>) -> Result<u64, ArchiveError> {
        let Reading { source, known, from, form, .. } = reading;
        // What is read again was stored or forgotten; only what is newer is new.
        let after = known.as_ref().filter(|_| *from == 0).and_then(|head| head.last_at);
        let after = after.max(self.reached.after_loss(source, known.as_ref()));
        let stored = if after.is_some() { self.stored(source)? } else { Vec::new() };
        let mut adding = Adding {
            source,
            is_plain: *form == SourceForm::Plain,
            mark: 0,
            from: *from,
            to: *from,
            open: reading.open(),
            recorded: Recorded::new(source.recorded),
            lines: Vec::new(),
            terms: Vec::new(),
            bytes: 0,
            first_at: None,
            last_at: after,
            added: 0,
        };
        for piece in pieces {
            let ReadPiece { lines, mark } = piece?;
            adding.mark = mark;
            for ReadLine { at, is_prompt, line, to, open } in lines {
                let is_known = after.is_some()
                    && (stored.binary_search(&line.terms.hash).is_ok() || at.is_none_or(|at| Some(at) < after));
                let line = (!is_known).then_some(line);
                adding.recorded.push(is_prompt, WaitingLine { at, line, to, open });
                adding.ready(self)?;
            }
        }
        adding.recorded.settle(i64::MAX);
        adding.ready(self)?;
        adding.flush(self)?;
        Ok(adding.added)
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
    fn shared(&self, StoredLine { text, terms }: &StoredLine) -> Result<Option<String>, ArchiveError> {
        if text.len() < REFERENCE_BYTES_MIN {
            return Ok(None);
        }
        let hash = terms.hash;
        if self.index.line_place(hash)?.is_none() {
            return Ok(None);
        }
        let held = LineReader::new(self.home, &self.index).line(hash)?;
        Ok((held.as_ref() == Some(text)).then(|| reference(hash)))
    }

    fn append(&mut self, block: &Block, terms: Vec<Option<LineTerms>>) -> Result<(), ArchiveError> {
        if self.offset >= SEGMENT_BYTES {
            self.file.sync_data()?;
            self.number += 1;
            self.file = self.home.open(&segment_path(self.home, self.number), Access::AppendOrCreate)?;
            self.offset = 0;
        }
        let packed = block.pack_with(&mut self.packer)?;
        fault::point("archive-write")?;
        self.file.write_all(&packed)?;
        fault::point("archive-written")?;
        let place = BlockPlace { segment: self.number, offset: self.offset, bytes: packed.len() as u64 };
        self.offset += place.bytes;
        self.index.add(place, &block.head, terms.into_iter())?;
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
    is_plain: bool,
    /// What the transcript is recognised by, if its end does not say it.
    mark: u64,
    from: u64,
    to: u64,
    /// The calls that have no result yet.
    open: BTreeMap<String, Call>,
    recorded: Recorded<'a>,
    lines: Vec<String>,
    /// `None` for a line that another block holds.
    terms: Vec<Option<LineTerms>>,
    bytes: usize,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    added: u64,
}

impl Adding<'_> {
    /// Adds the lines that need not wait any more.
    fn ready(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        for line in self.recorded.take() {
            self.line(archive, line)?;
            if self.bytes >= BLOCK_TEXT_BYTES {
                self.flush(archive)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, archive: &Archive, WaitingLine { at, line, to, open }: WaitingLine) -> Result<(), ArchiveError> {
        self.to = to;
        if let Some(open) = open {
            self.open = open;
        }
        let Some(line) = line else { return Ok(()) };
        self.first_at = self.first_at.or(at);
        self.last_at = self.last_at.max(at);
        let (text, terms) = match archive.shared(&line)? {
            Some(reference) => (reference, None),
            None => (line.text, Some(line.terms)),
        };
        self.bytes += text.len();
        self.lines.push(text);
        self.terms.push(terms);
        Ok(())
    }

    fn flush(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        if self.to == self.from && self.lines.is_empty() {
            return Ok(());
        }
        let source = self.source;
        let mark = if self.is_plain { mark(source.path, self.to)?.unwrap_or_default() } else { self.mark };
        let head = BlockHead {
            agent: source.agent,
            session: source.session.to_string(),
            project: source.location.project.clone(),
            root: source.location.root.to_string(),
            source: source.path.to_string_lossy().into_owned(),
            is_main: source.is_main,
            from: self.from,
            to: self.to,
            mark,
            first_at: self.first_at.take(),
            last_at: self.last_at,
            open: self.open.iter().map(|(id, call)| (id.clone(), nameless(call))).collect(),
            text_bytes: self.bytes as u64,
        };
        let terms = std::mem::take(&mut self.terms);
        archive.append(&Block { head, lines: std::mem::take(&mut self.lines) }, terms)?;
        self.from = self.to;
        self.added += std::mem::take(&mut self.bytes) as u64;
        Ok(())
    }
}

/// A line that was read.
struct WaitingLine {
    at: Option<Timestamp>,
    /// The line itself, if it is stored.
    line: Option<StoredLine>,
    /// Where it ends.
    to: u64,
    /// The calls without a result after it, if it changed them.
    open: Option<BTreeMap<String, Call>>,
}

/// Holds lines back until it is known that their turn was recorded as late as they are.
struct Recorded<'a> {
    times: &'a [Timestamp],
    waiting: Vec<WaitingLine>,
    bytes: usize,
    ready: Vec<WaitingLine>,
    /// The prompt of the turn was recorded.
    is_turn: bool,
}

impl<'a> Recorded<'a> {
    fn new(times: &'a [Timestamp]) -> Recorded<'a> {
        Recorded { times, waiting: Vec::new(), bytes: 0, ready: Vec::new(), is_turn: true }
    }

    fn push(&mut self, is_prompt: bool, line: WaitingLine) {
        if let Some(at) = line.at.filter(|_| is_prompt) {
            self.settle(at.millis() - 1);
            let near = |time: &Timestamp| (time.millis() - at.millis()).abs() <= SLACK_MILLIS;
            self.is_turn = self.times.iter().any(near);
        }
        let open_bytes = line.open.as_ref().map_or(0, |open| open.len() * OPEN_CALL_BYTES);
        self.bytes += WAITING_LINE_BYTES + open_bytes + line.line.as_ref().map_or(0, |line| line.text.len());
        self.waiting.push(line);
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
        for mut line in self.waiting.drain(..) {
            let is_recorded =
                self.is_turn && line.at.is_none_or(|at| last.is_some_and(|last| at.millis() <= last + SLACK_MILLIS));
            line.line = line.line.filter(|_| is_recorded);
            self.ready.push(line);
        }
        self.bytes = 0;
    }

    fn take(&mut self) -> Vec<WaitingLine> {
        std::mem::take(&mut self.ready)
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
            recorded.push(false, WaitingLine { at: None, line: None, to, open: None });
            recorded.take();
        }
        assert!(recorded.waiting.len() <= WAITING_BYTES_MAX / WAITING_LINE_BYTES, "{}", recorded.waiting.len());
    }
}
