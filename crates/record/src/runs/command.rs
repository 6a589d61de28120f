//! Finds the run in a shell line: which of its simple commands it is, its key, and how far its outcome can be trusted.
//!
//! A line may contain several. A test outranks a build, a build outranks a lint, and several of the same rank are one
//! run.

use crate::words::is_one_of;

use super::classify::{self, classify};
use super::{KEY_CHARS_MAX, Kind, OutcomeTrust, RunCommand, Runner};
use crate::clean::text::{clip, line};
use crate::shell::{self, Join, Simple};

/// Longer lines are really scripts; the command that matters is near the beginning.
const COMMAND_BYTES_MAX: usize = 8192;
/// `bash -c "bash -c …"` is followed no deeper.
const NESTING_MAX: usize = 3;

/// Could [`recognise`] find a run here? One pass over the bytes, no allocation. False positives are possible.
pub fn may_be_run(command: &str) -> bool {
    let bytes = command.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let needles: &[&str] = match byte {
            b'b' => &["build", "biome", "black", "bats", "busted"],
            b'c' => &["check", "clippy", "compile", "cargo", "coverage", "cypress"],
            b'a' => &["analyze", "assemble"],
            b'd' => &["detekt"],
            b'e' => &["e2e"],
            b'f' => &["flake8", "fmt", "format"],
            b'g' => &["ginkgo", "gradle"],
            b'j' => &["jest"],
            b'k' => &["karma"],
            b'l' => &["lint"],
            b'm' => &["mocha", "make", "mypy", "mvn"],
            b'n' => &["nox", "nose", "ninja", "npm t"],
            b'p' => {
                &["pest", "phpstan", "prettier", "prove", "pyright", "playwright", "package", "publish", "pre-commit"]
            }
            b'r' => &["ruff", "rubocop", "rake"],
            b's' => &["spec", "standardrb"],
            b't' => &["test", "tsc", "tox", "typecheck", "types"],
            b'u' => &["unit"],
            b'v' => &["vet", "verify"],
            b'T' => &["Test"],
            _ => return false,
        };
        let rest = &bytes[at..];
        needles.iter().any(|needle| rest.starts_with(needle.as_bytes()))
            && !(rest.starts_with(b"checkout") || rest.starts_with(b"checksum"))
    })
}

/// The run in a shell line, if any.
pub fn recognise(command: &str) -> Option<RunCommand> {
    if !may_be_run(command) {
        return None;
    }
    recognise_nested(command, 0).map(|(run, _)| run)
}

/// The runners of the run in a shell line, each with how far the line's outcome is its own.
pub(super) fn runners(command: &str) -> Vec<(Runner, OutcomeTrust)> {
    recognise_nested(command, 0).map(|(_, runners)| runners).unwrap_or_default()
}

struct FoundCommand {
    index: usize,
    kind: Kind,
    runner: Runner,
    key: String,
    inner: Option<OutcomeTrust>,
}

fn recognise_nested(command: &str, depth: usize) -> Option<(RunCommand, Vec<(Runner, OutcomeTrust)>)> {
    let simples = shell::read(clip(command, COMMAND_BYTES_MAX)).line();
    let mut found: Vec<FoundCommand> = Vec::new();
    for (index, simple) in simples.iter().enumerate() {
        let words = simple.texts();
        let own = classify::without_prefix(&words);
        if let Some(script) = classify::shell_script(own) {
            if depth < NESTING_MAX
                && let Some((inner, _)) = recognise_nested(script, depth + 1)
            {
                found.push(FoundCommand {
                    index,
                    kind: inner.kind,
                    runner: inner.runner,
                    key: inner.key,
                    inner: Some(inner.trust),
                });
            }
        } else if let Some((kind, runner)) = classify(own) {
            found.push(FoundCommand { index, kind, runner, key: key(own), inner: None });
        }
    }
    let kind = found.iter().map(|found| found.kind).min()?;
    // Commands before a test, joined by `&&`, whose failure also counts against it.
    let blamed: Vec<usize> =
        found.iter().filter(|found| found.kind == kind || found.kind == Kind::Build).map(|found| found.index).collect();
    found.retain(|found| found.kind == kind);
    let first = found.first()?;
    let runner = if found.iter().all(|found| found.runner == first.runner) { first.runner } else { Runner::Several };
    let keys: Vec<&str> = found.iter().map(|found| found.key.as_str()).collect();
    let runners: Vec<(Runner, OutcomeTrust)> =
        found.iter().map(|found| (found.runner, trust(&simples, found, &blamed))).collect();
    let trust = runners.iter().map(|(_, trust)| *trust).reduce(joined)?;
    Some((RunCommand { kind, runner, key: line(&keys.join(" && "), KEY_CHARS_MAX), trust }, runners))
}

