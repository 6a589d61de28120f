//! `cerberus hook AGENT`: one payload on standard input, always exit 0, nothing on standard output but a valid reply.
//!
//! Whatever goes wrong is written down where `status` and `doctor` show it; the agent never notices.

use std::io::Write;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;

use cerberus_core::agents;
use cerberus_core::clean::text::line;
use cerberus_core::model::id::Agent;
use cerberus_engine::agents::Surroundings;
use cerberus_engine::config::ConfigError;
use cerberus_engine::hook::answer;
use cerberus_engine::hook::answer::AnswerError;
use cerberus_engine::hook::capture;
use cerberus_engine::hook::capture::CaptureError;
use cerberus_engine::os::clock::Clock;
use cerberus_engine::os::failures;
use cerberus_engine::os::fault;
use cerberus_engine::os::home::Home;
use cerberus_engine::summary::provider::SUMMARIZING;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::context;

/// Larger than any client sends; the rest of a larger one is read and thrown away.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most payloads arrive in one read of this size.
const FIRST_READ_BYTES: usize = 64 * 1024;

/// A client that opens a hook and says nothing does not keep us here.
const SILENCE_SECS_MAX: i64 = 5;

pub fn run(agent: &str) -> ExitCode {
    survive_panics(agent.to_string());
    // An agent that sums up a session for us is no session itself, and must not be summed up in turn.
    if std::env::var_os(SUMMARIZING).is_some() {
        return ExitCode::SUCCESS;
    }
    let Some(home) = context::home() else {
        return ExitCode::SUCCESS;
    };
    let (given, problem) = match context::given_now() {
        Ok(given) => (given, None),
        Err(problem) => (None, Some(problem)),
    };
    let clock = Clock::new(given);
    if let Some(problem) = problem {
        failures::note(&home, clock.wall, "reading CERBERUS_NOW", &problem);
    }
    let result = match (agents::find(agent), context::with_privacy_rules(home.clone())) {
        (Some(agent), Ok(home)) => heard(&home, &clock, agent),
        (None, _) => Err(HookError::UnknownAgent(line(agent, 40))),
        // What is to be kept private stands in it, so nothing is kept. The client must not find its pipe broken.
        (_, Err(error)) => read_payload().and(Err(HookError::Unwished(error))),
    };
    if let Err(error) = result {
        failures::note(&home, clock.now, &hook_name(agent), &error);
    }
    ExitCode::SUCCESS
}

/// What the failures call this hook.
fn hook_name(agent: &str) -> String {
    format!("hook {}", line(agent, 40))
}

/// A bug of ours must not look like a failing hook: it is noted for `status` and `doctor`, and the exit code is 0. The
/// note is written here, before anything unwinds: release builds abort on a panic.
fn survive_panics(agent: String) {
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(home) = context::home() {
            let clock = Clock::new(context::given_now().ok().flatten());
            // The place alone: the message of a panic may quote the payload.
            let place = panic.location().map_or_else(|| "an unknown place".to_string(), ToString::to_string);
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
    Unwished(ConfigError),
    Capture(CaptureError),
    Answer(AnswerError),
}

impl std::fmt::Display for HookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HookError::UnknownAgent(name) => write!(f, "no agent is called {name:?}"),
            HookError::Input(problem) => f.write_str(problem),
            HookError::Unwished(error) => write!(f, "nothing is stored until this is mended: {error}"),
            HookError::Capture(error) => error.fmt(f),
            HookError::Answer(error) => error.fmt(f),
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

fn heard(home: &Home, clock: &Clock, agent: Agent) -> Result<(), HookError> {
    let payload = read_payload()?;
    let Some(waiting) = capture::capture(home, clock, agent, &payload)? else {
        return Ok(());
    };
    let surroundings = Surroundings::new(&|name| std::env::var_os(name), waiting.located.root.clone());
    let Some(answer) = answer::answer(home, clock, &context::user_folders(), &surroundings, &waiting)? else {
        return Ok(());
    };
    let mut out = std::io::stdout();
    // A client that no longer listens was told nothing.
    if out.write_all(answer.reply.as_bytes()).and_then(|()| out.flush()).is_ok() {
        let _ = fault::point("answer-given");
        answer::confirm(home, clock, &answer)?;
    }
    Ok(())
}

/// Everything on standard input, within limits of size and silence.
fn read_payload() -> Result<Vec<u8>, HookError> {
    let input = rustix::stdio::stdin();
    let mut payload = Vec::with_capacity(FIRST_READ_BYTES);
    let mut thrown_away_bytes = 0;
    loop {
        wait_for(input)?;
        if payload.capacity() - payload.len() < FIRST_READ_BYTES / 4 {
            payload.reserve(payload.len().max(FIRST_READ_BYTES));
        }
        match rustix::io::read(input, spare_capacity(&mut payload)) {
            Ok(0) if thrown_away_bytes > 0 => {
                let bytes = payload.len() + thrown_away_bytes;
                return Err(HookError::Input(format!("a payload of {bytes} bytes is larger than {PAYLOAD_BYTES_MAX}")));
            }
            Ok(0) => return Ok(payload),
            // The client must not find its pipe broken: the rest is read, but not kept.
            Ok(_) if payload.len() > PAYLOAD_BYTES_MAX => {
                thrown_away_bytes += payload.len() - PAYLOAD_BYTES_MAX;
                payload.truncate(PAYLOAD_BYTES_MAX);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(HookError::Input(format!("cannot read standard input: {error}"))),
        }
    }
}

fn wait_for(input: BorrowedFd<'_>) -> Result<(), HookError> {
    let limit = Timespec { tv_sec: SILENCE_SECS_MAX, tv_nsec: 0 };
    match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&limit)) {
        Ok(0) => Err(HookError::Input(format!("no payload within {SILENCE_SECS_MAX} seconds"))),
        // An error shows itself in the read that follows.
        _ => Ok(()),
    }
}
