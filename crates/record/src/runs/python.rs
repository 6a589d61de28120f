//! pytest and unittest. Names are pytest's node ids, and `module.Class.test` for unittest.

use super::report::{RunReport, SummaryWords, leading_number};

pub(super) fn read(lines: &[&str], report: &mut RunReport) {
    let mut ran: Option<u32> = None;
    for line in lines {
        let line = line.trim();
        if pytest_result(line, report) || pytest_summary(line, report) {
            continue;
        }
        unittest(line, &mut ran, report);
    }
}

/// `FAILED a.py::b - why`, `a.py::b PASSED [ 50%]`, `[gw0] [ 50%] PASSED a.py::b`.
fn pytest_result(line: &str, report: &mut RunReport) -> bool {
    let mut rest = line;
    while let Some(after) = rest.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        rest = after.1;
    }
    for (word, is_failure) in [("FAILED ", true), ("ERROR ", true), ("PASSED ", false)] {
        if let Some(id) = rest.strip_prefix(word).map(node_id).filter(|id| is_node_id(id)) {
            report.named(id, is_failure);
            return true;
        }
    }
    let line = without_percentage(line);
    for (word, is_failure) in [(" PASSED", false), (" FAILED", true), (" ERROR", true)] {
        if let Some(id) = line.strip_suffix(word).map(str::trim_end).filter(|id| is_node_id(id)) {
            report.named(id, is_failure);
            return true;
        }
    }
    false
}

/// The id before ` - why`. The parameters of an id may contain that separator too.
fn node_id(text: &str) -> &str {
    let dash = text.find(" - ");
    let end = match (text.find('['), dash) {
        (Some(open), Some(dash)) if open < dash => text.find("] - ").map(|close| close + 1),
        _ => dash,
    };
    match end {
        Some(end) => text[..end].trim(),
        None => text.trim(),
    }
}

fn is_node_id(id: &str) -> bool {
    let path = id.split("::").next().unwrap_or(id);
    !path.contains(' ') && (path.ends_with(".py") || (id.contains("::") && !path.is_empty() && path.contains('.')))
}

fn without_percentage(line: &str) -> &str {
    match line.strip_suffix("%]").and_then(|rest| rest.rsplit_once('[')) {
        Some((before, percent)) if percent.trim().bytes().all(|byte| byte.is_ascii_digit()) => before.trim_end(),
        _ => line,
    }
}

/// `=== 1 failed, 2 passed in 0.12s ===`, and with `-q` the same without the rule.
fn pytest_summary(line: &str, report: &mut RunReport) -> bool {
    let trimmed = line.trim_matches('=').trim();
    if trimmed.starts_with("no tests ran in ") || trimmed.starts_with("no tests collected") {
        report.empty();
        return true;
    }
    if trimmed == "FAILURES" || (line.starts_with("!!!") && trimmed.contains("Interrupted")) {
        report.red();
        return true;
    }
    let Some((numbers, time)) = trimmed.rsplit_once(" in ") else {
        return false;
    };
    let is_summary = time.starts_with(|c: char| c.is_ascii_digit())
        && numbers.split(", ").all(|part| leading_number(part).is_some_and(|(_, word)| word.starts_with(' ')));
    if !is_summary {
        return false;
    }
    report.tally(numbers, ',', &SUMMARY)
}

const SUMMARY: SummaryWords = SummaryWords {
    passed: "passed xfailed xpassed",
    failed: "failed error errors",
    others: "skipped deselected warning warnings rerun",
};

/// `FAIL: test_x (mod.Class.test_x)`, `test_x (mod.Class.test_x) ... ok`, and `Ran 3 tests`, `FAILED (errors=1)`.
fn unittest(line: &str, ran: &mut Option<u32>, report: &mut RunReport) {
    if let Some(rest) = line.strip_prefix("Ran ")
        && let Some((number, rest)) = leading_number(rest)
        && (rest.starts_with(" test ") || rest.starts_with(" tests "))
        && rest.contains(" in ")
    {
        *ran = Some(number);
        return;
    }
    if let Some(outcome) = summary_words(line)
        && let Some(number) = ran.take()
    {
        let (mut failed, mut other) = (0u32, 0u32);
        for part in outcome.split(", ") {
            let Some((what, count)) = part.split_once('=') else {
                continue;
            };
            let count = count.parse().unwrap_or(0);
            match what {
                "failures" | "errors" | "unexpected successes" => failed = failed.saturating_add(count),
                "skipped" => other = other.saturating_add(count),
                _ => {}
            }
        }
        report.count_of(number, failed, other);
        return;
    }
    for prefix in ["FAIL: ", "ERROR: "] {
        if let Some(name) = line.strip_prefix(prefix).and_then(case_name) {
            report.fail(&name);
            return;
        }
    }
    if let Some((case, result)) = line.rsplit_once(" ... ")
        && let Some(name) = case_name(case)
    {
        match result {
            "ok" => report.pass(&name),
            "FAIL" | "ERROR" => report.fail(&name),
            _ => {}
        }
    }
}

/// The part in parentheses of `OK (skipped=1)`, `FAILED (failures=1)`, `NO TESTS RAN`.
fn summary_words(line: &str) -> Option<&str> {
    let rest = ["OK", "FAILED", "NO TESTS RAN"].iter().find_map(|word| line.strip_prefix(word))?;
    if rest.is_empty() {
        return Some("");
    }
    rest.strip_prefix(" (")?.strip_suffix(')')
}

/// `test_x (mod.Class.test_x)`, before Python 3.11 `test_x (mod.Class)`: `mod.Class.test_x`.
fn case_name(case: &str) -> Option<String> {
    let (name, class) = case.split_once(" (")?;
    let class = class.split(')').next()?;
    if name.contains(' ') || class.is_empty() || class.contains(' ') || !class.contains('.') {
        return None;
    }
    if class.ends_with(&format!(".{name}")) {
        return Some(class.to_string());
    }
    Some(format!("{class}.{name}"))
}
