//! The purpose of a task or a script, by its name: `test:unit`, `build-docs`, `./dev/test`, `run_tests.sh`.

use crate::words::is_one_of;

use super::Kind;

/// The purpose of a task. The first word decides, but `test` may also come later (`ci:test`, `unit-test`).
pub(super) fn task_kind(task: &str) -> Option<Kind> {
    if task.is_empty() || task.starts_with('-') || task.contains(['/', '@', '=']) || task.contains("install") {
        return None;
    }
    let mut words = task.split([':', '-', '_', '.']);
    let first = words.next().unwrap_or_default();
    match first {
        "test" | "tests" | "spec" | "specs" | "unit" | "e2e" | "coverage" | "jest" | "vitest" | "mocha" | "pytest"
        | "phpunit" | "pest" => {
            return (!words.any(is_about_tests)).then_some(Kind::Test);
        }
        "build" | "compile" => return Some(Kind::Build),
        "lint" | "eslint" | "clippy" | "typecheck" | "types" | "check" | "fmtcheck" | "prettier" | "ruff" | "mypy"
        | "biome" | "stylelint" | "phpstan" | "rubocop" | "tsc" => return Some(Kind::Lint),
        _ => {}
    }
    let rest: Vec<&str> = words.collect();
    if first == "type" && rest.contains(&"check") || matches!(first, "fmt" | "format") && rest.contains(&"check") {
        return Some(Kind::Lint);
    }
    if rest.iter().any(|word| matches!(*word, "test" | "tests")) && !rest.iter().any(|word| is_about_tests(word)) {
        return Some(Kind::Test);
    }
    None
}

/// A script given as a path that names tests or checks: `./dev/test`, `scripts/run_tests.sh`, `tests/test_a.py`.
pub(super) fn script_kind(path: &str) -> Option<Kind> {
    let is_path = path.contains('/') || has_script_ending(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    if !is_path || name.starts_with('.') || name.contains(['*', '$']) {
        return None;
    }
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let mut words = stem.split(['-', '_']).chain(name.split('.').skip(1));
    let names_tests = words.clone().any(|word| matches!(word, "test" | "tests" | "check" | "spec"));
    // A program may be named after an experiment (`/tmp/app-test`); a script is named after what it does.
    let first = stem.split(['-', '_']).next().unwrap_or_default();
    let does = has_script_ending(path)
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || matches!(
            first,
            "test" | "tests" | "check" | "run" | "all" | "unit" | "integration" | "e2e" | "smoke" | "ci"
        );
    if names_tests && does && !words.any(is_about_tests) {
        return Some(Kind::Test);
    }
    let mut words = stem.split(['-', '_']);
    match words.next() {
        Some("build") => Some(Kind::Build),
        Some("lint") => Some(Kind::Lint),
        _ => None,
    }
}

fn has_script_ending(path: &str) -> bool {
    [".sh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".php", ".pl", ".bash", ".t"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// Words that mean the task is about tests but does not run them.
fn is_about_tests(word: &str) -> bool {
    is_one_of(
        word,
        "harness data env setup teardown fixture fixtures helper helpers util utils server repo db generate \
             gen create update watch report log results clean seed install",
    )
}
