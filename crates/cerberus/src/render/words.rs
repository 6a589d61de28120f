//! The words for what Cerberus keeps, as people read them. Codes such as `impl:` are for agents.

use cerberus_recall::moments::told::EDIT;
use cerberus_recall::summary::render::SUMMARY;
use cerberus_record::fact::FactKind;
use cerberus_record::memory::Scope;
use cerberus_record::ours::{PAST, SEEN, TRIED};

/// What a kind of fact is called.
pub fn kind(kind: FactKind) -> &'static str {
    match kind {
        FactKind::File => "edited",
        FactKind::Read => "read",
        FactKind::Function => "function",
        FactKind::Decision => "decided",
        FactKind::Blocker => "blocker",
        FactKind::Next => "next",
        FactKind::Done => "done",
        FactKind::Test => "test",
        FactKind::Commit => "commit",
        FactKind::PullRequest => "pull req.",
        FactKind::Step => "released",
        FactKind::Objective => "goal",
        FactKind::Note => "note",
        FactKind::Last => "last asked",
        FactKind::Asked => "asked",
        FactKind::Said => "agent said",
        FactKind::Git => "git",
        FactKind::Live => "at work",
    }
}

/// What a line of a brief is called, by its code.
pub fn told(code: &str) -> &'static str {
    const OTHERS: [(&str, &str); 8] = [
        ("rule:", "rule"),
        ("pref:", "preference"),
        ("proj:", "project"),
        (SEEN, "helped"),
        (PAST, "before"),
        (TRIED, "taken back"),
        (EDIT, "of a file"),
        (SUMMARY, "summary"),
    ];
    let other = OTHERS.iter().find(|(prefix, _)| code.starts_with(prefix)).map(|(_, word)| *word);
    let is_name = |rest: &str| !rest.contains(['.', '/']);
    if code.strip_prefix(FactKind::Function.prefix()).is_some_and(is_name) {
        return kind(FactKind::Function);
    }
    let of_fact = || FactKind::ALL.into_iter().find(|one| code.starts_with(one.prefix())).map(kind);
    other.or_else(of_fact).unwrap_or("teammate")
}

/// A line of a brief without its code.
pub fn without_code(line: &str) -> &str {
    match told(line) {
        "teammate" => line,
        _ => line.split_once(':').map_or(line, |(_, words)| words),
    }
}

/// What a kind of search result is called.
pub fn result(kind: &str) -> &str {
    match kind {
        "pull_request" => "pull req.",
        "step" => "release",
        "objective" => "goal",
        kind => kind,
    }
}

/// Where a memory applies.
pub fn scope(scope: &Scope) -> String {
    match scope {
        Scope::Universal => "all projects".to_string(),
        Scope::Language(name) => format!("projects in {name}"),
        Scope::Project(name) => format!("{name} only"),
    }
}

/// A reason for a line of a brief, with the scope of a memory in words.
pub fn reason(why: &str) -> String {
    let (first, rest) = why.split_once(" since ").unwrap_or((why, ""));
    match Scope::parse(first).filter(|_| !rest.is_empty()) {
        Some(known) => format!("{} since {rest}", scope(&known)),
        None => why.to_string(),
    }
}

/// `3 files edited, 2 decisions and 1 next step`.
pub fn counts<'a>(counts: impl IntoIterator<Item = (&'a str, usize)>) -> String {
    let parts: Vec<String> = counts.into_iter().map(|(word, number)| counted(word, number)).collect();
    match parts.split_last() {
        None => "none yet".to_string(),
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
    }
}

