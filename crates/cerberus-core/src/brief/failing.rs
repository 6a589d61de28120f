//! Failing tests, builds and lints are blockers until they pass.

use std::collections::HashSet;

use super::Known;
use crate::extract::runs::{Command, Kind, Ledger, Run, Verdict};
use crate::model::fact::Fact;
use crate::model::id::SessionId;
use crate::model::time::Timestamp;

/// A test, build or lint run in a session.
#[derive(Clone, Debug)]
pub struct SessionRun {
    pub command: Command,
    pub run: Run,
    pub session: SessionId,
    pub at: Timestamp,
    pub event: i64,
}

/// More problems of one build add nothing.
const PROBLEMS_MAX: usize = 3;

/// The blockers that these runs leave open. `runs` are in chronological order.
pub fn blockers(runs: &[SessionRun]) -> Vec<Known> {
    let mut ledger = Ledger::default();
    runs.iter().for_each(|ran| ledger.add(&ran.command, &ran.run));
    let mut found = Vec::new();
    for name in ledger.failing() {
        let last = runs.iter().rev().find(|ran| ran.run.failed.iter().any(|failed| failed == name));
        found.extend(last.map(|ran| ran.blocker(name, "test")));
    }
    for ran in last_of_each(runs).into_iter().filter(|ran| ran.run.verdict == Verdict::Red) {
        let kind = match ran.command.kind {
            Kind::Test => "test",
            Kind::Build => "build",
            Kind::Lint => "lint",
        };
        let is_named = ran.command.kind == Kind::Test && !ran.run.failed.is_empty();
        match ran.run.problems.as_slice() {
            _ if is_named => {}
            [] => found.push(ran.blocker(&ran.command.key, kind)),
            problems => found.extend(problems.iter().take(PROBLEMS_MAX).map(|problem| ran.blocker(problem, kind))),
        }
    }
    found.sort_by_key(|known| (known.at, known.event));
    found
}

impl SessionRun {
    fn blocker(&self, text: &str, kind: &str) -> Known {
        let fact = Fact::blocker(text, Some(kind));
        Known { fact, session: self.session.clone(), at: self.at, event: self.event }
    }
}

/// The last run of each command, oldest first.
fn last_of_each(runs: &[SessionRun]) -> Vec<&SessionRun> {
    let mut seen = HashSet::new();
    let mut last: Vec<&SessionRun> = runs.iter().rev().filter(|ran| seen.insert(ran.command.key.as_str())).collect();
    last.reverse();
    last
}
