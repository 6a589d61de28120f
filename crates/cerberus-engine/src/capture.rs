//! The hot path: one payload in, one record durably appended, done. No SQLite, no regex, no parser but JSON's.
//!
//! Only a session's start asks for more: it folds what is new and is told the brief.

use std::path::Path;
use std::time::Duration;

use cerberus_core::brief::CLAUDE_CODE_CHARS_MAX;
use cerberus_core::event::{Event, Place, Record, StartSource};
use cerberus_core::id::Agent;
use cerberus_core::session::IDLE_AFTER;
use cerberus_core::text::{Clean, Keep};
use cerberus_core::time::Timestamp;
use cerberus_core::wire::{Heard, WireError, claude_code};

use crate::clock::Clock;
use crate::config::{self, ConfigError};
use crate::fold::{self, FoldError};
use crate::home::Home;
use crate::identity::{self, Located};
use crate::journal::{self, JournalError};
use crate::legacy;
use crate::name;
use crate::process;
use crate::recall::{self, Question};
use crate::recover;
use crate::store::StoreError;

/// An agent waits for its brief: names that are not found by then are found later.
const NAMING_MAX: Duration = Duration::from_millis(15);

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("{0} has no hooks")]
    NoHooks(Agent),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Fold(#[from] FoldError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// A session that began and waits for its brief.
#[derive(Debug)]
pub struct Started {
    pub agent: Agent,
    session: Clean<'static>,
    source: StartSource,
    located: Located,
}

/// What the host prints to the model, and the record that it was told.
#[derive(Debug)]
pub struct Answer {
    pub reply: String,
    receipt: Record<'static>,
}

/// Appends what one payload says. `Some` when a session began.
pub fn capture(home: &Home, clock: &Clock, agent: Agent, payload: &[u8]) -> Result<Option<Started>, CaptureError> {
    let heard = match agent {
        Agent::ClaudeCode => claude_code::parse(payload)?,
        _ => return Err(CaptureError::NoHooks(agent)),
    };
    let Some(heard) = heard else { return Ok(None) };
    let located = identity::locate(Path::new(&*heard.cwd));
    let record = record(agent, clock.now, heard, &located);
    journal::append(home, clock.wall, &record)?;
    Ok(match record.event {
        Event::Start { source, .. } => Some(Started { agent, session: record.session.into_owned(), source, located }),
        _ => None,
    })
}

fn record<'a>(agent: Agent, now: Timestamp, heard: Heard<'a>, located: &Located) -> Record<'a> {
    let Heard { session, cwd, mut key, mut event } = heard;
    match &mut event {
        Event::Tool(used) => {
            for touched in &mut used.files {
                let path = identity::relative(located, Path::new(&*cwd), &touched.path);
                touched.path = Clean::new(path, Keep::NAME);
            }
        }
        // A session may start and end many times with the same words; each time counts.
        Event::Start { process, .. } => {
            *process = process::agent();
            key = at_its_time(&key, now);
        }
        Event::End { .. } => key = at_its_time(&key, now),
        _ => {}
    }
    Record { at: now, key, agent, imported: false, session, place: located.place(), event }
}

fn at_its_time<'a>(key: &str, now: Timestamp) -> Clean<'a> {
    Clean::new(format!("{key}-{}", now.millis()), Keep::NAME)
}

/// What the session that began is told; `None` when there is nothing to tell.
pub fn answer(home: &Home, clock: &Clock, started: &Started) -> Result<Option<Answer>, CaptureError> {
    let config = config::load(home)?;
    let mut store = fold::open(home)?;
    legacy::pick_up(home, clock, &mut store)?;
    name::name_edits(home, clock, &mut store, NAMING_MAX)?;
    recover::sweep(home, clock, &mut store, IDLE_AFTER)?;
    let recent = recall::recent_sessions(&store, &started.located, clock.now)?;
    recover::recover_project(home, clock, &mut store, &recent)?;
    let session = store.agent_session(started.agent, &started.session, clock.now)?;
    let question = Question {
        now: clock.now,
        source: started.source,
        budget_tokens: config.brief.session_tokens,
        chars_max: CLAUDE_CODE_CHARS_MAX,
        prompt: None,
        session: session.as_ref(),
    };
    let briefing = recall::brief(&store, &started.located, &question)?;
    if briefing.brief.text.is_empty() {
        return Ok(None);
    }
    let codes = briefing.brief.items.into_iter().map(|item| Clean::new(item.code, Keep::NAME)).collect();
    Ok(Some(Answer {
        reply: claude_code::session_start_reply(&briefing.brief.text),
        receipt: Record {
            at: clock.now,
            key: Clean::new(format!("receipt-{}", clock.now.millis()), Keep::NAME),
            agent: started.agent,
            imported: false,
            session: started.session.clone(),
            place: started.located.place(),
            event: Event::Receipt { source: started.source, codes },
        },
    }))
}

/// Records that the answer was given: after it was, so that nothing counts as told that never was.
pub fn confirm(home: &Home, clock: &Clock, answer: &Answer) -> Result<(), CaptureError> {
    Ok(journal::append(home, clock.wall, &answer.receipt)?)
}

/// A record of our own about a session, as commands write them.
pub fn own_record<'a>(
    clock: &Clock,
    agent: Agent,
    session: &str,
    place: Place<'a>,
    key: String,
    event: Event<'a>,
) -> Record<'a> {
    let (session, key) = (Clean::new(session.to_string(), Keep::NAME), Clean::new(key, Keep::NAME));
    Record { at: clock.now, key, agent, imported: false, session, place, event }
}
