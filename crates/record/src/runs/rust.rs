//! `cargo test` and `cargo nextest`: one line per test, and a summary per binary.
//!
//! Names are the path of the test without the binary's name, so that a test has the same name in both runners.

use super::report::{RunReport, SummaryWords};

const SUMMARY: SummaryWords = SummaryWords { passed: "passed", failed: "failed timed exec", others: "ignored skipped" };

pub(super) fn read(lines: &[&str], report: &mut RunReport) {
    let is_nextest = lines.iter().any(|line| is_nextest_line(line));
    let mut in_failures = false;
    for line in lines {
        // Under nextest, a failing test's own output is indented and repeats what is counted elsewhere.
        let trimmed = if is_nextest { line.trim() } else { line };
        if is_nextest && nextest(trimmed, report) {
            continue;
        }
        if is_nextest && line.starts_with("  ") {
            continue;
        }
        if trimmed == "failures:" {
            in_failures = true;
        } else if in_failures && let Some(name) = listed(trimmed) {
            report.fail(name);
        } else if !trimmed.is_empty() {
            in_failures = false;
            libtest(trimmed, report);
        }
    }
}

fn is_nextest_line(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("Nextest run ID")
        || (line.starts_with("Summary [") && line.contains(" run: "))
        || line.starts_with("PASS [")
        || line.starts_with("FAIL [")
}

/// `    store::closes`, in the list at the end.
fn listed(line: &str) -> Option<&str> {
    let name = line.strip_prefix("    ")?;
    (!name.starts_with(' ') && !name.is_empty()).then_some(name)
}

fn libtest(line: &str, report: &mut RunReport) {
    if let Some(rest) = line.strip_prefix("test result: ") {
        summary(rest, report);
    } else if let Some(rest) = line.strip_prefix("test ") {
        let Some((name, result)) = rest.rsplit_once(" ... ") else {
            return;
        };
        let name = name.strip_suffix(" - should panic").unwrap_or(name);
        match result.split(" <").next().unwrap_or(result).trim() {
            "ok" => report.pass(name),
            "FAILED" => report.fail(name),
            _ => {}
        }
    } else if let Some(name) = line.strip_suffix(" --- FAILED") {
        report.fail(name);
    } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
        report.fail(name);
    } else if line.starts_with("error: test failed") || line.starts_with("error: could not compile") {
        report.red();
    }
}

/// `FAILED. 1 passed; 2 failed; 0 ignored; …`.
fn summary(rest: &str, report: &mut RunReport) {
    let Some((_, numbers)) = rest.split_once(". ") else {
        return;
    };
    report.tally(numbers, ';', &SUMMARY);
    if rest.starts_with("FAILED") {
        report.red();
    }
}

/// Returns whether the line was nextest's own.
fn nextest(line: &str, report: &mut RunReport) -> bool {
    if let Some(rest) = line.strip_prefix("Summary [") {
        let Some((_, numbers)) = rest.split_once(" run: ") else {
            return true;
        };
        report.tally(numbers, ',', &SUMMARY);
        return true;
    }
    if line.starts_with("error: no tests to run") {
        report.empty();
        return true;
    }
    let Some((status, rest)) = line.split_once(" [") else {
        return false;
    };
    let Some((_, rest)) = rest.split_once("] ") else {
        return false;
    };
    // `(4/5) two store::closes`: the position in the run, the binary, the test.
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((_, rest)) => rest,
        None => rest,
    };
    let Some((_binary, name)) = rest.split_once(' ') else {
        return false;
    };
    let status = status.trim();
    if status == "PASS" || status.starts_with("FLAKY") || status == "LEAK" {
        report.pass(name);
    } else if matches!(status, "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL" | "XFAIL") || status.starts_with("SIG") {
        report.fail(name);
    } else {
        return false;
    }
    true
}
