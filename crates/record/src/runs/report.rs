//! Reduces the output of a run: plain lines, the findings of the parsers, and the verdict.

use super::{NAME_CHARS_MAX, NAMES_MAX, OutcomeTrust, Run, RunVerdict, Runner};
use crate::clean::text;
use crate::event::Outcome;
use crate::words::is_one_of;

/// How the line with the command ended.
pub(super) struct LineEnding {
    pub(super) outcome: Outcome,
    pub(super) exit_code: Option<u32>,
    pub(super) trust: OutcomeTrust,
    pub(super) is_silent: bool,
    /// The shell or a wrapper reports that the command was never run.
    pub(super) did_not_happen: bool,
}

impl LineEnding {
    /// The exit code means that the command failed, not that it was missing, was killed, or that something else
    /// failed.
    fn indicates_failure(&self) -> bool {
        let is_own = !matches!(self.exit_code, Some(124 | 126 | 127 | 130 | 137 | 143));
        self.outcome == Outcome::Failed && self.trust.failure && is_own && !self.did_not_happen
    }

    /// It ended and printed nothing.
    fn is_silent(&self) -> bool {
        self.outcome == Outcome::Done && self.is_silent && self.trust.silence
    }

    fn indicates_success(&self) -> bool {
        self.outcome == Outcome::Done && self.trust.success && !self.did_not_happen
    }
}

/// The findings of the parsers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RunReport {
    pub(super) passed: Vec<String>,
    pub(super) failed: Vec<String>,
    /// From summaries, which are added up.
    pub(super) passed_count: Option<u32>,
    pub(super) failed_count: Option<u32>,
    /// Lines that name a test, for runners without a summary.
    pub(super) passed_lines: u32,
    pub(super) failed_lines: u32,
    pub(super) problems: Vec<String>,
    pub(super) is_red: bool,
    pub(super) is_green: bool,
    pub(super) is_empty: bool,
    /// The middle of the output was left out, so line counts are meaningless.
    pub(super) is_cut: bool,
}

/// The words by which a runner counts, separated by blanks.
pub(super) struct SummaryWords {
    pub(super) passed: &'static str,
    pub(super) failed: &'static str,
    pub(super) others: &'static str,
}

impl RunReport {
    pub fn pass(&mut self, name: &str) {
        self.passed_lines = self.passed_lines.saturating_add(1);
        add(&mut self.passed, name);
    }

    pub fn fail(&mut self, name: &str) {
        if add(&mut self.failed, name) {
            self.failed_lines = self.failed_lines.saturating_add(1);
        }
        self.is_red = true;
    }

    /// The counts of a summary. Several summaries are added up.
    pub fn count(&mut self, passed: u32, failed: u32) {
        self.passed_count = Some(self.passed_count.unwrap_or(0).saturating_add(passed));
        self.failed_count = Some(self.failed_count.unwrap_or(0).saturating_add(failed));
    }

    /// The counts of a summary that says how many ran, and how many of these failed or were skipped.
    pub fn count_of(&mut self, ran: u32, failed: u32, skipped: u32) {
        self.count(ran.saturating_sub(failed).saturating_sub(skipped), failed);
    }

    /// The counts of a summary such as `2 failed, 3 passed, 1 skipped`, by its words. Returns whether it has any of them.
    pub fn tally(&mut self, numbers: &str, separator: char, words: &SummaryWords) -> bool {
        let [passed, failed, others] =
            [words.passed, words.failed, words.others].map(|words| sum_of(numbers, separator, words));
        let is_summary = passed.or(failed).or(others).is_some();
        if is_summary {
            self.count(passed.unwrap_or(0), failed.unwrap_or(0));
        }
        is_summary
    }

    /// What two lines, `3 pass` and `1 fail`, say together.
    pub fn pass_and_fail(&mut self, passed: Option<u32>, failed: Option<u32>) {
        match (passed, failed) {
            // If only the failures passed a filter, that does not mean that nothing passed.
            (None, Some(0)) => self.green(),
            (None, Some(_)) => self.red(),
            (Some(passed), failed) => self.count(passed, failed.unwrap_or(0)),
            (None, None) => {}
        }
    }

    /// A line that names a test and its result.
    pub fn named(&mut self, name: &str, is_failure: bool) {
        if is_failure { self.fail(name) } else { self.pass(name) }
    }

    pub fn problem(&mut self, problem: &str) {
        add(&mut self.problems, problem);
    }

    /// Something failed, with or without a name.
    pub fn red(&mut self) {
        self.is_red = true;
    }

    /// A success message without names or counts.
    pub fn green(&mut self) {
        self.is_green = true;
    }

