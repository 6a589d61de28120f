//! Which transcripts are archived: those of sessions that the journal knows, on this device, in projects of which
//! something may be stored.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cerberus_agents::conversation::reduce::KeepFiles;
use cerberus_agents::install::Surroundings;
use cerberus_agents::install::transcripts::PathHints;
use cerberus_agents::transcripts::{self, TranscriptReader};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::outside;
use cerberus_record::id::Agent;
use cerberus_record::session::SessionStatus;
use cerberus_store::import::ending::{self, transcripts_of};
use cerberus_store::import::files::{self, FileLines};
use cerberus_store::project::{identity, past_pauses, privacy};
use cerberus_store::view::{SessionRow, Store};

use crate::error::ArchiveError;
use crate::recorded::RecordedTurns;
use crate::write::{Archive, Source};

/// How long to wait for an agent's locked database.
const BUSY: Duration = Duration::from_millis(500);

/// Adds to the archive while its time lasts.
pub struct ArchiveUpdate<'a> {
    pub home: &'a Home,
    pub clock: &'a Clock,
    pub surroundings: &'a Surroundings<'a>,
    pub store: &'a Store,
    archive: Archive<'a>,
    /// How much text was added.
    pub added: u64,
}

impl<'a> ArchiveUpdate<'a> {
    pub fn begin(
        home: &'a Home,
        clock: &'a Clock,
        surroundings: &'a Surroundings<'a>,
        store: &'a Store,
        keep: KeepFiles,
        workers: usize,
    ) -> Result<ArchiveUpdate<'a>, ArchiveError> {
        let archive = Archive::open(home, keep, workers)?;
        Ok(ArchiveUpdate { home, clock, surroundings, store, archive, added: 0 })
    }

    /// Adds what is new in these sessions, until it is too late. A transcript that cannot be read is skipped.
    pub fn sessions(&mut self, sessions: &[SessionRow], until: Option<Instant>) -> Result<(), ArchiveError> {
        for session in sessions {
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            match self.session(session) {
                Err(ArchiveError::Unreadable(_)) => {}
                done => done?,
            }
        }
        Ok(())
    }

    fn session(&mut self, session: &SessionRow) -> Result<(), ArchiveError> {
        let Some((agent, kept)) = transcripts_of(session) else { return Ok(()) };
        if self.is_shut(session) {
            return Ok(());
        }
        if let Some(open) = kept.open {
            for database in (kept.roots)(self.surroundings) {
                let exported = outside::open(&database).ok().and_then(|_| open(&database, BUSY).ok());
                let exported = exported.and_then(|theirs| theirs.export(&session.agent_session_id).ok());
                if let Some(exported) = exported.filter(|exported| !exported.json.is_empty()) {
                    return self.whole(agent, session, &database, &exported.json);
                }
            }
            return Ok(());
        }
        let Some(path) = ending::path(self.surroundings, kept, session) else { return Ok(()) };
        self.transcript(agent, session, &path, true)?;
        for path in ending::of_subagents(agent, kept, &path, &session.agent_session_id) {
            self.transcript(agent, session, &path, false)?;
        }
        Ok(())
    }

    /// Adds transcripts that were imported, if the journal knows their sessions. One that cannot be read is skipped.
    pub fn files(&mut self, files: &[(Agent, PathBuf)]) -> Result<(), ArchiveError> {
        let mut found: Vec<FoundTranscript> = Vec::new();
        for (agent, path) in files {
            // What is new in a file that is named twice follows from what was stored of it.
            if found.iter().any(|one| one.path == path) {
                self.found(&std::mem::take(&mut found))?;
            }
            found.extend(self.find(*agent, path)?);
        }
        self.found(&found)
    }

    fn found(&mut self, found: &[FoundTranscript]) -> Result<(), ArchiveError> {
        let sources = found.iter().map(|one| self.source(one.agent, &one.session, one.path, one.is_main));
        let sources: Vec<Source> = sources.collect::<Result<_, _>>()?;
        let mut added = 0;
        let done = self.archive.add_all(&sources, &mut |done| match done {
            Err(ArchiveError::Unreadable(_)) => Ok(()),
            done => {
                added += done?;
                Ok(())
            }
        });
        self.added += added;
        done
    }

    /// The session of a transcript. What a database has is added at once.
    fn find<'p>(&mut self, agent: Agent, path: &'p Path) -> Result<Option<FoundTranscript<'p>>, ArchiveError> {
        let Some(kept) = cerberus_agents::install::Profile::of(agent).and_then(|profile| profile.transcripts) else {
            return Ok(None);
        };
        if let Some(open) = kept.open.filter(|_| path.extension().is_some_and(|ending| ending == "db")) {
            let Ok(theirs) = open(path, BUSY) else { return Ok(None) };
            for name in theirs.sessions().unwrap_or_default() {
                let session = self.store.agent_session(agent, &name, self.clock.now)?;
                if let Some((session, exported)) = session.zip(theirs.export(&name).ok())
                    && !self.is_shut(&session)
                {
                    self.whole(agent, &session, path, &exported.json)?;
                }
            }
            return Ok(None);
        }
        let PathHints { parent, .. } = (kept.path_hints)(path);
        let is_main = parent.is_none();
        let Some(name) = parent.or_else(|| self.session_of(agent, path)) else { return Ok(None) };
        let session = self.store.agent_session(agent, &name, self.clock.now)?;
        let Some(session) = session.filter(|session| !self.is_shut(session)) else { return Ok(None) };
        Ok(Some(FoundTranscript { agent, session, path, is_main }))
    }

    /// The session that a transcript is of, as its beginning says.
    fn session_of(&self, agent: Agent, path: &Path) -> Option<String> {
        let mut reader = TranscriptReader::new(self.home.cleaner(), agent)?;
        if files::plain_name(path).ends_with(".json") {
            let read = transcripts::read(self.home.cleaner(), agent, &files::read_object(path).ok()?)?;
            return read.events.first().map(|told| told.session.to_string());
        }
        let mut lines = FileLines::open(path).ok()?;
        while let Some(line) = lines.next_line().ok()? {
            reader.line(&line.bytes);
            if let Some(told) = reader.read().events.first() {
                return Some(told.session.to_string());
            }
        }
        reader.finish().events.first().map(|told| told.session.to_string())
    }

    fn is_shut(&self, session: &SessionRow) -> bool {
        let located = identity::locate(Path::new(&session.root));
        privacy::storage_block(self.home, self.clock.now, &located).is_some()
    }

    fn transcript(
        &mut self,
        agent: Agent,
        session: &SessionRow,
        path: &Path,
        is_main: bool,
    ) -> Result<(), ArchiveError> {
        let source = self.source(agent, session, path, is_main)?;
        self.added += self.archive.add(&source)?;
        Ok(())
    }

    fn whole(&mut self, agent: Agent, session: &SessionRow, path: &Path, json: &[u8]) -> Result<(), ArchiveError> {
        let source = self.source(agent, session, path, true)?;
        self.added += self.archive.add_whole(&source, json)?;
        Ok(())
    }

    fn source<'s>(
        &self,
        agent: Agent,
        session: &'s SessionRow,
        path: &'s Path,
        is_main: bool,
    ) -> Result<Source<'s>, ArchiveError> {
        let name = session.agent_session_id.as_str();
        let pauses = past_pauses::of_project(self.home, &session.project)?;
        let is_over = session.state.status != SessionStatus::Active;
        let recorded = RecordedTurns::new(self.store.event_kinds(agent, name)?, pauses, is_over);
        Ok(Source { agent, session: name, location: session.location(), path, is_main, recorded })
    }

    pub fn finish(mut self) -> Result<u64, ArchiveError> {
        self.archive.commit()?;
        Ok(self.added)
    }
}

/// A transcript of a session that the journal knows.
struct FoundTranscript<'p> {
    agent: Agent,
    session: SessionRow,
    path: &'p Path,
    is_main: bool,
}
