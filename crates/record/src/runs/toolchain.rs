//! Whose tests a run was, whatever started them: `mise run check` may run `go test`.

use super::command::runners;
use super::reading::{self, passed_families};
use super::{Family, Kind, RunVerdict, Runner, recognise};
use crate::event::Outcome;

/// A language with its own way to run tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Toolchain {
    Rust,
    Python,
    JavaScript,
    Go,
    Jvm,
}

impl Toolchain {
    fn of(runner: Runner) -> Option<Toolchain> {
        match (runner, runner.family()) {
            (Runner::Npm | Runner::Pnpm | Runner::Yarn | Runner::BunScript | Runner::DenoTask, _) => {
                Some(Toolchain::JavaScript)
            }
            (_, family) => Toolchain::of_family(family),
        }
    }

    fn of_family(family: Family) -> Option<Toolchain> {
        Some(match family {
            Family::Rust => Toolchain::Rust,
            Family::Python => Toolchain::Python,
            Family::JavaScript => Toolchain::JavaScript,
            Family::Go => Toolchain::Go,
            Family::Jvm => Toolchain::Jvm,
            Family::Other | Family::Any => return None,
        })
    }
}

/// Whose tests this command runs, as far as its words say.
pub fn tested_by(command: &str) -> Option<Toolchain> {
    let found = recognise(command).filter(|found| found.kind == Kind::Test)?;
    Toolchain::of(found.runner)
}

