//! Reads the output of a run: its plain lines, what the parsers of its family find in them, and the verdict.

use std::borrow::Cow;

use super::report::{LineEnding, RunReport};
use super::{
    Family, Kind, Run, RunCommand, RunVerdict, Runner, go, javascript, jvm, other, problems, python, recognise, rust,
    wrapper,
};
use crate::clean::text;
use crate::event::Outcome;

/// No summary needs more output than this; of longer output, both ends are read.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// Longer lines are data.
const LINE_BYTES_MAX: usize = 2000;

/// The result of `command`, from its output and its outcome.
pub fn read(command: &RunCommand, output: &str, outcome: Outcome) -> Run {
    let plain = plain(output, OUTPUT_BYTES_MAX);
    let (exit_code, lines) = lines(&plain);
    let mut report = RunReport { is_cut: lines.iter().any(|line| is_gap(line)), ..RunReport::default() };
    let lines = without_edges(lines);
    parse(command.runner, &lines, &mut report);
    // A test's own output may look like a compiler's. It counts only if no test ran, and decides nothing.
    let (was_red, was_green) = (report.is_red, report.is_green);
    if command.kind != Kind::Test {
        problems::read(&lines, &mut report);
    } else if !report.has_tests() {
        problems::read(&lines, &mut report);
        (report.is_red, report.is_green) = (was_red, was_green);
    }
    let ending = LineEnding {
        outcome,
        exit_code,
        trust: command.trust,
        is_silent: lines.iter().all(|line| line.trim().is_empty() || echoed(line).is_some()),
        did_not_happen: lines.iter().any(|line| problems::did_not_happen(line)),
    };
    let verdict = match command.kind {
        Kind::Test => report.test_verdict(&ending),
        Kind::Build | Kind::Lint => {
            // A package manager prints which tool it runs.
            let echoed = lines.iter().find_map(|line| recognise(echoed(line)?));
            report.check_verdict(&ending, echoed.map_or(command.runner, |echoed| echoed.runner))
        }
    };
    if command.kind == Kind::Test && verdict != RunVerdict::Red {
        report.problems.clear();
    }
    report.finish(verdict)
}

/// The families of which an output shows passing tests, and no failing ones.
pub(super) fn passed_families(output: &str) -> Vec<Family> {
    let plain = plain(output, OUTPUT_BYTES_MAX);
    let lines = without_edges(lines(&plain).1);
    let families = [Family::Rust, Family::Python, Family::JavaScript, Family::Go, Family::Jvm];
    let has_passed = |family: &Family| {
        let mut report = RunReport::default();
        wrapper::read_as(*family, &lines, &mut report);
        report.passed_any() && !report.failed_any()
    };
    families.into_iter().filter(has_passed).collect()
}

/// The run that a task runner says it started.
pub(super) fn echoed_run(output: &str) -> Option<RunCommand> {
    let plain = plain(output, OUTPUT_BYTES_MAX);
    lines(&plain).1.into_iter().find_map(|line| recognise(echoed(line)?))
}

/// Whether a line names a test and its result, or sums up a run.
pub fn is_test_output(line: &str) -> bool {
    let mut report = RunReport::default();
    wrapper::read(&[line], &mut report);
    report.has_tests()
}

pub(super) fn parse(runner: Runner, lines: &[&str], report: &mut RunReport) {
    match runner.family() {
        Family::Rust => rust::read(lines, report),
        Family::Python => python::read(lines, report),
        Family::JavaScript => javascript::read(runner, lines, report),
        Family::Go => go::read(lines, report),
        Family::Jvm => jvm::read(lines, report),
        Family::Other => other::read(lines, report),
        Family::Any => wrapper::read(lines, report),
    }
}

/// The lines of an output that the parser of the run understands, alone or together with the line before, and the exit
/// code. Everything else may come from another program.
pub(super) fn own_lines(command: &RunCommand, output: &str) -> String {
    let plain = plain(output, OUTPUT_BYTES_MAX);
    let (exit_code, lines) = lines(&plain);
    let understood = |lines: &[&str]| {
        let mut report = RunReport::default();
        parse(command.runner, lines, &mut report);
        problems::read(lines, &mut report);
        report
    };
    let mut kept = vec![false; lines.len()];
    let mut problems_before = 0;
    for at in 0..lines.len() {
        let own = if lines[at].trim().is_empty() { RunReport::default() } else { understood(&lines[at..=at]) };
        kept[at] |= own != RunReport::default() || is_gap(lines[at]) || problems::did_not_happen(lines[at]);
        if at > 0 && understood(&lines[at - 1..=at]).problems.len() > problems_before + own.problems.len() {
            (kept[at - 1], kept[at]) = (true, true);
        }
        problems_before = own.problems.len();
    }
    let head = exit_code.map(|code| format!("Exit code {code}"));
    let own = lines.iter().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(line, _)| line.to_string());
    head.into_iter().chain(own).collect::<Vec<_>>().join("\n")
}

