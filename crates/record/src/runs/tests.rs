//! Real outputs of the runners, and the results read from them. Files marked `-documented` follow a runner's
//! documentation because the runner itself was not available.
//!
//! Results are shown as `verdict passed/failed`, followed by the names.

use proptest::prelude::*;

use super::*;
use crate::event::Outcome;

macro_rules! fixture {
    ($name:literal) => {
        ($name, include_str!(concat!("fixtures/", $name, ".txt")))
    };
}

fn shown(run: &Run) -> String {
    let count = |count: Option<u32>| count.map_or("?".to_string(), |count| count.to_string());
    let mut out = format!("{:?} {}/{}", run.verdict, count(run.passed_count), count(run.failed_count));
    for (label, names) in [("passed", &run.passed), ("failed", &run.failed), ("problems", &run.problems)] {
        if !names.is_empty() {
            out.push_str(&format!(" {label}: {}", names.join("; ")));
        }
    }
    out
}

fn outcome_of(output: &str) -> Outcome {
    if output.starts_with("Exit code ") { Outcome::Failed } else { Outcome::Done }
}

fn check(line: &str, cases: &[((&str, &str), &str)]) {
    let command = recognise(line).unwrap();
    for ((name, output), expected) in cases {
        let run = read(&command, output, outcome_of(output));
        assert_eq!(shown(&run), *expected, "{name}");
        check_mixed(&command, name, output, &run);
    }
}

/// What other programs print beside a run is not kept, and most of what the run printed is.
fn check_mixed(command: &RunCommand, name: &str, output: &str, run: &Run) {
    let others = "HOME=/home/me\nNOTE=planted: words\nplanted words of a file, 3 of them.\nexport PATH=/bin:/planted\n";
    let kept = lines_of_run(command, &format!("{output}\n{others}"));
    assert!(!kept.contains("planted") && !kept.contains("HOME"), "{name}: {kept}");
    let again = read(command, &kept, outcome_of(output));
    // Where a runner reports nothing but a line that means something only together with others.
    let is_known = again.verdict == run.verdict || name == "unittest-empty";
    assert!(is_known, "{name}: {} from {kept}", shown(&again));
}

#[test]
fn reads_rust() {
    check(
        "cargo build",
        &[
            (
                fixture!("cargo-build-fail"),
                "Red ?/? problems: two/src/lib.rs:1: mismatched types; two/src/lib.rs:2: cannot find function `missing` in this scope",
            ),
            (fixture!("cargo-build-pass"), "Green ?/? problems: two/src/lib.rs:1: unused variable: `unused`"),
        ],
    );
    check(
        "cargo test",
        &[
            (
                fixture!("cargo-test-compile-error"),
                "Red ?/? problems: two/src/lib.rs:1: mismatched types; two/src/lib.rs:2: cannot find function `missing` in this scope",
            ),
            (fixture!("cargo-test-empty"), "Empty 0/0"),
            (
                fixture!("cargo-test-fail"),
                "Red 4/2 passed: tests::adds; tests::panics; store::opens; src/lib.rs - add (line 2) failed: store::returns_error; store::closes",
            ),
            (fixture!("cargo-test-pass"), "Green 3/0 passed: tests::adds; tests::panics; src/lib.rs - add (line 2)"),
            (fixture!("cargo-test-quiet"), "Red 1/2 failed: store::returns_error; store::closes"),
        ],
    );
    check(
        "cargo clippy",
        &[
            (
                fixture!("clippy-fail"),
                "Red ?/? problems: two/src/lib.rs:1: unused variable: `unused`; two/src/lib.rs:1: unneeded `return` statement",
            ),
            (
                fixture!("clippy-warn"),
                "Green ?/? problems: two/src/lib.rs:1: unused variable: `unused`; two/src/lib.rs:1: unneeded `return` statement",
            ),
        ],
    );
    check(
        "cargo fmt --check",
        &[(
            fixture!("fmt-check-fail"),
            "Red ?/? problems: /home/dev/project/src/lib.rs:2: not formatted; /home/dev/project/src/lib.rs:9: not formatted; /home/dev/project/two/src/lib.rs:1: not formatted",
        )],
    );
    check(
        "cargo nextest run",
        &[
            (
                fixture!("nextest-compile-error"),
                "Red ?/? problems: two/src/lib.rs:1: mismatched types; two/src/lib.rs:2: cannot find function `missing` in this scope",
            ),
            (fixture!("nextest-empty"), "Empty 0/0"),
            (
                fixture!("nextest-fail"),
                "Red 3/2 passed: tests::adds; tests::panics; store::opens failed: store::returns_error; store::closes",
            ),
            (fixture!("nextest-pass"), "Green 2/0 passed: tests::adds; tests::panics"),
        ],
    );
}

