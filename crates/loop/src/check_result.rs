//! The record of one run of the user's check: what the next context is told, and what the history shows.

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::clip_front;
use cerberus_record::event::Outcome;
use cerberus_record::runs;
use serde::{Deserialize, Serialize};

use super::completion::{CompletionCheck, as_test_run};
use super::texts::{OneLine, Passage};

/// How the check ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    pub command: OneLine,
    pub passed: bool,
    /// The context had reported that everything is done.
    #[serde(default)]
    pub claimed: bool,
    /// Why it did not pass; empty if it did.
    #[serde(default)]
    pub words: OneLine,
    /// Failing tests, or else messages of the compiler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<OneLine>,
    /// The check's own files that changed since the loop began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<OneLine>,
    /// The end of its output.
    #[serde(default)]
    pub output: Passage,
}

const NAMES_MAX: usize = 20;
const LINES_MAX: usize = 40;
const OUTPUT_BYTES_MAX: usize = 4_000;
/// Read beyond what is kept, so that no secret survives by crossing the edge.
const READ_BYTES_MAX: usize = 16_000;

impl CheckResult {
    pub fn new(
        cleaner: &Cleaner,
        command: &str,
        checked: &CompletionCheck,
        output: &str,
        claimed: bool,
        changed: &[String],
    ) -> CheckResult {
        let one_line = |text: &str| OneLine::new(cleaner, text);
        let passed = *checked == CompletionCheck::Passed;
        let words = match checked {
            CompletionCheck::Passed => String::new(),
            CompletionCheck::NoTests => "it succeeded, but ran no tests".to_string(),
            CompletionCheck::Failed { words } => words.clone(),
            CompletionCheck::Changed { .. } => {
                "it succeeded, but it is not the check that the loop began with".to_string()
            }
        };
        let run = runs::read(&as_test_run(command), output, Outcome::Failed);
        let names = if run.failed.is_empty() { run.problems } else { run.failed };
        let failing = names.iter().take(if passed { 0 } else { NAMES_MAX }).map(|name| one_line(name)).collect();
        CheckResult {
            command: one_line(command),
            passed,
            claimed,
            words: one_line(&words),
            failing,
            changed: changed.iter().map(|path| one_line(path)).collect(),
            output: if passed { Passage::default() } else { end(cleaner, output) },
        }
    }

    /// Without anything that the check printed or the user wrote.
    pub fn without_texts(&self) -> CheckResult {
        CheckResult {
            command: OneLine::default(),
            words: OneLine::default(),
            failing: Vec::new(),
            changed: Vec::new(),
            output: Passage::default(),
            ..*self
        }
    }
}

/// The last lines, without secrets and blank lines.
fn end(cleaner: &Cleaner, output: &str) -> Passage {
    let clean = Passage::new(cleaner, clip_front(output, READ_BYTES_MAX));
    let lines: Vec<&str> = clean.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES_MAX)..].join("\n");
    let kept = clip_front(&last, OUTPUT_BYTES_MAX);
    // A line that was cut says less than none.
    let kept = if kept.len() < last.len() { kept.split_once('\n').map_or(kept, |(_, rest)| rest) } else { kept };
    Passage::new(cleaner, kept)
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    #[test]
    fn a_failed_check_keeps_its_tests_and_the_end_of_its_output() {
        let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
        let noise: String = (0..2_000).map(|n| format!("noise {n}\n")).collect();
        let output = format!(
            "{noise}test parser::deep ... FAILED\ntest parser::flat ... ok\n\nwith {key}\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
        );
        let failed = CompletionCheck::Failed { words: format!("exit 101: {key}") };
        let result = CheckResult::new(&BUILT_IN, "cargo test", &failed, &output, true, &["x.sh".to_string()]);
        let failing: Vec<&str> = result.failing.iter().map(|name| &**name).collect();
        assert_eq!((failing, result.passed, result.claimed), (vec!["parser::deep"], false, true));
        assert!(result.output.ends_with("0 filtered out") && result.output.len() <= OUTPUT_BYTES_MAX);
        assert!(result.output.contains("test parser::deep ... FAILED") && result.output.lines().count() <= LINES_MAX);
        let text = serde_json::to_string(&result).unwrap();
        assert!(!text.contains(key) && text.contains("[redacted:"), "{text}");
        assert_eq!(serde_json::from_str::<CheckResult>(&text).unwrap(), result);
        let bare = result.without_texts();
        assert_eq!((bare.passed, bare.claimed, &*bare.output, bare.failing.len()), (false, true, "", 0));
    }

    #[test]
    fn what_passed_is_not_quoted() {
        let result = CheckResult::new(&BUILT_IN, "x", &CompletionCheck::Passed, "lots of text", false, &[]);
        assert_eq!((&*result.output, &*result.words, result.passed), ("", "", true));
        let long = "y".repeat(20_000);
        let failed = CompletionCheck::Failed { words: String::new() };
        assert!(CheckResult::new(&BUILT_IN, "x", &failed, &long, false, &[]).output.len() <= OUTPUT_BYTES_MAX);
    }
}
