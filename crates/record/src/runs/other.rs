//! Ruby, PHP, .NET, C and C++, Swift, Elixir: runners with their own summary line and a list of failures.

use super::javascript::tap;
use super::report::{RunReport, SummaryWords, leading_number, sum_of, without_time};

pub(super) fn read(lines: &[&str], report: &mut RunReport) {
    let mut state = OtherReportState::default();
    for line in lines {
        let line = *line;
        if ruby(line, &mut state, report) || php(line, &mut state, report) {
            continue;
        }
        dotnet(line, report);
        ctest(line, &mut state, report);
        gtest(line, report);
        xctest(line, report);
        exunit(line, &mut state, report);
    }
    if lines.iter().any(|line| is_tap_plan(line)) {
        tap(lines, report);
    }
    if !lines.iter().any(|line| *line == "FAILURES!" || *line == "ERRORS!") && !state.is_phpunit {
        return;
    }
    phpunit_failures(lines, report);
}

#[derive(Default)]
struct OtherReportState {
    /// The next line names a test, after minitest's `1) Failure:`.
    is_named_next: bool,
    in_ctest_list: bool,
    is_phpunit: bool,
    is_exunit: bool,
}

/// `1..3` and nothing else.
fn is_tap_plan(line: &str) -> bool {
    line.strip_prefix("1..").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn ruby(line: &str, state: &mut OtherReportState, report: &mut RunReport) -> bool {
    if std::mem::take(&mut state.is_named_next) {
        let name = line.trim_end_matches(':');
        let name = name.split(" [").next().unwrap_or(name);
        if name.contains('#') && !name.contains(' ') {
            report.fail(name);
            return true;
        }
    }
    if let Some(rest) = line.strip_prefix("rspec ") {
        if let Some((_, name)) = rest.split_once(" # ") {
            report.fail(name);
            return true;
        }
    } else if matches!(line, "Failure:" | "Error:") || line.ends_with(") Failure:") || line.ends_with(") Error:") {
        state.is_named_next = true;
        return true;
    } else if line.starts_with("An error occurred while loading ") {
        report.red();
        return true;
    } else if let Some((name, rest)) = line.split_once(" = ")
        && name.contains('#')
        && !name.contains(' ')
        && let Some((_, result)) = rest.rsplit_once(" = ")
    {
        match result {
            "." => report.pass(name),
            "F" | "E" => report.fail(name),
            _ => {}
        }
        return true;
    }
    ruby_summary(line, report)
}

/// `5 examples, 1 failure, 1 pending`; `3 runs, 1 assertions, 1 failures, 1 errors, 0 skips`.
fn ruby_summary(line: &str, report: &mut RunReport) -> bool {
    let Some((ran, rest)) = leading_number(line) else {
        return false;
    };
    let is_rspec = rest.starts_with(" examples, ") || rest.starts_with(" example, ");
    let is_minitest = (rest.starts_with(" runs, ") || rest.starts_with(" tests, ")) && rest.contains(" assertions, ");
    if !is_rspec && !is_minitest {
        return false;
    }
    let sum = |words| sum_of(line, ',', words).unwrap_or(0);
    if is_rspec && sum("error errors") > 0 {
        report.red();
    }
    let failed = sum(if is_minitest { "failure failures error errors" } else { "failure failures" });
    report.count_of(ran, failed, sum("pending skips pendings omissions"));
    true
}

fn php(line: &str, state: &mut OtherReportState, report: &mut RunReport) -> bool {
    if line.starts_with("PHPUnit ") {
        state.is_phpunit = true;
    } else if let Some(rest) = line.strip_prefix("OK (") {
        if let Some((ran, rest)) = leading_number(rest)
            && rest.starts_with(" test")
            && rest.contains("assertion")
        {
            report.count(ran, 0);
            return true;
        }
    } else if line == "No tests executed!" {
        report.empty();
        return true;
    } else if let Some(rest) = line.strip_prefix("Tests: ").filter(|rest| rest.contains("Assertions: ")) {
        let number = |name: &str| {
            rest.split(", ")
                .find_map(|part| part.trim_end_matches('.').strip_prefix(name)?.strip_prefix(": ")?.parse::<u32>().ok())
                .unwrap_or(0)
        };
        let failed = number("Errors").saturating_add(number("Failures"));
        let not_run = number("Skipped").saturating_add(number("Incomplete"));
        let ran = leading_number(rest).map_or(0, |(ran, _)| ran);
        report.count_of(ran, failed, not_run);
        return true;
    } else {
        return pest(line, report);
    }
    false
}

/// `   FAILED  Tests\Unit\ATest > it adds`, `  Tests:    1 failed, 2 passed (3 assertions)`.
fn pest(line: &str, report: &mut RunReport) -> bool {
    let trimmed = line.trim_start();
    if let Some(name) = trimmed.strip_prefix("FAILED  ").filter(|name| name.contains(" > ")) {
        report.fail(name.split("  ").next().unwrap_or(name));
        return true;
    }
    if let Some(rest) = trimmed.strip_prefix("Tests:  ").filter(|rest| rest.contains("assertion")) {
        report.tally(rest, ',', &SummaryWords { passed: "passed", failed: "failed", others: "skipped" });
        return true;
    }
    false
}

/// `1) App\Tests\StoreTest::testCloses`, in the lists before the summary.
fn phpunit_failures(lines: &[&str], report: &mut RunReport) {
    let mut in_list = false;
    for line in lines {
        if line.starts_with("There was 1 ") || line.starts_with("There were ") {
            in_list = line.ends_with("error:")
                || line.ends_with("errors:")
                || line.ends_with("failure:")
                || line.ends_with("failures:");
        } else if in_list
            && let Some((_, rest)) = leading_number(line)
            && let Some(name) = rest.strip_prefix(") ").filter(|name| name.contains("::"))
        {
            // The values of a data set follow its name in brackets.
            let name = match name.split_once(" with data set ") {
                Some((_, _)) => name.rsplit_once(" (").map_or(name, |(name, _)| name),
                None => name,
            };
            report.fail(name);
        }
    }
}

/// `Failed!  - Failed:     1, Passed:     2, Skipped: …`; `  Failed App.Tests.Closes [5 ms]`; `Total tests: 3`.
fn dotnet(line: &str, report: &mut RunReport) {
    let trimmed = line.trim_start();
    if let Some(numbers) = trimmed.strip_prefix("Failed!  - ").or_else(|| trimmed.strip_prefix("Passed!  - ")) {
        let number = |name: &str| {
            numbers.split(',').find_map(|part| part.trim().strip_prefix(name)?.trim().parse::<u32>().ok()).unwrap_or(0)
        };
        report.count(number("Passed:"), number("Failed:"));
    } else if let Some(name) = trimmed.strip_prefix("Failed ").filter(|name| without_time(name) != *name) {
        report.fail(dotnet_name(name));
    } else if let Some(name) = trimmed.strip_prefix("Passed ").filter(|name| without_time(name) != *name) {
        report.pass(dotnet_name(name));
    } else if trimmed.starts_with("No test is available in ")
        || trimmed.starts_with("No test matches the given testcase filter")
    {
        report.empty();
    } else if line == "Test Run Failed." || line == "Build FAILED." {
        report.red();
    } else if line == "Test Run Successful." {
        report.green();
    }
}

fn dotnet_name(name: &str) -> &str {
    without_time(name).trim_end_matches("[< 1 ms]").trim_end()
}

/// `2/3 Test #2: closes ....***Failed  0.00 sec`, and the list of failures at the end.
fn ctest(line: &str, state: &mut OtherReportState, report: &mut RunReport) {
    if line.starts_with("The following tests FAILED:") {
        state.in_ctest_list = true;
        report.red();
    } else if line == "No tests were found!!!" {
        report.empty();
    } else if let Some((percent, rest)) = line.split_once("% tests passed")
        && leading_number(percent.trim()).is_some()
        && let Some((rest, total)) = rest.rsplit_once(" out of ")
        && let Ok(total) = total.trim().parse::<u32>()
    {
        let failed = rest.strip_prefix(", ").and_then(leading_number).map_or(0, |(failed, _)| failed);
        report.count_of(total, failed, 0);
    } else if let Some((_, rest)) = line.split_once(" Test #")
        && let Some((_, rest)) = rest.split_once(": ")
        && let Some((name, result)) = rest.split_once(" .")
    {
        if result.contains("   Passed") {
            report.pass(name.trim());
        } else if result.contains("***") && !result.contains("***Skipped") && !result.contains("***Not Run (Disabled)")
        {
            report.fail(name.trim());
        }
    } else if state.in_ctest_list {
        let trimmed = line.trim();
        match leading_number(trimmed).and_then(|(_, rest)| rest.strip_prefix(" - ")) {
            Some(rest) => report.fail(rest.rsplit_once(" (").map_or(rest, |(name, _)| name)),
            None => state.in_ctest_list = false,
        }
    }
}

/// `[       OK ] Suite.Name (0 ms)`, `[  FAILED  ] Suite.Name`, `[  PASSED  ] 3 tests.`
fn gtest(line: &str, report: &mut RunReport) {
    if let Some(rest) = line.strip_prefix("[       OK ] ") {
        report.pass(without_time(rest));
    } else if let Some(rest) = line.strip_prefix("[  FAILED  ] ") {
        let is_count = leading_number(rest).is_some_and(|(_, rest)| rest.starts_with(" test"));
        if is_count {
            report.red();
        } else {
            let name = rest.split(", where ").next().unwrap_or(rest);
            report.fail(without_time(name));
        }
    } else if let Some(rest) = line.strip_prefix("[  PASSED  ] ")
        && let Some((number, _)) = leading_number(rest)
    {
        if number == 0 {
            report.empty();
        } else {
            report.green();
        }
    }
}

/// `Test Case '-[Tests.Store testOpens]' passed (0.1 seconds).`; swift-testing's `✘ Test closes() failed after …`.
fn xctest(line: &str, report: &mut RunReport) {
    if let Some(rest) = line.strip_prefix("Test Case '")
        && let Some((name, result)) = rest.split_once("' ")
    {
        if result.starts_with("passed") {
            report.pass(name);
        } else if result.starts_with("failed") {
            report.fail(name);
        }
        return;
    }
    let trimmed = line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    if let Some(rest) = trimmed.strip_prefix("Test ")
        && !rest.starts_with("run ")
    {
        if let Some((name, _)) = rest.split_once(" failed after ") {
            report.fail(name.trim_matches('"'));
        } else if let Some((name, _)) = rest.split_once(" passed after ") {
            report.pass(name.trim_matches('"'));
        }
    }
}

/// `  1) test closes (App.StoreTest)`, `3 tests, 1 failure`.
fn exunit(line: &str, state: &mut OtherReportState, report: &mut RunReport) {
    if line.starts_with("Running ExUnit with seed") {
        state.is_exunit = true;
    } else if state.is_exunit
        && let Some((_, rest)) = leading_number(line.trim_start())
        && let Some(name) =
            rest.strip_prefix(") ").filter(|name| name.starts_with("test ") || name.starts_with("property "))
    {
        report.fail(name);
    } else if let Some((ran, rest)) = leading_number(line)
        && (rest.starts_with(" tests, ") || rest.starts_with(" test, "))
        && rest.contains(" failure")
    {
        report.count_of(ran, sum_of(line, ',', "failure failures").unwrap_or(0), 0);
    }
}
