use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context as _;
use cerberus_os::platform::signal_of;
use cerberus_os::process;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, StartSource};
use cerberus_record::id::Agent;
use cerberus_store::journal;
use cerberus_store::journal::own_record;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::platform::{self, Signals};

/// Run any program as a session that ends when the program exits
#[derive(clap::Args)]
pub struct RunArgs {
    /// The program and its arguments, after --
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<std::ffi::OsString>,
}

/// A program that reports nothing for a long time may still be working. A pulse keeps its session from counting as
/// idle.
const PULSE: Duration = Duration::from_secs(10 * 60);

impl RunArgs {
    /// Does not return if the program was started: exits with the program's exit code.
    pub fn run(self, context: &Context) -> Result<()> {
        context.may_store(&context.located())?;
        let session = format!("run-{}-{}", context.clock.wall.millis(), std::process::id());
        let start =
            Event::Start { source: StartSource::Startup, transcript: None, phase: None, process: process::own() };
        // Caught before the program starts, so that a signal to us cannot leave the session without an end.
        let signals = Signals::catch().hint("the signal handlers could not be installed; try again")?;
        record(context, &session, "start", start)?;
        let (program, arguments) = (&self.command[0], &self.command[1..]);
        let spawned = Command::new(program).args(arguments).current_dir(&context.cwd).spawn();
        let child = match spawned.with_context(|| format!("cannot run {}", program.to_string_lossy())) {
            Ok(child) => child,
            Err(error) => {
                record(context, &session, "end", Event::End { reason: Clean::word("did not start") })?;
                return Err(error).hint("give the name of a program on PATH, or its path");
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
        now.ended(ended?.as_slice())?;
        std::process::exit(code(&status))
    }
}

/// Waits for the program, forwards signals to it, and records a pulse from time to time.
fn watch(context: &Context, session: &str, mut child: Child, signals: Signals) -> Result<ExitStatus> {
    let pid = child.id();
    std::thread::spawn(move || {
        signals.each(|signal| {
            // From a terminal, the program received the signal already; a second one does no harm.
            platform::forward(signal, pid);
            true
        });
    });
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait()));
    loop {
        match end.recv_timeout(PULSE) {
            Ok(status) => return status.hint("the program may still be running; check with ps"),
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
    append.hint("free disk space or fix the folder's permissions, then try again")
}

fn how(status: &ExitStatus) -> String {
    match (status.code(), signal_of(status)) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "ended".to_string(),
    }
}

/// The exit code that a shell would report.
fn code(status: &ExitStatus) -> i32 {
    status.code().or_else(|| signal_of(status).map(|signal| 128 + signal)).unwrap_or(1)
}
