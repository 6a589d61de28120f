//! What a run remembers between its contexts: the last result of the check, states of the files, and messages from the
//! user. It follows from the ledger, so a run that is resumed remembers the same.

use super::check_files::CheckFile;
use super::check_result::CheckResult;
use super::entry::LedgerStep;
use super::texts::{OneLine, Passage};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunMemory {
    /// The check and its files when the run began.
    pub check_files: Option<(OneLine, Vec<CheckFile>)>,
    /// The last result of the check, and the iteration it followed.
    pub checked: Option<(u32, CheckResult)>,
    /// States of the files that attempts left, and the one before the first.
    pub seen: Vec<u64>,
    pub messages: Messages,
}

/// Messages from the user, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    all: Vec<Passage>,
    /// How many a context has heard.
    heard: usize,
    /// How many the starting context is told.
    told: usize,
}

/// More messages in one run are not repeated.
const MESSAGES_MAX: usize = 50;
/// Older states are forgotten.
const STATES_MAX: usize = 1_000;

impl RunMemory {
    pub fn apply(&mut self, step: &LedgerStep) {
        match step {
            LedgerStep::CheckFiles { command, files } => self.check_files = Some((command.clone(), files.clone())),
            LedgerStep::Checked { iteration, result } => self.checked = Some((*iteration, result.clone())),
            LedgerStep::Files { hash } => {
                self.seen.retain(|seen| seen != hash);
                self.seen.push(*hash);
                let old = self.seen.len().saturating_sub(STATES_MAX);
                self.seen.drain(..old);
            }
            LedgerStep::Told { text } => self.messages.all.push(text.clone()),
            LedgerStep::Begun { .. } => self.messages.told = self.messages.all.len(),
            // What a context was told counts only once it is at work.
            LedgerStep::Acknowledged { .. } => self.messages.heard = self.messages.heard.max(self.messages.told),
            _ => {}
        }
    }
}

impl Messages {
    /// What no context has heard yet.
    pub fn new_ones(&self) -> &[Passage] {
        &self.all[self.heard.min(self.all.len())..]
    }

    /// What earlier contexts were told, newest first.
    pub fn earlier(&self) -> Vec<Passage> {
        self.all[..self.heard.min(self.all.len())].iter().rev().take(MESSAGES_MAX).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    fn told(text: &str) -> LedgerStep {
        LedgerStep::Told { text: Passage::new(&BUILT_IN, text) }
    }

    #[test]
    fn a_message_is_new_until_a_context_that_heard_it_is_at_work() {
        let begun = LedgerStep::Begun { iteration: 1, attempt: 1 };
        let at_work = LedgerStep::Acknowledged { reboot: None };
        let mut memory = RunMemory::default();
        for (step, new, earlier) in [
            (told("a"), vec!["a"], vec![]),
            (begun.clone(), vec!["a"], vec![]),
            (told("b"), vec!["a", "b"], vec![]),
            (begun.clone(), vec!["a", "b"], vec![]),
            (told("c"), vec!["a", "b", "c"], vec![]),
            (at_work.clone(), vec!["c"], vec!["b", "a"]),
            (begun, vec!["c"], vec!["b", "a"]),
            (at_work, vec![], vec!["c", "b", "a"]),
        ] {
            memory.apply(&step);
            let texts = |list: &[Passage]| list.iter().map(|text| text.to_string()).collect::<Vec<_>>();
            assert_eq!(texts(memory.messages.new_ones()), new);
            assert_eq!(texts(&memory.messages.earlier()), earlier);
        }
    }

    #[test]
    fn states_are_kept_once_and_bounded() {
        let mut memory = RunMemory::default();
        for hash in (0..2_000).chain([1_500]) {
            memory.apply(&LedgerStep::Files { hash });
        }
        assert_eq!((memory.seen.len(), memory.seen.last(), memory.seen.contains(&10)), (1_000, Some(&1_500), false));
    }
}