/// Several runs in one line: the line's outcome must be trusted for all of them.
fn joined(one: OutcomeTrust, other: OutcomeTrust) -> OutcomeTrust {
    OutcomeTrust {
        success: one.success && other.success,
        // One of them failed, whichever it was; only `;` would hide a failure of the others.
        failure: one.failure || other.failure,
        silence: one.silence && other.silence,
    }
}

/// The words as they could be typed again.
fn key(words: &[&str]) -> String {
    let mut key = String::new();
    for word in words {
        if !key.is_empty() {
            key.push(' ');
        }
        if word.is_empty() || word.contains(|c: char| c.is_whitespace() || "|&;<>()$`\\\"'*?".contains(c)) {
            key.push('\'');
            key.push_str(word);
            key.push('\'');
        } else {
            key.push_str(word);
        }
        if key.len() > 4 * KEY_CHARS_MAX {
            break;
        }
    }
    line(&key, KEY_CHARS_MAX)
}

fn trust(simples: &[Simple], found: &FoundCommand, blamed: &[usize]) -> OutcomeTrust {
    let is_pipe = |index: usize| simples.get(index).is_some_and(|simple| simple.join == Join::Pipe);
    let mut first = found.index;
    while first > 0 && is_pipe(first) {
        first -= 1;
    }
    let mut end = found.index + 1;
    while is_pipe(end) {
        end += 1;
    }
    let filters = &simples[found.index + 1..end];
    let after = &simples[end..];
    let has_pipefail = simples[..found.index].iter().any(|simple| simple.texts().contains(&"pipefail"));
    let shows = filters.is_empty() || has_pipefail;
    let harmless_after = after.iter().all(|simple| simple.join == Join::And && is_harmless(simple));
    let own = OutcomeTrust {
        success: shows
            && simples[first].join != Join::Or
            && after.iter().all(|simple| matches!(simple.join, Join::And | Join::Pipe)),
        failure: shows && harmless_after && harmless_before(simples, first, blamed),
        silence: !simples[found.index].is_hidden && filters.iter().all(passes_output_through),
    };
    match found.inner {
        Some(inner) => OutcomeTrust {
            success: own.success && inner.success,
            failure: own.failure && inner.failure,
            silence: own.silence && inner.silence,
        },
        None => own,
    }
}

/// Commands joined before it by `&&` cannot have failed in its place. If a build or another run of the same kind
/// fails, the run counts as failed too.
fn harmless_before(simples: &[Simple], first: usize, blamed: &[usize]) -> bool {
    let mut index = first;
    while index > 0 && simples[index].join == Join::And {
        index -= 1;
        if !is_harmless(&simples[index]) && !blamed.contains(&index) {
            return false;
        }
    }
    true
}

fn is_harmless(simple: &Simple) -> bool {
    simple.words.first().is_some_and(|word| {
        is_one_of(
            word.text.as_str(),
            "cd pushd popd export unset set source . echo printf sleep true pwd ls clear mkdir date",
        ) || shell::is_assignment(&word.text)
    })
}

