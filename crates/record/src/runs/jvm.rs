//! Maven Surefire and Gradle. Names are `Class.test` and `Class > test`, as printed.

use super::report::{RunReport, leading_number, sum_of};

pub(super) fn read(lines: &[&str], report: &mut RunReport) {
    // Totals follow `Results:`. Without them, the lines of the classes are added up.
    let has_total = lines.iter().any(|line| maven_counts(line).is_some_and(|counts| counts.is_total));
    for line in lines {
        if let Some(counts) = maven_counts(line) {
            if counts.is_total == has_total {
                report.count_of(counts.run, counts.failed, counts.skipped);
            }
            continue;
        }
        maven(line, report);
        gradle(line, report);
    }
    if !report.has_failed_names() {
        listed(lines, report);
    }
}

/// `[ERROR]   StoreTest.closes:5 not closed`, in the list at the end; needed if the rest was left out.
fn listed(lines: &[&str], report: &mut RunReport) {
    let mut in_list = false;
    for line in lines {
        let Some(rest) = line.strip_prefix("[ERROR] ") else {
            in_list = false;
            continue;
        };
        if matches!(rest.trim_end(), "Failures:" | "Errors:") {
            in_list = true;
        } else if in_list
            && let Some(entry) = rest.strip_prefix("  ")
            && let Some((name, _)) = entry.split_once([':', ' '])
            && name.contains('.')
        {
            report.fail(name);
        }
    }
}

struct JvmCounts {
    run: u32,
    failed: u32,
    skipped: u32,
    is_total: bool,
}

fn unmarked(line: &str) -> &str {
    ["[INFO] ", "[ERROR] ", "[WARNING] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim_start()
}

/// `Tests run: 3, Failures: 1, Errors: 0, Skipped: 0`, followed by the class, or by nothing in a total.
fn maven_counts(line: &str) -> Option<JvmCounts> {
    let rest = unmarked(line).strip_prefix("Tests run: ")?;
    let (run, mut rest) = leading_number(rest)?;
    let mut number = |name: &str| -> Option<u32> {
        let (number, after) = leading_number(rest.strip_prefix(name)?)?;
        rest = after;
        Some(number)
    };
    let failures = number(", Failures: ")?;
    let errors = number(", Errors: ")?;
    let skipped = number(", Skipped: ").unwrap_or(0);
    Some(JvmCounts { run, failed: failures.saturating_add(errors), skipped, is_total: rest.is_empty() })
}

fn maven(line: &str, report: &mut RunReport) {
    let trimmed = unmarked(line);
    if trimmed.starts_with("No tests to run")
        || trimmed.starts_with("No tests were executed")
        || trimmed.contains("No tests matching pattern")
    {
        report.empty();
    } else if trimmed.starts_with("COMPILATION ERROR") {
        report.red();
    } else if trimmed.ends_with("<<< FAILURE!") || trimmed.ends_with("<<< ERROR!") {
        if let Some(name) = maven_name(trimmed) {
            report.fail(&name);
        }
    } else if line.starts_with("[ERROR] Failed to execute goal") {
        let found_none = trimmed.contains("No tests were executed");
        if found_none {
            report.empty();
        } else {
            report.red();
        }
    }
}

/// `closes(app.StoreTest)  Time elapsed: …` and, later, `app.StoreTest.closes -- Time elapsed: …`: `app.StoreTest.closes`.
fn maven_name(trimmed: &str) -> Option<String> {
    let name = trimmed.split_once("Time elapsed:")?.0.trim().trim_end_matches("--").trim();
    if name.is_empty() || name.starts_with("Tests run") {
        return None;
    }
    match name.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((test, class)) if class.contains('.') || !class.is_empty() && class.starts_with(char::is_uppercase) => {
            Some(format!("{class}.{test}"))
        }
        _ => Some(name.to_string()),
    }
}

fn gradle(line: &str, report: &mut RunReport) {
    if line.starts_with("> Task ") {
        if line.ends_with(" FAILED") {
            report.red();
        } else if line.ends_with(":test NO-SOURCE") {
            report.empty();
        } else if line.ends_with(":test UP-TO-DATE") || line.ends_with(":test FROM-CACHE") {
            report.green();
        }
    } else if let Some(name) = line.strip_suffix(" FAILED").filter(|name| name.contains(" > ")) {
        report.fail(name);
    } else if let Some(name) = line.strip_suffix(" PASSED").filter(|name| name.contains(" > ")) {
        report.pass(name);
    } else if line.starts_with("No tests found for given includes") {
        report.empty();
    } else if let Some((completed, rest)) = leading_number(line)
        && let Some(rest) = rest.strip_prefix(" tests completed").or(rest.strip_prefix(" test completed"))
    {
        let number = |word| sum_of(rest, ',', word).unwrap_or(0);
        report.count_of(completed, number("failed"), number("skipped"));
    } else if line.starts_with("BUILD FAILED") {
        report.red();
    }
}
