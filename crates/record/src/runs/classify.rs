//! Classifies a simple command: which kind of run it is, and by which runner. Wrappers around the runner are removed
//! first.

use crate::words::is_one_of;

use super::scripts::{script_kind, task_kind};
use super::{Kind, Runner};
use crate::shell::is_assignment;

/// Options of package managers that take a value.
const MANAGER_OPTIONS: &[&str] = &["--prefix", "-w", "--workspace", "--filter", "-F", "-C", "--dir", "--cwd"];

type FoundRunner = Option<(Kind, Runner)>;

/// Removes what only changes how a command is run: environment, timing, privileges, shell keywords.
pub(super) fn without_prefix<'a, 'w>(mut words: &'a [&'w str]) -> &'a [&'w str] {
    while let [first, rest @ ..] = words {
        words = match *first {
            word if is_assignment(word) => rest,
            "time" | "command" | "exec" | "nohup" | "unbuffer" | "caffeinate" | "then" | "do" | "else" | "if"
            | "while" | "until" | "!" | "{" => rest,
            "env" | "sudo" | "nice" | "stdbuf" | "ionice" | "xvfb-run" | "cross-env" | "setsid" => {
                skip_options(rest, &["-u", "-n", "-C", "-g"])
            }
            "timeout" | "gtimeout" => match skip_options(rest, &["-k", "-s", "--signal", "--kill-after"]) {
                [_duration, rest @ ..] => rest,
                [] => return words,
            },
            "rtk" => match rest {
                ["test" | "lint" | "err" | "summary", rest @ ..] => rest,
                rest => rest,
            },
            _ => return words,
        };
    }
    words
}

/// Skips options, and the values of those that take one.
fn skip_options<'a, 'w>(mut words: &'a [&'w str], with_value: &[&str]) -> &'a [&'w str] {
    while let [first, rest @ ..] = words {
        words = match *first {
            "--" => return rest,
            option if with_value.contains(&option) => rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') => rest,
            _ => return words,
        };
    }
    words
}

/// The script in `bash -c '…'`.
pub(super) fn shell_script<'w>(words: &[&'w str]) -> Option<&'w str> {
    let (first, rest) = words.split_first()?;
    if !matches!(program(first), "bash" | "sh" | "zsh" | "dash") {
        return None;
    }
    let option = rest
        .iter()
        .take_while(|word| word.starts_with('-'))
        .position(|word| !word.starts_with("--") && word.ends_with('c'))?;
    rest.get(option + 1).copied()
}

/// The file name of a program, without the extensions of other systems.
pub(super) fn program(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    [".exe", ".cmd", ".bat"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Which run these words are. Wrappers such as `npx` or `poetry run` are ignored.
pub(super) fn classify(words: &[&str]) -> FoundRunner {
    let mut words = words;
    for _ in 0..6 {
        let own = without_prefix(words);
        match unwrapped(own) {
            Some(inner) if inner.len() < own.len() => words = inner,
            _ => return direct(own),
        }
    }
    None
}

/// The command inside a wrapper.
fn unwrapped<'a, 'w>(words: &'a [&'w str]) -> Option<&'a [&'w str]> {
    let (first, rest) = words.split_first()?;
    Some(match (program(first), rest) {
        ("npx" | "bunx" | "pnpx" | "uvx" | "xargs" | "dotenv", rest) => {
            skip_options(rest, &["-p", "--package", "-n", "-I", "-P", "--with", "--from", "-e"])
        }
        ("pnpm" | "yarn" | "npm", rest) => match skip_options(rest, MANAGER_OPTIONS) {
            ["exec" | "dlx", rest @ ..] => skip_options(rest, &[]),
            _ => return None,
        },
        ("bun", ["x", rest @ ..]) => skip_options(rest, &[]),
        ("poetry" | "pipenv" | "pdm" | "rye" | "pixi", ["run", rest @ ..]) => skip_options(rest, &["-e"]),
        ("uv", ["run", rest @ ..]) => skip_options(
            rest,
            &["--with", "--extra", "--group", "--python", "-p", "--directory", "--project", "--package", "--env-file"],
        ),
        ("conda" | "mamba" | "micromamba", ["run", rest @ ..]) => {
            skip_options(rest, &["-n", "-p", "--name", "--prefix"])
        }
        ("bundle", ["exec", rest @ ..]) => rest,
        ("mise", ["exec" | "x", rest @ ..]) => after_dashes(rest),
        ("direnv", ["exec", _, rest @ ..]) => rest,
        ("nix" | "nix-shell" | "devbox", rest) => {
            let at = rest.iter().position(|word| matches!(*word, "-c" | "--command" | "--run" | "run"))?;
            rest.get(at + 1..)?
        }
        ("docker" | "podman" | "docker-compose" | "kubectl", rest) => in_container(rest)?,
        ("c8" | "nyc", rest) => skip_options(rest, &["-r", "--reporter", "-x", "--exclude", "-n", "--include"]),
        ("coverage", ["run", rest @ ..]) => python_module(rest)?,
        (name, rest) if is_python(name) => python_module(rest).or_else(|| script_words(rest))?,
        ("node" | "tsx" | "ts-node" | "ruby" | "php" | "perl" | "bash" | "sh" | "zsh" | "dash", rest)
            if !rest.contains(&"--test") =>
        {
            script_words(rest)?
        }
        _ => return None,
    })
}

fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
        || name == "py"
}

fn after_dashes<'a, 'w>(words: &'a [&'w str]) -> &'a [&'w str] {
    match words.iter().position(|word| *word == "--") {
        Some(at) => &words[at + 1..],
        None => words,
    }
}

/// `-m module args`, as words that begin with the module.
fn python_module<'a, 'w>(words: &'a [&'w str]) -> Option<&'a [&'w str]> {
    let at = words.iter().take_while(|word| word.starts_with('-')).position(|word| *word == "-m")?;
    words.get(at + 1..)
}

/// The script passed to an interpreter, and its arguments.
fn script_words<'a, 'w>(words: &'a [&'w str]) -> Option<&'a [&'w str]> {
    let at = words.iter().position(|word| !word.starts_with('-'))?;
    // `-e code` and `-c code` run no file, `-n file` only checks it.
    let runs_code =
        words[..at].iter().any(|word| matches!(*word, "-e" | "-c" | "-r" | "--eval" | "-p" | "-l" | "-n" | "--check"));
    (!runs_code).then(|| &words[at..])
}

/// In `docker exec … pytest`, from the first word that starts a run.
fn in_container<'a, 'w>(words: &'a [&'w str]) -> Option<&'a [&'w str]> {
    let at = words.iter().position(|word| matches!(*word, "exec" | "run"))?;
    let rest = words.get(at + 1..)?;
    (1..rest.len().min(24)).map(|from| &rest[from..]).find(|rest| direct(rest).is_some())
}

/// Only queries the runner and runs nothing.
fn only_asks(words: &[&str]) -> bool {
    words.iter().any(|word| {
        is_one_of(
            word,
            "--help --version --collect-only --co --list --list-tests --listTests --fixtures --dry-run \
                 --show-only --showConfig --print-config --init",
        )
    })
}

fn direct(words: &[&str]) -> FoundRunner {
    let (first, rest) = words.split_first()?;
    if only_asks(rest) {
        return None;
    }
    let name = program(first);
    program_run(name, rest)
        .or_else(|| subcommand_run(name, rest))
        .or_else(|| task_run(name, rest))
        .or_else(|| script_kind(first).map(|kind| (kind, Runner::Script)))
}