/// Filters that keep the beginning or the end of the output. Empty output stays empty.
fn passes_output_through(simple: &Simple) -> bool {
    simple
        .words
        .first()
        .is_some_and(|word| matches!(word.text.as_str(), "head" | "tail" | "cat" | "tee" | "less" | "more" | "sort"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str) -> String {
        match recognise(command) {
            Some(found) => format!("{:?} {}: {}", found.kind, found.runner.name(), found.key),
            None => "-".to_string(),
        }
    }

    fn check(cases: &[(&str, &str)]) {
        for (command, expected) in cases {
            assert_eq!(shown(command), *expected, "{command}");
        }
    }

    #[test]
    fn tests_are_recognised() {
        check(&[
            ("cargo test", "Test cargo: cargo test"),
            ("cargo +nightly test -p core", "Test cargo: cargo +nightly test -p core"),
            ("cargo t", "Test cargo: cargo t"),
            ("cargo nextest run -E 'test(a)'", "Test cargo nextest: cargo nextest run -E 'test(a)'"),
            ("pytest -x tests/test_a.py::test_b", "Test pytest: pytest -x tests/test_a.py::test_b"),
            ("python -m pytest -q", "Test pytest: python -m pytest -q"),
            ("python3.11 -m unittest discover", "Test unittest: python3.11 -m unittest discover"),
            ("coverage run -m pytest", "Test pytest: coverage run -m pytest"),
            ("go test -v ./...", "Test go: go test -v ./..."),
            ("gotestsum -- ./...", "Test gotestsum: gotestsum -- ./..."),
            ("npx jest --coverage", "Test jest: npx jest --coverage"),
            ("./node_modules/.bin/vitest run", "Test vitest: ./node_modules/.bin/vitest run"),
            ("mocha", "Test mocha: mocha"),
            ("node --test", "Test node: node --test"),
            ("npm test", "Test npm: npm test"),
            ("npm t", "Test npm: npm t"),
            ("npm run test:unit -- --watch=false", "Test npm: npm run test:unit -- --watch=false"),
            ("npm --prefix web run test", "Test npm: npm --prefix web run test"),
            ("pnpm --filter web test", "Test pnpm: pnpm --filter web test"),
            ("pnpm exec vitest run", "Test vitest: pnpm exec vitest run"),
            ("pnpm -r test", "Test pnpm: pnpm -r test"),
            ("yarn workspace web test", "Test yarn: yarn workspace web test"),
            ("yarn test", "Test yarn: yarn test"),
            ("bun test src/", "Test bun: bun test src/"),
            ("bun run test", "Test bun run: bun run test"),
            ("deno test -A", "Test deno: deno test -A"),
            ("deno task test", "Test deno task: deno task test"),
            ("mvn -q test", "Test maven: mvn -q test"),
            ("./mvnw verify", "Test maven: ./mvnw verify"),
            ("./gradlew :app:testDebugUnitTest", "Test gradle: ./gradlew :app:testDebugUnitTest"),
            ("gradle check", "Test gradle: gradle check"),
            ("bundle exec rspec spec/a_spec.rb:3", "Test rspec: bundle exec rspec spec/a_spec.rb:3"),
            ("rake test", "Test rake: rake test"),
            ("bin/rails test", "Test rails: bin/rails test"),
            ("vendor/bin/phpunit", "Test phpunit: vendor/bin/phpunit"),
            ("php vendor/bin/pest", "Test pest: php vendor/bin/pest"),
            ("php artisan test", "Test pest: php artisan test"),
            ("python manage.py test app", "Test manage.py: python manage.py test app"),
            ("dotnet test", "Test dotnet: dotnet test"),
            ("ctest --test-dir build", "Test ctest: ctest --test-dir build"),
            ("make test", "Test make: make test"),
            ("make -C sub -j8 check", "Test make: make -C sub -j8 check"),
            ("just test", "Test just: just test"),
            ("mise run test:integration", "Test mise: mise run test:integration"),
            ("tox -e py311", "Test tox: tox -e py311"),
            ("nox -s tests", "Test nox: nox -s tests"),
            ("./dev/test", "Test script: ./dev/test"),
            ("./run_tests.sh", "Test script: ./run_tests.sh"),
            ("scripts/test.py --fast", "Test script: scripts/test.py --fast"),
            ("bash scripts/run-tests.sh", "Test script: bash scripts/run-tests.sh"),
            ("python tests/test_a.py", "Test script: python tests/test_a.py"),
            ("./build/store_test", "Test script: ./build/store_test"),
            ("npx turbo run build test", "Test monorepo tool: npx turbo run build test"),
            ("npx nx run app:test", "Test monorepo tool: npx nx run app:test"),
        ]);
    }

    #[test]
    fn wrappers_around_a_run_are_ignored() {
        let plain = "Test cargo: cargo test";
        check(&[
            ("cd x && cargo test", plain),
            ("cd x; RUST_LOG=debug RUST_BACKTRACE=1 cargo   test", plain),
            ("env A=b cargo test", plain),
            ("time cargo test", plain),
            ("timeout 60 cargo test", plain),
            ("timeout -k 5 60s cargo test 2>&1 | tail -50", plain),
            ("cargo test > /tmp/log 2>&1", plain),
            ("cargo test &> log; tail log", plain),
            ("cargo build && cargo test", plain),
            ("cargo fmt && cargo clippy && cargo test || echo failed", plain),
            ("bash -c 'cd x && cargo test'", plain),
            ("bash -lc \"cargo test | tail\"", plain),
            ("(cd sub && cargo test)", plain),
            ("if cargo test; then echo ok; fi", plain),
            ("git stash && cargo test && git stash pop", plain),
            ("cat <<'EOF' > a\nit's\nEOF\ncargo test", plain),
            ("set -o pipefail; cargo test | tee log", plain),
            ("poetry run pytest", "Test pytest: poetry run pytest"),
            ("uv run --extra dev pytest -q", "Test pytest: uv run --extra dev pytest -q"),
            ("docker compose exec -T web pytest -x", "Test pytest: docker compose exec -T web pytest -x"),
            ("docker run --rm -v .:/app img go test ./...", "Test go: docker run --rm -v .:/app img go test ./..."),
            ("npx -y vitest run", "Test vitest: npx -y vitest run"),
            ("cargo test -p a && cargo test -p b", "Test cargo: cargo test -p a && cargo test -p b"),
            ("cargo test && npm test", "Test several: cargo test && npm test"),
            ("go test -run 'TestA|TestB' ./x", "Test go: go test -run 'TestA|TestB' ./x"),
        ]);
    }

    #[test]
    fn builds_and_lints_are_recognised() {
        check(&[
            ("cargo build --release", "Build cargo: cargo build --release"),
            ("cargo check", "Build cargo: cargo check"),
            ("cargo test --no-run", "Build cargo: cargo test --no-run"),
            ("go test -c -o /dev/null ./x", "Build go: go test -c -o /dev/null ./x"),
            ("npx tsc --noEmit", "Build tsc: npx tsc --noEmit"),
            ("go build ./...", "Build go: go build ./..."),
            ("go vet ./...", "Build go: go vet ./..."),
            ("make", "Build make: make"),
            ("make -j4", "Build make: make -j4"),
            ("make build", "Build make: make build"),
            ("cmake --build build", "Build cmake: cmake --build build"),
            ("npm run build", "Build npm: npm run build"),
            ("mvn package -DskipTests", "Build maven: mvn package -DskipTests"),
            ("./gradlew build -x test", "Build gradle: ./gradlew build -x test"),
            ("dotnet build", "Build dotnet: dotnet build"),
            ("swift build", "Build swift: swift build"),
            ("docker build -t x .", "Build docker: docker build -t x ."),
            ("cargo clippy --all-targets -- -D warnings", "Lint clippy: cargo clippy --all-targets -- -D warnings"),
            ("cargo fmt --check", "Lint rustfmt: cargo fmt --check"),
            ("cargo fmt --all -- --check", "Lint rustfmt: cargo fmt --all -- --check"),
            ("npx eslint src", "Lint eslint: npx eslint src"),
            ("ruff check .", "Lint ruff: ruff check ."),
            ("flake8", "Lint flake8: flake8"),
            ("python -m mypy src", "Lint mypy: python -m mypy src"),
            ("pyright", "Lint pyright: pyright"),
            ("golangci-lint run ./...", "Lint golangci-lint: golangci-lint run ./..."),
            ("bundle exec rubocop", "Lint rubocop: bundle exec rubocop"),
            ("vendor/bin/phpstan analyse", "Lint phpstan: vendor/bin/phpstan analyse"),
            ("npx prettier --check .", "Lint prettier: npx prettier --check ."),
            ("black --check .", "Lint black: black --check ."),
            ("pre-commit run --all-files", "Lint tool: pre-commit run --all-files"),
            ("bun run typecheck", "Lint bun run: bun run typecheck"),
            ("bun --bun run check:types 2>&1 | tail -5", "Lint bun run: bun --bun run check:types"),
            ("mise run fmt && mise run lint 2>&1", "Lint mise: mise run lint"),
        ]);
    }

    #[test]
    fn commands_that_only_mention_tests_are_not_runs() {
        for command in [
            "echo test",
            "echo 'cargo test'",
            "cat test.log",
            "cat tests/test_a.py",
            "grep -rn test src",
            "ls tests",
            "git commit -m \"test\"",
            "git commit -m 'run: cargo test && npm test'",
            "git commit -m \"$(cat <<'EOF'\nfix\n\ncargo test\nit's; npm test\nEOF\n)\"",
            "git checkout test",
            "git add a_test.go && git status",
            "npm install jest",
            "npm i -D vitest",
            "pnpm add jest",
            "yarn add --dev jest",
            "pip install pytest",
            "cargo install cargo-nextest",
            "cargo fmt",
            "cargo run -- test",
            "cargo doc",
            "pytest --version",
            "pytest --collect-only",
            "npx jest --listTests",
            "cargo test --help",
            "which pytest",
            "command -v pytest",
            "mkdir -p tests && touch tests/test_a.py",
            "chmod +x ./test.sh",
            "vim ./run_tests.sh",
            "/tmp/app-test enable",
            "php -l test.php",
            "bash -n run_tests.sh",
            ".ci/test-harness.sh setup",
            "rm -rf test/",
            "prettier --write .",
            "black .",
            "python -c 'import pytest'",
            "node -e 'test()'",
            "cat > run_tests.sh <<EOF\ncargo test\nEOF",
            "# cargo test",
            "docker compose up -d test-db",
            "docker compose logs test",
            "make clean",
            "just fmt",
            "npm run dev",
            "npm run test:watch",
            "ssh host cargo test",
            "find . -name '*_test.go'",
            "sed -i 's/test/x/' a.py",
            "go mod tidy",
            "",
        ] {
            assert_eq!(shown(command), "-", "{command}");
        }
    }

    #[test]
    fn trust_depends_on_the_surrounding_shell_line() {
        for (command, expected) in [
            ("cargo test", "success failure silence"),
            ("cd x && cargo test", "success failure silence"),
            ("cargo test && echo ok", "success failure silence"),
            ("cargo test && git push", "success silence"),
            ("git pull && cargo test", "success silence"),
            ("cargo build && cargo test", "success failure silence"),
            ("cargo test -p a && cargo test -p b", "success failure silence"),
            ("cargo test | tail", "silence"),
            ("set -o pipefail && cargo test | tail", "success failure silence"),
            ("cargo test | grep x", ""),
            ("cargo test || true", "silence"),
            ("cargo test; echo $?", "silence"),
            ("cargo test > log", "success failure"),
            ("bash -c 'cargo test | tail'", "silence"),
            ("cargo fmt || cargo test", "failure silence"),
        ] {
            let trust = recognise(command).unwrap().trust;
            let words = [(trust.success, "success"), (trust.failure, "failure"), (trust.silence, "silence")];
            let shown: Vec<&str> = words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
            assert_eq!(shown.join(" "), expected, "{command}");
        }
    }

    #[test]
    fn keys_are_bounded_lines() {
        let long = format!("cargo test {}", "x ".repeat(500));
        assert_eq!(recognise(&long).unwrap().key.chars().count(), KEY_CHARS_MAX);
        assert_eq!(recognise("cargo test 'a\nb'").unwrap().key, "cargo test 'a b'");
    }
}
