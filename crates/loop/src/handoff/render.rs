//! The parts of the state as Markdown, one line per item, the best first.

use std::borrow::Cow;

use cerberus_record::clean::instruction::harmless;
use cerberus_record::clean::text::{line, name};

use super::fit::{HandoffSection, PartKind, SectionPriority, quoted};
use super::state::{FileDifference, HandoffDecision, IncludedFile, Issue, ModifiedFile, PreservedState};
use super::urgent;
use crate::texts::OneLine;

/// More lines of one part add nothing, whatever the budget.
const LINES_MAX: usize = 100;
const COMPLETED_MAX: usize = 40;
const OBJECTIVE_CHARS_MAX: usize = 500;

/// In display order.
pub fn parts(state: &PreservedState) -> Vec<HandoffSection> {
    let bullets = |items: &[OneLine]| items.iter().map(|item| format!("- {}", &**item)).collect::<Vec<_>>();
    let objective = state.current_objective.iter().map(|objective| plain(objective)).collect();
    let completed = state.completed_items.iter().map(|item| format!("- [x] {}", &**item)).collect();
    let pending = state.pending_items.iter().map(|item| format!("- [ ] {}", &**item)).collect();
    let issues = state.open_issues().map(issue).collect();
    let named =
        |names: &[OneLine], what: &str| names.iter().map(|name| format!("- {}", harmless(name, what))).collect();
    let failing = state.test_state.as_ref().map(|tests| named(&tests.failing, "a test")).unwrap_or_default();
    let custom = state.custom.iter().map(|(key, value)| format!("- {key}: {}", &**value)).collect();
    // The third column is the priority: it decides who is served first.
    let listed: [(&str, Vec<String>, SectionPriority, usize); 10] = [
        ("Current Objective", objective, SectionPriority::Must(3), 1),
        ("Completed", completed, SectionPriority::IfRoom(7), COMPLETED_MAX),
        ("Pending", pending, SectionPriority::Must(2), LINES_MAX),
        ("Modified Files", state.modified_files.iter().map(modified).collect(), SectionPriority::IfRoom(5), LINES_MAX),
        ("Key Decisions", state.decisions.iter().map(decision).collect(), SectionPriority::IfRoom(4), LINES_MAX),
        ("Known Issues", issues, SectionPriority::Must(1), LINES_MAX),
        ("Failing Tests", failing, SectionPriority::Must(0), LINES_MAX),
        ("Recent Commits", named(&state.recent_commits, "a commit"), SectionPriority::IfRoom(9), LINES_MAX),
        ("Custom State", custom, SectionPriority::IfRoom(6), LINES_MAX),
        ("Notes", bullets(&state.notes), SectionPriority::IfRoom(8), LINES_MAX),
    ];
    let listed = listed.into_iter().map(|(heading, lines, need, lines_max)| {
        let kind = if heading == "Current Objective" { PartKind::Paragraph } else { PartKind::List };
        HandoffSection { heading: format!("## {heading}"), lines, lines_max, kind, need }
    });
    let files = state.included_files.iter().map(included);
    let first = urgent::parts(state).into_iter();
    first
        .chain(listed)
        .chain(last_words(state))
        .chain(last_turns(state))
        .chain(files)
        .filter(|part| !part.lines.is_empty())
        .collect()
}

/// A paragraph that cannot be mistaken for a heading.
fn plain(text: &str) -> String {
    line(text.trim_start_matches(['#', ' ']), OBJECTIVE_CHARS_MAX)
}

fn modified(file: &ModifiedFile) -> String {
    let path = name(&file.path);
    let path = harmless(&path, "a file");
    match (file.change, &file.was) {
        (FileDifference::Renamed, Some(was)) => format!("- {path} (renamed from {})", name(was)),
        (FileDifference::Renamed | FileDifference::Modified, _) => format!("- {path}"),
        (FileDifference::Added, _) => format!("- {path} (new)"),
        (FileDifference::Deleted, _) => format!("- {path} (deleted)"),
        (FileDifference::Conflicted, _) => format!("- {path} (in conflict)"),
    }
}

fn decision(decision: &HandoffDecision) -> String {
    match &decision.rationale {
        Some(why) => format!("- {} ({})", &*decision.description, &**why),
        None => format!("- {}", &*decision.description),
    }
}

fn issue(issue: &Issue) -> String {
    let files = match issue.files.as_slice() {
        [] => String::new(),
        files => format!(" ({})", files.iter().map(|file| name(file)).collect::<Vec<Cow<str>>>().join(", ")),
    };
    format!("- [{}] {}{files}", issue.severity.word().to_uppercase(), &*issue.description)
}

fn last_words(state: &PreservedState) -> Option<HandoffSection> {
    let words = state.last_words.as_deref()?;
    Some(quoted("## Last Words of the Previous Session".to_string(), words, SectionPriority::IfRoom(4)))
}

fn last_turns(state: &PreservedState) -> Option<HandoffSection> {
    let turns = state.last_turns.iter().map(|turn| &**turn).collect::<Vec<_>>().join("\n\n");
    let heading = "## The Last Turns, Newest First".to_string();
    (!turns.is_empty()).then(|| quoted(heading, &turns, SectionPriority::IfRoom(3)))
}

fn included(file: &IncludedFile) -> HandoffSection {
    quoted(format!("## {}", name(&file.path)), &file.text, SectionPriority::IfRoom(10))
}
