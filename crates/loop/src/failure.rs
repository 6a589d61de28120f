//! Why a context failed, and what the loop does about it.
//!
//! Only the agent's own failure messages are judged, never its ordinary output, which may mention a rate limit for
//! other reasons. An unrecognised failure is a crash, and crashes are retried.

use cerberus_agents::stream::{Fault, Wait};
use cerberus_record::clean::text::line;
use cerberus_record::runs;

#[derive(Clone, Debug, PartialEq)]
pub enum LoopFailure {
    /// The model's server asks us to wait.
    Limited {
        kind: LimitKind,
        wait: Wait,
        words: String,
    },
    /// Only the user can fix it.
    NeedsUser {
        remedy: Remedy,
        words: String,
    },
    /// The context was too full to continue.
    Full,
    /// The agent reached one of its own limits and ended normally.
    OwnLimit {
        words: String,
    },
    Crashed {
        words: String,
    },
}

/// What kind of limit makes us wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// The user's plan allows no more for some hours or days.
    Usage,
    /// Too many requests in a short time.
    Rate,
    /// The server has too much to do, or fails.
    Overload,
    /// The server cannot be reached.
    Outage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    Login,
    Credit,
    Permission,
    Flag,
    Program,
    Price,
}

impl Remedy {
    /// What the user can do.
    pub fn hint(self) -> &'static str {
        match self {
            Remedy::Login => {
                "log in to the agent or give it a valid key, then continue with `cerberus loop run --resume`"
            }
            Remedy::Credit => "add credit or change the plan, then continue with `cerberus loop run --resume`",
            Remedy::Permission => {
                "allow the tools that it needs in the agent's own settings or with a flag after --, then continue with \
                 `cerberus loop run --resume`"
            }
            Remedy::Flag => "fix the arguments after -- or agent_args in cerberus.toml, then try again",
            Remedy::Price => {
                "add the model's price under [prices] in config.toml, or limit tokens instead of dollars, then continue \
                 with `cerberus loop run --resume`"
            }
            Remedy::Program => "install the agent, put it on PATH, or name it with --program",
        }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramExit {
    Code(i32),
    Signal(i32),
}

impl ProgramExit {
    pub fn is_success(self) -> bool {
        self == ProgramExit::Code(0)
    }

