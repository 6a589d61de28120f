//! A fact worth carrying over: its kind, its code and the full text.
//!
//! A code is one line, starts with the prefix of its kind and keeps case. Codes made from sentences have no spaces;
//! codes of files and functions are the unchanged name.

use serde::{Deserialize, Serialize};

use crate::clean::text::{line, name, phrase};

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FactKind {
        File = "file",
        Read = "read",
        Function = "function",
        Decision = "decision",
        Blocker = "blocker",
        Next = "next",
        Done = "done",
        Test = "test",
        Commit = "commit",
        /// A pull or merge request that was opened.
        PullRequest = "pull_request",
        /// A push, a tag, a release or a deployment.
        Step = "step",
        Objective = "objective",
        Note = "note",
        /// The last request of the person, in a brief.
        Last = "last",
        /// An earlier request, in a brief.
        Asked = "asked",
        /// The agent's own words, in a brief.
        Said = "said",
        /// The state of the repository, in a brief.
        Git = "git",
        /// A session that is at work in another window, in a brief.
        Live = "live",
    }
}

impl FactKind {
    /// The prefix of its codes.
    pub const fn prefix(self) -> &'static str {
        match self {
            FactKind::File | FactKind::Function => "impl:",
            FactKind::Read => "see:",
            FactKind::Decision => "dec:",
            FactKind::Blocker => "block:",
            FactKind::Next => "next:",
            FactKind::Done => "done:",
            FactKind::Test => "test:",
            FactKind::Commit => "commit:",
            FactKind::PullRequest => "pull:",
            FactKind::Step => "step:",
            FactKind::Objective => "goal:",
            FactKind::Note => "note:",
            FactKind::Last => "last:",
            FactKind::Asked => "asked:",
            FactKind::Said => "said:",
            FactKind::Git => "git:",
            FactKind::Live => "live:",
        }
    }
}

/// Codes are cut to this length; the full sentence is kept as the text.
const CODE_CHARS_MAX: usize = 100;
pub const TEXT_CHARS_MAX: usize = 500;
/// What stands between a question and its answer.
pub const ANSWERED: &str = " → ";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    pub kind: FactKind,
    pub code: String,
    pub text: String,
    pub path: Option<String>,
    /// The agent's own name for it. A later event of the same session closes it by this name.
    pub reference: Option<String>,
    pub severity: Option<Severity>,
    /// The reason for a decision. It is also part of the text.
    pub why: Option<String>,
    pub custom_key: Option<String>,
}

impl Fact {
    /// A file that was edited or read.
    pub fn file(kind: FactKind, path: &str) -> Fact {
        let shown = name(path);
        Fact {
            path: Some(path.to_string()),
            ..Fact::plain(kind, [kind.prefix(), &shown].concat(), line(path, TEXT_CHARS_MAX))
        }
    }

    /// A function or type, optionally with its file.
    pub fn function(function: &str, path: Option<&str>) -> Fact {
        let code = [FactKind::Function.prefix(), &name(function)].concat();
        Fact { path: path.map(str::to_string), ..Fact::plain(FactKind::Function, code, line(function, TEXT_CHARS_MAX)) }
    }

    /// A sentence. Text that is already a code of this kind stays that code.
    pub fn words(kind: FactKind, text: &str) -> Fact {
        let words = text.trim().strip_prefix(kind.prefix()).unwrap_or(text);
        Fact::plain(kind, format!("{}{}", kind.prefix(), phrase(words, CODE_CHARS_MAX)), line(text, TEXT_CHARS_MAX))
    }

    pub fn decision(choice: &str, why: Option<&str>) -> Fact {
        let mut fact = Fact::words(FactKind::Decision, choice);
        if let Some(why) = why.map(str::trim).filter(|why| !why.is_empty()) {
            let reason = phrase(why, CODE_CHARS_MAX.saturating_sub(fact.code.chars().count()).max(20));
            fact.code = format!("{} - {reason}", fact.code);
            fact.why = Some(line(why, TEXT_CHARS_MAX));
            fact.text = line(&format!("{}: {why}", fact.text), TEXT_CHARS_MAX);
        }
        fact
    }

