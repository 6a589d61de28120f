//! The guard: a small process between the runner and the program it starts. It outlives neither.
//!
//! It leads its own session and adopts orphans below it. The runner sends orders on standard input, one per line.
//! Nothing starts before the first order. The end of the input means that the runner is dead; then everything below is
//! ended. The guard exits when nothing is left below it, with the exit code of its program. Output goes straight from
//! the program to the runner.

use std::io::{self, BufRead, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use cerberus_os::clock::Clock;
use cerberus_os::platform::{self, ProcessEnd};
use cerberus_os::{fault, process};
use serde::{Deserialize, Serialize};

use super::descendants;
use super::ledger::{AttemptNumber, LedgerError, LoopLedger};
use crate::entry::{LedgerEntry, LedgerStep};

/// An order of the runner, one JSON value per line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardOrder {
    Go,
    /// Text for the program's standard input.
    Say(String),
    Close,
    Stop {
        grace_ms: u64,
    },
}

/// What to start.
#[derive(Clone, Debug)]
pub struct GuardLaunch {
    pub program: std::ffi::OsString,
    pub args: Vec<std::ffi::OsString>,
    /// Where to record that the agent was started.
    pub note: Option<GuardNote>,
}

#[derive(Clone, Debug)]
pub struct GuardNote {
    pub ledger: LoopLedger,
    pub number: AttemptNumber,
}

/// If the runner is dead, nothing needs time to finish.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);
/// The grace period for what is left after the program has exited.
const REST_GRACE: Duration = Duration::from_millis(200);
const KILL_EVERY: Duration = Duration::from_millis(50);

pub const CANNOT_START: i32 = 127;
pub const CANNOT_NOTE: i32 = 125;

enum GuardEvent {
    Order(GuardOrder),
    RunnerGone,
    /// A process below has ended, with this exit code.
    Gone(u32, i32),
    NobodyLeft,
}

/// Runs until everything below has ended. Returns the exit code.
pub fn run(launch: &GuardLaunch) -> i32 {
    // Leave the runner's terminal: the runner decides what Ctrl-C means.
    platform::leave_terminal();
    descendants::adopt();
    let (send, events) = mpsc::channel();
    let orders = send.clone();
    std::thread::spawn(move || read_orders(&orders));
    match events.recv() {
        Ok(GuardEvent::Order(GuardOrder::Go)) => {}
        _ => return 0,
    }
    let _ = fault::point("guard-ready");
    let mut command = Command::new(&launch.program);
    command.args(&launch.args).stdin(Stdio::piped());
    let mut child = match platform::in_own_group(&mut command).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("cannot start {}: {error}", launch.program.to_string_lossy());
            return CANNOT_START;
        }
    };
    let group = child.id();
    let input = child.stdin.take().map(feed);
    std::thread::spawn(move || reap_children(child, &send));
    let mut watch = GuardWatch { group, input, stopping: None, exit: None };
    if let Err(error) = launch.note.as_ref().map_or(Ok(()), |note| record_launch(note, group)) {
        eprintln!("cannot record the start of the agent: {error}");
        watch.stop(Duration::ZERO);
        watch.run_until_empty(&events);
        return CANNOT_NOTE;
    }
    let _ = fault::point("guard-launched");
    watch.run_until_empty(&events);
    watch.exit.unwrap_or(CANNOT_START)
}

fn record_launch(note: &GuardNote, pid: u32) -> Result<(), LedgerError> {
    let AttemptNumber { run, iteration, attempt } = note.number;
    let step = LedgerStep::Launched { iteration, attempt, agent: process::of(pid), guard: process::own() };
    note.ledger.append(&LedgerEntry { at: Clock::new(None).wall, run, step })
}

fn read_orders(events: &Sender<GuardEvent>) {
    for line in io::stdin().lock().lines() {
        let Some(order) = line.ok().and_then(|line| serde_json::from_slice(line.as_bytes()).ok()) else { break };
        if events.send(GuardEvent::Order(order)).is_err() {
            return;
        }
    }
    let _ = events.send(GuardEvent::RunnerGone);
}

fn reap_children(child: Child, events: &Sender<GuardEvent>) {
    platform::each_end(child, |pid, code| events.send(GuardEvent::Gone(pid, code)).is_ok());
    let _ = events.send(GuardEvent::NobodyLeft);
}

/// Writes to the program from a separate thread, because it may read slowly. Dropping the sender closes its input.
fn feed(mut input: ChildStdin) -> Sender<String> {
    let (send, texts) = mpsc::channel::<String>();
    std::thread::spawn(move || {
        for text in texts {
            if input.write_all(text.as_bytes()).and_then(|()| input.flush()).is_err() {
                return;
            }
        }
    });
    send
}

struct GuardWatch {
    group: u32,
    input: Option<Sender<String>>,
    /// When everything below will be killed.
    stopping: Option<Instant>,
    exit: Option<i32>,
}

impl GuardWatch {
    fn run_until_empty(&mut self, events: &Receiver<GuardEvent>) {
        loop {
            let wait_max = if self.stopping.is_some() { KILL_EVERY } else { Duration::from_secs(3600) };
            match events.recv_timeout(wait_max) {
                Ok(GuardEvent::Order(order)) => self.follow(order),
                Ok(GuardEvent::RunnerGone) => self.stop(ORPHAN_GRACE),
                Ok(GuardEvent::Gone(pid, code)) if pid == self.group => {
                    self.exit = Some(code);
                    self.stop(REST_GRACE);
                }
                Ok(GuardEvent::Gone(..)) => {}
                Ok(GuardEvent::NobodyLeft) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stopping.is_some_and(|from| Instant::now() >= from) {
                self.kill_all();
            }
        }
    }

    fn follow(&mut self, order: GuardOrder) {
        match order {
            GuardOrder::Go => {}
            GuardOrder::Say(text) => {
                let _ = self.input.as_ref().map(|input| input.send(text));
            }
            GuardOrder::Close => self.input = None,
            GuardOrder::Stop { grace_ms } => self.stop(Duration::from_millis(grace_ms)),
        }
    }

    /// Asks the program to stop and, once it has exited, what it left behind. After the grace period everything is
    /// killed. If asked again, the shorter grace period counts.
    fn stop(&mut self, grace: Duration) {
        self.input = None;
        let from = Instant::now() + grace;
        self.stopping = Some(self.stopping.map_or(from, |earlier| earlier.min(from)));
        match self.exit {
            // Signal the group only: an agent whose tool ends first would go on working.
            None => self.end_group(ProcessEnd::Ask),
            Some(_) => descendants::end_below(std::process::id(), ProcessEnd::Ask),
        }
    }

    fn kill_all(&self) {
        self.end_group(ProcessEnd::Kill);
        descendants::end_below(std::process::id(), ProcessEnd::Kill);
    }

    fn end_group(&self, how: ProcessEnd) {
        // Once the leader has been reaped, another group may get the same id.
        if self.exit.is_none() {
            platform::end_group(self.group, how);
        }
    }
}