#[test]
fn reads_python() {
    check(
        "black --check .",
        &[(fixture!("black-fail"), "Red ?/? problems: lint.py: not formatted"), (fixture!("black-pass"), "Green ?/?")],
    );
    check(
        "flake8",
        &[(
            fixture!("flake8-fail"),
            "Red ?/? problems: lint.py:1: F401 'os' imported but unused; lint.py:3: E302 expected 2 blank lines, found 0; lint.py:3: E231 missing whitespace after ':'; lint.py:3: E225 missing whitespace around operator; lint.py:4: E111 indentation is not a multiple of 4; lint.py:5: E305 expected 2 blank lines after class or function definition, found 0; lint.py:5: E201 whitespace after '('; lint.py:5: E202 whitespace before ')'",
        )],
    );
    check(
        "mypy .",
        &[
            (
                fixture!("mypy-fail"),
                r#"Red ?/? problems: lint.py:2: Incompatible types in assignment (expression has type "str", variable has type "int") [assignment]; lint.py:4: Incompatible return value type (got "int", expected "str") [return-value]; lint.py:5: Argument 1 to "f" has incompatible type "str"; expected "int" [arg-type]"#,
            ),
            (fixture!("mypy-pass"), "Green ?/?"),
        ],
    );
    check(
        "pytest",
        &[
            (fixture!("pytest-collection-error"), "Red 0/1 failed: broken/test_c.py"),
            (fixture!("pytest-deselected"), "Empty 0/0"),
            (fixture!("pytest-empty"), "Empty ?/?"),
            (
                fixture!("pytest-fail"),
                "Red 4/4 failed: tests/test_b.py::TestStore::test_closes; tests/test_b.py::TestStore::test_raises; tests/test_b.py::test_words[a - b]; tests/test_b.py::test_uses",
            ),
            (fixture!("pytest-pass"), "Green 2/0"),
            (
                fixture!("pytest-quiet"),
                "Red 4/4 failed: tests/test_b.py::TestStore::test_closes; tests/test_b.py::TestStore::test_raises; tests/test_b.py::test_words[a - b]; tests/test_b.py::test_uses",
            ),
            (
                fixture!("pytest-report-all"),
                "Red 4/4 passed: tests/test_a.py::TestSums::test_adds; tests/test_a.py::TestSums::test_subtracts; tests/test_b.py::TestStore::test_opens; tests/test_b.py::test_words[a b] failed: tests/test_b.py::test_uses; tests/test_b.py::TestStore::test_closes; tests/test_b.py::TestStore::test_raises; tests/test_b.py::test_words[a - b]",
            ),
            (fixture!("pytest-usage-error"), "Empty ?/?"),
            (
                fixture!("pytest-verbose"),
                "Red 4/4 passed: tests/test_a.py::TestSums::test_adds; tests/test_a.py::TestSums::test_subtracts; tests/test_b.py::TestStore::test_opens; tests/test_b.py::test_words[a b] failed: tests/test_b.py::TestStore::test_closes; tests/test_b.py::TestStore::test_raises; tests/test_b.py::test_words[a - b]; tests/test_b.py::test_uses",
            ),
            (
                fixture!("pytest-xdist"),
                "Red 4/4 passed: tests/test_a.py::TestSums::test_adds; tests/test_a.py::TestSums::test_subtracts; tests/test_b.py::TestStore::test_opens; tests/test_b.py::test_words[a b] failed: tests/test_b.py::TestStore::test_closes; tests/test_b.py::TestStore::test_raises; tests/test_b.py::test_words[a - b]; tests/test_b.py::test_uses",
            ),
        ],
    );
    check(
        "ruff check .",
        &[
            (
                fixture!("ruff-concise"),
                "Red ?/? problems: lint.py:1: I001 [*] Import block is un-sorted or un-formatted; lint.py:1: F401 [*] `os` imported but unused",
            ),
            (
                fixture!("ruff-fail"),
                "Red ?/? problems: lint.py:1: I001 [*] Import block is un-sorted or un-formatted; lint.py:1: F401 [*] `os` imported but unused",
            ),
        ],
    );
    check(
        "tox",
        &[
            (fixture!("tox-fail"), "Red 2/1 failed: unittest.loader._FailedTest.test_b"),
            (fixture!("tox-pass"), "Green 2/0"),
        ],
    );
    check(
        "python -m unittest",
        &[
            (fixture!("unittest-empty"), "Empty 0/0"),
            (fixture!("unittest-fail"), "Red 1/2 failed: test_b.TestStore.test_raises; test_b.TestStore.test_closes"),
            (fixture!("unittest-import-error"), "Red 0/1 failed: unittest.loader._FailedTest.test_c"),
            (fixture!("unittest-pass"), "Green 2/0"),
            (
                fixture!("unittest-verbose"),
                "Red 1/2 passed: test_b.TestStore.test_opens failed: test_b.TestStore.test_closes; test_b.TestStore.test_raises",
            ),
        ],
    );
}

