//! The runner's side of a guarded program: its lines, its exit, and control over it.
//!
//! All lines and then the exit arrive through one channel. If even the guard is killed, the runner has adopted what it
//! guarded, and ends it here.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use cerberus_os::fault;
use cerberus_os::platform;
use cerberus_record::clean::text::clip_front;
use cerberus_store::sessions::caller::{HANDOFF_VARIABLE, LOOP_VARIABLE};

use super::descendants;
use super::guard::{GuardNote, GuardOrder};
use super::ledger::AttemptNumber;
use crate::failure::ProgramExit;

/// A longer line is cut. The remainder parses as nothing, which is not an error.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How many lines may queue up before the runner reads them. Each may be long.
const LINES_MAX: usize = 8;
/// How much output of a check or hook is kept; the end counts.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
const KILL_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a process may take to stop before it is killed.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// Where git looks, if not in the current folder.
const GIT_VARIABLES: [&str; 5] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// How guards are started: our own program, and the token that everything below carries.
#[derive(Clone, Debug)]
pub struct GuardLauncher {
    pub program: PathBuf,
    pub token: String,
}

/// The program to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChildProgram {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// Variables that it must not inherit.
    pub without: Vec<&'static str>,
    /// Variables that it gets besides.
    pub variables: Vec<(&'static str, String)>,
    /// Its prompt is a handoff, or contains one.
    pub has_handoff: bool,
}

#[derive(Debug)]
pub enum ChildEvent {
    Line(Vec<u8>),
    ErrorLine(Vec<u8>),
    Ended(ProgramExit),
}

/// How a command of the user ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandEnd {
    pub exit: ProgramExit,
    pub output: String,
    /// It was still running when it should have ended.
    pub was_stopped: bool,
}

#[derive(Debug)]
pub struct Child {
    orders: Option<ChildStdin>,
    events: Receiver<ChildEvent>,
    stopped_at: Option<Instant>,
}

impl GuardLauncher {
    /// Starts the guard. The program itself starts with [`Child::start_program`].
    pub fn spawn(&self, program: &ChildProgram, note: Option<&GuardNote>) -> std::io::Result<Child> {
        let mut command = Command::new(&self.program);
        platform::call(&mut command, "cerberus");
        command.args(["loop", "guard"]);
        if let Some(note) = note {
            let AttemptNumber { run, iteration, attempt } = note.number;
            let numbers = [run, iteration, attempt].map(|number| number.to_string()).join("-");
            command.args(["--ledger", &note.ledger.name(), "--attempt", &numbers]);
            command.env("CERBERUS_HOME", note.ledger.home().root());
        }
        command.arg("--").arg(&program.program).args(&program.args).current_dir(&program.cwd);
        command.env(LOOP_VARIABLE, &self.token).env("PWD", &program.cwd);
        // Inside a git hook these name another worktree.
        for variable in GIT_VARIABLES {
            command.env_remove(variable);
        }
        for variable in &program.without {
            command.env_remove(variable);
        }
        command.envs(program.variables.iter().map(|(name, value)| (name, value.replace('\0', ""))));
        match program.has_handoff {
            true => command.env(HANDOFF_VARIABLE, "1"),
            false => command.env_remove(HANDOFF_VARIABLE),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut guard = command.spawn()?;
        let _ = fault::point("loop-spawned");
        let (send, events) = mpsc::sync_channel(LINES_MAX);
        let readers = [
            guard.stdout.take().map(|out| read_lines(out, send.clone(), ChildEvent::Line)),
            guard.stderr.take().map(|err| read_lines(err, send.clone(), ChildEvent::ErrorLine)),
        ];
        let orders = guard.stdin.take();
        std::thread::spawn(move || {
            let status = guard.wait();
            let was_killed = status.as_ref().is_ok_and(|status| platform::signal_of(status).is_some());
            let exit = status.map_or(ProgramExit::Code(1), |status| exit_of(&status));
            if was_killed {
                descendants::kill_below(std::process::id(), KILL_TIME_MAX);
            }
            for reader in readers.into_iter().flatten() {
                // If the output is still open, a process still holds it.
                while was_killed && !reader.is_finished() {
                    descendants::kill_below(std::process::id(), KILL_TIME_MAX);
                }
                let _ = reader.join();
            }
            let _ = send.send(ChildEvent::Ended(exit));
        });
        Ok(Child { orders, events, stopped_at: None })
    }

    /// Runs a command of the user until it exits or `until` returns true.
    pub fn run(&self, program: &ChildProgram, input: &str, until: &dyn Fn() -> bool) -> std::io::Result<CommandEnd> {
        let mut child = self.spawn(program, None)?;
        child.order(&GuardOrder::Go);
        child.order(&GuardOrder::Say(input.to_string()));
        child.order(&GuardOrder::Close);
        let mut output = String::new();
        let mut is_late = false;
        loop {
            match child.next(Duration::from_millis(100)) {
                Some(ChildEvent::Line(line) | ChildEvent::ErrorLine(line)) => {
                    output.push_str(&String::from_utf8_lossy(&line));
                    if output.len() > 2 * OUTPUT_BYTES_MAX {
                        output = clip_front(&output, OUTPUT_BYTES_MAX).to_string();
                    }
                }
                // The guard may still be ending a late command; then its own exit says nothing.
                Some(ChildEvent::Ended(exit)) => {
                    let exit = if is_late { ProgramExit::Signal(15) } else { exit };
                    return Ok(CommandEnd { exit, output, was_stopped: is_late });
                }
                None => {}
            }
            if until() {
                is_late = true;
                child.stop();
            }
        }
    }
}

impl Child {
    pub fn start_program(&mut self) {
        self.order(&GuardOrder::Go);
    }

