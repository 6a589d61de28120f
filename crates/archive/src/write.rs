//! Writing the archive: reads what is new in a transcript, cleans it, and appends it in blocks. Whoever is killed when,
//! the next writer goes on where the last whole block ends.
//!
//! Only what the journal has a record of is stored: what was said while the user had paused stays out.

use std::collections::{BTreeMap, HashSet};
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
use crate::index::{ArchiveIndex, REFERENCE_BYTES_MIN, reference, referred};
use crate::lines::LineReader;
use crate::reached::Reached;
pub use crate::reading::Source;
use crate::reading::{Piece, ReadLine, ReadPiece, Reading, SourceForm, message_name, read_lines};
use crate::recorded::{Recorded, WaitingLine};
use crate::segment::{
    self, BLOCK_TEXT_BYTES, BlockHead, BlockPlace, SEGMENT_BYTES, lock, pack, packer, segment_path, segments,
};
use crate::terms::{LineTerms, StoredLine, line_hash};

/// How many bytes before the end of what was read are remembered.
const MARK_BYTES: u64 = 1024;

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
        let stored = if after.is_some() { self.stored(source, form.is_object())? } else { StoredLines::default() };
        let mut adding = Adding {
            source,
            form: *form,
            mark: 0,
            from: *from,
            to: *from,
            open: reading.open(),
            recorded: Recorded::new(&source.recorded, source.is_main),
            text: String::new(),
            terms: Vec::new(),
            bytes: 0,
            first_at: None,
            last_at: after,
            added: 0,
        };
        for piece in pieces {
            let ReadPiece { lines, mark } = piece?;
            adding.mark = mark;
            for ReadLine { at, is_prompt, has_output, line, message, to, open } in lines {
                let is_known = after.is_some() && (at.is_none_or(|at| Some(at) < after) || stored.has(&line, message));
                let line = (!is_known).then_some(line);
                adding.recorded.push(is_prompt, WaitingLine { at, line, has_output, to, open });
                adding.ready(self)?;
            }
            if adding.recorded.is_left {
                break;
            }
        }
        adding.finish(self)
    }

    /// What is stored of a session, with the names of its messages if they may have changed since.
    fn stored(&self, source: &Source, has_messages: bool) -> Result<StoredLines, ArchiveError> {
        let mut found = StoredLines::default();
        let mut reader = LineReader::new(self.home, &self.index);
        for (place, ..) in self.index.blocks_of(source.agent, source.session)? {
            let Some(block) = segment::block_text(self.home, place)? else { continue };
            for line in block.lines() {
                let reference = referred(line);
                found.hashes.insert(reference.unwrap_or_else(|| line_hash(line)));
                if !has_messages {
                    continue;
                }
                let line = reference.map_or(Ok(Some(line.to_string())), |hash| reader.line(hash))?.unwrap_or_default();
                let value = serde_json::from_slice(line.as_bytes()).unwrap_or_default();
                found.messages.extend(message_name(&value));
            }
        }
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
        let is_held = LineReader::new(self.home, &self.index).is_line(hash, text)?;
        Ok(is_held.then(|| reference(hash)))
    }

    fn append(&mut self, head: &BlockHead, text: String, terms: Vec<Option<LineTerms>>) -> Result<(), ArchiveError> {
        if self.offset >= SEGMENT_BYTES {
            self.file.sync_data()?;
            self.number += 1;
            self.file = self.home.open(&segment_path(self.home, self.number), Access::AppendOrCreate)?;
            self.offset = 0;
        }
        let packed = pack(head, &text, &mut self.packer)?;
        drop(text);
        fault::point("archive-write")?;
        self.file.write_all(&packed)?;
        fault::point("archive-written")?;
        let place = BlockPlace { segment: self.number, offset: self.offset, bytes: packed.len() as u64 };
        self.offset += place.bytes;
        self.index.add(place, head, terms.into_iter())?;
        self.uncommitted += head.text_bytes;
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

/// The lines that are stored of a session.
#[derive(Default)]
struct StoredLines {
    hashes: HashSet<u64>,
    /// Of transcripts that are one object. What an agent changes in a message later is not stored again.
    messages: HashSet<u64>,
}

impl StoredLines {
    fn has(&self, line: &StoredLine, message: Option<u64>) -> bool {
        self.hashes.contains(&line.terms.hash) || message.is_some_and(|message| self.messages.contains(&message))
    }
}

/// The lines that go into the next block.
struct Adding<'a> {
    source: &'a Source<'a>,
    form: SourceForm<'a>,
    /// What the transcript is recognised by, if its end does not say it.
    mark: u64,
    from: u64,
    to: u64,
    /// The calls that have no result yet.
    open: BTreeMap<String, Call>,
    recorded: Recorded<'a>,
    text: String,
    /// For each line; `None` for a line that another block holds.
    terms: Vec<Option<LineTerms>>,
    bytes: usize,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    added: u64,
}

