//! Which tests fail, which were fixed and which regressed over a series of runs. Pure state, updated in order.
//!
//! The rules for tests, by name:
//! 1. The last run that mentioned a name decides. Within one run, failing beats passing.
//! 2. A green run clears every failure of the same key, including those without a name.
//! 3. A green run of the bare command (`cargo test`, `go test ./...`) also clears its narrower keys: those that add
//!    only names, paths and filters. Options that select other tests (`--features`, `-p`) are not covered.
//! 4. A red run that names all its failures, and ran at least as many tests as the last run of its key, clears the
//!    failures of that key that it does not name: most runners do not name passing tests.
//! 5. Any other run that shows a name passing clears that name.
//! 6. Empty and unknown runs clear only what they name.
//!
//! A test is fixed if it failed before and passes now; it regressed if it passed before and fails now. Builds and
//! lints have no test names: their last verdict is kept under their key, and a red one is a red command.

use std::collections::{BTreeMap, BTreeSet};

use crate::words::is_one_of;

use super::{Family, Kind, NAMES_MAX, Run, RunCommand, RunVerdict};
use crate::map::FastSet;

/// Names that only ever passed are not stored beyond this limit; failing ones always are.
const PASSING_MAX: usize = 5000;
const FAILING_MAX: usize = 2 * PASSING_MAX;
const KEYS_MAX: usize = 1000;

#[derive(Clone, Debug, Default)]
pub struct RunLedger {
    tests: BTreeMap<String, Test>,
    /// The names of failing tests.
    failing: BTreeSet<String>,
    commands: BTreeMap<String, Last>,
    /// The names that are followed; `None` for all.
    about: Option<FastSet<String>>,
}

#[derive(Clone, Debug)]
struct Test {
    is_failing: bool,
    has_passed: bool,
    has_failed: bool,
    /// The key under which it last failed.
    key: String,
}

/// The last run of a key with a definite verdict.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    is_red: bool,
    has_names: bool,
    ran: Option<u32>,
}

impl RunLedger {
    /// Follows only these names. What becomes of a name does not depend on others.
    pub fn about<'a>(names: impl Iterator<Item = &'a str>) -> RunLedger {
        RunLedger { about: Some(names.map(str::to_string).collect()), ..RunLedger::default() }
    }

    /// Adds the next run.
    pub fn add(&mut self, command: &RunCommand, run: &Run) {
        for name in &run.passed {
            self.mark(name, &command.key, false);
        }
        let ran = match (run.passed_count, run.failed_count) {
            (Some(passed), Some(failed)) => Some(passed.saturating_add(failed)),
            _ => None,
        };
        match run.verdict {
            RunVerdict::Green => self.clear(run, |key| key == command.key || covers(command, key)),
            RunVerdict::Red if names_all(run) && !self.ran_more(&command.key, ran) => {
                self.clear(run, |key| key == command.key)
            }
            RunVerdict::Red | RunVerdict::Empty | RunVerdict::Unknown => {}
        }
        for name in &run.failed {
            self.mark(name, &command.key, true);
        }
        let is_decided = matches!(run.verdict, RunVerdict::Green | RunVerdict::Red);
        if is_decided && (self.commands.len() < KEYS_MAX || self.commands.contains_key(&command.key)) {
            let last = Last { is_red: run.verdict == RunVerdict::Red, has_names: !run.failed.is_empty(), ran };
            self.commands.insert(command.key.clone(), last);
        }
    }

    /// Names that failed in the last run that mentioned them.
    pub fn failing(&self) -> impl Iterator<Item = &str> {
        self.names(|test| test.is_failing)
    }

    /// Names that passed in the last run that mentioned them.
    pub fn passing(&self) -> impl Iterator<Item = &str> {
        self.names(|test| !test.is_failing)
    }

    /// Names that failed before and pass now.
    pub fn fixed(&self) -> impl Iterator<Item = &str> {
        self.names(|test| !test.is_failing && test.has_failed)
    }

    /// Names that passed before and fail now.
    pub fn regressed(&self) -> impl Iterator<Item = &str> {
        self.names(|test| test.is_failing && test.has_passed)
    }

    /// Keys whose last run was red without naming a failure.
    pub fn red_commands(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().filter(|(_, last)| last.is_red && !last.has_names).map(|(key, _)| key.as_str())
    }

    fn names(&self, wanted: impl Fn(&Test) -> bool) -> impl Iterator<Item = &str> {
        self.tests.iter().filter(move |(_, test)| wanted(test)).map(|(name, _)| name.as_str())
    }

    fn mark(&mut self, name: &str, key: &str, is_failing: bool) {
        if self.about.as_ref().is_some_and(|names| !names.contains(name)) {
            return;
        }
        if let Some(test) = self.tests.get_mut(name) {
            match is_failing {
                true => _ = self.failing.insert(name.to_string()),
                false if test.is_failing => _ = self.failing.remove(name),
                false => {}
            }
            test.is_failing = is_failing;
            test.has_failed |= is_failing;
            test.has_passed |= !is_failing;
            if is_failing {
                test.key = key.to_string();
            }
            return;
        }
        let max = if is_failing { FAILING_MAX } else { PASSING_MAX };
        if self.tests.len() < max {
            let test = Test { is_failing, has_passed: !is_failing, has_failed: is_failing, key: key.to_string() };
            self.tests.insert(name.to_string(), test);
            if is_failing {
                self.failing.insert(name.to_string());
            }
        }
    }

    /// Names that `run` itself reports as failing are not cleared: they did not pass in between.
    fn clear(&mut self, run: &Run, is_cleared: impl Fn(&str) -> bool) {
        // Most runs follow green ones, and a project may have thousands of tests.
        let mut still_failing = std::mem::take(&mut self.failing);
        still_failing.retain(|name| {
            let Some(test) = self.tests.get_mut(name) else { return false };
            if is_cleared(&test.key) && !run.failed.contains(name) {
                test.is_failing = false;
                test.has_passed = true;
            }
            test.is_failing
        });
        self.failing = still_failing;
        for (_, last) in self.commands.iter_mut().filter(|(key, last)| last.is_red && is_cleared(key)) {
            last.is_red = false;
        }
    }

    /// The last run of this key ran more tests, or it is unknown whether it did.
    fn ran_more(&self, key: &str, ran: Option<u32>) -> bool {
        let before = self.commands.get(key).and_then(|last| last.ran);
        match (before, ran) {
            (Some(before), Some(ran)) => before > ran,
            _ => true,
        }
    }
}

