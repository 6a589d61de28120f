//! A run: the command that a shell line starts, and its result.

use serde::{Deserialize, Serialize};

/// What a run is for. In a line with several kinds, the first in this order wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    Test,
    Build,
    Lint,
}

/// A recognised run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCommand {
    pub kind: Kind,
    pub runner: Runner,
    /// Identifies the same command across runs: without `cd`, environment, redirections, pipes and timing; one line of
    /// at most [`KEY_CHARS_MAX`].
    pub key: String,
    pub trust: OutcomeTrust,
}

/// How far the outcome of the shell line is the outcome of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeTrust {
    /// If the line succeeds, the command did: nothing after it hides a failure.
    pub success: bool,
    /// If the line fails, the command did: nothing else in the line could have failed.
    pub failure: bool,
    /// No output means that the command printed nothing: it was neither redirected nor filtered.
    pub silence: bool,
}

pub const KEY_CHARS_MAX: usize = 200;
pub const NAMES_MAX: usize = 200;
pub const NAME_CHARS_MAX: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunVerdict {
    Green,
    Red,
    /// It ran, but there was nothing to test.
    Empty,
    Unknown,
}

/// The result of a run. Lists have at most [`NAMES_MAX`] lines of [`NAME_CHARS_MAX`] each, without control characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub verdict: RunVerdict,
    /// Passing tests, as the runner prints them. Most runners name only the failing ones.
    pub passed: Vec<String>,
    /// Failing tests. A red run may name none.
    pub failed: Vec<String>,
    pub passed_count: Option<u32>,
    pub failed_count: Option<u32>,
    /// Messages of compilers and linters: `src/a.rs:12: mismatched types`.
    pub problems: Vec<String>,
}

/// The output format, as far as the command determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Family {
    Rust,
    Python,
    JavaScript,
    Go,
    Jvm,
    Other,
    /// A wrapper; decided by the output.
    Any,
}

macro_rules! runners {
    ($($variant:ident $name:literal $family:ident,)*) => {
        /// The program behind a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Runner {
            $($variant,)*
        }

        impl Runner {
            #[cfg(test)]
            pub const ALL: &[Runner] = &[$(Runner::$variant,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Runner::$variant => $name,)*
                }
            }

            pub(super) fn family(self) -> Family {
                match self {
                    $(Runner::$variant => Family::$family,)*
                }
            }
        }
    };
}

runners! {
    Cargo "cargo" Rust,
    Nextest "cargo nextest" Rust,
    Clippy "clippy" Rust,
    Rustfmt "rustfmt" Rust,
    Pytest "pytest" Python,
    Unittest "unittest" Python,
    Django "manage.py" Python,
    Ruff "ruff" Python,
    Flake8 "flake8" Python,
    Pylint "pylint" Python,
    Mypy "mypy" Python,
    Pyright "pyright" Python,
    Black "black" Python,
    Go "go" Go,
    Gotestsum "gotestsum" Go,
    Ginkgo "ginkgo" Go,
    GolangciLint "golangci-lint" Go,
    Staticcheck "staticcheck" Go,
    Gofmt "gofmt" Go,
    Jest "jest" JavaScript,
    Vitest "vitest" JavaScript,
    Mocha "mocha" JavaScript,
    Node "node" JavaScript,
    Bun "bun" JavaScript,
    Deno "deno" JavaScript,
    Playwright "playwright" JavaScript,
    Tsc "tsc" JavaScript,
    Eslint "eslint" JavaScript,
    Prettier "prettier" JavaScript,
    Biome "biome" JavaScript,
    Maven "maven" Jvm,
    Gradle "gradle" Jvm,
    Sbt "sbt" Jvm,
    Rspec "rspec" Other,
    Rake "rake" Other,
    Rails "rails" Other,
    Minitest "minitest" Other,
    Rubocop "rubocop" Other,
    Phpunit "phpunit" Other,
    Pest "pest" Other,
    Phpstan "phpstan" Other,
    Dotnet "dotnet" Other,
    Swift "swift" Other,
    Xcode "xcodebuild" Other,
    Ctest "ctest" Other,
    Cmake "cmake" Other,
    Docker "docker" Any,
    Mix "mix" Other,
    Bats "bats" Other,
    Prove "prove" Other,
    Npm "npm" Any,
    Pnpm "pnpm" Any,
    Yarn "yarn" Any,
    BunScript "bun run" Any,
    DenoTask "deno task" Any,
    Make "make" Any,
    Just "just" Any,
    Mise "mise" Any,
    Task "task" Any,
    Tox "tox" Any,
    Nox "nox" Any,
    Bazel "bazel" Any,
    Monorepo "monorepo tool" Any,
    Tool "tool" Any,
    Script "script" Any,
    // Several runners in one line.
    Several "several" Any,
}
