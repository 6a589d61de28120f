//! jest, vitest, mocha, `node --test`, bun, deno. Suites and tests are joined the way each runner prints them: `suite
//! › name`, `file > suite > name`. If a runner prints a tree, they are joined with ` › `.

use super::Runner;
use super::report::{RunReport, SummaryWords, indented, leading_number, sum_of, without_time};

/// Nobody nests suites deeper than this.
const DEPTH_MAX: usize = 16;
const PASS_MARKS: [char; 2] = ['✓', '✔'];
const FAIL_MARKS: [char; 6] = ['✕', '✗', '×', '✖', '✘', '⨯'];

pub(super) fn read(runner: Runner, lines: &[&str], report: &mut RunReport) {
    match runner {
        Runner::Jest => jest(lines, report),
        Runner::Vitest => vitest(lines, report),
        Runner::Mocha => mocha(lines, report),
        Runner::Node => {
            tap(lines, report);
            node_spec(lines, report);
        }
        Runner::Bun => bun(lines, report),
        Runner::Deno => deno(lines, report),
        Runner::Playwright => playwright(lines, report),
        _ => {}
    }
}

/// Identifies the runner by a line that only one of them prints.
pub(super) fn detect(lines: &[&str]) -> Option<Runner> {
    lines.iter().find_map(|line| {
        let trimmed = line.trim_start();
        let number = leading_number(trimmed).map(|(_, rest)| rest);
        if trimmed.starts_with("Test Suites: ") || trimmed.starts_with("No tests found, exiting") {
            Some(Runner::Jest)
        } else if trimmed.starts_with("Test Files  ")
            || trimmed.starts_with("No test files found, exiting")
            || trimmed.starts_with("FAIL  ")
        {
            Some(Runner::Vitest)
        } else if number.is_some_and(|rest| rest == " passing" || rest.starts_with(" passing (")) {
            Some(Runner::Mocha)
        } else if trimmed.starts_with("ℹ tests ") || trimmed == "TAP version 13" || line.starts_with("# tests ") {
            Some(Runner::Node)
        } else if trimmed.starts_with("bun test v")
            || trimmed.starts_with("(fail) ")
            || trimmed.starts_with("(pass) ")
            || (trimmed.starts_with("Ran ") && trimmed.contains(" across "))
            || number.is_some_and(|rest| rest == " pass" || rest == " fail")
        {
            Some(Runner::Bun)
        } else if trimmed.starts_with("ok | ")
            || trimmed.starts_with("FAILED | ")
            || trimmed.starts_with("error: No test modules found")
        {
            Some(Runner::Deno)
        } else if trimmed.starts_with("Running ") && trimmed.contains(" using ") && trimmed.contains(" worker") {
            Some(Runner::Playwright)
        } else {
            None
        }
    })
}

const SUMMARY: SummaryWords =
    SummaryWords { passed: "passed", failed: "failed", others: "skipped todo pending total flaky" };

/// The text after one of `marks`.
fn marked<'a>(trimmed: &'a str, marks: &[char]) -> Option<&'a str> {
    Some(trimmed.strip_prefix(|c| marks.contains(&c))?.strip_prefix(' ')?.trim())
}

/// Suites by indentation, for runners that print a tree.
#[derive(Default)]
struct Tree<'a> {
    suites: Vec<(usize, &'a str)>,
}

impl<'a> Tree<'a> {
    fn enter(&mut self, indent: usize, suite: &'a str) {
        self.suites.retain(|(at, _)| *at < indent);
        if self.suites.len() < DEPTH_MAX {
            self.suites.push((indent, suite));
        }
    }

    fn name(&self, indent: usize, test: &str) -> String {
        let mut name = String::new();
        for (_, suite) in self.suites.iter().filter(|(at, _)| *at < indent) {
            name.push_str(suite);
            name.push_str(" › ");
        }
        name.push_str(without_time(test));
        name
    }
}

fn jest(lines: &[&str], report: &mut RunReport) {
    let mut tree: Option<Tree> = None;
    for line in lines {
        let (indent, trimmed) = indented(line);
        if indent == 0 && (trimmed.starts_with("PASS ") || trimmed.starts_with("FAIL ")) {
            tree = Some(Tree::default());
            if trimmed.starts_with("FAIL ") {
                report.red();
            }
        } else if trimmed.is_empty() {
            tree = None;
        } else if let Some(rest) = line.strip_prefix("Tests:") {
            report.tally(rest, ',', &SUMMARY);
        } else if trimmed.starts_with("No tests found") {
            report.empty();
        } else if let Some(name) = line.strip_prefix("  ● ") {
            if name == "Test suite failed to run" {
                report.red();
            } else if !name.ends_with("Console") {
                report.fail(name);
            }
        } else if let Some(tree) = &mut tree {
            if let Some(test) = marked(trimmed, &PASS_MARKS) {
                report.pass(&tree.name(indent, test));
            } else if let Some(test) = marked(trimmed, &FAIL_MARKS) {
                report.fail(&tree.name(indent, test));
            } else if indent >= 2 && !trimmed.starts_with(['○', '✎']) {
                tree.enter(indent, trimmed);
            }
        }
    }
}