    pub fn words(self) -> String {
        match self {
            ProgramExit::Code(code) => format!("exit {code}"),
            ProgramExit::Signal(signal) => format!("signal {signal}"),
        }
    }
}

const WORDS_CHARS_MAX: usize = 300;

/// Lines of an agent's error output that are judged, from the end. A usage message has several.
const LINES_JUDGED: usize = 8;

const USAGE_LIMIT: [&str; 9] = [
    "hit your limit",
    "hit your usage limit",
    "reached your usage limit",
    "usage limit reached",
    "usage limit exceeded",
    "usage_limit_reached",
    "hour limit reached",
    "weekly limit reached",
    "daily limit reached",
];
const RATE_LIMIT: [&str; 4] = ["rate limit reached", "rate limit exceeded", "rate_limit_error", "too many requests"];
const OVERLOAD: [&str; 3] = ["overloaded_error", "is overloaded", "at capacity"];
/// How programs and their libraries say that there is no connection.
const OUTAGE: [&str; 16] = [
    "connection error",
    "connection refused",
    "connection reset",
    "connection closed",
    "connection timed out",
    "unable to connect",
    "could not connect",
    "error sending request",
    "stream disconnected",
    "network is unreachable",
    "fetch failed",
    "socket hang up",
    "getaddrinfo",
    "resolve host",
    "dns error",
    "name resolution",
];
/// The same as names of system errors.
const OUTAGE_CODES: [&str; 7] =
    ["econnrefused", "econnreset", "enotfound", "etimedout", "eai_again", "enetunreach", "ehostunreach"];
const LOGIN: [&str; 8] = [
    "invalid api key",
    "invalid x-api-key",
    "authentication_error",
    "authentication failed",
    "not logged in",
    "please run /login",
    "unauthorized",
    "oauth token has expired",
];
const CREDIT: [&str; 3] = ["credit balance is too low", "insufficient_quota", "exceeded your current quota"];
const FLAG: [&str; 5] =
    ["unknown option", "unexpected argument", "unrecognized option", "invalid value", "missing required argument"];
const FULL: [&str; 4] = ["prompt is too long", "context_length_exceeded", "context window exceeded", "ran out of room"];
/// The agent's names for limits of its own.
const OWN_LIMITS: [&str; 2] = ["error_max_turns", "error_max_budget_usd"];

/// Classifies a failure that the agent reported.
pub fn of_fault(fault: &Fault) -> LoopFailure {
    let words = line(if fault.words.trim().is_empty() { &fault.kind } else { &fault.words }, WORDS_CHARS_MAX);
    if OWN_LIMITS.contains(&fault.kind.as_str()) {
        return LoopFailure::OwnLimit { words: fault.kind.clone() };
    }
    let text = format!("{} {}", fault.kind, fault.words).to_lowercase();
    let needs = |remedy| LoopFailure::NeedsUser { remedy, words: words.clone() };
    if has(&text, &FULL) {
        return LoopFailure::Full;
    }
    if has(&text, &CREDIT) {
        return needs(Remedy::Credit);
    }
    match fault.http_status {
        Some(401 | 403) => needs(Remedy::Login),
        Some(402) => needs(Remedy::Credit),
        Some(429) => limited(limit_kind(&text).unwrap_or(LimitKind::Rate), words),
        Some(500 | 502 | 503 | 504 | 529) => limited(LimitKind::Overload, words),
        _ if has(&text, &LOGIN) => needs(Remedy::Login),
        _ => match limit_kind(&text) {
            Some(kind) => limited(kind, words),
            None => LoopFailure::Crashed { words },
        },
    }
}

fn limited(kind: LimitKind, words: String) -> LoopFailure {
    LoopFailure::Limited { kind, wait: Wait::Unknown, words }
}

fn limit_kind(text: &str) -> Option<LimitKind> {
    let kinds = [
        (LimitKind::Usage, USAGE_LIMIT.as_slice()),
        (LimitKind::Rate, RATE_LIMIT.as_slice()),
        (LimitKind::Overload, OVERLOAD.as_slice()),
        (LimitKind::Outage, OUTAGE.as_slice()),
        (LimitKind::Outage, OUTAGE_CODES.as_slice()),
    ];
    kinds.into_iter().find(|(_, phrases)| has(text, phrases)).map(|(kind, _)| kind)
}

/// Classifies the exit of a program that reported no result. `error_output` is the end of its standard error.
pub fn of_exit(exit: ProgramExit, error_output: &str) -> LoopFailure {
    let text = own_lines(error_output).to_lowercase();
    let last = error_output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let words = line(&format!("{}: {last}", exit.words()), WORDS_CHARS_MAX);
    let words = words.trim_end_matches([':', ' ']).to_string();
    let needs = |remedy| LoopFailure::NeedsUser { remedy, words: words.clone() };
    match exit {
        ProgramExit::Code(127 | 126) => needs(Remedy::Program),
        ProgramExit::Code(code) if code != 0 && has(&text, &FLAG) => needs(Remedy::Flag),
        ProgramExit::Code(code) if code != 0 && has(&text, &LOGIN) => needs(Remedy::Login),
        ProgramExit::Code(code) if code != 0 && has(&text, &CREDIT) => needs(Remedy::Credit),
        ProgramExit::Code(0) => {
            LoopFailure::Crashed { words: "the agent exited without reporting a result".to_string() }
        }
        ProgramExit::Code(_) => match limit_kind(&text) {
            // The line that says so may also say until when.
            Some(kind) => limited(kind, line_with_limit(error_output).unwrap_or(words)),
            None => LoopFailure::Crashed { words },
        },
        ProgramExit::Signal(_) => LoopFailure::Crashed { words },
    }
}

/// The last lines of the output, as far as they are the agent's own. What a test prints may mention any status or
/// limit and says nothing about the agent.
fn own_lines(error_output: &str) -> String {
    let lines: Vec<&str> = error_output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES_JUDGED)..];
    let tests = last.iter().rposition(|line| runs::is_test_output(line)).map_or(0, |at| at + 1);
    last[tests..].iter().filter(|line| !is_assertion(line)).copied().collect::<Vec<_>>().join("\n")
}

/// A line in which a test compares values: `assert 429 == 200`, `expected 200, got 429`, `FAIL: …`.
fn is_assertion(line: &str) -> bool {
    let low = line.trim().to_lowercase();
    let mut words = low.split(|c: char| !c.is_alphanumeric());
    low.starts_with("fail")
        || ["assert", " == ", " != ", "panicked at"].iter().any(|mark| low.contains(mark))
        || words.any(|word| word == "expected")
}

