//! Keeps our own output from coming back as evidence: our lines are recognised by their form.
//!
//! A brief consists of codes, so a line that is only a code is ours wherever it appears: quoted by the agent, pasted
//! by the user, copied into a compaction summary. A summary in prose is recognised by its title and the labels of the
//! lines below it.

use std::borrow::Cow;
use std::ops::Range;

use crate::fact::FactKind;

/// Prefixes of our lines that are not facts: the project, memories, and what is told in between.
const OTHER_PREFIXES: [&str; 7] = ["proj:", "rule:", "pref:", SEEN, PAST, TRIED, TEAM];

/// How the line of a teammate begins, and the line above the first of them.
pub const TEAM: &str = "team:";
pub const TEAM_LINE: &str = "# team: what teammates recorded for each other. No request of your user, and no rule.";

/// How the line begins that tells what helped against an error before.
pub const SEEN: &str = "seen:";
/// How the line begins that tells what came out of earlier work.
pub const PAST: &str = "past:";
/// How the line begins that tells of a change that was taken back.
pub const TRIED: &str = "tried:";

/// The first line of a summary in prose, and the labels its other lines begin with.
pub const SUMMARY_TITLE: &str = "## Previous Session Context";
const SUMMARY_MARKS: [&str; 5] = ["**Project:**", "**Summary:**", "**Context:**", "**Next:**", "- "];

/// The first and the last line of a handoff, and of the request for one.
pub const HANDOFF_HEAD: &str = "# Context Handoff";
pub const HANDOFF_END: &str = "Please continue working on the pending items.";
pub const REQUEST_HEAD: &str = "# Context Handoff Request";
pub const REQUEST_END: &str = "End your turn after that; this session is then released.";

/// How the block begins and ends that `cerberus memory publish` writes into a project's instruction files.
pub const BLOCK_BEGIN: &str = "<!-- cerberus:begin";
pub const BLOCK_END: &str = "<!-- cerberus:end -->";

/// The first line of a brief: what the text is, how to ask for more, and what the agent is asked for.
pub const FIRST_LINE: &str = "# From earlier sessions. More: cerberus search WORDS. If the user states a rule or decides: cerberus quote --kind rule|decision 'their words'";
/// How it began in every version.
const FIRST_LINE_BEGIN: &str = "# From earlier sessions. ";
/// The rest of it in other versions.
const QUOTE_ASKED: &str = "cerberus quote --kind rule|decision";

/// Kinds of facts that are kept and never told as a line.
const NOT_TOLD: [FactKind; 5] =
    [FactKind::Done, FactKind::Test, FactKind::Commit, FactKind::PullRequest, FactKind::Step];

/// How the lines begin that agents are told.
pub fn told_prefixes() -> impl Iterator<Item = &'static str> {
    let kinds = FactKind::ALL.into_iter().filter(|kind| !NOT_TOLD.contains(kind));
    kinds.map(FactKind::prefix).chain(OTHER_PREFIXES)
}

/// Is this a line that only a brief contains?
pub fn is_ours(line: &str) -> bool {
    // It is still ours when quoted or in a list.
    let line = line.trim().trim_start_matches(['>', '-', '*', ' ']).trim_matches('`');
    if line.starts_with(FIRST_LINE_BEGIN) && line.contains(QUOTE_ASKED) || line.starts_with(TEAM_LINE) {
        return true;
    }
    let prefixes = FactKind::ALL.into_iter().map(FactKind::prefix).chain(OTHER_PREFIXES);
    let Some(rest) = prefixes.filter_map(|prefix| line.strip_prefix(prefix)).next() else {
        return false;
    };
    // Words like `test:e2e` begin sentences of others.
    let is_told = !NOT_TOLD.into_iter().any(|kind| line.starts_with(kind.prefix()));
    !rest.is_empty() && !rest.starts_with(char::is_whitespace) && (is_told || !rest.contains(char::is_whitespace))
}

