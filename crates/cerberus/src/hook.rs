//! `cerberus hook AGENT`: reads one payload from standard input, always exits with 0, and writes nothing but a valid
//! reply to standard output.
//!
//! Failures are noted for `status` and `doctor`; the agent never notices them.

use std::io::Write;
use std::process::ExitCode;

use cerberus_agents::install::Surroundings;
use cerberus_checkpoint::{TurnMoment, detached};
use cerberus_checks::enforce::before::{self, RefuseError, TurnEnding};
use cerberus_os::clock::Clock;
use cerberus_os::failures;
use cerberus_os::fault;
use cerberus_os::home::Home;
use cerberus_record::clean::text::line;
use cerberus_record::id::Agent;
use cerberus_store::config::ConfigError;
use cerberus_store::hook::answer::{self, AnswerError, HookAnswer};
use cerberus_store::hook::before as before_tool;
use cerberus_store::hook::capture::{self, CaptureError, CaptureResult, PendingAnswer, Trigger};
use cerberus_store::hook::subagent;
use cerberus_store::summary::provider::SUMMARIZING;

use crate::capabilities;
use crate::context;
use crate::platform::Input;

/// Larger than any client sends. The rest of a larger payload is read and discarded.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most payloads arrive in one read of this size. Everything else that a hook allocates fits beside it into the first
/// 64 KiB of the allocator.
const FIRST_READ_BYTES: usize = 32 * 1024;

/// How long to wait for a client that sends nothing. A machine with far too much to do keeps a client from sending for
/// several seconds.
const SILENCE_SECS_MAX: u32 = 15;

pub fn run(agent: &str) -> ExitCode {
    survive_panics(agent.to_string());
    // An agent that summarizes a session for us is not a session itself and must not be summarized in turn.
    if std::env::var_os(SUMMARIZING).is_some() {
        return ExitCode::SUCCESS;
    }
    let Some(home) = context::home() else {
        return ExitCode::SUCCESS;
    };
    // Its settings may be somebody else's: nothing of it is read, and nothing is stored in it.
    if home.unsafe_home().is_some() {
        let _ = read_payload();
        return ExitCode::SUCCESS;
    }
    let (given, problem) = match context::given_now() {
        Ok(given) => (given, None),
        Err(problem) => (None, Some(problem)),
    };
    let clock = Clock::new(given);
    if let Some(problem) = problem {
        failures::note(&home, clock.wall, "reading CERBERUS_NOW", &problem);
    }
    let result = match (cerberus_agents::find(agent), context::with_privacy_rules(home.clone())) {
        (Some(agent), Ok(home)) => handle(&home, &clock, agent),
        (None, _) => Err(HookError::UnknownAgent(line(agent, 40))),
        // Without the privacy rules nothing may be stored. The payload is still read, to not break the client's pipe.
        (_, Err(error)) => read_payload().and(Err(HookError::PrivacyRules(error))),
    };
    if let Err(error) = result {
        failures::note(&home, clock.now, &hook_name(agent), &error);
    }
    ExitCode::SUCCESS
}

/// The name of this hook in the list of failures.
fn hook_name(agent: &str) -> String {
    format!("hook {}", line(agent, 40))
}

/// A panic must not look like a failing hook: it is noted for `status` and `doctor`, and the exit code is 0. The note
/// is written in the panic hook, because release builds abort on a panic.
fn survive_panics(agent: String) {
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(home) = context::home().filter(|home| home.unsafe_home().is_none()) {
            let clock = Clock::new(context::given_now().ok().flatten());
            // Only the location: the panic message may quote the payload.
            let place = panic.location().map_or_else(|| "an unknown location".to_string(), ToString::to_string);
            let detail = format!("a bug in Cerberus: it panicked at {place}");
            failures::note(&home, clock.now, &hook_name(&agent), &detail);
        }
        std::process::exit(0)
    }));
}

#[derive(Debug)]
enum HookError {
    UnknownAgent(String),
    Input(String),
    PrivacyRules(ConfigError),
    Capture(CaptureError),
    Answer(AnswerError),
    Refuse(RefuseError),
}

impl std::fmt::Display for HookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HookError::UnknownAgent(name) => write!(f, "there is no agent {name:?}"),
            HookError::Input(problem) => f.write_str(problem),
            HookError::PrivacyRules(error) => write!(f, "nothing is stored until this is fixed: {error}"),
            HookError::Capture(error) => error.fmt(f),
            HookError::Answer(error) => error.fmt(f),
            HookError::Refuse(error) => error.fmt(f),
        }
    }
}

impl From<CaptureError> for HookError {
    fn from(error: CaptureError) -> Self {
        HookError::Capture(error)
    }
}

impl From<AnswerError> for HookError {
    fn from(error: AnswerError) -> Self {
        HookError::Answer(error)
    }
}

