//! The hot path: one payload in, one record durably appended, done. No SQLite, no regex, no grammar.
//!
//! Only a session's start, a prompt, a failed command, the end of a turn and a session's end need more; see `answer.rs`.

use std::path::Path;

use cerberus_agents::{HookEvent, PayloadError};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::process;
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::echo::timed_key;
use cerberus_record::event::{Event, FailedCommand, Record, StartSource, ToolUse, UntypedPrompts};
use cerberus_record::id::Agent;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;

use crate::journal::{self, JournalError};
use crate::project::identity::{self, Located};
use crate::project::privacy;

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error(transparent)]
    Wire(#[from] PayloadError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// An event that needs more than being recorded, and its session.
#[derive(Debug)]
pub struct PendingAnswer {
    /// The agent at work, which is not always the one whose hook called us.
    pub agent: Agent,
    pub session: Clean<'static>,
    pub key: Clean<'static>,
    pub located: Located,
    pub trigger: Trigger,
}

#[derive(Debug)]
pub enum Trigger {
    Start(StartSource),
    Prompt(Clean<'static>),
    /// A command failed in a way that is recognised when it happens again.
    Failed(FailedCommand<'static>),
    /// The agent wants to end its turn.
    Stop,
    /// The turn was cut off, perhaps by a usage limit.
    CutOff,
    End,
}

/// What came of a payload.
#[derive(Debug)]
pub enum CaptureResult {
    /// Recorded, or nothing may be stored.
    Done,
    /// Recorded, and there is more to do.
    Pending(Box<PendingAnswer>),
    /// Nothing that is recorded: perhaps a tool use that has not happened yet.
    Other,
}

/// Reads a variable of the environment.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Records what one payload says, unless nothing may be stored.
pub fn capture(
    home: &Home,
    clock: &Clock,
    agent: Agent,
    payload: &[u8],
    variable: Variable,
) -> Result<CaptureResult, CaptureError> {
    let Some(hook_event) = cerberus_agents::parse(home.cleaner(), agent, payload)? else {
        return Ok(CaptureResult::Other);
    };
    let located = identity::locate(Path::new(&*hook_event.cwd));
    if privacy::storage_block(home, clock.now, &located).is_some() {
        return Ok(CaptureResult::Done);
    }
    let source = untyped(&hook_event, variable);
    let record = record(home.cleaner(), clock.now, hook_event, &located);
    match source {
        None => journal::append(home, clock.wall, &record)?,
        Some(source) => {
            let untyped = UntypedPrompts { source, prompts: vec![record.key.clone()] };
            let key = home.cleaner().clean(format!("untyped-{}", &*record.key), Keep::NAME);
            let mark = Record { key, heard_by: None, event: Event::Untyped(untyped), ..record.clone() };
            journal::append_all(home, clock.wall, &[record.clone(), mark])?;
        }
    }
    let Record { agent, session, key, event, .. } = record;
    let trigger = match event {
        Event::Start { source, .. } => Trigger::Start(source),
        Event::Prompt { text } => Trigger::Prompt(text.into_owned()),
        Event::Stop { .. } => Trigger::Stop,
        Event::StopFailure { .. } => Trigger::CutOff,
        Event::End { .. } => Trigger::End,
        Event::Tool(ToolUse { failure: Some(failure), .. }) => Trigger::Failed(failure.into_owned()),
        _ => return Ok(CaptureResult::Done),
    };
    let (session, key) = (session.into_owned(), key.into_owned());
    Ok(CaptureResult::Pending(Box::new(PendingAnswer { agent, session, key, located, trigger })))
}

/// Where a prompt is from, if nobody typed it.
fn untyped(hook_event: &HookEvent, variable: Variable) -> Option<MemorySource> {
    let HookEvent { agent, session, event, untyped, .. } = hook_event;
    if !matches!(event, Event::Prompt { .. }) {
        return None;
    }
    untyped.or_else(|| cerberus_agents::is_headless(*agent, session, variable).then_some(MemorySource::Headless))
}

fn record<'a>(cleaner: &Cleaner, now: Timestamp, hook_event: HookEvent<'a>, located: &Located) -> Record<'a> {
    let HookEvent { agent, session, cwd, mut key, mut event, .. } = hook_event;
    // A session may start and end many times with the same payload; each time counts.
    if matches!(event, Event::Start { .. } | Event::End { .. })
        && !cerberus_agents::profile(agent).is_some_and(|profile| profile.has_exact_starts)
    {
        key = cleaner.clean(timed_key(&key, now), Keep::NAME);
    }
    match &mut event {
        Event::Tool(used) => {
            for touched in &mut used.files {
                let path = identity::relative(located, Path::new(&*cwd), &touched.path);
                touched.path = cleaner.clean(path, Keep::NAME);
            }
        }
        Event::Start { process, .. } => {
            let profile = cerberus_agents::profile(agent);
            *process = process::agent(profile.is_some_and(|profile| profile.has_plugin_process));
        }
        _ => {}
    }
    // These are answered, and only once.
    let is_answered = match &event {
        Event::Start { .. } | Event::Prompt { .. } | Event::End { .. } => true,
        Event::Tool(used) => used.failure.is_some(),
        _ => false,
    };
    let heard_by = is_answered.then(std::process::id);
    Record {
        at: now,
        key,
        agent,
        imported: false,
        heard_by,
        by_agent: false,
        origin: None,
        session,
        location: located.location(cleaner),
        event,
    }
}
