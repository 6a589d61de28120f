//! Is the task done? A context may say so; only the user's check, run by us, or a second context makes it so.

use super::failure::Exit;
use super::settings::Completion;
use crate::clean::text::line;
use crate::extract::runs::{self, Command, Kind, Runner, Trust, Verdict};
use crate::model::event::Outcome;

/// What the user's check said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    Passed,
    /// It ended well, but tested nothing.
    NoTests,
    Failed {
        words: String,
    },
}

const WORDS_CHARS_MAX: usize = 200;

impl Completion {
    /// Where a phrase is agreed upon, the check only confirms what was claimed.
    pub fn wants_check(&self, claimed: bool) -> bool {
        self.check.is_some() && (self.phrase.is_none() || claimed)
    }

    /// Does the last line of these words say the agreed phrase, and nothing else? Speaking of it is no claim.
    pub fn is_claimed(&self, last_words: &str) -> bool {
        let Some(phrase) = self.phrase.as_deref() else { return false };
        let bare = |text: &str| text.trim().trim_matches(['*', '_', '`', '#', '>', '.', '!', ' ']).to_string();
        let last = last_words.lines().rev().map(bare).find(|line| !line.is_empty());
        last.is_some_and(|last| last == bare(phrase) || last == phrase.trim())
    }
}

/// What came of the check. A green exit counts only when what was run did not say that it tested nothing.
pub fn judge(command: &str, exit: Exit, output: &str) -> Checked {
    if !exit.is_success() {
        let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let words = line(&format!("{}: {last}", exit.words()), WORDS_CHARS_MAX);
        return Checked::Failed { words: words.trim_end_matches([':', ' ']).to_string() };
    }
    // A script's output may still be that of a test runner: it is read as one that could be anybody's.
    let script = || Command {
        kind: Kind::Test,
        runner: Runner::Script,
        key: String::new(),
        trust: Trust { success: true, failure: true, silence: true },
    };
    let run = runs::recognise(command).filter(|run| run.kind == Kind::Test).unwrap_or_else(script);
    match runs::read(&run, output, Outcome::Done).verdict {
        Verdict::Empty => Checked::NoTests,
        Verdict::Red => Checked::Failed { words: "it ended well, but tests failed in it".to_string() },
        Verdict::Green | Verdict::Unknown => Checked::Passed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speaking_of_the_phrase_is_no_claim() {
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
        let failed = |words: &str| Checked::Failed { words: words.to_string() };
        for (command, exit, output, expected) in [
            ("cargo test", Exit::Code(0), cargo_green, Checked::Passed),
            ("cargo test", Exit::Code(0), cargo_empty, Checked::NoTests),
            ("./check.sh", Exit::Code(0), cargo_empty, Checked::NoTests),
            ("./check.sh", Exit::Code(0), cargo_green, Checked::Passed),
            ("./check.sh", Exit::Code(0), "", Checked::Passed),
            ("test -f done.txt", Exit::Code(0), "", Checked::Passed),
            ("test -f done.txt", Exit::Code(1), "", failed("exit 1")),
            ("pytest", Exit::Code(0), "collected 0 items\n\n=== no tests ran in 0.01s ===", Checked::NoTests),
            ("make", Exit::Signal(9), "x\nkilled\n", failed("signal 9: killed")),
        ] {
            assert_eq!(judge(command, exit, output), expected, "{command} {output}");
        }
    }
}