fn vitest(lines: &[&str], report: &mut RunReport) {
    // The list of failures has full names; the tree above it only parts of them.
    let has_list = lines.iter().any(|line| vitest_failure(line).is_some());
    let mut file = "";
    for line in lines {
        let trimmed = line.trim_start();
        if let Some(name) = vitest_failure(line) {
            match name.split_once(" > ") {
                Some(_) => report.fail(name),
                None => report.red(),
            }
        } else if let Some(rest) = trimmed.strip_prefix("Tests  ") {
            report.tally(rest.split('(').next().unwrap_or(rest), '|', &SUMMARY);
        } else if let Some(rest) = trimmed.strip_prefix("Test Files  ") {
            if sum_of(rest, '|', "failed").is_some_and(|number| number > 0) {
                report.red();
            }
        } else if trimmed.starts_with("No test files found") {
            report.empty();
        } else if let Some(rest) = trimmed.strip_prefix("❯ ") {
            file = rest.split(" (").next().unwrap_or(rest);
        } else if let Some(name) = marked(trimmed, &PASS_MARKS).filter(|name| name.contains(" > ")) {
            report.pass(&vitest_name(file, name));
        } else if let Some(name) = marked(trimmed, &['×']) {
            if has_list {
                report.red();
            } else {
                report.fail(&vitest_name(file, name));
            }
        }
    }
}

/// ` FAIL  file > suite > name`. The name of a project may precede it, between bars.
fn vitest_failure(line: &str) -> Option<&str> {
    let name = line.trim_start().strip_prefix("FAIL  ")?.trim();
    match name.strip_prefix('|').and_then(|rest| rest.split_once("| ")) {
        Some((_, name)) => Some(name.trim()),
        None => Some(name),
    }
}

fn vitest_name(file: &str, name: &str) -> String {
    let name = without_time(name);
    let first = name.split(" > ").next().unwrap_or(name);
    if file.is_empty() || (first.contains('.') && !first.contains(' ')) {
        name.to_string()
    } else {
        format!("{file} > {name}")
    }
}

fn mocha(lines: &[&str], report: &mut RunReport) {
    let mut tree = Tree::default();
    let mut is_over = false;
    let (mut passed, mut failed) = (None, None);
    let mut details: Option<Vec<&str>> = None;
    for line in lines {
        let (indent, trimmed) = indented(line);
        match leading_number(trimmed) {
            Some((number, rest)) if rest == " passing" || rest.starts_with(" passing (") => {
                is_over = true;
                passed = Some(number);
                continue;
            }
            Some((number, " failing")) => {
                failed = Some(number);
                continue;
            }
            // `  1) suite`, then deeper lines; the last one is the test, with a colon.
            Some((_, rest)) if is_over && indent == 2 && rest.starts_with(") ") => {
                details = Some(vec![rest[2..].trim()]);
            }
            _ if details.is_some() && indent > 2 && !trimmed.is_empty() => {
                if let Some(titles) = details.as_mut().filter(|titles| titles.len() < DEPTH_MAX) {
                    titles.push(trimmed);
                }
            }
            _ if is_over => details = None,
            _ if indent >= 2 => match marked(trimmed, &PASS_MARKS) {
                Some(test) => report.pass(&tree.name(indent, test)),
                None if !trimmed.is_empty() => tree.enter(indent, trimmed),
                None => {}
            },
            _ => {}
        }
        if let Some(titles) = &details
            && let Some(last) = titles.last().and_then(|title| title.strip_suffix(':'))
        {
            let before = &titles[..titles.len() - 1];
            let name: Vec<&str> = before.iter().copied().chain([last]).collect();
            report.fail(&name.join(" › "));
            details = None;
        }
    }
    if passed.is_some() || failed.is_some() {
        report.count(passed.unwrap_or(0), failed.unwrap_or(0));
    }
}

/// The summary of `node --test`, in both formats.
fn node_count(line: &str) -> Option<(&str, u32)> {
    let rest = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# "))?;
    let (what, number) = rest.split_once(' ')?;
    Some((what, number.parse().ok()?))
}

fn node_spec(lines: &[&str], report: &mut RunReport) {
    let mut tree = Tree::default();
    let (mut passed, mut failed) = (None, None);
    let mut at_list = lines.len();
    for (index, line) in lines.iter().enumerate() {
        let (indent, trimmed) = indented(line);
        match node_count(line) {
            Some(("pass", number)) => passed = Some(number),
            Some(("fail" | "cancelled", number)) => failed = Some(failed.unwrap_or(0) + number),
            _ => {}
        }
        if *line == "✖ failing tests:" {
            at_list = index;
            break;
        }
        if let Some(suite) = trimmed.strip_prefix("▶ ") {
            tree.enter(indent, without_time(suite));
            continue;
        }
        let (test, is_failure) = match (marked(trimmed, &PASS_MARKS), marked(trimmed, &['✖'])) {
            (Some(test), _) => (test, false),
            (None, Some(test)) => (test, true),
            (None, None) => continue,
        };
        // A suite's own result is printed at the suite's indentation.
        if tree.suites.last().is_some_and(|(at, suite)| *at == indent && *suite == without_time(test)) {
            tree.suites.pop();
        } else {
            report.named(&tree.name(indent, test), is_failure);
        }
    }
    report.pass_and_fail(passed, failed);
    if !report.has_failed_names() {
        for line in &lines[at_list.min(lines.len())..] {
            if let Some(test) = marked(line, &['✖']).filter(|test| *test != "failing tests:") {
                report.fail(without_time(test));
            }
        }
    }
}

