//! What the runner finds out before a context begins and after it is gone.

use cerberus_os::clock::Clock;
use cerberus_os::fault;
use cerberus_record::time::Timestamp;

use super::ending::check_words;
use super::{LoopError, Runner};
use crate::check_files::changed;
use crate::check_result::CheckResult;
use crate::completion::CompletionCheck;
use crate::entry::LedgerStep;
use crate::history;
use crate::machine::{Input, Phase};
use crate::progress::Snapshot;
use crate::run::audience::LoopEvent;
use crate::run::{check_files, progress};
use crate::totals::{AttemptEnd, LoopProgress};

impl Runner<'_> {
    /// Before a context begins: the task as it is now, and messages from the user.
    pub(super) fn read_news(&mut self) {
        match self.job.task.read() {
            Ok(task) if task != self.run_history.task => {
                self.audience.report(&LoopEvent::Message("the task has changed; this context gets the new one"));
                self.run_history.task = task;
            }
            Ok(_) => {}
            Err(error) => {
                let told = format!("{error}; this context gets the task as it was read last");
                self.audience.report(&LoopEvent::Message(&told));
            }
        }
        // Messages are written by other processes.
        let written = self.ledger.read(Timestamp::LAST).ok().and_then(|entries| history::latest_run(&entries));
        if let Some(known) = written.filter(|known| known.run == self.run) {
            self.run_history.memory.messages = known.memory.messages;
        }
        if !self.run_history.memory.messages.new_ones().is_empty() {
            self.audience.report(&LoopEvent::Message("this context gets a message from the user"));
        }
    }

    /// The state of the project, which is recorded so that it is recognized when it returns.
    pub(super) fn snapshot(&mut self) -> Result<Snapshot, LoopError> {
        let snapshot = progress::take(&self.job.home, &Clock::new(None), &self.job.located);
        if let Some(hash) = snapshot.files.filter(|hash| self.run_history.memory.seen.last() != Some(hash)) {
            self.write(LedgerStep::Files { hash })?;
        }
        Ok(snapshot)
    }

    /// The context is gone: did it make progress, does it claim to be complete, and does the check agree?
    pub(super) fn measure(&mut self) -> Result<Vec<Input>, LoopError> {
        let _ = fault::point("loop-gone");
        let Phase::Settling { over, .. } = &self.state.phase else { return Ok(Vec::new()) };
        let (how, has_failed) = (over.how, over.failure.is_some());
        let job = self.job;
        let completion = &job.settings.completion;
        let seen = self.run_history.memory.seen.clone();
        let progress = match self.attempt.as_ref().map(|attempt| attempt.before) {
            Some(before) => self.snapshot()?.since(&before, &seen),
            None => LoopProgress::Unknown,
        };
        let words = self.attempt.as_ref().map(|attempt| attempt.last_words.as_str()).unwrap_or_default();
        let claimed = how == AttemptEnd::IterationEnd && !has_failed && completion.is_claimed(words);
        let may_be_done = !matches!(how, AttemptEnd::Interrupted | AttemptEnd::Limited) && !has_failed;
        let check = completion.check.as_ref().filter(|_| may_be_done && completion.wants_check(claimed));
        let checked = check.map(|check| self.run_check(check, claimed)).transpose()?;
        self.check = checked.as_ref().map(check_words);
        Ok(vec![Input::Measured { checked, progress, claimed }])
    }

    /// Runs the check and records its result. A check that was changed does not count.
    fn run_check(&mut self, command: &str, claimed: bool) -> Result<CompletionCheck, LoopError> {
        self.audience.report(&LoopEvent::Checking(command));
        let completion = &self.job.settings.completion;
        let (mut checked, output) = self.commands().check(command, completion.check_time_limit);
        let (cleaner, memory) = (self.job.home.cleaner(), &self.run_history.memory);
        let files = match &memory.check_files {
            Some((_, before)) if !completion.allow_check_change => {
                changed(before, &check_files::read(&self.job.located.cwd, cleaner, command))
            }
            _ => Vec::new(),
        };
        if checked == CompletionCheck::Passed && !files.is_empty() {
            let is_told = memory.checked.as_ref().is_some_and(|(_, last)| !last.changed.is_empty());
            checked = CompletionCheck::Changed { files: files.clone(), is_told };
        }
        let result = CheckResult::new(cleaner, command, &checked, &output, claimed, &files);
        self.write(LedgerStep::Checked { iteration: self.state.totals.iteration(), result })?;
        Ok(checked)
    }
}
