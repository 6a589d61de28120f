//! Records for the loop's sessions: the runner writes what the agent's own hooks do not.
//!
//! A session is closed when its successor is at work, not before. If the agent has our hooks, they record its start and
//! perhaps its end; then only the reason for the end is added.

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::process;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Note, StartSource};
use cerberus_store::journal::{self, JournalError, own_record};
use cerberus_store::project::identity::Located;
use cerberus_store::view::fold;

use crate::handoff::written::WrittenHandoff;
use crate::settings::Worker;

pub struct LoopSessions<'a> {
    pub home: &'a Home,
    pub located: &'a Located,
    pub worker: Worker,
}

impl LoopSessions<'_> {
    /// Records the start of a session unless a hook did. Returns who recorded it.
    pub fn open(&self, session: &str) -> Result<RecordedBy, JournalError> {
        let is_known = fold::open(self.home)
            .ok()
            .and_then(|store| store.has_started(self.worker.agent(), session).ok())
            .unwrap_or(false);
        if is_known {
            return Ok(RecordedBy::Hooks);
        }
        // The session can live as long as the runner.
        let process = process::own();
        self.record(
            session,
            "start",
            Event::Start { source: StartSource::Startup, transcript: None, phase: None, process },
        )?;
        Ok(RecordedBy::Runner)
    }

    /// Records the agent's last words, if no hook did.
    pub fn record_last_words(&self, session: &str, words: &str) -> Result<(), JournalError> {
        self.record(
            session,
            "stop",
            Event::Stop { message: self.home.cleaner().clean(words.to_string(), Keep::MESSAGE) },
        )
    }

    /// Records every item of the handoff it wrote, because later contexts need them too.
    pub fn record_handoff(&self, session: &str, written: &WrittenHandoff) -> Result<(), JournalError> {
        let clock = Clock::new(None);
        let location = self.located.location(self.home.cleaner());
        let record = |(number, note): (usize, Note<'static>)| {
            let key = format!("loop-handoff-{}-{number}", clock.wall.millis());
            own_record(self.home, &clock, self.worker.agent(), session, location.clone(), key, Event::Note(note))
        };
        let records: Vec<_> = written.notes(self.home.cleaner()).into_iter().enumerate().map(record).collect();
        if records.is_empty() {
            return Ok(());
        }
        journal::append_all(self.home, clock.wall, &records)
    }

    pub fn close(&self, session: &str, reason: &'static str) -> Result<(), JournalError> {
        self.record(session, "end", Event::End { reason: Clean::word(reason) })
    }

    fn record(&self, session: &str, what: &str, event: Event<'static>) -> Result<(), JournalError> {
        let clock = Clock::new(None);
        let key = format!("loop-{what}-{}", clock.wall.millis());
        let record = own_record(
            self.home,
            &clock,
            self.worker.agent(),
            session,
            self.located.location(self.home.cleaner()),
            key,
            event,
        );
        journal::append(self.home, clock.wall, &record)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedBy {
    Hooks,
    Runner,
}