/// Does a red run name all of its failures?
fn names_all(run: &Run) -> bool {
    let count = usize::try_from(run.failed_count.unwrap_or(0)).unwrap_or(usize::MAX);
    !run.failed.is_empty() && run.failed.len() == count && count < NAMES_MAX
}

impl RunCommand {
    /// Do both run the same compiler or interpreter? A task runner may start any.
    pub fn same_toolchain(&self, other: &RunCommand) -> bool {
        let (own, others) = (self.runner.family(), other.runner.family());
        let is_any = |family| matches!(family, Family::Any | Family::Other);
        own == others || is_any(own) || is_any(others)
    }

    /// Does it run only some tests, chosen by name, path or filter?
    pub fn selects_tests(&self) -> bool {
        !is_bare(&essential(&self.key).collect::<Vec<_>>())
    }
}

/// Is `narrow` the bare test command `broad`, with nothing added that selects other tests?
fn covers(broad: &RunCommand, narrow: &str) -> bool {
    if broad.kind != Kind::Test {
        return false;
    }
    let broad: Vec<&str> = essential(&broad.key).collect();
    let mut narrow = essential(narrow);
    is_bare(&broad)
        && broad.iter().all(|word| narrow.next() == Some(word))
        && narrow.all(|word| !word.starts_with('-') && word != "&&")
}

/// Does nothing follow the words that run all tests?
fn is_bare(words: &[&str]) -> bool {
    words.last().is_some_and(|word| {
        let word = word.rsplit('/').next().unwrap_or(word);
        is_one_of(word, "test tests run pytest jest vitest rspec mocha phpunit unittest pest")
    })
}