/// Programs that are a run on their own.
fn program_run(name: &str, rest: &[&str]) -> FoundRunner {
    use Kind::{Build, Lint, Test};
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(word));
    Some(match name {
        "pytest" | "py.test" | "nose2" | "nosetests" => (Test, Runner::Pytest),
        "unittest" => (Test, Runner::Unittest),
        "gotestsum" => (Test, Runner::Gotestsum),
        "ginkgo" => (Test, Runner::Ginkgo),
        "jest" => (Test, Runner::Jest),
        "vitest" if !has(&["list", "init"]) => (Test, Runner::Vitest),
        "mocha" => (Test, Runner::Mocha),
        "karma" | "cypress" | "busted" => (Test, Runner::Tool),
        "rspec" => (Test, Runner::Rspec),
        "phpunit" | "paratest" => (Test, Runner::Phpunit),
        "pest" => (Test, Runner::Pest),
        "ctest" if !has(&["-N"]) => (Test, Runner::Ctest),
        "tox" => (Test, Runner::Tox),
        "nox" if !has(&["-l"]) => (Test, Runner::Nox),
        "bats" => (Test, Runner::Bats),
        "prove" => (Test, Runner::Prove),
        "tsc" | "vue-tsc" => (Build, Runner::Tsc),
        "ninja" => (Build, Runner::Cmake),
        "eslint" => (Lint, Runner::Eslint),
        "flake8" => (Lint, Runner::Flake8),
        "pylint" => (Lint, Runner::Pylint),
        "mypy" | "dmypy" => (Lint, Runner::Mypy),
        "pyright" | "basedpyright" => (Lint, Runner::Pyright),
        "golangci-lint" if has(&["run"]) => (Lint, Runner::GolangciLint),
        "staticcheck" => (Lint, Runner::Staticcheck),
        "gofmt" if has(&["-l", "-d"]) => (Lint, Runner::Gofmt),
        "rubocop" | "standardrb" => (Lint, Runner::Rubocop),
        "phpstan" => (Lint, Runner::Phpstan),
        "prettier" if has(&["--check", "-c", "-l", "--list-different"]) => (Lint, Runner::Prettier),
        "black" | "isort" if has(&["--check", "--check-only"]) => (Lint, Runner::Black),
        "rustfmt" if has(&["--check"]) => (Lint, Runner::Rustfmt),
        "ruff" if has(&["check"]) || (has(&["format"]) && has(&["--check"])) => (Lint, Runner::Ruff),
        "pre-commit" if has(&["run"]) => (Lint, Runner::Tool),
        "biome" if has(&["check", "lint", "ci"]) => (Lint, Runner::Biome),
        "oxlint" | "stylelint" | "shellcheck" | "swiftlint" | "ktlint" | "hadolint" | "svelte-check" => {
            (Lint, Runner::Tool)
        }
        _ => return None,
    })
}

/// Programs whose first argument selects what they do.
fn subcommand_run(name: &str, rest: &[&str]) -> FoundRunner {
    use Kind::{Build, Lint, Test};
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(word));
    let verb = rest.iter().copied().find(|word| !word.starts_with(['-', '+'])).unwrap_or_default();
    Some(match (name, verb) {
        ("cargo", _) => return cargo(rest, verb),
        ("go", "test") if has(&["-c", "-list"]) => (Build, Runner::Go),
        ("go", "test") => (Test, Runner::Go),
        ("go", "build" | "vet") => (Build, Runner::Go),
        ("node" | "tsx", _) if has(&["--test"]) => (Test, Runner::Node),
        ("bun", "test") => (Test, Runner::Bun),
        ("bun", "build") => (Build, Runner::Bun),
        ("deno", "test") => (Test, Runner::Deno),
        ("deno", "check") => (Build, Runner::Deno),
        ("deno", "lint") => (Lint, Runner::Deno),
        ("deno", "fmt") if has(&["--check"]) => (Lint, Runner::Deno),
        ("playwright", "test") => (Test, Runner::Playwright),
        ("mvn" | "mvnw" | "mvnd", _) => return maven(rest),
        ("gradle" | "gradlew", _) => return gradle(rest),
        ("sbt" | "lein" | "mill", _) if rest.iter().any(|word| word.ends_with("test") || word.starts_with("test")) => {
            (Test, Runner::Sbt)
        }
        ("sbt" | "mill", "compile") => (Build, Runner::Sbt),
        ("rake", _) => (rest.iter().find_map(|word| task_kind(word))?, Runner::Rake),
        ("rails", "test" | "test:system" | "test:all" | "spec") => (Test, Runner::Rails),
        ("manage.py" | "artisan", "test") => (Test, if name == "artisan" { Runner::Pest } else { Runner::Django }),
        ("dotnet", "test") => (Test, Runner::Dotnet),
        ("dotnet", "build" | "publish") => (Build, Runner::Dotnet),
        ("swift", "test") => (Test, Runner::Swift),
        ("swift", "build") => (Build, Runner::Swift),
        ("xcodebuild", _) if has(&["test", "test-without-building"]) => (Test, Runner::Xcode),
        ("xcodebuild", _) if has(&["build"]) => (Build, Runner::Xcode),
        ("cmake", _) if has(&["--build"]) => (if has(&["test"]) { Test } else { Build }, Runner::Cmake),
        ("mix", "test") => (Test, Runner::Mix),
        ("mix", "compile") => (Build, Runner::Mix),
        ("docker" | "podman", "build") => (Build, Runner::Docker),
        ("docker" | "podman", "buildx" | "compose") | ("docker-compose", _) if has(&["build"]) => {
            (Build, Runner::Docker)
        }
        ("bazel" | "bazelisk", "test") => (Test, Runner::Bazel),
        ("bazel" | "bazelisk", "build") => (Build, Runner::Bazel),
        (
            "zig" | "meson" | "flutter" | "dart" | "stack" | "cabal" | "ng" | "react-scripts" | "hatch" | "forge"
            | "crystal" | "elm-test" | "gleam" | "rebar3" | "dune" | "ginkgo" | "web-test-runner" | "vite" | "next"
            | "storybook" | "lerna" | "wasm-pack" | "trunk" | "nim" | "mage" | "ant",
            _,
        ) => return tool(verb, rest),
        _ => return None,
    })
}