#[test]
fn reads_go() {
    check(
        "go build ./...",
        &[
            (fixture!("go-build-fail"), "Red ?/? problems: broken/x.go:3: undefined: missing"),
            (fixture!("go-build-pass"), "Green ?/?"),
        ],
    );
    check(
        "go test ./...",
        &[
            (fixture!("go-compile-error"), "Red ?/? problems: broken/x.go:3: undefined: missing"),
            (fixture!("go-empty"), "Empty ?/?"),
            (fixture!("go-fail"), "Red ?/2 failed: TestParse; TestParse/empty"),
            (fixture!("go-no-test-files"), "Empty ?/?"),
            (fixture!("go-panic"), "Red ?/1 failed: TestPanics"),
            (fixture!("go-pass"), "Green ?/?"),
            (
                fixture!("go-verbose"),
                "Red 3/2 passed: TestAdd; TestParse/full_line; TestOther failed: TestParse; TestParse/empty",
            ),
        ],
    );
    check(
        "go vet ./...",
        &[(
            fixture!("go-vet-fail"),
            r#"Red ?/? problems: broken/x.go:5: fmt.Printf format %d has arg "x" of wrong type string"#,
        )],
    );
    check(
        "golangci-lint run",
        &[
            (
                fixture!("golangci-lint-fail-documented"),
                "Red ?/? problems: cmd/app/main.go:12: func `unused` is unused (unused); internal/store/store.go:30: Error return value of `f.Close` is not checked (errcheck)",
            ),
            (fixture!("golangci-lint-pass-documented"), "Green ?/?"),
        ],
    );
    check(
        "gotestsum",
        &[
            (fixture!("gotestsum-fail-documented"), "Red 3/2 failed: TestParse/empty; TestParse"),
            (fixture!("gotestsum-pass-documented"), "Green 1/0"),
        ],
    );
}

