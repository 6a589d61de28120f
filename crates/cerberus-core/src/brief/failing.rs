//! What is red: failing tests, builds and lints are blockers until they pass.

use std::collections::HashSet;

use super::Known;
use crate::extract::runs::{Command, Kind, Ledger, Run, Verdict};
use crate::model::fact::Fact;
use crate::model::id::SessionId;
use crate::model::time::Timestamp;

/// A run as a session left it.
#[derive(Clone, Debug)]
pub struct Ran {
    pub command: Command,
    pub run: Run,
    pub session: SessionId,
    pub at: Timestamp,
    pub event: i64,
}

/// More complaints of one build say no more.
const PROBLEMS_MAX: usize = 3;

/// The blockers that the runs, in the order in which they happened, leave open.
pub fn blockers(runs: &[Ran]) -> Vec<Known> {
    let mut ledger = Ledger::default();
    runs.iter().for_each(|ran| ledger.add(&ran.command, &ran.run));
    let mut found = Vec::new();
    for name in ledger.failing() {
        let last = runs.iter().rev().find(|ran| ran.run.failed.iter().any(|failed| failed == name));
        found.extend(last.map(|ran| ran.blocker(name, "test")));
    }
    for ran in last_of_each(runs).into_iter().filter(|ran| ran.run.verdict == Verdict::Red) {
        let sort = match ran.command.kind {
            Kind::Test => "test",
            Kind::Build => "build",
            Kind::Lint => "lint",
        };
        let is_told = ran.command.kind == Kind::Test && !ran.run.failed.is_empty();
        match ran.run.problems.as_slice() {
            _ if is_told => {}
            [] => found.push(ran.blocker(&ran.command.key, sort)),
            problems => found.extend(problems.iter().take(PROBLEMS_MAX).map(|problem| ran.blocker(problem, sort))),
        }
    }
    found.sort_by_key(|known| (known.at, known.event));
    found
}

impl Ran {
    fn blocker(&self, text: &str, sort: &str) -> Known {
        let fact = Fact::blocker(text, Some(sort));
        Known { fact, session: self.session.clone(), at: self.at, event: self.event }
    }
}

/// The last run of each command, oldest first.
fn last_of_each(runs: &[Ran]) -> Vec<&Ran> {
    let mut seen = HashSet::new();
    let mut last: Vec<&Ran> = runs.iter().rev().filter(|ran| seen.insert(ran.command.key.as_str())).collect();
    last.reverse();
    last
}
