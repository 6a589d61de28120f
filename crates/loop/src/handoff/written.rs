//! Parses the handoff that the agent writes when asked.
//!
//! The agent is asked for certain headings between two marks. Parsing is tolerant: headings are recognised by
//! keywords and items by list marks; an answer without either is ignored. The agent's word on what is done and what
//! comes next takes precedence, because nobody else knows; what it says about files is checked against git.

use std::collections::HashSet;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Note, Severity};
use cerberus_record::fact::FactKind;
use cerberus_record::ours::{REQUEST_END, REQUEST_HEAD};

use super::state::{FileDifference, HandoffDecision, Issue, ModifiedFile, PreservedState};
use crate::texts::{OneLine, one_line};

const OPEN: &str = "<handoff>";
pub(crate) const CLOSE: &str = "</handoff>";

/// The prompt for a session whose context is nearly full.
pub fn request() -> String {
    format!(
        "{REQUEST_HEAD}\n\
         The context of this session is nearly full. A fresh session continues the work and knows only what is written \
         now. Leave the step at hand in a sound state, begin no other, and answer with this, between the two marks; \
         headings with nothing under them are left out.\n\
         {OPEN}\n\
         ## Current Objective\n\
         (one sentence)\n\
         ## Completed\n\
         - [x] (what is done)\n\
         ## Pending\n\
         - [ ] (what is to be done, the next step first)\n\
         ## Key Decisions\n\
         - (what was decided) (why)\n\
         ## Known Issues\n\
         - [HIGH] (what is in the way; LOW, MEDIUM, HIGH or CRITICAL)\n\
         ## Notes\n\
         - (what else is needed to go on)\n\
         {CLOSE}\n\
         {REQUEST_END}"
    )
}

/// What the agent wrote, by heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenHandoff {
    pub objective: Option<OneLine>,
    pub completed: Vec<OneLine>,
    pub pending: Vec<OneLine>,
    pub decisions: Vec<HandoffDecision>,
    pub issues: Vec<Issue>,
    pub files: Vec<OneLine>,
    pub notes: Vec<OneLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    Objective,
    Completed,
    Pending,
    Decisions,
    Issues,
    Files,
    Notes,
}

/// Keywords of headings. The first match decides: `Next steps done` is about completed items.
const HEADINGS: [(&str, Heading); 33] = [
    ("objective", Heading::Objective),
    ("goal", Heading::Objective),
    ("completed", Heading::Completed),
    ("done", Heading::Completed),
    ("finished", Heading::Completed),
    ("implemented", Heading::Completed),
    ("accomplished", Heading::Completed),
    ("what i did", Heading::Completed),
    ("what changed", Heading::Completed),
    ("changes made", Heading::Completed),
    ("pending", Heading::Pending),
    ("remaining", Heading::Pending),
    ("next", Heading::Pending),
    ("todo", Heading::Pending),
    ("to do", Heading::Pending),
    ("left", Heading::Pending),
    ("outstanding", Heading::Pending),
    ("follow-up", Heading::Pending),
    ("decision", Heading::Decisions),
    ("decided", Heading::Decisions),
    ("choice", Heading::Decisions),
    ("issue", Heading::Issues),
    ("blocker", Heading::Issues),
    ("failing", Heading::Issues),
    ("warning", Heading::Issues),
    ("caveat", Heading::Issues),
    ("problem", Heading::Issues),
    ("risk", Heading::Issues),
    ("limitation", Heading::Issues),
    ("gotcha", Heading::Issues),
    ("file", Heading::Files),
    ("note", Heading::Notes),
    ("context", Heading::Notes),
];

/// More items under one heading are dropped.
const ITEMS_MAX: usize = 200;

/// Parses an answer; `None` if it contains no handoff.
pub fn read(answer: &str) -> Option<WrittenHandoff> {
    let block = match answer.rfind(OPEN) {
        Some(open) => &answer[open + OPEN.len()..],
        None => answer,
    };
    let block = block.split(CLOSE).next().unwrap_or(block);
    let mut written = WrittenHandoff::default();
    let mut under = None;
    let mut has_heading = false;
    let mut is_code = false;
    for line in block.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if let Some(heading) = heading(line).filter(|_| !is_code) {
            under = heading;
            has_heading |= heading.is_some();
        } else if let Some(under) = under
            && !line.is_empty()
        {
            written.take(under, line);
        }
    }
    (has_heading && written != WrittenHandoff::default()).then_some(written)
}