#[test]
fn reads_javascript() {
    check(
        "npx biome check",
        &[(
            fixture!("biome-fail-documented"),
            "Red ?/? problems: src/store.ts:3: lint/correctness/noUnusedVariables FIXABLE",
        )],
    );
    check(
        "bun test",
        &[
            (fixture!("bun-empty"), "Empty ?/?"),
            (
                fixture!("bun-fail"),
                "Red 3/2 passed: sum > adds; sum > deep > nests; store > opens failed: store > closes cleanly; top level",
            ),
            (fixture!("bun-name-filtered"), "Empty ?/?"),
            (fixture!("bun-pass"), "Green 2/0 passed: sum > adds; sum > deep > nests"),
        ],
    );
    check(
        "deno test",
        &[
            (fixture!("deno-empty"), "Empty ?/?"),
            (fixture!("deno-fail"), "Red 3/1 passed: opens; adds; steps failed: closes cleanly"),
            (fixture!("deno-pass"), "Green 2/0 passed: adds; steps"),
        ],
    );
    check(
        "npx eslint .",
        &[(
            fixture!("eslint-fail"),
            "Red ?/? problems: /home/dev/project/lint.js:1: 'x' is assigned a value but never used no-unused-vars; /home/dev/project/lint.js:2: 'foo' is not defined no-undef",
        )],
    );
    check(
        "npx jest",
        &[
            (fixture!("jest-empty"), "Empty ?/?"),
            (fixture!("jest-fail"), "Red 3/2 failed: store › closes cleanly; top level"),
            (fixture!("jest-name-filtered"), "Empty 0/0"),
            (fixture!("jest-pass"), "Green 2/0 passed: sum › adds; sum › deep › nests"),
            (fixture!("jest-suite-error"), "Red 2/0"),
            (
                fixture!("jest-verbose"),
                "Red 3/2 passed: store › opens; sum › adds; sum › deep › nests failed: top level; store › closes cleanly",
            ),
        ],
    );
    check(
        "npx mocha",
        &[
            (fixture!("mocha-dot"), "Red 3/2 failed: store › closes cleanly; store › deep › fails too"),
            (fixture!("mocha-empty"), "Empty 0/0"),
            (
                fixture!("mocha-fail"),
                "Red 3/2 passed: sum › adds; sum › deep › nests; store › opens failed: store › closes cleanly; store › deep › fails too",
            ),
            (fixture!("mocha-load-error"), "Red ?/?"),
            (fixture!("mocha-pass"), "Green 2/0 passed: sum › adds; sum › deep › nests"),
        ],
    );
    check(
        "node --test",
        &[
            (fixture!("node-test-empty"), "Empty 0/0"),
            (
                fixture!("node-test-fail"),
                "Red 3/2 passed: store › opens; adds failed: subtracts; store › closes cleanly",
            ),
            (fixture!("node-test-pass"), "Green 2/0 passed: adds; store › opens"),
            (
                fixture!("node-test-spec"),
                "Red 3/2 passed: store › opens; adds failed: subtracts; store › closes cleanly",
            ),
        ],
    );
    check(
        "npm test",
        &[(fixture!("npm-test-fail"), "Red 1/2 passed: store › opens failed: top level; store › closes cleanly")],
    );
    check(
        "npx playwright test",
        &[(
            fixture!("playwright-fail-documented"),
            "Red 1/1 passed: [chromium] › login.spec.ts:3:1 › shows the form failed: [chromium] › login.spec.ts:9:1 › rejects a wrong password",
        )],
    );
    check(
        "npx prettier --check .",
        &[(
            fixture!("prettier-fail"),
            "Red ?/? problems: bad.ts: not formatted; j/broken.test.js: not formatted; j/store.test.js: not formatted; j/sum.test.js: not formatted",
        )],
    );
    check(
        "npx tsc --noEmit",
        &[
            (
                fixture!("tsc-fail"),
                "Red ?/? problems: bad.ts:1: TS2322: Type 'string' is not assignable to type 'number'.; bad.ts:2: TS2339: Property 'missing' does not exist on type 'string'.",
            ),
            (
                fixture!("tsc-pretty"),
                "Red ?/? problems: bad.ts:1: TS2322: Type 'string' is not assignable to type 'number'.; bad.ts:2: TS2339: Property 'missing' does not exist on type 'string'.",
            ),
        ],
    );
    check(
        "npx vitest run",
        &[
            (fixture!("vitest-empty"), "Empty ?/?"),
            (
                fixture!("vitest-fail"),
                "Red 3/2 failed: v/store.test.mjs > store > closes cleanly; v/store.test.mjs > top level",
            ),
            (fixture!("vitest-pass"), "Green 2/0"),
            (fixture!("vitest-suite-error"), "Red 2/0"),
            (
                fixture!("vitest-verbose"),
                "Red 3/2 passed: v/store.test.mjs > store > opens; v/sum.test.mjs > sum > adds; v/sum.test.mjs > sum > deep > nests failed: v/store.test.mjs > store > closes cleanly; v/store.test.mjs > top level",
            ),
        ],
    );
}

#[test]
fn reads_jvm() {
    check(
        "./gradlew test",
        &[
            (
                fixture!("gradle-compile-error-documented"),
                "Red ?/? problems: /home/dev/project/src/main/java/app/Store.java:3: cannot find symbol",
            ),
            (fixture!("gradle-empty-documented"), "Empty ?/?"),
            (fixture!("gradle-fail-documented"), "Red 2/1 failed: StoreTest > closes()"),
            (fixture!("gradle-pass-documented"), "Green 2/? passed: SumTest > adds(); SumTest > subtracts()"),
        ],
    );
    check(
        "mvn test",
        &[
            (
                fixture!("maven-compile-error"),
                "Red ?/? problems: /home/dev/project/src/main/java/app/Broken.java:1: cannot find symbol",
            ),
            (fixture!("maven-empty"), "Empty ?/?"),
            (fixture!("maven-fail-quiet"), "Red 2/2 failed: app.StoreTest.closes; app.StoreTest.raises"),
            (fixture!("maven-fail"), "Red 2/2 failed: app.StoreTest.closes; app.StoreTest.raises"),
            (fixture!("maven-pass"), "Green 1/0"),
        ],
    );
    check("mvn package", &[(fixture!("maven-package"), "Green ?/?")]);
}

