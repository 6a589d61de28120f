//! The user's own commands: the check that decides whether the work is complete, and the loop's hooks.

use std::path::Path;
use std::time::{Duration, Instant};

use cerberus_os::platform::SHELL;
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::Keep;
use cerberus_record::span::Span;
use serde_json::Value;

use super::child::{ChildProgram, CommandEnd, GuardLauncher};
use super::interrupts::Interrupts;
use crate::completion::{CompletionCheck, judge};
use crate::failure::ProgramExit;

/// Where and how the commands run.
pub struct LoopCommands<'a> {
    pub guards: &'a GuardLauncher,
    pub cwd: &'a Path,
    pub cleaner: &'a Cleaner,
    /// An interrupt that ends the loop at once ends these too.
    pub interrupts: &'a Interrupts,
}

impl LoopCommands<'_> {
    /// The result of the check, and its output.
    pub fn check(&self, command: &str, time_max: Duration) -> (CompletionCheck, String) {
        match self.run(command, "", Vec::new(), time_max) {
            Ok(ran) if ran.was_stopped => (CompletionCheck::Failed { words: self.late(time_max) }, ran.output),
            Ok(ran) => (judge(command, ran.exit, &ran.output), ran.output),
            Err(error) => {
                (CompletionCheck::Failed { words: format!("it could not be started: {error}") }, String::new())
            }
        }
    }

    /// Runs the check before any work is done, for a short time. An error says why it can never pass; otherwise, says
    /// whether it passes already.
    pub fn try_check(&self, command: &str, time_max: Duration) -> Result<bool, String> {
        let ran =
            self.run(command, "", Vec::new(), time_max).map_err(|error| format!("it could not be started: {error}"))?;
        match ran.exit {
            ProgramExit::Code(127) => Err(self.last_line("command not found", &ran.output)),
            ProgramExit::Code(126) => Err(self.last_line("the file cannot be executed", &ran.output)),
            exit => Ok(!ran.was_stopped && judge(command, exit, &ran.output) == CompletionCheck::Passed),
        }
    }

    /// Runs a hook with the loop's state on its standard input. An error says why it failed.
    pub fn hook(&self, command: &str, state: &Value, time_max: Duration) -> Result<(), String> {
        match self.run(command, &state.to_string(), Vec::new(), time_max) {
            Ok(ran) if ran.was_stopped => Err(self.late(time_max)),
            Ok(ran) if ran.exit.is_success() => Ok(()),
            Ok(ran) => Err(self.last_line(&ran.exit.words(), &ran.output)),
            Err(error) => Err(format!("it could not be started: {error}")),
        }
    }

    /// Runs the command that follows a finished task, with these variables. Returns the last line that it printed.
    pub fn on_done(
        &self,
        command: &str,
        state: &Value,
        variables: Vec<(&'static str, String)>,
        time_max: Duration,
    ) -> Result<String, String> {
        match self.run(command, &state.to_string(), variables, time_max) {
            Ok(ran) if ran.was_stopped => Err(self.late(time_max)),
            Ok(ran) if ran.exit.is_success() => Ok(self.last_line("it ran", &ran.output)),
            Ok(ran) => Err(self.last_line(&ran.exit.words(), &ran.output)),
            Err(error) => Err(format!("it could not be started: {error}")),
        }
    }

    fn late(&self, time_max: Duration) -> String {
        match self.interrupts.is_now() {
            true => "it was interrupted".to_string(),
            false => format!("it took longer than {} and was stopped", Span(time_max)),
        }
    }

    fn last_line(&self, what: &str, output: &str) -> String {
        let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let words = format!("{what}: {last}");
        self.cleaner.clean(words.trim_end_matches([':', ' ']).to_string(), Keep::SUBJECT).to_string()
    }

    fn run(
        &self,
        command: &str,
        input: &str,
        variables: Vec<(&'static str, String)>,
        time_max: Duration,
    ) -> std::io::Result<CommandEnd> {
        let program = ChildProgram {
            program: SHELL[0].into(),
            args: vec![SHELL[1].into(), command.into()],
            cwd: self.cwd.to_path_buf(),
            variables,
            ..ChildProgram::default()
        };
        let deadline = Instant::now() + time_max;
        self.guards.run(&program, input, &|| Instant::now() >= deadline || self.interrupts.is_now())
    }
}