/// The toolchains whose tests the run in this line passed. For a task runner the output decides. Of several runs, one
/// whose output was cut passed if the line succeeded and could not have succeeded without it.
pub fn passed_toolchains(line: &str, output: &str, outcome: Outcome) -> Vec<Toolchain> {
    let Some(run) = recognise(line) else { return Vec::new() };
    let verdict = reading::read(&run, output, outcome).verdict;
    let is_green = verdict == RunVerdict::Green;
    if !outcome.may_be_done() || verdict == RunVerdict::Red {
        return Vec::new();
    }
    if run.runner.family() != Family::Any {
        let own = Toolchain::of(run.runner).filter(|_| is_green && run.kind == Kind::Test);
        return own.into_iter().collect();
    }
    let mut passed: Vec<Toolchain> = passed_families(output).into_iter().filter_map(Toolchain::of_family).collect();
    if run.runner == Runner::Several && run.kind == Kind::Test && outcome == Outcome::Done {
        let trusted = runners(line).into_iter().filter(|(_, trust)| trust.success);
        passed.extend(trusted.filter_map(|(runner, _)| Toolchain::of(runner)));
        passed.sort();
        passed.dedup();
    }
    if !passed.is_empty() || !is_green {
        return passed;
    }
    let echoed = reading::echoed_run(output);
    let is_test = echoed.as_ref().unwrap_or(&run).kind == Kind::Test;
    // A script of a package may run another script, whose language is not known.
    let shown = echoed.and_then(|echoed| Toolchain::of(echoed.runner)).or(Toolchain::of(run.runner));
    shown.filter(|_| is_test).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_runner_passes_the_tests_that_its_output_shows() {
        use Toolchain::{Go, JavaScript, Rust};
        let go = "[test] $ go test ./...\n[test] ok  \texample.com/a\t0.1s\n";
        let cargo = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered \
                     out; finished in 0.00s\n";
        for (command, output, outcome, expected) in [
            ("mise run test", go, Outcome::Done, vec![Go]),
            ("mise run check", go, Outcome::Done, vec![Go]),
            ("mise run check 2>&1 | tail -3", go, Outcome::Done, vec![Go]),
            ("mise run test", "[test] $ go test ./...\n", Outcome::Done, vec![Go]),
            ("mise run test | tail -1", "[test] $ go test ./...\n", Outcome::Done, vec![]),
            ("mise run test", "[test] ok  \ta\t0.1s\n[test] FAIL\tb\t0.1s\n", Outcome::Failed, vec![]),
            ("mise run test", "[test] ok  \ta\t0.1s\n[test] FAIL\tb\t0.1s\n", Outcome::Done, vec![]),
            ("mise run lint", "0 issues.\n", Outcome::Done, vec![]),
            ("make test", cargo, Outcome::Done, vec![Rust]),
            ("make test", "", Outcome::Done, vec![]),
            ("cargo nextest run", "", Outcome::Done, vec![Rust]),
            ("cargo build", "", Outcome::Done, vec![]),
            ("pnpm --filter web test", "", Outcome::Done, vec![JavaScript]),
            ("npm test", go, Outcome::Done, vec![Go]),
            ("go test ./...", "ok  \ta\t0.1s\n", Outcome::Interrupted, vec![]),
        ] {
            assert_eq!(passed_toolchains(command, output, outcome), expected, "{command}: {output}");
        }
        assert_eq!(passed_toolchains("ls", go, Outcome::Done), []);
        assert_eq!(tested_by("go test"), Some(Go));
        assert_eq!(tested_by("npm test"), Some(JavaScript));
        assert_eq!(tested_by("make test"), None);
        assert_eq!(tested_by("cargo fmt"), None);
    }

    #[test]
    fn green_tests_of_javascript_are_recognised_however_they_are_run() {
        use Toolchain::{JavaScript, Python};
        let cut = "\n RUN  v4.0.18 /p/web\n\nError: shown by a test\n    at render (/p/a.js:1:2)\n…\n    at b";
        let (node, failed) = ("ℹ tests 2\nℹ pass 2\nℹ fail 0\n", "ℹ tests 2\nℹ pass 1\nℹ fail 1\n");
        let pytest = "..... [100%]\n5 passed in 0.10s\n";
        for (command, output, outcome, expected) in [
            ("npx vitest run", cut, Outcome::Done, vec![JavaScript]),
            ("npx tsc --noEmit && npx vitest run && npm run build", cut, Outcome::Done, vec![JavaScript]),
            ("npx vitest run", cut, Outcome::Unknown, vec![]),
            ("npx vitest run", cut, Outcome::Failed, vec![]),
            ("npx vitest run | tail -5", cut, Outcome::Done, vec![]),
            ("npx vitest run; true", cut, Outcome::Done, vec![]),
            ("npx vitest run", " Test Files  1 failed (1)\n", Outcome::Done, vec![]),
            ("pnpm vitest run", cut, Outcome::Done, vec![JavaScript]),
            ("yarn vitest", cut, Outcome::Done, vec![JavaScript]),
            ("pytest -q && npx vitest run", &format!("{pytest}{cut}"), Outcome::Done, vec![Python, JavaScript]),
            ("pytest -q; npx vitest run | tail", &format!("{pytest}{cut}"), Outcome::Done, vec![Python]),
            ("pytest -q && npx vitest run", pytest, Outcome::Unknown, vec![Python]),
            ("pytest -q && node --test", &format!("{pytest}{failed}"), Outcome::Done, vec![]),
            ("pytest -q && node --test a.js", &format!("{pytest}{node}"), Outcome::Done, vec![Python, JavaScript]),
            ("node --test", "", Outcome::Done, vec![JavaScript]),
            (
                "node --test tests/*.js 2>&1 | grep -E '^. (pass|fail)'",
                "ℹ pass 20\nℹ fail 0\n",
                Outcome::Done,
                vec![JavaScript],
            ),
            ("node --test | tail -9", "# pass 3\n# fail 0\n", Outcome::Done, vec![JavaScript]),
            ("node --test | tail -9", "# fail 0\n", Outcome::Done, vec![JavaScript]),
            ("node --test | tail -9", "# pass 2\n# fail 1\n", Outcome::Done, vec![]),
            ("node --test | grep fail", "ℹ fail 1\n", Outcome::Done, vec![]),
            ("npx tsx --test a.ts", node, Outcome::Done, vec![JavaScript]),
            ("npx c8 node --test", node, Outcome::Done, vec![JavaScript]),
            ("bun test", "", Outcome::Done, vec![JavaScript]),
            (
                "bun test | tail -3",
                " 3 pass\n 0 fail\nRan 3 tests across 1 files. [8ms]\n",
                Outcome::Done,
                vec![JavaScript],
            ),
            ("deno test -A", "ok | 3 passed | 0 failed (8ms)\n", Outcome::Unknown, vec![JavaScript]),
            ("deno task test", "", Outcome::Done, vec![JavaScript]),
            ("npm test", "> vitest run\n", Outcome::Done, vec![JavaScript]),
            (
                "pnpm -r test",
                "> tsc && node out/run-tests.js\n\nPASS a\nAll tests passed (2)\n",
                Outcome::Done,
                vec![JavaScript],
            ),
            ("npm test", "> go test ./...\n", Outcome::Done, vec![Toolchain::Go]),
            ("npm test", "> eslint .\n", Outcome::Done, vec![]),
            (
                "yarn test | tail -4",
                "Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\n",
                Outcome::Done,
                vec![JavaScript],
            ),
            ("pnpm -r test", "", Outcome::Done, vec![JavaScript]),
            ("npm test", "", Outcome::Unknown, vec![]),
        ] {
            assert_eq!(passed_toolchains(command, output, outcome), expected, "{command}: {output}");
        }
    }
}
