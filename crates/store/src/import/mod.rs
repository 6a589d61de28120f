//! Import: transcripts become the same records that hooks would have written.
//!
//! Importing twice equals importing once, even if hooks captured the same session: events that the view already knows
//! are not written again. A damaged line is skipped; the rest is imported.

pub mod ending;
pub mod files;
mod new;
pub mod place;
mod source;

use std::io;
use std::path::Path;
use std::time::Duration;

use cerberus_agents::install::Profile;
use cerberus_agents::install::transcripts::{Database, PathHints, TranscriptDatabaseError};
use cerberus_agents::transcripts::{self, Transcript, TranscriptForm, TranscriptReader};
use cerberus_os::platform;
use cerberus_record::event::Record;
use cerberus_record::source::is_others;
use cerberus_record::time::Timestamp;

pub use source::{Import, ImportReport, TakeForgotten, undone_key};

use self::files::FileLines;
use self::new::NewRecords;
use self::source::Owner;
use crate::journal;
use crate::view::Store;
use crate::view::fold::FoldError;

/// How much earlier than the agent's own timestamp a hook may have reported an event.
const HOOK_LEAD_MAX: Duration = Duration::from_secs(2);

/// How much of a transcript is read before what is new in it is journaled.
const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// How long to wait for an agent's locked database.
const BUSY: Duration = Duration::from_millis(1_500);

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    #[error("{0}")]
    Database(#[from] TranscriptDatabaseError),
    #[error(transparent)]
    Fold(#[from] FoldError),
}

impl ImportError {
    /// Whether only this file failed, so that the import can go on with the next one.
    pub fn is_file_error(&self) -> bool {
        !matches!(self, ImportError::Fold(_))
    }
}

impl Import<'_> {
    /// Journals what is new in a file, which is a transcript or a database of sessions.
    pub fn file(&self, store: &Store, path: &Path) -> Result<ImportReport, ImportError> {
        let kept = Profile::of(self.agent).and_then(|profile| profile.transcripts);
        let owner = if self.is_others(path) { Owner::Other } else { Owner::User };
        let is_database = path.extension().is_some_and(|ending| ending == "db");
        if let Some(open) = kept.and_then(|kept| kept.open).filter(|_| is_database) {
            return self.database(store, &*open(path, BUSY)?, owner);
        }
        let hints = kept.map_or_else(PathHints::default, |kept| (kept.path_hints)(path));
        self.transcript(store, path, hints, owner)
    }

    /// Whether the file, or the home that it is in, is another person's.
    fn is_others(&self, path: &Path) -> bool {
        let path = platform::real_path(path).unwrap_or_else(|_| path.to_path_buf());
        let home = platform::home_around(&path).and_then(|home| platform::owner(&home));
        is_others(self.user, platform::owner(&path), home)
    }

    fn database(&self, store: &Store, theirs: &dyn Database, owner: Owner) -> Result<ImportReport, ImportError> {
        let mut report = ImportReport::default();
        for session in theirs.sessions()? {
            let exported = theirs.export(&session)?;
            report.add(self.whole(store, &exported.json, PathHints::default(), owner)?);
            report.damaged_lines += exported.damaged_rows;
        }
        Ok(report)
    }

    /// Journals what is new in a transcript of any size: little of it is in memory at once.
    fn transcript(
        &self,
        store: &Store,
        path: &Path,
        hints: PathHints,
        owner: Owner,
    ) -> Result<ImportReport, ImportError> {
        let Some(mut reader) = self.reader() else { return Ok(ImportReport::default()) };
        let name = files::plain_name(path);
        if reader.form == TranscriptForm::Whole || reader.form == TranscriptForm::Both && name.ends_with(".json") {
            return Ok(self.whole(store, &files::read(path)?, hints, owner)?);
        }
        let cwd = match hints.cwd {
            None => self.folder(path)?,
            known => known,
        };
        let mut new = NewRecords::new(self, store, cwd.as_deref(), Timestamp::EPOCH)?.of(hints.parent, owner);
        let mut lines = FileLines::open(path)?;
        let mut appended_to = 0;
        while let Some(line) = lines.next_line()? {
            match line.is_long {
                true => reader.damaged(),
                false => reader.line(&line.bytes),
            }
            let read = reader.read();
            if line.to - appended_to >= BATCH_BYTES && read.events.len() > 1 {
                // One is left for the end, which a killed import would not know to be missing.
                let last = read.events.split_off(read.events.len() - 1);
                let records = new.take(std::mem::replace(&mut read.events, last), &read.prompts)?;
                journal::append_all(self.home, self.clock.wall, &records).map_err(FoldError::from)?;
                appended_to = line.to;
            }
        }
        let (report, records) = new.finish(reader.finish())?;
        journal::append_all(self.home, self.clock.wall, &records).map_err(FoldError::from)?;
        Ok(report)
    }

    fn reader(&self) -> Option<TranscriptReader<'_>> {
        TranscriptReader::new(self.home.cleaner(), self.agent)
    }

    /// The folder where a session started, which its transcript names near its beginning.
    fn folder(&self, path: &Path) -> io::Result<Option<String>> {
        let (Some(mut reader), mut lines) = (self.reader(), FileLines::open(path)?) else { return Ok(None) };
        while let Some(line) = lines.next_line()? {
            reader.line(&line.bytes);
            let read = reader.read();
            if read.cwd.is_some() {
                break;
            }
            read.events.clear();
        }
        Ok(reader.read().cwd.take())
    }

    /// Journals what is new in a transcript that is one object.
    fn whole(&self, store: &Store, bytes: &[u8], hints: PathHints, owner: Owner) -> Result<ImportReport, FoldError> {
        let read = transcripts::read(self.home.cleaner(), self.agent, bytes).unwrap_or_default();
        let cwd = hints.cwd.or(read.cwd.clone());
        let new = NewRecords::new(self, store, cwd.as_deref(), Timestamp::EPOCH)?.of(hints.parent, owner);
        let (report, records) = new.finish(read)?;
        journal::append_all(self.home, self.clock.wall, &records)?;
        Ok(report)
    }

    /// Journals what is new in a parsed transcript.
    pub fn read(&self, store: &Store, transcript: Transcript) -> Result<ImportReport, FoldError> {
        let (report, records) = self.new_records(store, transcript, true)?;
        journal::append_all(self.home, self.clock.wall, &records)?;
        Ok(report)
    }

    /// The records of what is new in a parsed transcript, which may be only the end of one.
    pub fn new_records(
        &self,
        store: &Store,
        transcript: Transcript,
        is_whole: bool,
    ) -> Result<(ImportReport, Vec<Record<'static>>), FoldError> {
        let first = transcript.events.first().map(|told| told.at.minus(HOOK_LEAD_MAX));
        let since = first.filter(|_| !is_whole).unwrap_or(Timestamp::EPOCH);
        NewRecords::new(self, store, transcript.cwd.as_deref(), since)?.finish(transcript)
    }
}
