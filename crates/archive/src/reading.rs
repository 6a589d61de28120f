//! Reads the lines of a transcript and makes of them what the archive stores. Writes nothing and asks nothing of the
//! index, so it runs on a thread of its own, ahead of the one that writes.

use std::collections::BTreeMap;
use std::path::Path;

use cerberus_agents::conversation::reduce::KeepFiles;
use cerberus_agents::conversation::{Call, has_output, is_prompt, time_of};
use cerberus_os::ahead::Pieces;
use cerberus_os::home::Home;
use cerberus_record::event::Location;
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::time::Timestamp;
use cerberus_store::import::files::{self, FileLines};
use serde_json::Value;

use crate::clean::LineCleaner;
use crate::error::ArchiveError;
use crate::recorded::RecordedTurns;
use crate::segment::BlockHead;
use crate::terms::StoredLine;

/// How much text is passed on at once.
const PIECE_BYTES: usize = 128 * 1024;

/// What a line costs besides its text, and what a call costs that waits.
const LINE_BYTES: usize = 128;

/// A transcript, and the session that it is of.
pub struct Source<'a> {
    pub agent: Agent,
    pub session: &'a str,
    pub location: Location<'static>,
    pub path: &'a Path,
    pub is_main: bool,
    pub recorded: RecordedTurns,
}

/// A hash of what tells one message from the others: when it was written, and its name or who wrote it.
pub(crate) fn message_name(line: &Value) -> Option<u64> {
    let text = |object: &Value, key: &str| object.get(key).and_then(Value::as_str).map(str::to_string);
    let keys = ["id", "role", "type"].into_iter();
    let name = keys.filter_map(|key| text(line, key).or_else(|| text(line.get("info")?, key))).next();
    Some(fnv1a(format!("{} {}", time_of(line)?.millis(), name.unwrap_or_default()).as_bytes()))
}

/// How a transcript is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceForm<'a> {
    /// Lines, of which those that are known need not be read again.
    Plain,
    /// Compressed lines.
    Packed,
    /// A file with one JSON object.
    Whole,
    /// The JSON itself.
    Held(&'a [u8]),
}

impl SourceForm<'_> {
    /// Whether it is one object, in which a message may change until its turn ends.
    pub fn is_object(self) -> bool {
        matches!(self, SourceForm::Whole | SourceForm::Held(_))
    }
}

/// One transcript to be read.
pub(crate) struct Reading<'a> {
    pub home: &'a Home,
    pub keep: KeepFiles,
    pub source: &'a Source<'a>,
    pub form: SourceForm<'a>,
    /// The last block that was made from it, and where to go on.
    pub known: Option<BlockHead>,
    pub from: u64,
}

impl Reading<'_> {
    /// The calls that have no result so far.
    pub fn open(&self) -> BTreeMap<String, Call> {
        self.known.as_ref().filter(|_| self.from > 0).map(|head| head.open.clone()).unwrap_or_default()
    }
}

/// One line as it may be stored.
pub(crate) struct ReadLine {
    pub at: Option<Timestamp>,
    pub is_prompt: bool,
    pub has_output: bool,
    pub line: StoredLine,
    /// Which message it is, if it has a time.
    pub message: Option<u64>,
    /// Where it ends in the transcript.
    pub to: u64,
    /// The calls without a result after this line, if it changed them.
    pub open: Option<BTreeMap<String, Call>>,
}

/// A few lines.
pub(crate) struct ReadPiece {
    pub lines: Vec<ReadLine>,
    /// The hash of a transcript that is one JSON object.
    pub mark: u64,
}

pub(crate) type Piece = Result<ReadPiece, ArchiveError>;

/// Gives the next line, and where it ends. Calls what it is given before a large one.
type NextLine<'n> = dyn FnMut(&mut dyn FnMut() -> bool) -> Result<Option<(Vec<u8>, u64)>, ArchiveError> + 'n;

/// Passes on the lines piece by piece, until nobody takes them.
pub(crate) fn read_lines(reading: &Reading, pieces: &mut Pieces<'_, Piece>) {
    let read = match reading.form {
        SourceForm::Held(bytes) => read_whole(reading, bytes, pieces),
        SourceForm::Whole => files::read_object(reading.source.path)
            .map_err(ArchiveError::Unreadable)
            .and_then(|bytes| read_whole(reading, &bytes, pieces)),
        SourceForm::Plain | SourceForm::Packed => read_file(reading, pieces),
    };
    if let Err(error) = read {
        pieces.give(Err(error));
    }
}

fn read_file(reading: &Reading, pieces: &mut Pieces<'_, Piece>) -> Result<(), ArchiveError> {
    let mut lines = FileLines::after(reading.source.path, reading.from).map_err(ArchiveError::Unreadable)?;
    // A line that is still being written is read next time.
    let mut next = |before_large: &mut dyn FnMut() -> bool| {
        let line = lines.next_line_with(before_large)?.filter(|line| line.is_ended);
        Ok(line.map(|line| (line.bytes, line.to)))
    };
    each_line(reading, 0, &mut next, pieces)
}

fn read_whole(reading: &Reading, bytes: &[u8], pieces: &mut Pieces<'_, Piece>) -> Result<(), ArchiveError> {
    let mark = fnv1a(bytes);
    if reading.known.as_ref().is_some_and(|head| head.mark == mark) {
        return Ok(());
    }
    let (mut lines, to) = (whole_lines(bytes).into_iter(), bytes.len() as u64);
    each_line(reading, mark, &mut |_| Ok(lines.next().map(|line| (line, to))), pieces)
}

fn each_line(
    reading: &Reading,
    mark: u64,
    next: &mut NextLine,
    pieces: &mut Pieces<'_, Piece>,
) -> Result<(), ArchiveError> {
    let Source { session, location, .. } = reading.source;
    let cleaner = LineCleaner::new(reading.home, session, location.clone());
    cleaner.reducer(reading.keep, |mut reducer| {
        reducer.open = reading.open();
        let mut known_open = reducer.open.clone();
        let mut read = ReadPiece { lines: Vec::new(), mark };
        let mut bytes = 0_usize;
        while let Some((line, to)) = next(&mut || read.give(pieces) && pieces.wait_until_taken())? {
            let Ok(value) = serde_json::from_slice::<Value>(&line) else { continue };
            drop(line);
            let at = time_of(&value);
            let is_prompt = is_prompt(&value);
            let (has_output, message) = (has_output(&value), message_name(&value));
            let line = cleaner.line(&mut reducer, value);
            let open = (reducer.open != known_open).then(|| reducer.open.clone());
            if let Some(open) = &open {
                known_open.clone_from(open);
            }
            bytes += line.bytes() + LINE_BYTES + open.as_ref().map_or(0, |open| open.len() * LINE_BYTES);
            read.lines.push(ReadLine { at, is_prompt, has_output, line, message, to, open });
            if bytes >= PIECE_BYTES {
                bytes = 0;
                if !read.give(pieces) {
                    return Ok(());
                }
            }
        }
        read.give(pieces);
        Ok(())
    })
}

impl ReadPiece {
    /// Passes on what was read so far.
    fn give(&mut self, pieces: &mut Pieces<'_, Piece>) -> bool {
        let lines = std::mem::take(&mut self.lines);
        lines.is_empty() || pieces.give(Ok(ReadPiece { lines, mark: self.mark }))
    }
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