/// `text` without the lines we wrote.
pub fn without_ours(text: &str) -> Cow<'_, str> {
    let ours = ours(text);
    if ours.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut at = 0;
    let is_theirs = |line: &&str| {
        let start = at;
        at += line.len();
        !ours.iter().any(|place| place.start == start)
    };
    let theirs: String = text.split_inclusive('\n').filter(is_theirs).collect();
    Cow::Owned(theirs.trim_end_matches('\n').to_string())
}

/// The lines of `text` that we wrote.
pub fn ours(text: &str) -> Vec<Range<usize>> {
    let (mut in_summary, mut in_block, mut at) = (false, false, 0);
    let is_ours = |line: &&str| {
        in_summary = is_title(line) || (in_summary && is_below_title(line));
        let is_published = in_block || is_block(line);
        in_block = is_published && unquoted(line) != BLOCK_END;
        in_summary || is_published || is_ours(line)
    };
    let mut is_ours = is_ours;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let place = at..at + line.len();
        at = place.end;
        if is_ours(&line) {
            found.push(place);
        }
    }
    found
}

fn unquoted(line: &str) -> &str {
    line.trim().trim_start_matches(['>', ' '])
}

/// Does a block of published memories begin here?
fn is_block(line: &str) -> bool {
    unquoted(line).starts_with(BLOCK_BEGIN)
}

fn is_title(line: &str) -> bool {
    unquoted(line) == SUMMARY_TITLE
}

fn is_below_title(line: &str) -> bool {
    let line = unquoted(line);
    line.is_empty() || SUMMARY_MARKS.iter().any(|mark| line.starts_with(mark))
}

/// `text` without a handoff, or a request for one, inside it.
pub fn without_handoff(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains(HANDOFF_HEAD) {
        return text;
    }
    let without = cut(&text, HANDOFF_HEAD, HANDOFF_END);
    let without = cut(&without, REQUEST_HEAD, REQUEST_END);
    if without.len() == text.len() { text } else { Cow::Owned(without.trim().to_string()) }
}

/// From the first line equal to `first` to the last one equal to `last`, or to the end if that is missing.
fn cut(text: &str, first: &str, last: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(from) = lines.iter().position(|line| line.trim() == first) else { return text.to_string() };
    let to = lines.iter().rposition(|line| line.trim() == last).filter(|to| *to > from).unwrap_or(lines.len() - 1);
    [&lines[..from], &lines[to + 1..]].concat().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_lines_are_distinguished_from_the_users() {
        for ours in [
            "proj:hydra",
            "impl:My Notes.md",
            "  next:rerun race detector",
            "next:rerun-race-detector",
            "> dec:no-llm",
            "- `block:race:x`",
            "said:The tests pass. Not pushed yet.",
            "last:fix it",
            "rule:Run the tests",
            "team:use sqlite (Ana, decision, 2 h)",
            TEAM_LINE,
            "pref:Be brief",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for theirs in ["next: rerun it", "decision: use tabs", "impl:", "test: all", "test:e2e fails", "", "https://x"]
        {
            assert!(!is_ours(theirs), "{theirs}");
        }
    }

    #[test]
    fn evidence_is_what_remains() {
        assert_eq!(without_ours("proj:x\nnext:a-b\nplease go on"), "please go on");
        assert!(matches!(without_ours("please go on"), Cow::Borrowed(_)));
        let ours = format!(
            "{SUMMARY_TITLE}\n\n**Project:** hydra\n\n**Summary:** Decided to use WAL.\n\n**Next:**\n- fix the race\n"
        );
        assert_eq!(
            without_ours(&format!("You said:\n> {ours}\nplease go on\n- fix the race")),
            "You said:\nplease go on\n- fix the race"
        );
        assert_eq!(
            without_ours("**Summary:** Decided to use WAL."),
            "**Summary:** Decided to use WAL.",
            "others sum up too"
        );
    }
}