#[test]
fn reads_other() {
    check(
        "bats test",
        &[(fixture!("bats-fail-documented"), "Red 1/1 passed: opens the store failed: closes the store")],
    );
    check(
        "ctest",
        &[
            (fixture!("ctest-empty"), "Empty ?/?"),
            (fixture!("ctest-fail"), "Red 1/2 passed: opens failed: closes_cleanly; slow"),
            (fixture!("ctest-output-on-failure"), "Red 1/1 passed: opens failed: closes_cleanly"),
            (fixture!("ctest-pass"), "Green 1/0 passed: opens"),
        ],
    );
    check(
        "dotnet test",
        &[
            (
                fixture!("dotnet-compile-error-documented"),
                "Red ?/? problems: /home/dev/project/App/Store.cs:5: CS0103: The name 'missing' does not exist in the current context",
            ),
            (fixture!("dotnet-empty-documented"), "Empty ?/?"),
            (fixture!("dotnet-fail-documented"), "Red 2/1 failed: App.Tests.StoreTests.Closes"),
            (fixture!("dotnet-pass-documented"), "Green 3/0"),
        ],
    );
    check("mix test", &[(fixture!("exunit-fail-documented"), "Red 1/1 failed: test closes cleanly (App.StoreTest)")]);
    check(
        "make test",
        &[
            (fixture!("googletest-fail-documented"), "Red 1/1 passed: Store.Opens failed: Store.Closes"),
            (fixture!("make-no-target"), "Unknown ?/?"),
            (fixture!("make-test-fail"), "Red ?/?"),
        ],
    );
    check(
        "make",
        &[(fixture!("make-build-fail"), "Red ?/? problems: a.c:1: ‘x’ undeclared (first use in this function)")],
    );
    check(
        "rake test",
        &[
            (fixture!("minitest-empty"), "Empty 0/0"),
            (fixture!("minitest-fail"), "Red 1/2 failed: StoreTest#test_closes; StoreTest#test_raises"),
            (fixture!("minitest-pass"), "Green 1/0"),
            (
                fixture!("minitest-verbose"),
                "Red 1/2 passed: StoreTest#test_opens failed: StoreTest#test_closes; StoreTest#test_raises",
            ),
        ],
    );
    check(
        "vendor/bin/pest",
        &[
            (fixture!("pest-fail-documented"), r#"Red 2/1 failed: Tests\Unit\StoreTest > it closes cleanly"#),
            (fixture!("pest-pass-documented"), "Green 1/0"),
        ],
    );
    check(
        "vendor/bin/phpunit",
        &[
            (fixture!("phpunit-empty"), "Empty ?/?"),
            (
                fixture!("phpunit-fail"),
                r#"Red 4/3 failed: App\Tests\StoreTest::testRaises; App\Tests\StoreTest::testCloses; App\Tests\StoreTest::testRows with data set "two""#,
            ),
            (fixture!("phpunit-pass"), "Green 2/0"),
            (fixture!("phpunit-testdox"), "Red 4/3"),
        ],
    );
    check(
        "bundle exec rspec",
        &[
            (fixture!("rspec-documentation"), "Red 3/1 failed: Store closes cleanly"),
            (fixture!("rspec-empty"), "Empty 0/0"),
            (fixture!("rspec-fail"), "Red 3/1 failed: Store closes cleanly"),
            (fixture!("rspec-load-error"), "Red 0/0"),
            (fixture!("rspec-pass"), "Green 2/0"),
        ],
    );
    check(
        "rubocop",
        &[(
            fixture!("rubocop-fail-documented"),
            "Red ?/? problems: lib/store.rb:3: C: [Correctable] Style/StringLiterals: Prefer single-quoted strings when you don't need string interpolation or special symbols.",
        )],
    );
    check(
        "swift test",
        &[(fixture!("swift-fail-documented"), "Red 1/1 passed: StoreTests.testOpens failed: StoreTests.testCloses")],
    );
}

/// The same outputs through a wrapper that does not name the runner give the same verdict and failures.
#[test]
fn wrappers_are_read_by_what_they_print() {
    let wrapped = recognise("make test").unwrap();
    for (line, (name, output)) in [
        ("cargo test", fixture!("cargo-test-fail")),
        ("cargo test", fixture!("cargo-test-pass")),
        ("cargo test", fixture!("cargo-test-empty")),
        ("cargo nextest run", fixture!("nextest-fail")),
        ("pytest", fixture!("pytest-fail")),
        ("pytest", fixture!("pytest-verbose")),
        ("pytest", fixture!("pytest-pass")),
        ("pytest", fixture!("pytest-empty")),
        ("python -m unittest", fixture!("unittest-verbose")),
        ("python -m unittest", fixture!("unittest-empty")),
        ("go test ./...", fixture!("go-verbose")),
        ("go test ./...", fixture!("go-pass")),
        ("go test ./...", fixture!("go-empty")),
        ("go test ./...", fixture!("go-compile-error")),
        ("npx jest", fixture!("jest-verbose")),
        ("npx jest", fixture!("jest-pass")),
        ("npx jest", fixture!("jest-empty")),
        ("npx vitest run", fixture!("vitest-fail")),
        ("npx vitest run", fixture!("vitest-pass")),
        ("npx mocha", fixture!("mocha-fail")),
        ("npx mocha", fixture!("mocha-empty")),
        ("node --test", fixture!("node-test-fail")),
        ("node --test", fixture!("node-test-spec")),
        ("bun test", fixture!("bun-fail")),
        ("bun test", fixture!("bun-pass")),
        ("bun test", fixture!("bun-empty")),
        ("deno test", fixture!("deno-fail")),
        ("deno test", fixture!("deno-pass")),
        ("mvn test", fixture!("maven-fail")),
        ("mvn test", fixture!("maven-pass")),
        ("./gradlew test", fixture!("gradle-fail-documented")),
        ("rspec", fixture!("rspec-fail")),
        ("rake test", fixture!("minitest-fail")),
        ("phpunit", fixture!("phpunit-fail")),
        ("phpunit", fixture!("phpunit-pass")),
        ("dotnet test", fixture!("dotnet-fail-documented")),
        ("ctest", fixture!("ctest-fail")),
        ("ctest", fixture!("ctest-empty")),
    ] {
        let outcome = outcome_of(output);
        let own = read(&recognise(line).unwrap(), output, outcome);
        assert_eq!(shown(&read(&wrapped, output, outcome)), shown(&own), "{name}");
    }
}

#[test]
fn the_output_decides_when_the_exit_code_is_lost() {
    for (line, outcome, output, expected) in [
        ("cargo test 2>&1 | tail -5", Outcome::Done, "test result: FAILED. 1 passed; 2 failed; 0 ignored", "Red 1/2"),
        ("cargo test | grep FAILED", Outcome::Failed, "Exit code 1", "Unknown ?/?"),
        ("cargo test", Outcome::Failed, "Exit code 1\n", "Red ?/?"),
        ("cargo test > log", Outcome::Done, "", "Green ?/?"),
        ("cargo test > log; tail log", Outcome::Done, "", "Unknown ?/?"),
        ("cargo test || true", Outcome::Done, "", "Unknown ?/?"),
        ("cargo test", Outcome::Failed, "Exit code 127\nzsh: command not found: cargo", "Unknown ?/?"),
        ("cargo test", Outcome::Failed, "Exit code 143\nCommand timed out after 2m 0.0s", "Unknown ?/?"),
        ("cd x && go test", Outcome::Failed, "Exit code 1\n(eval):cd:1: no such file or directory: x", "Unknown ?/?"),
        ("cargo test", Outcome::Interrupted, "test a ... ok\n", "Unknown 1/? passed: a"),
        ("cargo test", Outcome::Interrupted, "test a ... FAILED\n", "Red ?/1 failed: a"),
        (
            "go test ./... 2>&1 | grep FAIL",
            Outcome::Done,
            "--- FAIL: TestX (0.1s)\nFAIL\tpkg\t0.1s",
            "Red ?/1 failed: TestX",
        ),
        ("bun test 2>&1 | grep -E 'fail'", Outcome::Done, "(fail) a > b [1ms]\n 1 fail", "Red ?/1 failed: a > b"),
        (
            "bun test | tail -4",
            Outcome::Done,
            " 12 pass\n 0 fail\n 20 expect() calls\nRan 12 tests across 2 files. [1ms]",
            "Green 12/0",
        ),
        ("git stash && cargo test", Outcome::Failed, "Exit code 1\nerror: cannot stash", "Unknown ?/?"),
        (
            "cargo build && cargo test",
            Outcome::Failed,
            "Exit code 101\nerror[E0308]: mismatched\n --> src/a.rs:12:5\n",
            "Red ?/? problems: src/a.rs:12: mismatched",
        ),
        ("go build ./... 2>&1 | head -20", Outcome::Done, "", "Green ?/?"),
        ("go build ./... 2>&1 | grep x", Outcome::Done, "", "Unknown ?/?"),
        ("cargo build 2>&1 | tail -3", Outcome::Done, "    Finished `dev` profile [x] target(s) in 1s", "Green ?/?"),
        ("mise run lint 2>&1 | tail -3", Outcome::Done, "[lint:go] 0 issues.\n", "Green ?/?"),
        (
            "mise run lint | tail",
            Outcome::Done,
            "cmd/a.go:12:5: unused (unused)\n1 issues:\n",
            "Red ?/? problems: cmd/a.go:12: unused (unused)",
        ),
        ("bun run typecheck | tail -3", Outcome::Done, "$ tsc --noEmit\n", "Green ?/?"),
        (
            "bun run lint | head",
            Outcome::Done,
            "$ biome check\n at src/a.tsx:72:9 lint/x/y ━━━━\n",
            "Red ?/? problems: src/a.tsx:72: lint/x/y",
        ),
        (
            "bun run test | tail -4 && bun run lint",
            Outcome::Done,
            " 3 pass\n 0 fail\nRan 3 tests across 1 file. [1ms]\nerror: script \"lint\" exited with code 1",
            "Green 3/0",
        ),
        (
            "go test ./missing",
            Outcome::Failed,
            "Exit code 1\n# ./missing\nstat /home/dev/project/missing: directory not found\nFAIL\t./missing [setup failed]\nFAIL",
            "Unknown ?/?",
        ),
        ("npm test", Outcome::Done, "Command running in background with ID: b1", "Unknown ?/?"),
        (
            "npm test",
            Outcome::Failed,
            "Exit code 1\n\n> app@1.0.0 test\n> echo x\n\nError: no test specified",
            "Empty ?/?",
        ),
        ("make test", Outcome::Done, "make: Nothing to be done for 'test'.", "Empty ?/?"),
    ] {
        let command = recognise(line).unwrap();
        assert_eq!(shown(&read(&command, output, outcome)), expected, "{line}: {output}");
    }
}

#[test]
fn summaries_of_several_runs_add_up_and_red_wins() {
    let command = recognise("make test").unwrap();
    let (_, rust) = fixture!("cargo-test-pass");
    let (_, python) = fixture!("pytest-pass");
    let (_, jest) = fixture!("jest-verbose");
    let run = read(&command, &format!("{rust}\n{python}\n{jest}"), Outcome::Done);
    assert_eq!((run.verdict, run.passed_count, run.failed_count), (RunVerdict::Red, Some(8), Some(2)));
    assert_eq!(run.failed, ["top level", "store › closes cleanly"]);
}

#[test]
fn a_gap_loses_only_the_lines_beside_it() {
    let command = recognise("cargo test").unwrap();
    let output = "test a::whole ... FAILED\ntest a::par\n…\nt::tests::b ... ok\ntest c ... ok\n";
    assert_eq!(shown(&read(&command, output, Outcome::Done)), "Red ?/? passed: c failed: a::whole");
    let (_, whole) = fixture!("pytest-verbose");
    let command = recognise("pytest -v").unwrap();
    let full = read(&command, whole, Outcome::Failed);
    for cut in (0..whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
        for kept in
            [whole[cut..].to_string(), whole[..cut].to_string(), format!("{}\n…\n{}", &whole[..cut / 2], &whole[cut..])]
        {
            let run = read(&command, &kept, Outcome::Failed);
            let is_known = |name: &String| full.failed.contains(name) || full.passed.contains(name);
            let unknown: Vec<_> = run.failed.iter().chain(&run.passed).filter(|name| !is_known(name)).collect();
            // Truncated text has no mark at its end, so only its last line may yield another name.
            assert!(unknown.len() <= 1, "{cut}: {unknown:?}");
            assert_ne!(run.verdict, RunVerdict::Green, "{cut}");
        }
    }
}

#[test]
fn runners_have_distinct_names() {
    let mut names: Vec<&str> = Runner::ALL.iter().map(|runner| runner.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Runner::ALL.len());
}

fn is_plain(lines: &[String]) -> bool {
    lines.len() <= NAMES_MAX
        && lines
            .iter()
            .all(|line| !line.is_empty() && line.chars().count() <= NAME_CHARS_MAX && !line.contains(char::is_control))
}

/// Text that often looks like a runner's output.
fn output() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "test ",
        " ... ok",
        " ... FAILED",
        "\n",
        "\r",
        "failures:\n",
        "    ",
        "test result: ok. 1 passed; 0 failed",
        "FAILED ",
        "tests/a.py::b",
        " - ",
        "[",
        "]",
        "PASSED",
        "=== 1 failed in 0.1s ===",
        "Ran 2 tests in 1s",
        "FAILED (failures=1)",
        "--- FAIL: ",
        "ok  \tpkg",
        "FAIL\t",
        "DONE 3 tests",
        "=== FAIL: ",
        "● ",
        "✓ ",
        "✕ ",
        "FAIL ",
        "FAIL  ",
        " > ",
        "Tests: ",
        "Test Files  1 failed",
        "1 passing",
        "2 failing",
        "  1) ",
        ":",
        "# Subtest: ",
        "not ok 1 - ",
        "ok 2 - x",
        "ℹ pass 3",
        "✖ failing tests:",
        "(pass) ",
        "(fail) ",
        " 3 pass",
        "ok | 1 passed",
        "Tests run: 3, Failures: 1, Errors: 0",
        "<<< FAILURE!",
        "Time elapsed:",
        "[ERROR] ",
        "> Task ",
        "rspec a # ",
        "1) Failure:",
        "A#b",
        "OK (1 test",
        "There was 1 failure:",
        "1) A::b",
        "Failed! - ",
        "100% tests passed",
        " Test #1: a .",
        "[  FAILED  ] ",
        "error: ",
        " --> a.rs:1:2",
        "a.rs:1:2: ",
        "a.ts(1,2): error ",
        "\u{1b}[31m",
        "\u{1b}]0;",
        "\u{1b}",
        "\u{7}",
        "…",
        "\n…\n",
        "4294967296",
        "99999999999999999999",
        "é",
        "日本",
        " ",
        "Exit code 1\n",
    ]);
    let piece = prop_oneof![4 => pieces.prop_map(str::to_string), 1 => "\\PC{0,12}", 1 => "[\\x00-\\x7f]{0,8}"];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_output_is_accepted(output in output(), at in 0..Runner::ALL.len(), kind in 0..3, outcome in 0..3) {
        let command = RunCommand {
            kind: [Kind::Test, Kind::Build, Kind::Lint][kind as usize],
            runner: Runner::ALL[at],
            key: "x".to_string(),
            trust: OutcomeTrust { success: true, failure: true, silence: true },
        };
        let outcome = [Outcome::Done, Outcome::Failed, Outcome::Interrupted][outcome as usize];
        let run = read(&command, &output, outcome);
        prop_assert!(is_plain(&run.passed) && is_plain(&run.failed) && is_plain(&run.problems), "{run:?}");
        let named_red = !run.failed.is_empty() || run.failed_count.is_some_and(|count| count > 0);
        prop_assert!(!named_red || run.verdict == RunVerdict::Red, "{run:?}");
        prop_assert_eq!(&run, &read(&command, &output, outcome));
        let mut ledger = RunLedger::default();
        ledger.add(&command, &run);
        prop_assert!(run.failed.iter().all(|name| ledger.failing().any(|failing| failing == name)));
    }

    #[test]
    fn any_command_is_accepted(
        command in "\\PC{0,60}|((cargo|go|npm|run|test|pytest|bash|-c|cd|docker|exec|timeout|env|uv|&&|\\||;|'|\"|\\$\\(|\\)|<<|EOF|\n|>|-|--|[a-z./=]{0,5})[ ]{0,1}){0,20}"
    ) {
        if let Some(found) = recognise(&command) {
            prop_assert!(may_be_run(&command));
            prop_assert!(!found.key.is_empty() && found.key.chars().count() <= KEY_CHARS_MAX);
            prop_assert!(!found.key.contains(char::is_control));
        }
    }
}
