//! Output of wrappers (`make test`, `npm test`, `./dev/test`): the runner is only known from the output.
//!
//! Every family reads it, and each takes only lines in its own format, so that nothing is counted twice.

use super::report::RunReport;
use super::scripts::task_kind;
use super::{Family, Kind, go, javascript, jvm, other, python, rust};

pub(super) fn read(lines: &[&str], report: &mut RunReport) {
    [Family::Rust, Family::Python, Family::Go, Family::Jvm, Family::JavaScript, Family::Other]
        .into_iter()
        .for_each(|family| read_as(family, lines, report));
    if lines.iter().any(|line| is_nothing(line)) {
        report.empty();
    }
    if lines.iter().any(|line| says_failed(line)) {
        report.red();
    }
}

/// Reads only what one family prints, if it is there at all.
pub(super) fn read_as(family: Family, lines: &[&str], report: &mut RunReport) {
    match family {
        Family::Rust if has(lines, &["test result: ", "Nextest run ID", "test "]) => rust::read(lines, report),
        Family::Python => python::read(lines, report),
        Family::Go => go::read(lines, report),
        Family::Jvm if has(lines, &["Tests run: ", "> Task ", "BUILD FAILED", "COMPILATION ERROR"]) => {
            jvm::read(lines, report);
        }
        Family::JavaScript => {
            if let Some(runner) = javascript::detect(lines) {
                javascript::read(runner, lines, report);
            }
        }
        Family::Other => other::read(lines, report),
        _ => {}
    }
}

/// The wrapper itself reports that there are no tests.
fn is_nothing(line: &str) -> bool {
    (line.starts_with("make") && line.contains("Nothing to be done for")) || line == "Error: no test specified"
}

/// The wrapper itself reports that what it ran has failed.
fn says_failed(line: &str) -> bool {
    (line.starts_with("make") && line.contains(": *** ["))
        || failed_script(line).is_some_and(|script| task_kind(script) == Some(Kind::Test))
        || line.starts_with("npm ERR! Test failed")
        || line.trim_start().starts_with("evaluation failed :(")
}

fn has(lines: &[&str], begins: &[&str]) -> bool {
    lines.iter().any(|line| {
        let line = line.trim_start();
        let line =
            ["[INFO] ", "[ERROR] ", "[WARNING] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        begins.iter().any(|begin| line.starts_with(begin))
    })
}

/// The script in `error: script "test" exited with code 1`. A failure of another script on the same line is not this
/// run's.
fn failed_script(line: &str) -> Option<&str> {
    let (script, rest) = line.strip_prefix("error: script \"")?.split_once('"')?;
    rest.starts_with(" exited with code ").then_some(script)
}