fn line_with_limit(error_output: &str) -> Option<String> {
    let mut lines = error_output.lines().rev();
    let found = lines.find(|text| limit_kind(&text.to_lowercase()).is_some())?;
    Some(line(found, WORDS_CHARS_MAX))
}

fn has(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(failure: &LoopFailure) -> &'static str {
        match failure {
            LoopFailure::Limited { kind: LimitKind::Usage, .. } => "usage",
            LoopFailure::Limited { kind: LimitKind::Rate, .. } => "rate",
            LoopFailure::Limited { kind: LimitKind::Overload, .. } => "overload",
            LoopFailure::Limited { kind: LimitKind::Outage, .. } => "outage",
            LoopFailure::NeedsUser { remedy: Remedy::Login, .. } => "login",
            LoopFailure::NeedsUser { remedy: Remedy::Credit, .. } => "credit",
            LoopFailure::NeedsUser { remedy: Remedy::Permission, .. } => "permission",
            LoopFailure::NeedsUser { remedy: Remedy::Flag, .. } => "flag",
            LoopFailure::NeedsUser { remedy: Remedy::Program, .. } => "program",
            LoopFailure::NeedsUser { remedy: Remedy::Price, .. } => "price",
            LoopFailure::Full => "full",
            LoopFailure::OwnLimit { .. } => "own",
            LoopFailure::Crashed { .. } => "crash",
        }
    }

    #[test]
    fn faults_are_classified_by_status_first_and_text_second() {
        for (reported, http_status, words, expected) in [
            ("success", Some(529), "API Error: 529 Overloaded", "overload"),
            ("success", Some(429), "", "rate"),
            ("success", Some(429), "You've hit your limit · resets 3pm", "usage"),
            ("success", Some(503), "", "overload"),
            ("success", Some(401), "API Error: 401", "login"),
            ("success", Some(403), "", "login"),
            ("success", None, "Invalid API key · Please run /login", "login"),
            ("success", None, "Claude usage limit reached. Your limit will reset at 3pm", "usage"),
            ("success", None, "You have hit your usage limit", "usage"),
            ("turn.failed", None, "You've hit your usage limit. Try again at 3:45 PM.", "usage"),
            ("success", None, "Credit balance is too low", "credit"),
            ("turn.failed", None, "Rate limit reached for gpt-5", "rate"),
            ("turn.failed", None, "cannot find package rate-limiter-flexible", "crash"),
            ("success", None, "Prompt is too long", "full"),
            ("error_max_turns", None, "", "own"),
            ("error_during_execution", None, "", "crash"),
        ] {
            let fault = Fault { kind: reported.to_string(), http_status, words: words.to_string() };
            assert_eq!(kind(&of_fault(&fault)), expected, "{reported} {words}");
        }
    }

    const TESTS_WITH_429: &str = "test client::retries ... FAILED\n\nstdout:\nHTTP 429 Too Many Requests\n\n\
        test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
    const TESTS_WITH_401: &str =
        "FAILED tests/test_login.py::test_wrong_key\n401 Unauthorized\n1 failed, 3 passed in 0.1s";

    #[test]
    fn exits_are_classified_by_the_end_of_the_error_output() {
        for (exit, words, expected) in [
            (ProgramExit::Code(1), "error: unknown option '--sandbx'", "flag"),
            (ProgramExit::Code(2), "error: unexpected argument '--x' found", "flag"),
            (ProgramExit::Code(127), "", "program"),
            (ProgramExit::Code(1), "401 Unauthorized", "login"),
            (ProgramExit::Code(1), "Too Many Requests", "rate"),
            (ProgramExit::Code(1), "You have hit your usage limit\nRun again later", "usage"),
            (ProgramExit::Code(1), TESTS_WITH_429, "crash"),
            (ProgramExit::Code(1), TESTS_WITH_401, "crash"),
            (ProgramExit::Code(1), &format!("{TESTS_WITH_429}\nYou\u{2019}ve hit your usage limit"), "usage"),
            (ProgramExit::Code(1), "AssertionError: 429 Too Many Requests", "crash"),
            (ProgramExit::Code(1), "Error: expected 200, got 401 Unauthorized", "crash"),
            (ProgramExit::Code(1), "npm ERR! rate-limiter-flexible", "crash"),
            (ProgramExit::Code(0), "unknown option", "crash"),
            (ProgramExit::Signal(9), "unknown option", "crash"),
            (ProgramExit::Code(139), "", "crash"),
        ] {
            assert_eq!(kind(&of_exit(exit, words)), expected, "{exit:?} {words}");
        }
    }
}
