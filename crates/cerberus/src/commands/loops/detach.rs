//! `loop run --detach`: the loop goes on in a process of its own session, which ends with it.
//!
//! That process is started with the same arguments. Until the first context begins, it says what there is to say
//! through a pipe; from then on nobody listens, and what it shows is in the ledger.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use cerberus_loop::run::audience::{Audience, LoopEvent};
use cerberus_loop::run::interrupts::Interrupts;
use cerberus_loop::run::job::Job;
use cerberus_loop::run::runner::LoopError;
use cerberus_loop::run::start::{self, Start};
use cerberus_loop::stop::StopReason;
use cerberus_os::{failures, platform};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::loops::LoopScreen;

/// The line by which the process says that its loop has begun.
const BEGUN: &str = "cerberus: the loop has begun";
/// What failed, in the list of failures.
const FAILURE: &str = "a detached loop";

/// Starts the process and waits until its loop has begun. If it ends before, so does this one, in the same way.
pub fn start(context: &Context) -> Result<()> {
    let hint = "run cerberus by its full path";
    let mut command = Command::new(platform::running_program().hint(hint)?);
    platform::call(&mut command, "cerberus");
    command.args(arguments(std::env::args_os().skip(1)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = platform::in_own_session(&mut command).spawn().hint(hint)?;
    let said = child.stderr.take().map(BufReader::new);
    for line in said.into_iter().flat_map(BufRead::lines).map_while(std::io::Result::ok) {
        if line == BEGUN {
            let told = json!({ "event": "detached", "runner_pid": child.id() });
            return context.answer(&told, || {
                render::sentence(&format!(
                    "the loop goes on in process {}, even when this terminal closes",
                    child.id()
                ));
                render::line("`cerberus loop attach` shows it, `cerberus loop stop` ends it");
            });
        }
        render::talk(&line);
    }
    let ended = child.wait().hint("`cerberus loop status` shows what became of the loop")?;
    std::process::exit(ended.code().unwrap_or(1))
}

/// The same arguments, marked as those of the process that was started.
fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words = Vec::new();
    let (mut is_loop, mut is_marked) = (false, false);
    for word in given {
        is_loop |= word == "loop";
        let is_run = is_loop && !is_marked && word == "run";
        words.push(word);
        if is_run {
            words.push("--detached".into());
            is_marked = true;
        }
    }
    words
}

/// Runs the loop in the process that was started. Nobody sees how it fails later, so that is noted.
pub fn run(
    context: &Context,
    jobs: &[Job],
    start: Start,
    interrupts: &Interrupts,
) -> std::result::Result<StopReason, LoopError> {
    let mut screen = DetachedScreen { screen: LoopScreen::new(false), has_begun: false };
    let ended = start::run(jobs, start, &mut screen, interrupts);
    if let (Err(error), true) = (&ended, screen.has_begun) {
        failures::note(&context.home, context.now_again().clock.wall, FAILURE, error);
    }
    ended
}

/// Shows a loop until it has begun.
struct DetachedScreen {
    screen: LoopScreen,
    has_begun: bool,
}

impl Audience for DetachedScreen {
    fn report(&mut self, report: &LoopEvent) {
        if self.has_begun || matches!(report, LoopEvent::Status(_)) {
            return;
        }
        self.has_begun = matches!(report, LoopEvent::Begun { .. } | LoopEvent::Waiting { .. });
        if !matches!(report, LoopEvent::Begun { .. }) {
            self.screen.report(report);
        }
        if self.has_begun {
            render::talk(BEGUN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_comes_right_after_the_command() {
        let of = |line: &str| arguments(line.split(' ').map(OsString::from)).join(&OsString::from(" "));
        assert_eq!(of("loop run --detach -- run"), "loop run --detached --detach -- run");
        assert_eq!(of("--cwd run loop --json run"), "--cwd run loop --json run --detached");
    }
}
