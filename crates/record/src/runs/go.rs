//! `go test` and its wrappers. Without `-v`, only failing tests are named; passing ones are reported per package.

use super::problems::is_missing_package;
use super::report::{RunReport, leading_number, sum_of, without_time};

pub(super) fn read(lines: &[&str], report: &mut RunReport) {
    let is_summed = lines.iter().any(|line| line.starts_with("DONE ") && line.contains(" test"));
    let is_missing = lines.iter().any(|line| is_missing_package(line));
    for line in lines {
        if is_missing && line.ends_with(" [setup failed]") {
            continue;
        }
        if is_summed && gotestsum(line, report) {
            continue;
        }
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix("--- FAIL: ") {
            report.fail(without_time(rest));
        } else if let Some(rest) = trimmed.strip_prefix("--- PASS: ") {
            report.pass(without_time(rest));
        } else {
            package(line, report);
        }
    }
}

/// `ok pkg 0.1s`, `FAIL pkg [build failed]`, `? pkg [no test files]`, with tabs between.
fn package(line: &str, report: &mut RunReport) {
    if let Some(rest) = line.strip_prefix("ok  \t") {
        if rest.ends_with("[no tests to run]") {
            report.empty();
        } else {
            report.green();
        }
    } else if line.starts_with("?   \t") && line.ends_with("[no test files]")
        || line == "testing: warning: no tests to run"
    {
        report.empty();
    } else if line.starts_with("FAIL\t") {
        report.red();
    } else if let Some(rest) = line.strip_prefix("Ran ") {
        ginkgo(rest, report);
    }
}

/// `DONE 3 tests, 1 skipped, 1 failure in 0.5s`, `=== FAIL: pkg TestX (0.00s)`.
fn gotestsum(line: &str, report: &mut RunReport) -> bool {
    if let Some(rest) = line.strip_prefix("DONE ") {
        let numbers = rest.rsplit_once(" in ").map_or(rest, |(numbers, _)| numbers);
        let sum = |words| sum_of(numbers, ',', words);
        if sum("error errors").is_some() {
            report.red();
        }
        let number = |words| sum(words).unwrap_or(0);
        report.count_of(number("test tests"), number("failure failures"), number("skipped"));
        return true;
    }
    if let Some(rest) = line.strip_prefix("=== FAIL: ") {
        // A package that does not build or that panics has no test name.
        match without_time(rest).rsplit_once(' ') {
            Some((_, name)) if name.starts_with("Test") || name.starts_with("Example") || name.starts_with("Fuzz") => {
                report.fail(name);
            }
            _ => report.red(),
        }
        return true;
    }
    false
}

/// `Ran 3 of 3 Specs in 0.1 seconds`; the line after it counts them.
fn ginkgo(rest: &str, report: &mut RunReport) {
    if let Some((number, rest)) = leading_number(rest)
        && rest.starts_with(" of ")
        && rest.contains(" Specs in ")
        && number == 0
    {
        report.empty();
    }
}
