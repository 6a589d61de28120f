//! Import: transcripts become the same records that hooks would have written.
//!
//! Importing twice equals importing once, even if hooks captured the same session: events that the view already knows
//! are not written again. A damaged line is skipped; the rest is imported.

pub mod ending;
pub mod files;
mod new;
pub mod place;
mod reading;
mod shortened;
mod source;

use std::io;
use std::path::Path;
use std::time::Duration;

use cerberus_agents::install::Profile;
use cerberus_agents::install::transcripts::{Database, PathHints, TranscriptDatabaseError};
use cerberus_agents::transcripts::{self, Transcript};
use cerberus_os::ahead::{Pieces, ahead};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::platform;
use cerberus_record::event::Record;
use cerberus_record::source::is_others;
use cerberus_record::time::Timestamp;

pub use self::reading::ImportPiece;
pub use self::source::{Import, ImportReport, TakeForgotten, undone_key};

use self::new::NewRecords;
use self::reading::{BATCH_BYTES, read_pieces};
use self::source::{DatabaseOpener, Owner};
use crate::journal::{self, JournalError};
use crate::view::Store;
use crate::view::fold::FoldError;

/// How much earlier than the agent's own timestamp a hook may have reported an event.
const HOOK_LEAD_MAX: Duration = Duration::from_secs(2);

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

/// Records that are not in the journal yet, a group for each transcript: several share one sync.
#[derive(Default)]
pub struct Unwritten {
    groups: Vec<Vec<Record<'static>>>,
    /// How much of the transcripts they are from.
    bytes: u64,
}

impl Unwritten {
    fn add(&mut self, import: &Import, records: Vec<Record<'static>>, bytes: u64) -> Result<(), JournalError> {
        if !records.is_empty() {
            self.groups.push(records);
        }
        self.bytes += bytes;
        if self.bytes >= BATCH_BYTES { self.write(import.home, import.clock) } else { Ok(()) }
    }

    /// Writes all of them.
    pub fn write(&mut self, home: &Home, clock: &Clock) -> Result<(), JournalError> {
        let Unwritten { groups, .. } = std::mem::take(self);
        journal::append_groups(home, clock.wall, &groups)
    }
}

impl Import<'_> {
    /// Journals what is new in a file, which is a transcript or a database of sessions.
    pub fn file(&self, store: &Store, path: &Path) -> Result<ImportReport, ImportError> {
        let (mut unwritten, mut report) = (Unwritten::default(), ImportReport::default());
        ahead(1, &[path], &|path, pieces| self.pieces(path, pieces), &mut |path, pieces| {
            report = self.take(store, path, pieces, &mut unwritten)?;
            Ok::<(), ImportError>(())
        })?;
        unwritten.write(self.home, self.clock).map_err(FoldError::from)?;
        Ok(report)
    }

    /// Passes on the pieces of a transcript, none of a database.
    pub fn pieces(&self, path: &Path, pieces: &mut Pieces<'_, ImportPiece>) {
        if self.opener(path).is_none() {
            read_pieces(self.home.cleaner(), self.agent, path, self.hints(path), pieces);
        }
    }

    /// Journals what is new in a file, of which these are the pieces. The rest of it may stay unwritten.
    pub fn take(
        &self,
        store: &Store,
        path: &Path,
        pieces: &mut dyn Iterator<Item = ImportPiece>,
        unwritten: &mut Unwritten,
    ) -> Result<ImportReport, ImportError> {
        let owner = if self.is_others(path) { Owner::Other } else { Owner::User };
        if let Some(open) = self.opener(path) {
            return self.database(store, &*open(path, BUSY)?, owner);
        }
        let mut new = None;
        for piece in pieces {
            match (piece, new.take()) {
                (ImportPiece::Begun(cwd), _) => {
                    let begun = NewRecords::new(self, store, cwd.as_deref(), Timestamp::EPOCH)?;
                    new = Some(begun.of(self.hints(path).parent, owner));
                }
                (ImportPiece::Next(events, prompts), Some(mut begun)) => {
                    let records = begun.take(events, &prompts)?;
                    unwritten.add(self, records, BATCH_BYTES).map_err(FoldError::from)?;
                    new = Some(begun);
                }
                (ImportPiece::Rest(read, bytes), Some(begun)) => {
                    let (report, records) = begun.finish(read)?;
                    unwritten.add(self, records, bytes).map_err(FoldError::from)?;
                    return Ok(report);
                }
                (ImportPiece::Unreadable(error), _) => return Err(error.into()),
                (ImportPiece::Next(..) | ImportPiece::Rest(..), None) => {}
            }
        }
        Ok(ImportReport::default())
    }

    fn opener(&self, path: &Path) -> Option<DatabaseOpener> {
        let open = Profile::of(self.agent)?.transcripts?.open?;
        path.extension().is_some_and(|ending| ending == "db").then_some(open)
    }

    fn hints(&self, path: &Path) -> PathHints {
        let kept = Profile::of(self.agent).and_then(|profile| profile.transcripts);
        kept.map_or_else(PathHints::default, |kept| (kept.path_hints)(path))
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