/// The output without terminal sequences, and without its middle if it is too long.
pub(super) fn plain(output: &str, bytes_max: usize) -> Cow<'_, str> {
    let bounded = if output.len() > bytes_max {
        let half = bytes_max / 2;
        Cow::Owned(format!("{}\n…\n{}", text::clip(output, half), text::clip_front(output, half)))
    } else {
        Cow::Borrowed(output)
    };
    if bounded.contains('\u{1b}') { Cow::Owned(without_sequences(&bounded)) } else { bounded }
}

/// Removes `ESC [ … letter`, `ESC ] … BEL` and `ESC x`.
fn without_sequences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = match after.as_bytes().first() {
            Some(b'[') => {
                let end = after[1..].find(|c: char| ('@'..='~').contains(&c) || c == '\n');
                match end {
                    Some(end) if !after[1 + end..].starts_with('\n') => &after[2 + end..],
                    Some(end) => &after[1 + end..],
                    None => "",
                }
            }
            Some(b']') => match after.find(['\u{7}', '\n']) {
                Some(end) if after[end..].starts_with('\u{7}') => &after[end + 1..],
                Some(end) => &after[end..],
                None => "",
            },
            Some(b'(' | b')') => after.get(2..).unwrap_or_default(),
            Some(b'\n') | None => after,
            Some(_) => {
                let first = after.chars().next().map_or(0, char::len_utf8);
                &after[first..]
            }
        };
    }
    out.push_str(rest);
    out
}

/// The exit code at the head of a failed command's output, and the lines after it without the prefixes of task
/// runners.
pub(super) fn lines(plain: &str) -> (Option<u32>, Vec<&str>) {
    let mut lines: Vec<&str> =
        plain.split(['\n', '\r']).map(|line| unprefixed(text::clip(line, LINE_BYTES_MAX).trim_end())).collect();
    let exit_code = lines.first().and_then(|line| line.strip_prefix("Exit code ")).and_then(|code| code.parse().ok());
    if exit_code.is_some() {
        lines.remove(0);
    }
    (exit_code, lines)
}

/// Removes the prefix of a task runner (`[lint:go] 0 issues.`) or a monorepo tool (`web:test: ✓ a`).
fn unprefixed(line: &str) -> &str {
    if let Some(inside) = line.strip_prefix('[')
        && let Some((task, rest)) = inside.split_once("] ")
        && !task.is_empty()
        && task.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b':' | b'-' | b'_'))
        && !matches!(task, "warn" | "error" | "info")
    {
        return rest;
    }
    if let Some((task, rest)) = line.split_once(": ")
        && (task.ends_with(":test") || task.ends_with(":build") || task.ends_with(":lint"))
        && !task.contains([' ', '/'])
    {
        return rest;
    }
    line
}

/// The command in `$ tsc --noEmit`, as printed by package managers and task runners.
pub(super) fn echoed(line: &str) -> Option<&str> {
    line.strip_prefix("$ ").or_else(|| line.strip_prefix("> "))
}

/// A mark that something was left out: ours, or that of the agents' tools.
pub(super) fn is_gap(line: &str) -> bool {
    let line = line.trim();
    line == "…" || (line.starts_with("... [") && line.ends_with("truncated] ..."))
}

/// Lines next to a gap are cut, and a truncated name would be another name.
fn without_edges(lines: Vec<&str>) -> Vec<&str> {
    if !lines.iter().any(|line| is_gap(line)) {
        return lines;
    }
    let at_gap: Vec<bool> = lines.iter().map(|line| is_gap(line)).collect();
    let beside = |index: usize| at_gap.get(index).copied().unwrap_or(false);
    lines
        .into_iter()
        .enumerate()
        .filter(|(index, _)| !(beside(*index) || beside(index + 1) || (*index > 0 && beside(index - 1))))
        .map(|(_, line)| line)
        .collect()
}
