//! Failing tests, builds and lints are blockers until they pass.

use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::id::SessionId;
use cerberus_record::map::{FastMap, FastSet};
use cerberus_record::runs::{Kind, Run, RunCommand, RunLedger, RunVerdict};
use cerberus_record::time::Timestamp;

use super::KnownFact;
use crate::extract::RUN;

/// A test, build or lint run in a session.
#[derive(Clone, Debug)]
pub struct SessionRun {
    pub command: RunCommand,
    pub run: Run,
    pub session: SessionId,
    pub at: Timestamp,
    pub event: i64,
}

/// More problems of one build add nothing.
const PROBLEMS_MAX: usize = 3;

/// The blockers that these runs leave open. `runs` are in chronological order; `facts` tell which files were edited since.
pub fn blockers(runs: &[SessionRun], facts: &[KnownFact]) -> Vec<KnownFact> {
    let mut found = Vec::new();
    let open = open_failures(runs);
    // Nearly everything passed since, and need not be followed through all runs.
    if !open.is_empty() {
        let mut ledger = RunLedger::about(open.keys().copied());
        runs.iter().for_each(|ran| ledger.add(&ran.command, &ran.run));
        for name in ledger.failing() {
            found.extend(open.get(name).map(|ran| ran.blocker(name, "test")));
        }
    }
    let red = last_of_each(runs).into_iter().filter(|ran| ran.run.verdict == RunVerdict::Red);
    for ran in red.filter(|ran| !passed_since(runs, ran, None)) {
        let kind = match ran.command.kind {
            Kind::Test => "test",
            Kind::Build => "build",
            Kind::Lint => "lint",
        };
        let is_named = ran.command.kind == Kind::Test && !ran.run.failed.is_empty();
        match ran.run.problems.as_slice() {
            _ if is_named => {}
            [] => found.push(ran.blocker(&ran.command.key, kind)),
            problems => {
                let open = problems.iter().filter(|problem| !edited_since(facts, ran, problem));
                found.extend(open.take(PROBLEMS_MAX).map(|problem| ran.blocker(problem, kind)));
            }
        }
    }
    found.sort_by_key(|known| (known.at, known.event));
    found
}

/// The names that failed and that no later run shows to be repaired, each with the last run in which it failed.
fn open_failures(runs: &[SessionRun]) -> FastMap<&str, &SessionRun> {
    let mut last: FastMap<&str, &SessionRun> = FastMap::default();
    for ran in runs.iter().rev() {
        for name in &ran.run.failed {
            last.entry(name).or_insert(ran);
        }
    }
    last.retain(|name, ran| !passed_since(runs, ran, Some(*name)));
    last
}

impl SessionRun {
    fn blocker(&self, text: &str, kind: &str) -> KnownFact {
        let reference = Some(RUN.to_string());
        let fact = Fact { reference, ..Fact::blocker(text, Some(kind)) };
        KnownFact { fact, session: self.session.clone(), at: self.at, event: self.event }
    }
}

/// Did a later run of the same toolchain pass that would have failed otherwise? A passing test run also proves that the
/// code builds; a run of other tests proves nothing about the test `name`.
fn passed_since(runs: &[SessionRun], red: &SessionRun, name: Option<&str>) -> bool {
    // The last runs are the likeliest to have passed.
    let later = runs.iter().rev().take_while(|ran| (ran.at, ran.event) > (red.at, red.event));
    let mut green =
        later.filter(|ran| ran.run.verdict == RunVerdict::Green && ran.command.same_toolchain(&red.command));
    green.any(|ran| match (red.command.kind, ran.command.kind) {
        (Kind::Test, Kind::Test) => match name {
            Some(name) => !ran.command.selects_tests() || ran.command.key.contains(last_part(name)),
            None => true,
        },
        (Kind::Build, _) | (Kind::Lint, Kind::Lint) => true,
        _ => false,
    })
}

/// `module::tests::name`, `suite > name` and `TestX/case` end with what a filter would name.
fn last_part(name: &str) -> &str {
    name.rsplit([':', '>', '.']).next().unwrap_or(name).trim().split('/').next().unwrap_or(name)
}