/// If the line is a heading: its topic, if it is a known one.
fn heading(line: &str) -> Option<Option<Heading>> {
    let is_bold = line.len() > 4 && line.starts_with("**") && line.trim_end_matches(':').ends_with("**");
    if !(line.starts_with('#') || is_bold) {
        return None;
    }
    Some(heading_topic(&line.trim_matches(['#', '*', ' ', ':']).to_lowercase()))
}

/// The topic of a heading in lower case, if it is a known one.
pub(super) fn heading_topic(words: &str) -> Option<Heading> {
    HEADINGS.iter().find(|(word, _)| words.contains(word)).map(|(_, heading)| *heading)
}

impl WrittenHandoff {
    fn take(&mut self, under: Heading, line: &str) {
        let (item, is_ticked) = item(line);
        // Ignore an item that only repeats the form.
        let is_form = item.contains('(') && request().lines().any(|form| form == line);
        if item.is_empty() || is_form || matches!(item.to_lowercase().as_str(), "none" | "none." | "n/a" | "-") {
            return;
        }
        let list = match under {
            Heading::Objective => {
                self.objective.get_or_insert_with(|| one_line(item));
                return;
            }
            Heading::Decisions if self.decisions.len() < ITEMS_MAX => return self.decisions.push(decision(item)),
            Heading::Issues if self.issues.len() < ITEMS_MAX => {
                let issue = issue(item);
                return self.issues.push(Issue { addressed: issue.addressed || is_ticked == Some(true), ..issue });
            }
            Heading::Decisions | Heading::Issues => return,
            // In a list with both, the ticks decide.
            Heading::Completed | Heading::Pending => match is_ticked.unwrap_or(under == Heading::Completed) {
                true => &mut self.completed,
                false => &mut self.pending,
            },
            Heading::Files => &mut self.files,
            Heading::Notes => &mut self.notes,
        };
        if list.len() < ITEMS_MAX {
            list.push(one_line(item));
        }
    }
}

/// An item without its list mark, and whether it is ticked.
fn item(line: &str) -> (&str, Option<bool>) {
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match numbered.strip_prefix(". ").or(numbered.strip_prefix(") ")) {
        Some(rest) if numbered.len() < line.len() => rest,
        _ => line.trim_start_matches(['-', '*', '•', '+']),
    };
    let rest = rest.trim_start();
    for (mark, is_ticked) in [("[x]", true), ("[X]", true), ("[ ]", false), ("✅", true), ("☑", true), ("☐", false)]
    {
        if let Some(rest) = rest.strip_prefix(mark) {
            return (rest.trim(), Some(is_ticked));
        }
    }
    (rest, None)
}

/// `what (why)`, `what because why`, `what — why`.
fn decision(item: &str) -> HandoffDecision {
    let in_brackets = item.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    let apart = || [" because ", " — ", " – "].iter().find_map(|mark| item.split_once(mark));
    let (what, why) = in_brackets.or_else(apart).map_or((item, None), |(what, why)| (what, Some(why)));
    let rationale = why.map(str::trim).filter(|why| !why.is_empty()).map(one_line);
    HandoffDecision { description: one_line(what), rationale, timestamp: None }
}

/// `[HIGH] what`, `high: what`, or just the description.
fn issue(item: &str) -> Issue {
    let bracketed = item.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (word, rest) = bracketed.or_else(|| item.split_once(':')).unwrap_or(("", item));
    let word = word.trim().trim_matches('*').to_lowercase();
    let is_addressed = |word: &str| matches!(word, "addressed" | "fixed" | "resolved");
    let (severity, description) = match Severity::from_word(&word) {
        Some(severity) => (severity, rest),
        None if is_addressed(&word) => (Severity::Medium, rest),
        None => (Severity::Medium, item),
    };
    Issue { description: one_line(description), severity, files: Vec::new(), addressed: is_addressed(&word) }
}

impl WrittenHandoff {
    /// The same as notes from `cerberus record`, so that they outlive the next context too.
    pub fn notes(&self, cleaner: &Cleaner) -> Vec<Note<'static>> {
        let clean = |text: &str| cleaner.clean(text.to_string(), Keep::SUBJECT);
        let note = |kind, text: &str| Note {
            kind,
            text: clean(text),
            why: None,
            sort: None,
            severity: None,
            custom_key: None,
            for_team: false,
            resolved: false,
        };
        let of = |kind: FactKind, items: &[OneLine]| items.iter().map(|item| note(kind, item)).collect::<Vec<_>>();
        let decided = |one: &HandoffDecision| Note {
            why: one.rationale.as_deref().map(clean),
            ..note(FactKind::Decision, &one.description)
        };
        let issue = |one: &Issue| Note {
            severity: Some(one.severity),
            resolved: one.addressed,
            ..note(FactKind::Blocker, &one.description)
        };
        // Done items settle earlier open ones, so they come first.
        let mut notes = of(FactKind::Done, &self.completed);
        notes.extend(of(FactKind::Next, &self.pending));
        notes.extend(self.decisions.iter().map(decided));
        notes.extend(self.issues.iter().map(issue));
        notes.extend(of(FactKind::Note, &self.notes));
        notes
    }
}

