use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context as _;
use cerberus_core::clean::text::{Clean, Keep};
use cerberus_core::model::event::{Event, StartSource};
use cerberus_core::model::id::Agent;
use cerberus_engine::journal::{self, own_record};
use cerberus_engine::os::process;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::context::Context;
use crate::failure::{Hint, Result};

/// Run any program as a session: started, watched, ended with its exit
#[derive(clap::Args)]
pub struct Run {
    /// The program and its arguments, after --
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<std::ffi::OsString>,
}

/// A program that is silent for long is still at work; this keeps its session from being taken for idle.
const PULSE: Duration = Duration::from_secs(10 * 60);

impl Run {
    /// Does not return when the program has run: its exit is ours.
    pub fn run(self, context: &Context) -> Result<()> {
        context.may_store(&context.located())?;
        let session = format!("run-{}-{}", context.clock.wall.millis(), std::process::id());
        let start =
            Event::Start { source: StartSource::Startup, transcript: None, phase: None, process: process::own() };
        // Caught before the program starts: whoever ends us must not leave it without its session's end.
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).hint("the system refused; try again")?;
        record(context, &session, "start", start)?;
        let (program, arguments) = (&self.command[0], &self.command[1..]);
        let spawned = Command::new(program).args(arguments).current_dir(&context.cwd).spawn();
        let child = match spawned.with_context(|| format!("cannot run {}", program.to_string_lossy())) {
            Ok(child) => child,
            Err(error) => {
                record(context, &session, "end", Event::End { reason: Clean::word("did not start") })?;
                return Err(error).hint("give the program by its name on PATH, or by its path");
            }
        };
        let status = watch(context, &session, child, signals)?;
        record(
            context,
            &session,
            "end",
            Event::End { reason: context.home.cleaner().clean(how(&status), Keep::SUBJECT) },
        )?;
        let now = context.now_again();
        let ended = now.view()?.agent_session(Agent::MANUAL, &session, now.clock.now);
        now.ended(ended.hint("`cerberus doctor` says what is wrong")?.as_slice())?;
        std::process::exit(code(&status))
    }
}

/// Waits for the program, passes signals on to it, and says now and then that it is still there.
fn watch(context: &Context, session: &str, mut child: Child, mut signals: Signals) -> Result<ExitStatus> {
    let pid = Pid::from_child(&child);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            // At the terminal the program got it already; a second one of these does no harm.
            let signal = match signal {
                SIGINT => Signal::INT,
                SIGHUP => Signal::HUP,
                _ => Signal::TERM,
            };
            let _ = kill_process(pid, signal);
        }
    });
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait()));
    loop {
        match end.recv_timeout(PULSE) {
            Ok(status) => return status.hint("the program's end could not be seen"),
            Err(_) => record(&context.now_again(), session, "pulse", Event::Pulse)?,
        }
    }
}

fn record(context: &Context, session: &str, what: &str, event: Event<'static>) -> Result<()> {
    let now = context.now_again();
    let key = format!("{what}-{}", now.clock.wall.millis());
    let record = own_record(
        &now.home,
        &now.clock,
        Agent::MANUAL,
        session,
        now.located().location(now.home.cleaner()),
        key,
        event,
    );
    let append = journal::append(&now.home, now.clock.wall, &record);
    append.hint("make room or mend the folder's permissions, then try again")
}

fn how(status: &ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "ended".to_string(),
    }
}

/// As a shell would say it.
fn code(status: &ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}