/// The words of a key, without those that change only the output, the speed or which tests are selected by name.
fn essential(key: &str) -> impl Iterator<Item = &str> {
    let mut is_value = false;
    key.split(' ').filter(move |word| {
        if std::mem::take(&mut is_value) {
            return false;
        }
        is_value = matches!(*word, "-run" | "-k" | "-t" | "--testNamePattern" | "--tests" | "-e" | "--test");
        let is_option = word.starts_with('-') || *word == "./...";
        let is_loudness = is_option
            && is_one_of(
                word,
                "-v -vv -q -s -x --verbose --quiet --nocapture --no-capture --exact --lib --bins -- ./... -race \
                 --no-fail-fast --bail --tb=short --tb=no --tb=long --tb=line --all --workspace --runInBand \
                 --test-threads=1 --lf",
            )
            || word.starts_with("-count=")
            || word.starts_with("-timeout=")
            || word.starts_with("-run=");
        !is_value && !is_loudness
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{OutcomeTrust, Runner, recognise};

    fn command(line: &str) -> RunCommand {
        recognise(line).unwrap_or(RunCommand {
            kind: Kind::Test,
            runner: Runner::Script,
            key: line.to_string(),
            trust: OutcomeTrust { success: true, failure: true, silence: true },
        })
    }

    fn run(verdict: RunVerdict, passed: &[&str], failed: &[&str]) -> Run {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Run {
            verdict,
            passed: names(passed),
            failed: names(failed),
            passed_count: None,
            failed_count: None,
            problems: vec![],
        }
    }

    fn counted(passed: u32, failed: &[&str]) -> Run {
        let failed_count = u32::try_from(failed.len()).ok();
        Run { passed_count: Some(passed), failed_count, ..run(RunVerdict::Red, &[], failed) }
    }

    fn shown(ledger: &RunLedger) -> String {
        let list = |names: Vec<&str>| names.join(",");
        format!(
            "failing={} passing={} fixed={} regressed={} red={}",
            list(ledger.failing().collect()),
            list(ledger.passing().collect()),
            list(ledger.fixed().collect()),
            list(ledger.regressed().collect()),
            list(ledger.red_commands().collect()),
        )
    }

    fn check(runs: &[(&str, Run)], expected: &str) {
        let mut ledger = RunLedger::default();
        for (line, run) in runs {
            ledger.add(&command(line), run);
        }
        assert_eq!(shown(&ledger), expected, "{runs:?}");
    }

    #[test]
    fn a_name_is_followed_alone_as_among_all() {
        let runs = [
            ("cargo test", run(RunVerdict::Red, &["a"], &["b", "c"])),
            ("cargo test b", run(RunVerdict::Green, &["b"], &[])),
            ("cargo test", counted(5, &["c", "d"])),
            ("cargo test", counted(6, &["d"])),
        ];
        let mut all = RunLedger::default();
        runs.iter().for_each(|(line, run)| all.add(&command(line), run));
        for (name, expected) in [("a", false), ("b", false), ("c", false), ("d", true)] {
            let mut alone = RunLedger::about([name].into_iter());
            runs.iter().for_each(|(line, run)| alone.add(&command(line), run));
            let is_failing = |ledger: &RunLedger| ledger.failing().any(|failing| failing == name);
            assert_eq!((is_failing(&alone), is_failing(&all)), (expected, expected), "{name}");
            assert!(alone.failing().chain(alone.passing()).all(|known| known == name), "{name}");
        }
    }

    #[test]
    fn the_last_result_for_a_name_counts() {
        use RunVerdict::{Green, Red};
        let both = run(Red, &["a"], &["b"]);
        check(&[("cargo test", both.clone())], "failing=b passing=a fixed= regressed= red=");
        check(
            &[("cargo test", both.clone()), ("cargo test b", run(Green, &["b"], &[]))],
            "failing= passing=a,b fixed=b regressed= red=",
        );
        check(
            &[("cargo test", both.clone()), ("cargo test", run(Red, &["b"], &["a"]))],
            "failing=a passing=b fixed=b regressed=a red=",
        );
        // The same name in two crates: it fails in one of them.
        check(&[("cargo test", run(Red, &["a"], &["a"]))], "failing=a passing= fixed= regressed=a red=");
    }

    #[test]
    fn green_clears_its_key_and_the_keys_it_covers() {
        use RunVerdict::{Empty, Green, Red, Unknown};
        let green = run(Green, &[], &[]);
        for (red, then, cleared) in [
            ("pytest -q", "pytest -q", true),
            ("pytest tests/a.py -k x", "pytest", true),
            ("pytest tests/a.py", "pytest tests/b.py", false),
            ("pytest tests/a.py tests/b.py", "pytest tests/a.py", false),
            ("go test -v -run TestX ./pkg", "go test ./...", true),
            ("go test -tags=integration ./pkg", "go test ./...", false),
            ("cargo test -p core", "cargo test", false),
            ("cargo test --features x", "cargo test", false),
            ("cargo test store", "cargo test --workspace", true),
            ("npm test -- a.test.js", "npm test", true),
            ("pytest", "cargo test", false),
            ("cargo test", "cargo build", false),
        ] {
            let expected = if cleared {
                "failing= passing=x fixed=x regressed= red="
            } else {
                "failing=x passing= fixed= regressed= red="
            };
            check(&[(red, run(Red, &[], &["x"])), (then, green.clone())], expected);
        }
        for verdict in [Empty, Unknown] {
            check(
                &[("pytest", run(Red, &[], &["x"])), ("pytest", run(verdict, &[], &[]))],
                "failing=x passing= fixed= regressed= red=",
            );
        }
    }

    #[test]
    fn a_red_run_that_ran_as_much_and_names_all_clears_the_rest() {
        let before = ("pytest", counted(3, &["a", "b"]));
        check(&[before.clone(), ("pytest", counted(4, &["a"]))], "failing=a passing=b fixed=b regressed= red=");
        // It stopped early, so nothing is known about the rest.
        check(&[before.clone(), ("pytest", counted(0, &["a"]))], "failing=a,b passing= fixed= regressed= red=");
        let unnamed = Run { failed_count: Some(2), ..counted(4, &["a"]) };
        check(&[before, ("pytest", unnamed)], "failing=a,b passing= fixed= regressed= red=");
    }

    #[test]
    fn red_without_names_is_a_red_command_until_it_is_green() {
        use RunVerdict::{Green, Red, Unknown};
        let red = ("cargo build", run(Red, &[], &[]));
        check(std::slice::from_ref(&red), "failing= passing= fixed= regressed= red=cargo build");
        check(
            &[red.clone(), ("cd x && cargo build 2>&1 | tail", run(Unknown, &[], &[]))],
            "failing= passing= fixed= regressed= red=cargo build",
        );
        check(&[red, ("cargo build", run(Green, &[], &[]))], "failing= passing= fixed= regressed= red=");
    }
}