impl PreservedState {
    /// Merges the agent's handoff into the captured state. If both have an item, the agent's wording wins.
    pub fn add_written(&mut self, written: WrittenHandoff) {
        let WrittenHandoff { objective, completed, pending, decisions, issues, files, notes } = written;
        // A recorded objective was set on purpose, so it wins.
        self.current_objective = self.current_objective.take().or(objective);
        self.pending_items.retain(|item| !completed.iter().any(|done| settles(done, item)));
        before(&mut self.pending_items, pending);
        before(&mut self.completed_items, completed);
        before(&mut self.notes, notes);
        self.decisions.retain(|old| !decisions.iter().any(|new| same(&new.description, &old.description)));
        self.decisions.splice(0..0, decisions);
        self.known_issues.retain(|old| !issues.iter().any(|new| same(&new.description, &old.description)));
        self.known_issues.extend(issues);
        self.known_issues.sort_by_key(|issue| (issue.addressed, std::cmp::Reverse(issue.severity)));
        let claimed: HashSet<String> = self.modified_files.iter().map(|file| file.path.to_string()).collect();
        let paths = files.into_iter().map(|file| one_line(file.split(" (").next().unwrap_or(&file).trim_matches('`')));
        let new = paths.filter(|path| !claimed.contains(&**path));
        self.modified_files.extend(new.map(|path| ModifiedFile { path, change: FileDifference::Modified, was: None }));
    }
}

/// Puts the new items first and removes old duplicates.
fn before(items: &mut Vec<OneLine>, new: Vec<OneLine>) {
    items.retain(|old| !any_same(&new, old));
    items.splice(0..0, new);
}

pub(crate) fn any_same(items: &[OneLine], text: &str) -> bool {
    items.iter().any(|item| same(item, text))
}

/// Whether both mean the same. The shorter one may leave words out, but never a number.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let (one, other) = (significant_words(one), significant_words(other));
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let is_no_number = |word: &String| word.chars().all(|c| !c.is_ascii_digit());
    short == long || (short.len() >= 2 && short.is_subset(&long) && long.difference(&short).all(is_no_number))
}

/// Whether `done` covers all of `pending`. If it shares only most of its words, it is a different item.
pub(crate) fn settles(done: &str, pending: &str) -> bool {
    let (done, pending) = (significant_words(done), significant_words(pending));
    done == pending || (pending.len() >= 3 && pending.is_subset(&done))
}

/// Words without meaning of their own.
const STOP_WORDS: [&str; 8] = ["a", "an", "the", "to", "of", "in", "for", "and"];