    pub fn send(&mut self, text: &str) {
        self.order(&GuardOrder::Say(text.to_string()));
    }

    pub fn close_input(&mut self) {
        self.order(&GuardOrder::Close);
    }

    /// Asks everything to stop. If something is left after twice the grace period, the guard is killed too.
    pub fn stop(&mut self) {
        match self.stopped_at {
            None => {
                self.stopped_at = Some(Instant::now());
                self.order(&GuardOrder::Stop { grace_ms: STOP_GRACE.as_millis() as u64 });
            }
            Some(since) if since.elapsed() > 2 * STOP_GRACE => {
                descendants::kill_below(std::process::id(), KILL_TIME_MAX)
            }
            Some(_) => {}
        }
    }

    /// Stops at once, without a grace period.
    pub fn stop_now(&mut self) {
        self.stop();
        self.order(&GuardOrder::Stop { grace_ms: 0 });
    }

    /// A guard that has exited takes no orders; its exit arrives through the channel.
    fn order(&mut self, order: &GuardOrder) {
        let Ok(mut line) = serde_json::to_vec(order) else { return };
        line.push(b'\n');
        if let Some(orders) = &mut self.orders {
            let _ = orders.write_all(&line).and_then(|()| orders.flush());
        }
    }

    /// The next message, if it arrives in time.
    pub fn next(&self, wait_max: Duration) -> Option<ChildEvent> {
        match self.events.recv_timeout(wait_max) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(ChildEvent::Ended(ProgramExit::Code(1))),
        }
    }
}

/// Reads lines. A last line without a line break counts as a line.
fn read_lines<R: Read + Send + 'static>(
    from: R,
    send: SyncSender<ChildEvent>,
    wrap: fn(Vec<u8>) -> ChildEvent,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            let read = (&mut from).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if !matches!(read, Ok(bytes) if bytes > 0) || send.send(wrap(line)).is_err() {
                return;
            }
        }
    })
}

/// The guard reports a signal as an exit code; this turns it back into a signal.
fn exit_of(status: &ExitStatus) -> ProgramExit {
    match (status.code(), platform::signal_of(status)) {
        (Some(code @ 129..=192), _) => ProgramExit::Signal(code - 128),
        (Some(code), _) => ProgramExit::Code(code),
        (None, Some(signal)) => ProgramExit::Signal(signal),
        (None, None) => ProgramExit::Code(1),
    }
}