fn tool(verb: &str, rest: &[&str]) -> FoundRunner {
    let kind = match verb {
        "test" | "eunit" | "ct" | "runtest" => Kind::Test,
        "build" if rest.contains(&"test") => Kind::Test,
        "build" | "compile" => Kind::Build,
        "lint" | "analyze" => Kind::Lint,
        "run" => task_kind(rest.get(1)?)?,
        _ => return None,
    };
    Some((kind, Runner::Tool))
}

fn cargo(rest: &[&str], verb: &str) -> FoundRunner {
    use Kind::{Build, Lint, Test};
    let has = |option: &str| rest.contains(&option);
    Some(match verb {
        "test" | "t" | "llvm-cov" | "tarpaulin" | "miri" | "careful" if has("--no-run") => (Build, Runner::Cargo),
        "test" | "t" | "llvm-cov" | "tarpaulin" => (Test, Runner::Cargo),
        "miri" | "careful" | "insta" if has("test") => (Test, Runner::Cargo),
        "nextest" if has("--no-run") => (Build, Runner::Nextest),
        "nextest" if has("run") || has("r") => (Test, Runner::Nextest),
        "build" | "b" | "check" | "c" | "rustc" => (Build, Runner::Cargo),
        "clippy" => (Lint, Runner::Clippy),
        "fmt" if has("--check") => (Lint, Runner::Rustfmt),
        "xtask" | "make" | "hack" => {
            let kind = rest.iter().skip_while(|word| **word != verb).skip(1).find_map(|word| task_kind(word))?;
            (kind, if verb == "hack" { Runner::Cargo } else { Runner::Script })
        }
        _ => return None,
    })
}

fn maven(rest: &[&str]) -> FoundRunner {
    let has = |goals: &[&str]| rest.iter().any(|word| goals.contains(word));
    let skips = rest.iter().any(|word| word.starts_with("-DskipTests") || word.starts_with("-Dmaven.test.skip"));
    if !skips && has(&["test", "verify", "integration-test", "surefire:test", "failsafe:verify"]) {
        return Some((Kind::Test, Runner::Maven));
    }
    has(&["compile", "test-compile", "package", "install", "verify", "test"]).then_some((Kind::Build, Runner::Maven))
}

fn gradle(rest: &[&str]) -> FoundRunner {
    let mut best = None;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if matches!(*word, "-x" | "--exclude-task" | "--tests" | "-p" | "-b" | "-I") {
            words.next();
            continue;
        }
        if word.starts_with('-') {
            continue;
        }
        let task = word.rsplit(':').next().unwrap_or(word);
        let kind = if task.ends_with("Test") || task.starts_with("test") || task == "check" {
            Kind::Test
        } else if task.ends_with("Check") || task.starts_with("lint") || task == "detekt" || task == "ktlint" {
            Kind::Lint
        } else if ["build", "assemble", "compile", "bundle", "package"].iter().any(|begin| task.starts_with(begin)) {
            Kind::Build
        } else {
            continue;
        };
        if kind == Kind::Test || best.is_none() {
            best = Some(kind);
        }
    }
    best.map(|kind| (kind, Runner::Gradle))
}