fn counted(word: &str, number: usize) -> String {
    let (one, many) = match word {
        "file" => ("file edited", "files edited"),
        "read" => ("file read", "files read"),
        "function" => ("function", "functions"),
        "decision" => ("decision", "decisions"),
        "blocker" => ("blocker", "blockers"),
        "next" => ("next step", "next steps"),
        "done" => ("thing done", "things done"),
        "test" => ("test run", "test runs"),
        "commit" => ("commit", "commits"),
        "pull_request" => ("pull request", "pull requests"),
        "step" => ("push or release", "pushes or releases"),
        "objective" => ("goal", "goals"),
        "note" => ("note", "notes"),
        word => event(word).unwrap_or((word, word)),
    };
    super::counted(number, one, many)
}

/// What a kind of record is called. Words for states of sessions have no other form.
fn event(word: &str) -> Option<(&'static str, &'static str)> {
    Some(match word {
        "start" => ("start of a session", "starts of sessions"),
        "end" => ("end of a session", "ends of sessions"),
        "pulse" => ("sign of life", "signs of life"),
        "prompt" => ("prompt", "prompts"),
        "notification" => ("notification", "notifications"),
        "tool" => ("tool use", "tool uses"),
        "stop" => ("answer", "answers"),
        "subagent_stop" => ("answer of a subagent", "answers of subagents"),
        "compact" => ("compaction", "compactions"),
        "task" => ("item of a list", "items of lists"),
        "named" => ("name of a function", "names of functions"),
        "receipt" => ("receipt", "receipts"),
        "memory" => ("memory", "memories"),
        "used" => ("use of a memory", "uses of memories"),
        "crash" => ("crash", "crashes"),
        "recover" => ("recovery", "recoveries"),
        "summary" => ("summary", "summaries"),
        "title" => ("title", "titles"),
        "lesson" => ("lesson", "lessons"),
        "quote" => ("quotation", "quotations"),
        "agent_notes" => ("agent's notes", "notes of agents"),
        "complete" => ("completed session", "completed sessions"),
        "reopen" => ("reopened session", "reopened sessions"),
        "archive" => ("old session", "old sessions"),
        "seed" => ("imported session", "imported sessions"),
        "repository" => ("state of the repository", "states of the repository"),
        "same_project" | "separate_project" => ("answer about folders", "answers about folders"),
        "check" => ("change of a check", "changes of checks"),
        "open" => ("list of what is open", "lists of what is open"),
        "untyped" => ("prompt nobody typed", "prompts nobody typed"),
        "undone" => ("turn taken back", "turns taken back"),
        "forgotten" => ("request to forget", "requests to forget"),
        "pause" => ("pause", "pauses"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use cerberus_record::kind::EventKind;

    use super::*;

    #[test]
    fn no_kind_is_shown_as_its_code() {
        for one in FactKind::ALL {
            assert!(!kind(one).contains(['_', ':']), "{one:?}");
            assert!(!counts([(one.word(), 2)]).contains('_'), "{one:?}");
            assert_ne!(told(&format!("{}x", one.prefix())), "teammate", "{one:?}");
        }
        assert_eq!((told("impl:src/a.rs"), told("impl:Store::open")), ("edited", "function"));
        assert_eq!((told("rule:Use pnpm"), without_code("rule:Use pnpm")), ("rule", "Use pnpm"));
        assert_eq!(reason("project:hydra since 12 Nov, used once"), "hydra only since 12 Nov, used once");
        assert_eq!(reason("open since 12 Nov"), "open since 12 Nov");
        assert_eq!((told("Fix it (Ann)"), without_code("Fix it: now (Ann)")), ("teammate", "Fix it: now (Ann)"));
    }

    #[test]
    fn counts_are_a_sentence() {
        assert_eq!(counts([]), "none yet");
        assert_eq!(counts([("file", 1)]), "1 file edited");
        assert_eq!(counts([("file", 3), ("decision", 2), ("next", 1)]), "3 files edited, 2 decisions and 1 next step");
        assert_eq!(counts([("ended", 3), ("crashed", 1)]), "3 ended and 1 crashed");
        for kind in EventKind::ALL {
            assert!(!counts([(kind.word(), 2)]).contains('_'), "{kind:?}");
        }
    }
}
