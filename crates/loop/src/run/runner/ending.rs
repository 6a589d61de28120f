//! The end of an iteration and of the loop, as the user is told.

use cerberus_checkpoint::Checkpoints;
use cerberus_record::session::LoopEnd;
use cerberus_record::time::Timestamp;
use serde_json::{Value, json};

use super::{LoopError, Runner, now};
use crate::completion::CompletionCheck;
use crate::entry::LedgerStep;
use crate::run::audience::{AttemptSummary, LoopEvent};
use crate::run::{done, notify};
use crate::stop::StopReason;
use crate::totals::EndedAttempt;

impl Runner<'_> {
    pub(super) fn report_end(
        &mut self,
        ended: &EndedAttempt,
        iteration: u32,
        began: Timestamp,
    ) -> Result<(), LoopError> {
        let changed_files = self.changed_files(iteration);
        if let Some(files) = changed_files {
            self.write(LedgerStep::Changed { files: u32::try_from(files).unwrap_or(u32::MAX) })?;
        }
        let summary = AttemptSummary { iteration, took: now().since(began), changed_files, check: self.check.take() };
        self.audience.report(&LoopEvent::Ended(ended, &summary));
        Ok(())
    }

    /// Files that differ from the checkpoint before.
    fn changed_files(&self, iteration: u32) -> Option<usize> {
        let checkpoints = Checkpoints::new(&self.job.home, &self.job.located).ok()?;
        let (from, to) = checkpoints.around(self.run, iteration).ok()?;
        checkpoints.changed_between(&from.object, &to.object).ok().map(|paths| paths.len())
    }

    /// After a finished task, the user's command gets what a pull request needs.
    pub(super) fn on_done(&mut self, stop: &StopReason) {
        let is_done = stop.class() == LoopEnd::Complete;
        let Some(command) = self.job.settings.on_done.as_ref().filter(|_| is_done) else { return };
        let variables = done::variables(self.job, &self.run_history, self.left.as_ref());
        let told = match self.commands().on_done(command, &self.state_json(), variables, done::TIME_MAX) {
            Ok(said) => format!("on-done: {said}"),
            Err(words) => format!("the on-done command failed: {words}"),
        };
        self.audience.report(&LoopEvent::Message(&told));
    }

    pub(super) fn notify_end(&mut self, stop: &StopReason) {
        let words = format!("{}: {}", stop.class().word(), stop.words());
        self.notify(&words, &[("stop", json!(stop.class())), ("stop_reason", json!(stop.words()))]);
    }

    /// Tells the user, with the state and these fields.
    pub(super) fn notify(&mut self, words: &str, more: &[(&str, Value)]) {
        let Some(how) = &self.job.settings.notify else { return };
        let name = &self.job.located.name;
        let command = notify::command(how, &format!("Cerberus loop in {name}"), words);
        let mut state = self.state_json();
        if let Some(fields) = state.as_object_mut() {
            fields.extend(more.iter().map(|(name, value)| (name.to_string(), value.clone())));
        }
        let ran = self.commands().hook(&command, &state, self.job.settings.hooks.time_limit());
        if let Err(words) = ran {
            self.audience.report(&LoopEvent::Message(&format!("the notification failed: {words}")));
        }
    }
}

pub(super) fn check_words(checked: &CompletionCheck) -> String {
    match checked {
        CompletionCheck::Passed => "passed".to_string(),
        CompletionCheck::NoTests => "ran no tests".to_string(),
        CompletionCheck::Failed { words, .. } => format!("failed: {words}"),
        CompletionCheck::Changed { files, .. } => format!("passed, but was changed: {}", files.join(", ")),
    }
}