/// Programs that run tasks by name.
fn task_run(name: &str, rest: &[&str]) -> FoundRunner {
    let rest = match name {
        "npm" | "pnpm" | "yarn" => skip_options(rest, MANAGER_OPTIONS),
        "bun" => skip_options(rest, &["--cwd", "--config", "-c"]),
        "make" | "gmake" => skip_options(rest, &["-C", "-f", "-j", "-l"]),
        "just" | "task" | "mise" | "nx" | "turbo" => skip_options(rest, &["-f", "-d", "-C", "--justfile", "-t"]),
        _ => rest,
    };
    let (runner, task) = match (name, rest) {
        ("npm", ["t" | "tst", ..]) => return Some((Kind::Test, Runner::Npm)),
        ("npm", ["run" | "run-script", rest @ ..]) => {
            (Runner::Npm, skip_options(rest, &["-w", "--workspace", "--prefix"]).first())
        }
        ("npm", ["test" | "it", ..]) => (Runner::Npm, rest.first()),
        ("pnpm", ["run" | "-r", rest @ ..]) => (Runner::Pnpm, skip_options(rest, &["--filter", "-F"]).first()),
        ("yarn", ["workspace", _, "run", task, ..] | ["workspace", _, task, ..]) => (Runner::Yarn, Some(task)),
        ("yarn", ["run", rest @ ..]) => (Runner::Yarn, rest.first()),
        ("bun", ["run", rest @ ..]) => (Runner::BunScript, skip_options(rest, &["--filter", "--cwd"]).first()),
        ("deno", ["task", rest @ ..]) => (Runner::DenoTask, rest.first()),
        ("pnpm", ["add" | "install" | "i" | "remove" | "why" | "create" | "config", ..])
        | ("yarn", ["add" | "install" | "remove" | "why" | "create" | "config" | "info", ..]) => return None,
        ("pnpm", [task, ..]) => (Runner::Pnpm, Some(task)),
        ("yarn", [task, ..]) => (Runner::Yarn, Some(task)),
        ("make" | "gmake", targets) => return make(targets),
        ("just", [task, ..]) => (Runner::Just, Some(task)),
        ("task" | "go-task", [task, ..]) => (Runner::Task, Some(task)),
        ("mise", ["run" | "r", task, ..]) => (Runner::Mise, Some(task)),
        ("mise", [task @ ("test" | "lint" | "build" | "check"), ..]) => (Runner::Mise, Some(task)),
        ("composer", ["run" | "run-script", task, ..]) | ("composer", [task, ..]) => (Runner::Tool, Some(task)),
        ("poe" | "invoke" | "inv" | "grunt" | "gulp", [task, ..]) => (Runner::Tool, Some(task)),
        ("nx" | "turbo", ["run" | "run-many" | "affected", rest @ ..]) => {
            let kinds = rest.iter().filter_map(|word| task_kind(word.rsplit([':', '=']).next().unwrap_or(word)));
            return Some((kinds.min()?, Runner::Monorepo));
        }
        ("nx" | "turbo", [task, ..]) => (Runner::Monorepo, Some(task)),
        _ => return None,
    };
    Some((task_kind(task?)?, runner))
}

/// Without a target, or with one of unknown meaning, `make` builds.
fn make(targets: &[&str]) -> FoundRunner {
    let mut kind = None;
    let mut targets = targets.iter().filter(|word| !word.starts_with('-') && !word.contains('=')).peekable();
    if targets.peek().is_none() {
        return Some((Kind::Build, Runner::Make));
    }
    for target in targets {
        match (*target, task_kind(target)) {
            ("check", _) | (_, Some(Kind::Test)) => return Some((Kind::Test, Runner::Make)),
            (_, Some(found)) => kind = kind.or(Some(found)),
            ("all", None) => kind = kind.or(Some(Kind::Build)),
            _ => {}
        }
    }
    kind.map(|kind| (kind, Runner::Make))
}