    /// The runner reports that there was nothing to run.
    pub fn empty(&mut self) {
        self.is_empty = true;
    }

    pub fn has_failed_names(&self) -> bool {
        !self.failed.is_empty()
    }

    pub fn has_tests(&self) -> bool {
        self.passed_lines > 0 || self.failed_lines > 0 || self.passed_count.is_some() || self.failed_count.is_some()
    }

    pub(super) fn failed_any(&self) -> bool {
        self.is_red || !self.failed.is_empty() || self.failed_count.is_some_and(|count| count > 0)
    }

    pub(super) fn passed_any(&self) -> bool {
        self.is_green || self.passed_lines > 0 || self.passed_count.is_some_and(|count| count > 0)
    }

    pub(super) fn test_verdict(&self, ending: &LineEnding) -> RunVerdict {
        let passed_any = self.passed_any();
        if self.failed_any() {
            RunVerdict::Red
        } else if ending.outcome == Outcome::Interrupted {
            RunVerdict::Unknown
        } else if passed_any && ending.indicates_failure() {
            RunVerdict::Red
        } else if passed_any {
            RunVerdict::Green
        } else if self.is_empty || self.has_tests() {
            RunVerdict::Empty
        } else if ending.indicates_failure() {
            RunVerdict::Red
        } else if ending.indicates_success() {
            RunVerdict::Green
        } else {
            RunVerdict::Unknown
        }
    }

    pub(super) fn check_verdict(&self, ending: &LineEnding, runner: Runner) -> RunVerdict {
        if self.failed_any() || ending.indicates_failure() {
            RunVerdict::Red
        } else if ending.outcome == Outcome::Interrupted || ending.did_not_happen {
            RunVerdict::Unknown
        } else if self.is_green || ending.indicates_success() || (ending.is_silent() && is_quiet(runner)) {
            RunVerdict::Green
        } else {
            RunVerdict::Unknown
        }
    }

    pub(super) fn finish(mut self, verdict: RunVerdict) -> Run {
        let failed = &self.failed;
        self.passed.retain(|name| !failed.contains(name));
        let by_lines = |lines: u32| (lines > 0 && !self.is_cut).then_some(lines);
        Run {
            verdict,
            passed_count: self.passed_count.or(by_lines(self.passed_lines)),
            failed_count: self.failed_count.or(by_lines(self.failed_lines)),
            passed: self.passed,
            failed: self.failed,
            problems: self.problems,
        }
    }
}

/// Tools that print nothing on success.
fn is_quiet(runner: Runner) -> bool {
    matches!(
        runner,
        Runner::Go
            | Runner::Tsc
            | Runner::Eslint
            | Runner::Flake8
            | Runner::Gofmt
            | Runner::Staticcheck
            | Runner::Rustfmt
            | Runner::GolangciLint
    )
}

/// Returns whether the name was new and there was room.
fn add(names: &mut Vec<String>, name: &str) -> bool {
    if names.len() >= NAMES_MAX {
        return false;
    }
    let name = text::line(name, NAME_CHARS_MAX);
    let is_new = !name.is_empty() && !names.contains(&name);
    if is_new {
        names.push(name);
    }
    is_new
}

/// The number at the beginning of `text`, and the rest.
pub(super) fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// How many `2 failed, 3 passed, 1 skipped` counts of any of these words; `None` if it has none of them.
pub(super) fn sum_of(text: &str, separator: char, words: &str) -> Option<u32> {
    let count = |part: &str| {
        let (number, word) = leading_number(part.trim())?;
        let word = word.strip_prefix(' ')?.trim();
        is_one_of(word.split(' ').next().unwrap_or(word), words).then_some(number)
    };
    text.split(separator).filter_map(count).reduce(u32::saturating_add)
}

/// Removes the time a runner prints after a name: `(2 ms)`, `[0.5ms]`, ` 12ms`, `(0.00s)`.
pub(super) fn without_time(name: &str) -> &str {
    let name = name.trim_end();
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some(inside) = name.strip_suffix(close)
            && let Some((before, time)) = inside.rsplit_once(open)
            && is_time(time)
        {
            return before.trim_end();
        }
    }
    match name.rsplit_once(' ') {
        Some((before, time)) if is_time(time) && !time.contains(' ') => before.trim_end(),
        _ => name,
    }
}

fn is_time(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    unit.len() < text.len() && matches!(unit.trim_start(), "ms" | "s" | "µs" | "μs" | "ns" | "m" | "sec" | "seconds")
}

/// The indentation of a line, and its text.
pub(super) fn indented(line: &str) -> (usize, &str) {
    let trimmed = line.trim_start();
    (line.len() - trimmed.len(), trimmed)
}
