//! Reads and parses a transcript, and passes it on in pieces. Asks nothing of the view and writes nothing, so it runs on
//! a thread of its own, ahead of the one that writes.

use std::io;
use std::path::Path;

use cerberus_agents::install::transcripts::PathHints;
use cerberus_agents::transcripts::{self, SeenPrompt, Transcript, TranscriptEvent, TranscriptForm, TranscriptReader};
use cerberus_os::ahead::Pieces;
use cerberus_record::clean::Cleaner;
use cerberus_record::id::Agent;

use super::files::{self, FileLines};

/// How much of a transcript is read before what is new in it is journaled.
pub(super) const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// A piece of a transcript, in the order in which they come.
pub enum ImportPiece {
    /// The folder where the session started, if it is known.
    Begun(Option<String>),
    /// The next events, and the prompts that were not passed on before.
    Next(Vec<TranscriptEvent>, Vec<SeenPrompt>),
    /// The rest, and how much was read of it.
    Rest(Transcript, u64),
    Unreadable(io::Error),
}

/// Passes on a transcript of any size until nobody takes it: little of it is in memory at once.
pub(super) fn read_pieces(
    cleaner: &Cleaner,
    agent: Agent,
    path: &Path,
    hints: PathHints,
    pieces: &mut Pieces<'_, ImportPiece>,
) {
    let Some(reader) = TranscriptReader::new(cleaner, agent) else { return };
    let name = files::plain_name(path);
    // Any other name says nothing, and then what is read decides.
    let is_whole =
        reader.form == TranscriptForm::Whole || reader.form == TranscriptForm::Both && !name.ends_with(".jsonl");
    let read = match is_whole {
        true => whole(cleaner, agent, path, hints.cwd, pieces),
        false => lines(reader, TranscriptReader::new(cleaner, agent), path, hints.cwd, pieces),
    };
    if let Err(error) = read {
        pieces.give(ImportPiece::Unreadable(error));
    }
}

fn whole(
    cleaner: &Cleaner,
    agent: Agent,
    path: &Path,
    cwd: Option<String>,
    pieces: &mut Pieces<'_, ImportPiece>,
) -> io::Result<()> {
    let bytes = files::read_object(path)?;
    let read = transcripts::read(cleaner, agent, &bytes).unwrap_or_default();
    if pieces.give(ImportPiece::Begun(cwd.or(read.cwd.clone()))) {
        pieces.give(ImportPiece::Rest(read, bytes.len() as u64));
    }
    Ok(())
}

fn lines(
    mut reader: TranscriptReader<'_>,
    looking: Option<TranscriptReader<'_>>,
    path: &Path,
    cwd: Option<String>,
    pieces: &mut Pieces<'_, ImportPiece>,
) -> io::Result<()> {
    let cwd = match (cwd, looking) {
        (None, Some(looking)) => folder(looking, path, pieces)?,
        (known, _) => known,
    };
    if !pieces.give(ImportPiece::Begun(cwd)) {
        return Ok(());
    }
    let mut lines = FileLines::open(path)?;
    let (mut passed_to, mut read_to, mut prompts) = (0, 0, 0);
    while let Some(line) = lines.next_line_with(&mut || pieces.wait_until_taken())? {
        match line.is_long {
            true => reader.damaged(),
            false => reader.line(&line.bytes),
        }
        reader.read().shortened_lines += usize::from(line.is_shortened);
        read_to = line.to;
        let read = reader.read();
        if read_to - passed_to >= BATCH_BYTES && read.events.len() > 1 {
            // One is left for the end, which a killed import would not know to be missing.
            let last = read.events.split_off(read.events.len() - 1);
            let new = read.prompts[prompts..].to_vec();
            prompts = read.prompts.len();
            if !pieces.give(ImportPiece::Next(std::mem::replace(&mut read.events, last), new)) {
                return Ok(());
            }
            passed_to = read_to;
        }
    }
    pieces.give(ImportPiece::Rest(reader.finish(), read_to - passed_to));
    Ok(())
}

/// The folder where a session started, which its transcript names near its beginning.
fn folder(
    mut reader: TranscriptReader<'_>,
    path: &Path,
    pieces: &Pieces<'_, ImportPiece>,
) -> io::Result<Option<String>> {
    let mut lines = FileLines::open(path)?;
    while let Some(line) = lines.next_line_with(&mut || pieces.wait_until_taken())? {
        reader.line(&line.bytes);
        let read = reader.read();
        if read.cwd.is_some() {
            break;
        }
        read.events.clear();
    }
    Ok(reader.read().cwd.take())
}