/// The Test Anything Protocol. A suite is a result that follows results with deeper indentation.
pub(super) fn tap(lines: &[&str], report: &mut RunReport) {
    let mut open: Vec<(usize, &str, bool)> = Vec::new();
    for line in lines {
        let (indent, trimmed) = indented(line);
        if let Some(name) = trimmed.strip_prefix("# Subtest: ") {
            open.retain(|(at, _, _)| *at < indent);
            if open.len() < DEPTH_MAX {
                open.push((indent, name, false));
            }
            continue;
        }
        let (is_failure, rest) = match (trimmed.strip_prefix("not ok "), trimmed.strip_prefix("ok ")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => continue,
        };
        let Some((_, rest)) = leading_number(rest) else {
            continue;
        };
        let name = rest.trim_start_matches([' ', '-']).trim();
        let is_suite = open.iter().any(|(at, _, has_results)| *at == indent && *has_results);
        for (at, _, has_results) in &mut open {
            *has_results |= *at < indent;
        }
        let (name, directive) = name.split_once(" # ").unwrap_or((name, ""));
        let mut whole = String::new();
        for (_, suite, _) in open.iter().filter(|(at, _, _)| *at < indent) {
            whole.push_str(suite);
            whole.push_str(" › ");
        }
        whole.push_str(name);
        if is_suite || !directive.is_empty() || name.is_empty() {
            continue;
        }
        report.named(&whole, is_failure);
    }
    if lines.contains(&"1..0") {
        report.empty();
    }
}

fn bun(lines: &[&str], report: &mut RunReport) {
    let (mut passed, mut failed) = (None, None);
    for line in lines {
        let trimmed = line.trim_start();
        if let Some(name) = trimmed.strip_prefix("(pass) ") {
            report.pass(without_time(name));
        } else if let Some(name) = trimmed.strip_prefix("(fail) ") {
            report.fail(without_time(name));
        } else if let Some(name) = marked(line, &PASS_MARKS).filter(|name| without_time(name) != *name) {
            report.pass(without_time(name));
        } else if let Some(name) = marked(line, &['✗']).filter(|name| without_time(name) != *name) {
            report.fail(without_time(name));
        } else if line.starts_with("Test filter ") && line.ends_with("had no matches")
            || (line.starts_with("error: regex ") && line.contains("matched 0 tests"))
        {
            report.empty();
        } else if line.starts_with(' ') {
            match leading_number(trimmed) {
                Some((number, " pass")) => passed = Some(number),
                Some((number, " fail")) => failed = Some(number),
                _ => {}
            }
        }
    }
    if (passed, failed) == (None, Some(0)) && lines.iter().any(|line| line.starts_with("Ran 0 tests")) {
        return report.empty();
    }
    report.pass_and_fail(passed, failed);
}

fn deno(lines: &[&str], report: &mut RunReport) {
    for line in lines {
        if let Some(rest) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | ")) {
            report.tally(rest.rsplit_once(" (").map_or(rest, |(numbers, _)| numbers), '|', &SUMMARY);
        } else if line.starts_with("error: No test modules found") {
            report.empty();
        } else if !line.starts_with(' ')
            && let Some((name, result)) = line.split_once(" ... ")
        {
            if result.starts_with("ok (") {
                report.pass(name);
            } else if result.starts_with("FAILED") {
                report.fail(name);
            }
        } else if line.starts_with("error: Type checking failed") || line.starts_with("error: Test failed") {
            report.red();
        }
    }
}

/// `  ✓  1 [chromium] › a.spec.ts:3:1 › adds (1s)`, and `  2 passed (3s)` at the end.
fn playwright(lines: &[&str], report: &mut RunReport) {
    let (mut passed, mut failed) = (None, None);
    for line in lines {
        let trimmed = line.trim_start();
        if let Some((number, rest)) = leading_number(trimmed) {
            match rest.split(" (").next() {
                Some(" passed") => passed = Some(number),
                Some(" failed") => failed = Some(number),
                _ => {}
            }
            if let Some(name) = rest.strip_prefix(") ").filter(|name| name.contains(" › ")) {
                report.fail(name.trim_end_matches([' ', '─']));
            }
        } else if let Some(rest) = marked(trimmed, &PASS_MARKS) {
            let name = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            report.pass(without_time(name));
        }
    }
    if passed.is_some() || failed.is_some() {
        report.count(passed.unwrap_or(0), failed.unwrap_or(0));
    }
}