impl From<RefuseError> for HookError {
    fn from(error: RefuseError) -> Self {
        HookError::Refuse(error)
    }
}

fn handle(home: &Home, clock: &Clock, agent: Agent) -> Result<(), HookError> {
    let payload = read_payload()?;
    let waiting = match capture::capture(home, clock, agent, &payload, &variable)? {
        CaptureResult::Done => return Ok(()),
        CaptureResult::Other => {
            if let Some(told) = subagent::answer(home, clock, &context::user_folders, agent, &payload)? {
                return print(Some(told));
            }
            if let Some(refusal) = before::before_tool(home, clock, agent, &payload, &variable)? {
                return print(Some(refusal));
            }
            cerberus_checkpoint::before::before_tool(home, clock, agent, &payload);
            return deliver(home, clock, before_tool::answer(home, clock, agent, &payload)?);
        }
        CaptureResult::Pending(waiting) => waiting,
    };
    keep_files(home, clock, &waiting);
    if matches!(waiting.trigger, Trigger::Stop) {
        let PendingAnswer { agent, session, located, .. } = &*waiting;
        let ending = TurnEnding { agent: *agent, session, located, payload: &payload };
        print(before::at_stop(home, clock, &ending)?)?;
        if has_transcript(&payload) {
            capabilities::ALL.iter().for_each(|capability| capability.after_turn(home, clock));
        }
    }
    let surroundings = Surroundings::new(&|name| std::env::var_os(name), waiting.located.root.clone());
    let folders = context::user_folders();
    deliver(home, clock, answer::answer(home, clock, &folders, &surroundings, &waiting, capabilities::ALL)?)
}

/// Tells the agent something, and records the receipt for it.
fn deliver(home: &Home, clock: &Clock, answer: Option<HookAnswer>) -> Result<(), HookError> {
    let Some(answer) = answer else { return Ok(()) };
    let mut out = std::io::stdout();
    // If the client no longer reads, the reply was not delivered and is not confirmed.
    if out.write_all(answer.reply.as_bytes()).and_then(|()| out.flush()).is_ok() {
        let _ = fault::point("answer-given");
        answer::confirm(home, clock, &answer)?;
    }
    Ok(())
}

/// Whether the payload names a transcript that exists.
fn has_transcript(payload: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Named {
        transcript_path: std::path::PathBuf,
    }
    serde_json::from_slice::<Named>(payload).is_ok_and(|named| named.transcript_path.is_file())
}

/// Starts keeping the files before and after a turn, where the user wants that. Nobody waits for it.
fn keep_files(home: &Home, clock: &Clock, pending: &PendingAnswer) {
    let moment = match pending.trigger {
        Trigger::Start(_) | Trigger::Prompt(_) => TurnMoment::Before,
        Trigger::Stop | Trigger::CutOff | Trigger::End => TurnMoment::Turn,
        Trigger::Failed(_) => return,
    };
    detached::start(home, clock, &pending.located, moment, pending.agent, &pending.session);
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Tells the agent something that needs no receipt: a rule that it must keep. If it no longer listens, it is not told.
fn print(reply: Option<String>) -> Result<(), HookError> {
    if let Some(reply) = reply {
        let mut out = std::io::stdout();
        let _ = out.write_all(reply.as_bytes()).and_then(|()| out.flush());
    }
    Ok(())
}

/// Reads standard input to its end, with limits on size and waiting time.
fn read_payload() -> Result<Vec<u8>, HookError> {
    let mut input = Input::open();
    let mut payload = Vec::with_capacity(FIRST_READ_BYTES);
    let mut discarded_bytes = 0;
    loop {
        if payload.capacity() - payload.len() < FIRST_READ_BYTES / 4 {
            payload.reserve(payload.len().max(FIRST_READ_BYTES));
        }
        match input.read(&mut payload, SILENCE_SECS_MAX) {
            Ok(None) => return Err(HookError::Input(format!("no payload within {SILENCE_SECS_MAX} seconds"))),
            Ok(Some(0)) if discarded_bytes > 0 => {
                let bytes = payload.len() + discarded_bytes;
                return Err(HookError::Input(format!("a payload of {bytes} bytes is larger than {PAYLOAD_BYTES_MAX}")));
            }
            Ok(Some(0)) => return Ok(payload),
            // The rest is read but discarded, to not break the client's pipe.
            Ok(Some(_)) if payload.len() > PAYLOAD_BYTES_MAX => {
                discarded_bytes += payload.len() - PAYLOAD_BYTES_MAX;
                payload.truncate(PAYLOAD_BYTES_MAX);
            }
            Ok(Some(_)) => {}
            Err(error) => return Err(HookError::Input(format!("cannot read standard input: {error}"))),
        }
    }
}
