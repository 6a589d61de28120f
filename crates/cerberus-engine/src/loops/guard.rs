//! The guard: a small process between the runner and what it starts, which outlives neither.
//!
//! It leads a session of its own and adopts what loses its parent below it. Its standard input is the runner's hand: orders,
//! one a line. Nothing is started before the first order; the end of the input means that the runner is dead, and then
//! everything below is ended. It ends when nothing is left below it, with the exit of what it started. Output is not
//! touched: it goes straight to the runner.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use cerberus_core::loops::history::{Entry, Step};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use serde::{Deserialize, Serialize};

use super::below;
use super::ledger::{Ledger, LedgerError, Number};
use crate::os::clock::Clock;
use crate::os::fault;
use crate::os::process;

/// What the runner wants, one JSON value a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    Go,
    /// For the program's standard input.
    Say(String),
    Close,
    Stop {
        grace_ms: u64,
    },
}

/// What is to be started.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: std::ffi::OsString,
    pub args: Vec<std::ffi::OsString>,
    /// Where it is written down that the agent was started.
    pub note: Option<Note>,
}

#[derive(Clone, Debug)]
pub struct Note {
    pub ledger: Ledger,
    pub number: Number,
}

/// When the runner is dead nobody waits for a farewell.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);
/// What is left when the program is gone gets this long.
const REST_GRACE: Duration = Duration::from_millis(200);
const KILL_EVERY: Duration = Duration::from_millis(50);

pub const CANNOT_START: i32 = 127;
pub const CANNOT_NOTE: i32 = 125;

enum News {
    Order(Order),
    RunnerGone,
    Gone(Pid, WaitStatus),
    NobodyLeft,
}

/// Runs to the end of everything below; the exit code.
pub fn run(launch: &Launch) -> i32 {
    // Away from the runner's terminal: a Ctrl-C there is the runner's to interpret.
    let _ = rustix::process::setsid();
    below::adopt();
    let (send, news) = mpsc::channel();
    let orders = send.clone();
    std::thread::spawn(move || hear_orders(&orders));
    match news.recv() {
        Ok(News::Order(Order::Go)) => {}
        _ => return 0,
    }
    let _ = fault::point("guard-ready");
    let mut command = Command::new(&launch.program);
    command.args(&launch.args).stdin(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("cannot start {}: {error}", launch.program.to_string_lossy());
            return CANNOT_START;
        }
    };
    let group = Pid::from_child(&child);
    let input = child.stdin.take().map(feed);
    std::thread::spawn(move || hear_ends(&send));
    let mut watch = Watch { group, input, stopping: None, exit: None };
    if let Err(error) = launch.note.as_ref().map_or(Ok(()), |note| written(note, child.id())) {
        eprintln!("cannot record the start of the agent: {error}");
        watch.stop(Duration::ZERO);
        watch.until_nobody_is_left(&news);
        return CANNOT_NOTE;
    }
    let _ = fault::point("guard-launched");
    watch.until_nobody_is_left(&news);
    watch.exit.unwrap_or(CANNOT_START)
}

fn written(note: &Note, pid: u32) -> Result<(), LedgerError> {
    let Number { run, iteration, attempt } = note.number;
    let step = Step::Launched { iteration, attempt, agent: process::of(pid), guard: process::own() };
    note.ledger.append(&Entry { at: Clock::new(None).wall, run, step })
}

fn hear_orders(news: &Sender<News>) {
    for line in io::stdin().lock().lines() {
        let Some(order) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { break };
        if news.send(News::Order(order)).is_err() {
            return;
        }
    }
    let _ = news.send(News::RunnerGone);
}

fn hear_ends(news: &Sender<News>) {
    loop {
        let heard = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => News::Gone(pid, status),
            Ok(None) => continue,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => News::NobodyLeft,
        };
        let is_last = matches!(heard, News::NobodyLeft);
        if news.send(heard).is_err() || is_last {
            return;
        }
    }
}

/// Writes to the program beside everything else: it may be slow to read. Dropping the sender closes its input.
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

struct Watch {
    group: Pid,
    input: Option<Sender<String>>,
    /// From when on everything below is killed.
    stopping: Option<Instant>,
    exit: Option<i32>,
}

impl Watch {
    fn until_nobody_is_left(&mut self, news: &Receiver<News>) {
        loop {
            let wait_max = if self.stopping.is_some() { KILL_EVERY } else { Duration::from_secs(3600) };
            match news.recv_timeout(wait_max) {
                Ok(News::Order(order)) => self.follow(order),
                Ok(News::RunnerGone) => self.stop(ORPHAN_GRACE),
                Ok(News::Gone(pid, status)) if pid == self.group => {
                    self.exit = Some(code(status));
                    self.stop(REST_GRACE);
                }
                Ok(News::Gone(..)) => {}
                Ok(News::NobodyLeft) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stopping.is_some_and(|from| Instant::now() >= from) {
                self.kill_all();
            }
        }
    }

    fn follow(&mut self, order: Order) {
        match order {
            Order::Go => {}
            Order::Say(text) => {
                let _ = self.input.as_ref().map(|input| input.send(text));
            }
            Order::Close => self.input = None,
            Order::Stop { grace_ms } => self.stop(Duration::from_millis(grace_ms)),
        }
    }

    /// Asks the program to end, and when it is gone, what it left; after the grace everything is killed. Asked again, the
    /// shorter grace counts.
    fn stop(&mut self, grace: Duration) {
        self.input = None;
        let from = Instant::now() + grace;
        self.stopping = Some(self.stopping.map_or(from, |earlier| earlier.min(from)));
        match self.exit {
            // An agent whose tool ends before it would take up its work again.
            None => self.signal_group(Signal::TERM),
            Some(_) => below::signal_below(std::process::id(), Signal::TERM),
        }
    }

    fn kill_all(&self) {
        self.signal_group(Signal::KILL);
        below::signal_below(std::process::id(), Signal::KILL);
    }

    fn signal_group(&self, signal: Signal) {
        // Once its leader was waited for, the group's number may be another's.
        if self.exit.is_none() {
            let _ = kill_process_group(self.group, signal);
        }
    }
}

/// As a shell would say it.
fn code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(1)
}
