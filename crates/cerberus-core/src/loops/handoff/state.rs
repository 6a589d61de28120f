//! The state that outlives a context, typed. Its field names are a file format: hooks of the user's read them.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::check::Change;
use crate::clean::Cleaner;
use crate::clean::text::{Keep, line};
use crate::loops::preserve::Preserve;
use crate::model::event::Severity;
use crate::model::fact::Kind;
use crate::model::time::Timestamp;

/// State that is preserved across contexts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PreservedState {
    pub current_objective: Option<Line>,
    /// The newest first.
    pub completed_items: Vec<Line>,
    /// The next one first.
    pub pending_items: Vec<Line>,
    pub modified_files: Vec<ModifiedFile>,
    /// The newest first.
    pub decisions: Vec<Decision>,
    /// The worst first.
    pub known_issues: Vec<Issue>,
    pub test_state: Option<TestState>,
    pub custom: BTreeMap<String, Line>,
    pub notes: Vec<Line>,
    /// `1a2b3c4 subject`, the newest first.
    pub recent_commits: Vec<Line>,
    pub included_files: Vec<IncludedFile>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModifiedFile {
    /// Relative to the project.
    pub path: Line,
    pub change: Change,
    /// Its name before, where it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub description: Line,
    pub rationale: Option<Line>,
    /// Nothing where the agent wrote it down without a time.
    pub timestamp: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    pub description: Line,
    pub severity: Severity,
    #[serde(default)]
    pub files: Vec<Line>,
    pub addressed: bool,
}

/// How tests stand, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TestState {
    pub passing: Vec<Line>,
    pub failing: Vec<Line>,
    pub fixed: Vec<Line>,
    pub regressed: Vec<Line>,
}

/// A file whose text goes along.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncludedFile {
    pub path: Line,
    pub text: Passage,
}

/// One line of text, its secrets cut before it was made one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Line(String);

impl Deref for Line {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Several lines, as they stood in a file, their secrets cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Passage(String);

impl Passage {
    pub fn new(cleaner: &Cleaner, text: &str) -> Passage {
        Passage(cleaner.clean(text, PASSAGE).to_string())
    }
}

impl Deref for Passage {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Nobody hands more of a file to a fresh context.
const PASSAGE: Keep = Keep { head_bytes: 256 * 1024, tail_bytes: 0 };

const ITEM_CHARS_MAX: usize = 500;

/// An item, of text that is clean already: of facts, or of what an agent was heard to say.
pub(super) fn said(text: &str) -> Line {
    Line(line(text, ITEM_CHARS_MAX))
}

const ITEM: Keep = Keep { head_bytes: 4_000, tail_bytes: 0 };

impl Line {
    /// An item, of outside text.
    pub fn new(cleaner: &Cleaner, text: &str) -> Line {
        said(&cleaner.clean(text, ITEM))
    }
}

impl PreservedState {
    /// Leaves out what the user does not want preserved.
    pub fn keep(&mut self, preserve: &Preserve) {
        let gone = |kind| !preserve.keeps(kind);
        if gone(Kind::Objective) {
            self.current_objective = None;
        }
        if gone(Kind::Done) {
            self.completed_items.clear();
        }
        if gone(Kind::Next) {
            self.pending_items.clear();
        }
        if gone(Kind::File) {
            self.modified_files.clear();
        }
        if gone(Kind::Decision) {
            self.decisions.clear();
        }
        if gone(Kind::Blocker) {
            self.known_issues.clear();
        }
        if gone(Kind::Note) {
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
