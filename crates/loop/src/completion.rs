//! Is the task done? A context may claim it. Only the user's check, or a second context, confirms it.

use cerberus_record::clean::text::line;
use cerberus_record::event::Outcome;
use cerberus_record::runs::{self, Kind, OutcomeTrust, RunCommand, RunVerdict, Runner};

use super::failure::ProgramExit;
use super::settings::Completion;

/// The result of the user's check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionCheck {
    Passed,
    /// It exited successfully but ran no tests.
    NoTests,
    Failed {
        words: String,
    },
    /// It passed, but files of its own were changed since the loop began. `is_told` if a context already heard so.
    Changed {
        files: Vec<String>,
        is_told: bool,
    },
}

const WORDS_CHARS_MAX: usize = 200;

impl Completion {
    /// If a phrase is configured, the check runs only to confirm a claim.
    pub fn wants_check(&self, claimed: bool) -> bool {
        self.check.is_some() && (self.phrase.is_none() || claimed)
    }

    /// Whether the last line of the message is exactly the configured phrase. Mentioning it is not a claim.
    pub fn is_claimed(&self, last_message: &str) -> bool {
        let Some(phrase) = self.phrase.as_deref() else { return false };
        let bare = |text: &str| text.trim().trim_matches(['*', '_', '`', '#', '>', '.', '!', ' ']).to_string();
        let last = last_message.lines().rev().map(bare).find(|line| !line.is_empty());
        last.is_some_and(|last| last == bare(phrase) || last == phrase.trim())
    }
}

/// Judges the check. A successful exit counts only if the output does not show that no test ran.
pub fn judge(command: &str, exit: ProgramExit, output: &str) -> CompletionCheck {
    if !exit.is_success() {
        let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let words = line(&format!("{}: {last}", exit.words()), WORDS_CHARS_MAX);
        return CompletionCheck::Failed { words: words.trim_end_matches([':', ' ']).to_string() };
    }
    match runs::read(&as_test_run(command), output, Outcome::Done).verdict {
        RunVerdict::Empty => CompletionCheck::NoTests,
        RunVerdict::Red => {
            CompletionCheck::Failed { words: "it exited successfully, but some tests failed".to_string() }
        }
        RunVerdict::Green | RunVerdict::Unknown => CompletionCheck::Passed,
    }
}

/// The check as a test run. A script's output may still come from a test runner, so it is parsed as one.
pub(super) fn as_test_run(command: &str) -> RunCommand {
    let script = || RunCommand {
        kind: Kind::Test,
        runner: Runner::Script,
        key: String::new(),
        trust: OutcomeTrust { success: true, failure: true, silence: true },
    };
    runs::recognise(command).filter(|run| run.kind == Kind::Test).unwrap_or_else(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentioning_the_phrase_is_not_a_claim() {
        let completion = Completion { phrase: Some("ALL DONE".to_string()), ..Completion::default() };
        for (words, is_claimed) in [
            ("ALL DONE", true),
            ("Everything passes.\n\n**ALL DONE**\n", true),
            ("> ALL DONE.\n", true),
            ("I will say ALL DONE when it is", false),
            ("ALL DONE\nexcept for the tests", false),
            ("all done", false),
            ("", false),
        ] {
            assert_eq!(completion.is_claimed(words), is_claimed, "{words:?}");
        }
        assert!(!Completion::default().is_claimed(""));
    }

    #[test]
    fn a_check_that_tested_nothing_does_not_pass() {
        let cargo_empty =
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let cargo_green = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let failed = |words: &str| CompletionCheck::Failed { words: words.to_string() };
        for (command, exit, output, expected) in [
            ("cargo test", ProgramExit::Code(0), cargo_green, CompletionCheck::Passed),
            ("cargo test", ProgramExit::Code(0), cargo_empty, CompletionCheck::NoTests),
            ("./check.sh", ProgramExit::Code(0), cargo_empty, CompletionCheck::NoTests),
            ("./check.sh", ProgramExit::Code(0), cargo_green, CompletionCheck::Passed),
            ("./check.sh", ProgramExit::Code(0), "", CompletionCheck::Passed),
            ("test -f done.txt", ProgramExit::Code(0), "", CompletionCheck::Passed),
            ("test -f done.txt", ProgramExit::Code(1), "", failed("exit 1")),
            (
                "pytest",
                ProgramExit::Code(0),
                "collected 0 items\n\n=== no tests ran in 0.01s ===",
                CompletionCheck::NoTests,
            ),
            ("make", ProgramExit::Signal(9), "x\nkilled\n", failed("signal 9: killed")),
        ] {
            assert_eq!(judge(command, exit, output), expected, "{command} {output}");
        }
    }
}