impl Adding<'_> {
    /// Adds what waits, as far as that can be decided. Returns how much text was added in all.
    fn finish(mut self, archive: &mut Archive) -> Result<u64, ArchiveError> {
        let is_object = self.form.is_object();
        self.recorded.finish(is_object && !self.source.recorded.has_ended());
        self.ready(archive)?;
        if is_object && self.recorded.is_left {
            // The same bytes are read once more.
            self.mark = 0;
        }
        if !(self.text.is_empty() && is_object && self.recorded.is_left) {
            self.flush(archive)?;
        }
        Ok(self.added)
    }

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

    fn line(
        &mut self,
        archive: &mut Archive,
        WaitingLine { at, line, to, open, .. }: WaitingLine,
    ) -> Result<(), ArchiveError> {
        // A large line is not copied to others.
        if !self.text.is_empty() && line.as_ref().is_some_and(|line| line.text.len() >= BLOCK_TEXT_BYTES) {
            self.flush(archive)?;
        }
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
        match self.text.is_empty() {
            true => self.text = text,
            false => self.text.push_str(&text),
        }
        self.text.push('\n');
        self.terms.push(terms);
        Ok(())
    }

    fn flush(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        if self.to == self.from && self.text.is_empty() {
            return Ok(());
        }
        let source = self.source;
        let mark =
            if self.form == SourceForm::Plain { mark(source.path, self.to)?.unwrap_or_default() } else { self.mark };
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
        archive.append(&head, std::mem::take(&mut self.text), std::mem::take(&mut self.terms))?;
        self.from = self.to;
        self.added += std::mem::take(&mut self.bytes) as u64;
        Ok(())
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
    use cerberus_record::clean::text::Clean;
    use cerberus_record::event::Location;
    use cerberus_record::id::{Agent, ProjectId};
    use cerberus_record::kind::EventKind;

    use super::*;
    use crate::recorded::RecordedTurns;

    fn location() -> Location<'static> {
        let word = |text: &str| Clean::from_stored(text.to_string());
        let project = ProjectId::from_stored("p".into());
        Location { project, name: word("p"), root: word("/p"), cwd: word("/p"), branch: None }
    }

    #[test]
    fn a_message_that_grows_or_changes_later_is_stored_once() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let mut archive = Archive::open(&home, KeepFiles::Conversation, 1).unwrap();
        let mut add = |messages: &[(&str, u32, &str)], events: &[(u32, EventKind)]| {
            let at = |second: u32| Timestamp::parse(&format!("2026-01-21T10:00:{second:02}Z")).unwrap();
            let messages: Vec<serde_json::Value> = messages
                .iter()
                .map(|(id, second, text)| {
                    let role = if id.starts_with('u') { "user" } else { "assistant" };
                    let time = serde_json::json!({"created": at(*second).millis()});
                    serde_json::json!({"info": {"id": id, "role": role, "time": time}, "parts": [{"type": "text", "text": text}]})
                })
                .collect();
            let events = events.iter().map(|(second, kind)| (at(*second), *kind)).collect();
            let recorded = RecordedTurns::new(events, Vec::new(), false);
            let (agent, session, path) = (Agent::MANUAL, "session-one", Path::new("/t.db"));
            let source = Source { agent, session, location: location(), path, is_main: true, recorded };
            let object = serde_json::json!({"info": {"id": "s"}, "messages": messages});
            archive.add_whole(&source, object.to_string().as_bytes()).unwrap();
            archive.commit().unwrap();
        };
        let (prompt, tool, stop) = (EventKind::Prompt, EventKind::Tool, EventKind::Stop);
        add(&[("u1", 0, "Tune it"), ("a1", 2, "I tu")], &[(0, prompt), (4, tool)]);
        add(&[("u1", 0, "Tune it"), ("a1", 2, "I tune it")], &[(0, prompt), (4, tool), (5, tool)]);
        let done = [(0, prompt), (4, tool), (5, tool), (6, stop)];
        add(&[("u1", 0, "Tune it"), ("a1", 2, "I tune it: done")], &done);
        add(
            &[("u1", 0, "Tune it (a title)"), ("a1", 2, "I tune it: done"), ("u2", 8, "Go")],
            &[&done[..], &[(8, prompt)]].concat(),
        );
        let (events, more) = ([&done[..], &[(8, prompt), (9, stop)]].concat(), ("a2", 9, "Gone"));
        add(&[("u1", 0, "Tune it (a title)"), ("a1", 2, "I tune it: done"), ("u2", 8, "Go"), more], &events);
        drop(archive);
        let kept = crate::find(&home, Agent::MANUAL, "session-one").unwrap().unwrap();
        let mut said = Vec::new();
        crate::lines(&home, &kept, &mut |line| {
            let value: serde_json::Value = serde_json::from_slice(line.as_bytes()).unwrap();
            said.extend(value["parts"][0]["text"].as_str().map(str::to_string));
        })
        .unwrap();
        assert_eq!(said, ["Tune it", "I tune it: done", "Go", "Gone"]);
    }
}
