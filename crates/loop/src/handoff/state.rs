//! The state that outlives a context. Its field names are a file format that the user's hooks read.

use std::collections::BTreeMap;

use cerberus_record::event::Severity;
use cerberus_record::fact::FactKind;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::check_result::CheckResult;
use crate::preserve::Preserve;
use crate::texts::{OneLine, Passage};
use crate::totals::AttemptEnd;

/// State that is preserved across contexts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PreservedState {
    pub current_objective: Option<OneLine>,
    /// Newest first.
    pub completed_items: Vec<OneLine>,
    /// The next step first.
    pub pending_items: Vec<OneLine>,
    pub modified_files: Vec<ModifiedFile>,
    /// Newest first.
    pub decisions: Vec<HandoffDecision>,
    /// Worst first.
    pub known_issues: Vec<Issue>,
    pub test_state: Option<TestState>,
    pub custom: BTreeMap<String, OneLine>,
    pub notes: Vec<OneLine>,
    /// `1a2b3c4 subject`, newest first.
    pub recent_commits: Vec<OneLine>,
    pub included_files: Vec<IncludedFile>,
    /// How the last session was cut off, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Interruption>,
    /// The last check, if it did not pass.
    pub failed_check: Option<FailedCheck>,
    /// From the user, for this context.
    pub messages: Vec<Passage>,
    /// From the user, for earlier contexts, newest first.
    pub earlier_messages: Vec<Passage>,
    /// The end of what the last session said, if it did not write a handoff.
    pub last_words: Option<Passage>,
    /// What was asked and answered last, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_turns: Vec<Passage>,
    /// The user changed the task since the last context began.
    pub task_has_changed: bool,
}

/// A session that was cut off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interruption {
    pub how: AttemptEnd,
    /// The tool call that was at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<OneLine>,
    /// How long it had been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_seconds: Option<u64>,
}

/// A check that did not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedCheck {
    /// The iteration after which it ran.
    pub iteration: u32,
    #[serde(flatten)]
    pub result: CheckResult,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileDifference {
    Modified,
    /// New in git, or untracked.
    Added,
    Deleted,
    Renamed,
    /// In a merge conflict.
    Conflicted,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModifiedFile {
    /// Relative to the project.
    pub path: OneLine,
    pub change: FileDifference,
    /// Its old name, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<OneLine>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandoffDecision {
    pub description: OneLine,
    pub rationale: Option<OneLine>,
    /// `None` if the agent gave no time.
    pub timestamp: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    pub description: OneLine,
    pub severity: Severity,
    #[serde(default)]
    pub files: Vec<OneLine>,
    pub addressed: bool,
}

/// The state of the tests, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TestState {
    pub passing: Vec<OneLine>,
    pub failing: Vec<OneLine>,
    pub fixed: Vec<OneLine>,
    pub regressed: Vec<OneLine>,
}

/// A file whose text is included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncludedFile {
    pub path: OneLine,
    pub text: Passage,
}

impl PreservedState {
    /// Removes what the user does not want to preserve.
    pub fn keep(&mut self, preserve: &Preserve) {
        let gone = |kind| !preserve.keeps(kind);
        if gone(FactKind::Objective) {
            self.current_objective = None;
        }
        if gone(FactKind::Done) {
            self.completed_items.clear();
        }
        if gone(FactKind::Next) {
            self.pending_items.clear();
        }
        if gone(FactKind::File) {
            self.modified_files.clear();
        }
        if gone(FactKind::Decision) {
            self.decisions.clear();
        }
        if gone(FactKind::Blocker) {
            self.known_issues.clear();
        }
        if gone(FactKind::Note) {
            self.custom.clear();
            self.notes.clear();
        }
        if !preserve.test_state {
            self.test_state = None;
        }
        self.recent_commits.truncate(usize::try_from(preserve.commits).unwrap_or(usize::MAX));
    }

    pub fn open_issues(&self) -> impl Iterator<Item = &Issue> {
        self.known_issues.iter().filter(|issue| !issue.addressed)
    }
}
