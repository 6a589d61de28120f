//! `cerberus hook AGENT`: one payload on standard input, always exit 0, nothing on standard output but a valid reply.
//!
//! Whatever goes wrong is written down where `status` and `doctor` show it; the agent never notices.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cerberus_core::id::Agent;
use cerberus_core::text::line;
use cerberus_engine::capture::{self, CaptureError};
use cerberus_engine::clock::Clock;
use cerberus_engine::failures;
use cerberus_engine::home::Home;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::context;

/// Larger than any client sends; the rest of a larger one is read and thrown away.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A client that opens a hook and says nothing does not keep us here.
const SILENCE_MAX: Duration = Duration::from_secs(5);

pub fn run(agent: &str) -> ExitCode {
    // A bug of ours must not look like a failing hook.
    std::panic::set_hook(Box::new(|_| std::process::exit(0)));
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
    let result = match Agent::from_name(agent) {
        Some(agent) => heard(&home, &clock, agent),
        None => Err(HookError::UnknownAgent(line(agent, 40))),
    };
    if let Err(error) = result {
        failures::note(&home, clock.now, &format!("hook {}", line(agent, 40)), &error);
    }
    ExitCode::SUCCESS
}

#[derive(Debug)]
enum HookError {
    UnknownAgent(String),
    Input(String),
    Capture(CaptureError),
}

impl std::fmt::Display for HookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HookError::UnknownAgent(name) => write!(f, "no agent is called {name:?}"),
            HookError::Input(problem) => f.write_str(problem),
            HookError::Capture(error) => error.fmt(f),
        }
    }
}

impl From<CaptureError> for HookError {
    fn from(error: CaptureError) -> Self {
        HookError::Capture(error)
    }
}

fn heard(home: &Home, clock: &Clock, agent: Agent) -> Result<(), HookError> {
    let payload = read_payload()?;
    let Some(started) = capture::capture(home, clock, agent, &payload)? else {
        return Ok(());
    };
    let Some(answer) = capture::answer(home, clock, &started)? else {
        return Ok(());
    };
    let mut out = std::io::stdout();
    // A client that no longer listens was told nothing.
    if out
        .write_all(answer.reply.as_bytes())
        .and_then(|()| out.flush())
        .is_ok()
    {
        capture::confirm(home, clock, &answer)?;
    }
    Ok(())
}

/// Everything on standard input, within limits of size and silence.
fn read_payload() -> Result<Vec<u8>, HookError> {
    let input_error = |error: std::io::Error| HookError::Input(format!("cannot read standard input: {error}"));
    let mut input = std::io::stdin().lock();
    let mut payload = Vec::with_capacity(64 * 1024);
    let mut length = 0;
    loop {
        wait_for(&input)?;
        // The payload is read in place; past the limit the same room is filled again and again.
        let start = length.min(PAYLOAD_BYTES_MAX);
        if payload.len() < start + 16 * 1024 {
            payload.resize(
                (2 * payload.len())
                    .max(start + 64 * 1024)
                    .min(PAYLOAD_BYTES_MAX + 64 * 1024),
                0,
            );
        }
        match input.read(&mut payload[start..]) {
            Ok(0) if length > PAYLOAD_BYTES_MAX => {
                return Err(HookError::Input(format!(
                    "a payload of {length} bytes is larger than {PAYLOAD_BYTES_MAX}"
                )));
            }
            Ok(0) => {
                payload.truncate(length);
                return Ok(payload);
            }
            Ok(count) => length += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(input_error(error)),
        }
    }
}

fn wait_for(input: &impl std::os::fd::AsFd) -> Result<(), HookError> {
    let begun = Instant::now();
    loop {
        let left = SILENCE_MAX.saturating_sub(begun.elapsed());
        let limit = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&limit)) {
            Ok(0) => {
                return Err(HookError::Input(format!(
                    "no payload within {} seconds",
                    SILENCE_MAX.as_secs()
                )));
            }
            Err(rustix::io::Errno::INTR) => {}
            // An error shows itself in the read that follows.
            _ => return Ok(()),
        }
    }
}