/// Was the file of a problem (`src/a.rs:12: …`) edited after the run that reported it?
fn edited_since(facts: &[KnownFact], red: &SessionRun, problem: &str) -> bool {
    let Some((path, _)) = problem.split_once(':').filter(|(path, _)| path.contains('.')) else { return false };
    let path = path.trim_start_matches(['.', '/']);
    let edits = facts.iter().filter(|known| known.fact.kind == FactKind::File && known.at > red.at);
    edits.filter_map(|known| known.fact.path.as_deref()).any(|edited| edited.ends_with(path) || path.ends_with(edited))
}

/// The last run of each command, oldest first.
fn last_of_each(runs: &[SessionRun]) -> Vec<&SessionRun> {
    let mut seen = FastSet::default();
    let mut last: Vec<&SessionRun> = runs.iter().rev().filter(|ran| seen.insert(ran.command.key.as_str())).collect();
    last.reverse();
    last
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cerberus_record::event::Outcome;
    use cerberus_record::runs;

    use super::*;

    fn ran(secs: u64, command: &str, output: &str, outcome: Outcome) -> SessionRun {
        let command = runs::recognise(command).unwrap();
        let run = runs::read(&command, output, outcome);
        let at = Timestamp::EPOCH.plus(Duration::from_secs(secs));
        SessionRun { command, run, session: SessionId::new("s"), at, event: secs as i64 }
    }

    fn codes(runs: &[SessionRun], facts: &[KnownFact]) -> Vec<String> {
        blockers(runs, facts).into_iter().map(|known| known.fact.code).collect()
    }

    const BROKEN: &str = "error[E0425]: cannot find value `x` in this scope\n --> src/a.rs:3:5\n";

    #[test]
    fn a_passing_run_of_the_toolchain_settles_what_failed() {
        let red = |command| ran(1, command, BROKEN, Outcome::Failed);
        let green = |command| ran(2, command, "test result: ok. 3 passed; 0 failed;\n", Outcome::Done);
        for (failed, passed, is_settled) in [
            ("cargo build", "cargo build", true),
            ("cargo build", "cargo check", true),
            ("cargo build", "cargo test -p x", true),
            ("cargo clippy", "cargo clippy --fix", true),
            ("cargo clippy", "cargo test", false),
            ("cargo build", "vitest run", false),
            // A task runner may start any toolchain.
            ("cargo build", "make test", true),
        ] {
            let left = codes(&[red(failed), green(passed)], &[]);
            assert_eq!(left.is_empty(), is_settled, "{failed}, then {passed}: {left:?}");
        }
        let again = ran(3, "cargo build", BROKEN, Outcome::Failed);
        assert!(!codes(&[green("cargo build"), again], &[]).is_empty(), "it failed again after the passing run");
    }

    #[test]
    fn a_named_test_is_settled_by_a_run_that_includes_it() {
        let red = ran(
            1,
            "cargo test",
            "test store::opens ... FAILED\ntest result: FAILED. 1 passed; 1 failed;\n",
            Outcome::Failed,
        );
        assert_eq!(codes(std::slice::from_ref(&red), &[]), ["block:test:store::opens"]);
        for (passed, is_settled) in
            [("cargo nextest run", true), ("cargo test opens", true), ("cargo test --lib parser", false)]
        {
            let green = ran(2, passed, "test result: ok. 1 passed; 0 failed;\n", Outcome::Done);
            assert_eq!(codes(&[red.clone(), green], &[]).is_empty(), is_settled, "{passed}");
        }
    }

    #[test]
    fn a_problem_is_settled_by_a_later_edit_of_its_file() {
        let red = ran(5, "cargo build", BROKEN, Outcome::Failed);
        let edited = |secs, path| KnownFact {
            fact: Fact::file(FactKind::File, path),
            session: SessionId::new("t"),
            at: Timestamp::EPOCH.plus(Duration::from_secs(secs)),
            event: 0,
        };
        for (secs, path, is_settled) in [(6, "src/a.rs", true), (6, "src/b.rs", false), (4, "src/a.rs", false)] {
            let left = codes(std::slice::from_ref(&red), &[edited(secs, path)]);
            assert_eq!(left.is_empty(), is_settled, "{secs} {path}: {left:?}");
        }
    }
}
