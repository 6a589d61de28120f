//! The user's own commands: the check that decides whether the work is complete, and the loop's hooks.

use std::path::Path;
use std::time::{Duration, Instant};

use cerberus_core::clean::Cleaner;
use cerberus_core::clean::text::Keep;
use cerberus_core::loops::completion::{Checked, judge};
use cerberus_core::loops::failure::Exit;
use serde_json::Value;

use super::child::{GuardLauncher, Program};
use super::interrupts::Interrupts;

/// Where and how the commands run.
pub struct Commands<'a> {
    pub guards: &'a GuardLauncher,
    pub cwd: &'a Path,
    pub cleaner: &'a Cleaner,
    /// An interrupt that ends the loop at once ends these too.
    pub interrupts: &'a Interrupts,
}

impl Commands<'_> {
    pub fn check(&self, command: &str, time_max: Duration) -> Checked {
        match self.run(command, "", time_max) {
            Ok((exit, output)) => judge(command, exit, &output),
            Err(error) => Checked::Failed { words: format!("it could not be started: {error}") },
        }
    }

    /// Runs a hook with the loop's state on its standard input. An error says why it failed.
    pub fn hook(&self, command: &str, state: &Value, time_max: Duration) -> Result<(), String> {
        match self.run(command, &state.to_string(), time_max) {
            Ok((exit, _)) if exit.is_success() => Ok(()),
            Ok((exit, output)) => {
                let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let words = format!("{}: {last}", exit.words());
                Err(self.cleaner.clean(words.trim_end_matches([':', ' ']).to_string(), Keep::SUBJECT).to_string())
            }
            Err(error) => Err(format!("it could not be started: {error}")),
        }
    }

    fn run(&self, command: &str, input: &str, time_max: Duration) -> std::io::Result<(Exit, String)> {
        let program = Program {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), command.into()],
            cwd: self.cwd.to_path_buf(),
            without: Vec::new(),
        };
        let deadline = Instant::now() + time_max;
        self.guards.run(&program, input, &|| Instant::now() >= deadline || self.interrupts.is_now())
    }
}