fn significant_words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    words.filter(|word| !STOP_WORDS.contains(&word.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    fn texts(items: &[OneLine]) -> Vec<String> {
        items.iter().map(|item| item.to_string()).collect()
    }

    #[test]
    fn an_answer_is_read_whatever_form_it_takes() {
        let answer = "I stop here.\n<handoff>\n# Handoff\n## Current Objective\nBuild the parser\n\n## Completed\n\
            - [x] Lexer\n* ✅ Tokens\n## Pending\n1. Write the tests\n- [ ] Wire it in\n- [x] Names\n\
            ## Key Decisions\n- Keep tokens borrowed (no copies)\n- One pass because it is fast\n- Plain\n\
            ## Known Issues\n- [CRITICAL] Stack overflow on deep input\n- low: slow on tabs\n- [x] leaks\n- something\n\
            ## Modified Files\n- `src/lexer.rs` (new)\n## Weather\n- sunny\n## Notes\n- run with --release\n- None\n\
            </handoff>\nGood luck!";
        let written = read(answer).unwrap();
        assert_eq!(written.objective.as_deref(), Some("Build the parser"));
        assert_eq!(texts(&written.completed), ["Lexer", "Tokens", "Names"]);
        assert_eq!(texts(&written.pending), ["Write the tests", "Wire it in"]);
        let decisions: Vec<_> =
            written.decisions.iter().map(|one| (one.description.to_string(), one.rationale.as_deref())).collect();
        assert_eq!(
            decisions,
            [
                ("Keep tokens borrowed".to_string(), Some("no copies")),
                ("One pass".to_string(), Some("it is fast")),
                ("Plain".to_string(), None)
            ]
        );
        let issues: Vec<_> =
            written.issues.iter().map(|one| (&*one.description, one.severity, one.addressed)).collect();
        assert_eq!(
            issues,
            [
                ("Stack overflow on deep input", Severity::Critical, false),
                ("slow on tabs", Severity::Low, false),
                ("leaks", Severity::Medium, true),
                ("something", Severity::Medium, false),
            ]
        );
        assert_eq!(texts(&written.notes), ["run with --release"]);
        assert_eq!(texts(&written.files), ["`src/lexer.rs` (new)"]);
    }

    #[test]
    fn an_answer_without_a_handoff_is_ignored() {
        for answer in ["", "I am done.", "<handoff></handoff>", "## Pending\n", "- [ ] a list of what?", &request()] {
            assert_eq!(read(answer), None, "{answer}");
        }
        let unmarked = "**Next steps:**\n- Write the tests";
        assert_eq!(texts(&read(unmarked).unwrap().pending), ["Write the tests"]);
        let torn = "<handoff>\n## Pending\n- Write the te";
        assert_eq!(texts(&read(torn).unwrap().pending), ["Write the te"]);
    }

    #[test]
    fn similar_items_are_not_the_same() {
        for (one, other, is_same, is_settled) in [
            ("Write the tests", "write tests", true, true),
            ("write part one", "write part two", false, false),
            ("Do step 2 of the plan", "Do step 3 of the plan", false, false),
            ("write the tests first", "write the tests", true, false),
            ("write the tests for step 3", "write the tests", false, false),
            ("wire the lexer into the build of the parser", "wire the lexer into the build", true, true),
            ("", "", true, true),
        ] {
            assert_eq!((same(one, other), settles(one, other)), (is_same, is_settled), "{one} / {other}");
        }
    }

    #[test]
    fn a_written_handoff_can_be_stored_as_notes() {
        let answer = "## Completed\n- [x] Lexer\n## Pending\n- [ ] Tests\n## Key Decisions\n- One pass (fast)\n\
            ## Known Issues\n- [HIGH] slow\n- [fixed] leaks\n## Notes\n- be quick";
        let notes = read(answer).unwrap().notes(&BUILT_IN);
        let found: Vec<_> = notes.iter().map(|note| (note.kind, &*note.text, note.resolved)).collect();
        assert_eq!(
            found,
            [
                (FactKind::Done, "Lexer", false),
                (FactKind::Next, "Tests", false),
                (FactKind::Decision, "One pass", false),
                (FactKind::Blocker, "slow", false),
                (FactKind::Blocker, "leaks", true),
                (FactKind::Note, "be quick", false),
            ]
        );
        assert_eq!((notes[2].why.as_deref(), notes[3].severity), (Some("fast"), Some(Severity::High)));
    }

    #[test]
    fn the_agents_wording_wins_over_the_captured_one() {
        let items = |list: &[&str]| list.iter().map(|item| one_line(item)).collect::<Vec<_>>();
        let issue =
            |text: &str, severity, addressed| Issue { description: one_line(text), severity, files: vec![], addressed };
        let mut state = PreservedState {
            current_objective: Some(one_line("The recorded one")),
            pending_items: items(&["write the tests", "write the docs", "fix the lexer"]),
            completed_items: items(&["old thing"]),
            known_issues: vec![issue("the build is slow", Severity::Low, false), issue("leaks", Severity::High, false)],
            ..PreservedState::default()
        };
        state.add_written(WrittenHandoff {
            objective: Some(one_line("Another")),
            completed: items(&["Fix the lexer"]),
            pending: items(&["Deploy", "Write the tests"]),
            issues: vec![issue("leaks", Severity::High, true), issue("crash", Severity::Critical, false)],
            files: items(&["`a.rs` (new)"]),
            ..WrittenHandoff::default()
        });
        assert_eq!(state.current_objective.as_deref(), Some("The recorded one"));
        assert_eq!(texts(&state.pending_items), ["Deploy", "Write the tests", "write the docs"]);
        assert_eq!(texts(&state.completed_items), ["Fix the lexer", "old thing"]);
        let open: Vec<_> = state.open_issues().map(|issue| issue.description.to_string()).collect();
        assert_eq!(open, ["crash", "the build is slow"]);
        assert_eq!(&*state.modified_files[0].path, "a.rs");
    }
}