    /// What the person answered to a question: the question, [`ANSWERED`], the answer.
    pub fn answer(question: &str, answer: &str) -> Fact {
        let chosen = phrase(answer, CODE_CHARS_MAX);
        let asked = phrase(question, CODE_CHARS_MAX.saturating_sub(chosen.chars().count()).max(40));
        // The end of a long question asks.
        let answer = line(answer.trim(), TEXT_CHARS_MAX / 2);
        let whole = question.trim();
        let room = TEXT_CHARS_MAX - answer.chars().count() - ANSWERED.chars().count();
        let start = whole.chars().count().saturating_sub(room);
        let start = whole.char_indices().nth(start).map_or(0, |(at, _)| at);
        let text = line(&format!("{}{ANSWERED}{answer}", &whole[start..]), TEXT_CHARS_MAX);
        let code = format!("{}{asked}{ANSWERED}{chosen}", FactKind::Decision.prefix());
        Fact { why: Some(line(question, TEXT_CHARS_MAX)), ..Fact::plain(FactKind::Decision, code, text) }
    }

    /// `block:type:description`. Text that already names its type (`block:race:…`) keeps it.
    pub fn blocker(text: &str, sort: Option<&str>) -> Fact {
        let mut fact = Fact::words(FactKind::Blocker, text);
        if !text.trim_start().starts_with(FactKind::Blocker.prefix()) {
            let sort = phrase(sort.unwrap_or("issue"), 20).replace(':', "-");
            fact.code =
                format!("{}{sort}:{}", FactKind::Blocker.prefix(), &fact.code[FactKind::Blocker.prefix().len()..]);
        }
        fact
    }

    fn plain(kind: FactKind, code: String, text: String) -> Fact {
        Fact { kind, code, text, path: None, reference: None, severity: None, why: None, custom_key: None }
    }
}

/// An open item was closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    pub target: ClosingTarget,
    pub outcome: ClosedAs,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ClosingTarget {
    /// Older items of this session with this reference.
    Reference(String),
    /// Open items of the project with this code.
    Code(FactKind, String),
}

impl ClosingTarget {
    pub fn reference(&self) -> Option<&str> {
        match self {
            ClosingTarget::Reference(reference) => Some(reference),
            ClosingTarget::Code(..) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClosedAs {
    Done,
    Dropped,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Severity {
        Low = "low",
        Medium = "medium",
        High = "high",
        Critical = "critical",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_match_the_original_format() {
        for (fact, code) in [
            (Fact::file(FactKind::File, "src/proxy.go"), "impl:src/proxy.go"),
            (Fact::file(FactKind::Read, "a\nb"), "see:a?b"),
            (Fact::function("supervisor.Process", None), "impl:supervisor.Process"),
            (Fact::decision("threshold=0.75", Some("better precision")), "dec:threshold=0.75 - better precision"),
            (Fact::decision("no LLM, pure data", None), "dec:no LLM, pure data"),
            (Fact::answer("Which database?", "SQLite"), "dec:Which database? → SQLite"),
            (Fact::blocker("codebase analyzer", Some("need")), "block:need:codebase analyzer"),
            (Fact::blocker("tests hang", None), "block:issue:tests hang"),
            (Fact::blocker("block:race:test failure line 712", None), "block:race:test failure line 712"),
            (Fact::words(FactKind::Next, "rerun race detector"), "next:rerun race detector"),
            (Fact::words(FactKind::Next, "next:test-5-scenarios"), "next:test-5-scenarios"),
        ] {
            assert_eq!(fact.code, code);
        }
    }

    #[test]
    fn long_sentences_become_short_codes_and_keep_their_words() {
        let why = "because the readers of the view must never wait for a writer, not even while it checkpoints";
        let fact =
            Fact::decision("keep the journal append only and fold it into the view in one transaction", Some(why));
        assert!(fact.code.chars().count() <= 130, "{}", fact.code);
        assert!(fact.text.ends_with("checkpoints"));
        assert!(!fact.code.contains('\n'));
    }

    #[test]
    fn kinds_have_one_word_everywhere() {
        for kind in FactKind::ALL {
            assert_eq!(FactKind::from_word(kind.word()), Some(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.word()));
        }
    }
}
