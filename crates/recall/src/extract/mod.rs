//! Derives facts from events, and closes older ones. Pure: the same record always gives the same result.

mod assent;
pub mod functions;
mod plan;

pub use self::assent::{content_words, is_bare as is_bare_answer};
use cerberus_record::clean::text::{Clean, line};
use cerberus_record::event::{
    Event, NamedSymbols, Note, Outcome, Quotation, SeedCodes, Task, TaskState, ToolUse, Touch,
};
use cerberus_record::fact::{ClosedAs, Closing, ClosingTarget, Fact, FactKind, TEXT_CHARS_MAX};
use cerberus_record::git_report as git;
use cerberus_record::runs;
use cerberus_record::seed;
use cerberus_record::steps;

use crate::said;
use crate::said::cues::{Cue, cue};

/// What one event contributes.
#[derive(Debug, Default, PartialEq)]
pub struct ExtractedFacts {
    pub facts: Vec<Fact>,
    pub closings: Vec<Closing>,
    /// A test, build or lint run and its result.
    pub run: Option<(runs::RunCommand, runs::Run)>,
}

/// References of lists: a new list of the same kind closes the items of the old one.
pub(crate) const TODO_LIST: &str = "todos";
const PLAN: &str = "plan";
/// The beginning of the reference of a single task.
pub(crate) const TASK: &str = "task:";
/// The reference of what a test, build or lint run showed.
pub const RUN: &str = "run";
/// The reference of what was recorded by hand: it stays until it is resolved by hand.
pub const RECORDED: &str = "recorded";
/// The reference of what an agent recorded by hand.
pub const RECORDED_BY_AGENT: &str = "agent";
/// The reference of what the user said, quoted by an agent.
pub const SAID: &str = "said";
/// The reference of what the user pasted, quoted by an agent.
pub const PASTED: &str = "pasted";
const MODEL: &str = "model";

/// Whether somebody recorded it by hand.
pub(crate) fn is_recorded(reference: Option<&str>) -> bool {
    matches!(reference, Some(RECORDED | RECORDED_BY_AGENT))
}

/// The reference of names found by scanning an edit. Names read from the file itself replace them.
pub fn scan_reference(path: &str) -> String {
    format!("scan:{path}")
}

pub fn extract(event: &Event) -> ExtractedFacts {
    let mut out = ExtractedFacts::default();
    match event {
        Event::Tool(used) => tool_use(used, &mut out),
        Event::Task(task) => single_task(task, &mut out),
        Event::Note(note) => explicit(note, &mut out),
        Event::Quote(quotation) => out.facts.extend(quoted(quotation)),
        Event::Seed(codes) => seed_codes(codes, &mut out),
        Event::Named(named) => definitions(named, &mut out),
        Event::Recover(recovery) => out.facts.extend(recovery.in_flight.iter().map(|what| interrupted(what))),
        Event::Prompt { text } => out.facts.extend(decisions(text)),
        // Some hosts report that a turn ended, but not the agent's words.
        Event::Stop { message } if message.trim().is_empty() => {}
        // A plan that was accepted is carried out by now; what is left of it is said here. A rejected plan was answered.
        Event::Stop { .. } => out.closings.push(closed(PLAN)),
        Event::Summary(said) => {
            let items = said.items.iter().map(|item| stated(item.sort.kind(), &item.text));
            replace_list(MODEL, items.collect(), &mut out);
        }
        Event::Start { .. }
        | Event::SubagentStop { .. }
        | Event::StopFailure { .. }
        | Event::Compact { .. }
        | Event::End { .. }
        | Event::Receipt { .. }
        | Event::Memory(_)
        | Event::Used { .. }
        | Event::Forgotten(_)
        | Event::Repository(_)
        | Event::SameProject { .. }
        | Event::SeparateProject { .. }
        | Event::Check(_)
        | Event::Pause(_)
        | Event::Decision(_)
        | Event::Open(_)
        | Event::Pulse
        | Event::Crash { .. }
        | Event::Title { .. }
        | Event::Lesson(_)
        | Event::Untyped(_)
        | Event::Undone { .. }
        | Event::Complete
        | Event::Reopen
        | Event::Archive
        | Event::AgentNotes { .. } => {}
    }
    out
}

/// A longer prompt describes a task.
const DECIDING_CHARS_MAX: usize = 400;

/// The sentences of a short prompt that say outright what the user decides, as they were typed.
fn decisions(prompt: &str) -> Vec<Fact> {
    if prompt.chars().count() > DECIDING_CHARS_MAX {
        return Vec::new();
    }
    let decided = said::sentences(prompt).into_iter().filter(|sentence| cue(sentence) == Some(Cue::Decision));
    decided.map(|sentence| Fact::words(FactKind::Decision, &sentence)).collect()
}

fn tool_use(used: &ToolUse, out: &mut ExtractedFacts) {
    shell(used, out);
    if used.outcome == Outcome::Interrupted {
        // An edit in flight: it may have been made, and the file is where the work stopped.
        let edited = used.files.iter().filter(|touched| touched.how == Touch::Edited);
        out.facts.extend(edited.map(|touched| Fact::file(FactKind::File, &touched.path)));
    }
    if let Some(plan) = &used.plan {
        let steps = plan::plan(plan).into_iter().map(|text| stated(FactKind::Next, &text));
        replace_list(PLAN, steps.collect(), out);
    }
    if used.outcome != Outcome::Done {
        return;
    }
    for touched in &used.files {
        let kind = if touched.how == Touch::Edited { FactKind::File } else { FactKind::Read };
        out.facts.push(Fact::file(kind, &touched.path));
    }
    // In a patch of several files, it is unknown which file defines a name.
    let path = match &*used.files {
        [touched] => Some(&*touched.path),
        _ => None,
    };
    let reference = path.map(scan_reference);
    let scanned = |name| Fact { reference: reference.clone(), ..Fact::function(name, path) };
    out.facts.extend(used.names.iter().map(|name| scanned(name)));
    let answers = used.answers.iter().filter(|(question, answer)| !assent::is_navigation(question, answer));
    out.facts.extend(answers.map(|(question, answer)| Fact::answer(question, answer)));
    if let Some(todos) = &used.todos {
        out.closings
            .push(Closing { target: ClosingTarget::Reference(TODO_LIST.to_string()), outcome: ClosedAs::Dropped });
        for todo in todos {
            let Some(subject) = todo.subject.as_deref().filter(|subject| !subject.trim().is_empty()) else {
                continue;
            };
            match todo.state {
                TaskState::Open => {
                    let reference = Some(TODO_LIST.to_string());
                    out.facts.push(Fact { reference, ..Fact::words(FactKind::Next, subject) });
                }
                TaskState::Done => out.facts.push(Fact::words(FactKind::Done, subject)),
                TaskState::Dropped => {}
            }
        }
    }
    used.task.iter().chain(&used.tasks).for_each(|task| single_task(task, out));
}

/// A command is recorded with its result, whether it failed or not.
fn shell(used: &ToolUse, out: &mut ExtractedFacts) {
    let Some(command) = used.command.as_deref() else { return };
    let output = used.output.as_deref().or(used.error.as_deref()).unwrap_or_default();
    if let Some(recognised) = runs::recognise(command) {
        let run = runs::read(&recognised, output, used.outcome);
        out.facts.extend(test_fact(&recognised, &run));
        out.run = Some((recognised, run));
    }
    // Git's own report is enough if the outcome is unknown.
    if used.outcome.may_be_done() {
        out.facts.extend(git::facts(command, output));
    }
    if used.outcome == Outcome::Done {
        out.facts.extend(steps::facts(command));
    }
}

/// `test:cargo-test:12-passed,1-failed`, with the command as text.
fn test_fact(command: &runs::RunCommand, run: &runs::Run) -> Option<Fact> {
    let counted = |count: Option<u32>, word| count.filter(|count| *count > 0).map(|count| format!("{count}-{word}"));
    let counts = [counted(run.passed_count, "passed"), counted(run.failed_count, "failed")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let outcome = match (run.verdict, counts.is_empty()) {
        (runs::RunVerdict::Empty | runs::RunVerdict::Unknown, _) => return None,
        (_, false) => counts.join(","),
        (runs::RunVerdict::Green, true) => "passed".to_string(),
        (runs::RunVerdict::Red, true) => "failed".to_string(),
    };
    let is_test = command.kind == runs::Kind::Test;
    let code = format!("{}:{outcome}", command.runner.name().replace(' ', "-"));
    is_test.then(|| Fact { text: command.key.clone(), ..Fact::words(FactKind::Test, &code) })
}

/// The reference of work that a dead session left unfinished, until another session continues.
pub const INTERRUPTED: &str = "interrupted";

fn interrupted(what: &str) -> Fact {
    let fact = Fact::words(FactKind::Next, &format!("{INTERRUPTED}:{what}"));
    Fact { text: line(what, TEXT_CHARS_MAX), reference: Some(INTERRUPTED.to_string()), ..fact }
}

fn stated(kind: FactKind, text: &str) -> Fact {
    match kind {
        FactKind::Decision => Fact::decision(text, None),
        FactKind::Blocker => Fact::blocker(text, None),
        kind => Fact::words(kind, text),
    }
}

fn closed(list: &str) -> Closing {
    Closing { target: ClosingTarget::Reference(list.to_string()), outcome: ClosedAs::Dropped }
}

/// A new list closes the old one. An empty list says nothing about it.
fn replace_list(reference: &str, list: Vec<Fact>, out: &mut ExtractedFacts) {
    if !list.is_empty() {
        out.closings.push(closed(reference));
    }
    out.facts.extend(list.into_iter().map(|item| Fact { reference: Some(reference.to_string()), ..item }));
}

fn definitions(named: &NamedSymbols, out: &mut ExtractedFacts) {
    out.facts.extend(named.names.iter().map(|name| Fact::function(name, Some(&named.path))));
}

fn single_task(task: &Task, out: &mut ExtractedFacts) {
    let reference = task.id.as_deref().map(|id| format!("{TASK}{id}"));
    let subject = task.subject.as_deref().filter(|subject| !subject.trim().is_empty());
    if task.state == TaskState::Open {
        out.facts.extend(subject.map(|subject| Fact { reference, ..Fact::words(FactKind::Next, subject) }));
        return;
    }
    let outcome = if task.state == TaskState::Done { ClosedAs::Done } else { ClosedAs::Dropped };
    let target = match (reference, subject) {
        (Some(reference), _) => ClosingTarget::Reference(reference),
        (None, Some(subject)) => ClosingTarget::Code(FactKind::Next, Fact::words(FactKind::Next, subject).code),
        (None, None) => return,
    };
    out.closings.push(Closing { target, outcome });
    if task.state == TaskState::Done {
        out.facts.extend(subject.map(|subject| Fact::words(FactKind::Done, subject)));
    }
}

fn explicit(note: &Note, out: &mut ExtractedFacts) {
    let fact = match note.kind {
        FactKind::File | FactKind::Read => Fact::file(note.kind, &note.text),
        FactKind::Function => Fact::function(&note.text, None),
        FactKind::Decision => Fact::decision(&note.text, note.why.as_deref()),
        FactKind::Blocker => Fact::blocker(&note.text, note.sort.as_deref()),
        kind => Fact::words(kind, &note.text),
    };
    if note.resolved {
        out.closings.push(Closing { target: ClosingTarget::Code(fact.kind, fact.code), outcome: ClosedAs::Done });
        return;
    }
    let custom_key = note.custom_key.as_deref().map(str::to_string);
    let reference = Some(RECORDED.to_string());
    out.facts.push(Fact { severity: note.severity, custom_key, reference, ..fact });
}

/// What the user decided, wants next or is blocked by, in their words. A rule becomes a memory instead.
fn quoted(quotation: &Quotation) -> Option<Fact> {
    let fact = Fact::words(quotation.kind.fact()?, &quotation.text);
    let reference = if quotation.is_pasted { PASTED } else { SAID };
    Some(Fact { reference: Some(reference.to_string()), ..fact })
}

fn seed_codes(codes: &SeedCodes, out: &mut ExtractedFacts) {
    for (kind, list) in seed::sections(codes) {
        let recorded = |code: &Clean| Fact { reference: Some(RECORDED.to_string()), ..seed::fact(kind, code) };
        out.facts.extend(list.iter().map(recorded));
    }
    out.facts.extend(codes.summary.as_deref().map(|summary| Fact::words(FactKind::Note, summary)));
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::clean::text::Keep;
    use cerberus_record::event::{CompactStage, FileTouch, Recovery};
    use proptest::prelude::*;

    use super::*;

    fn clean(text: &str) -> Clean<'_> {
        BUILT_IN.clean(text, Keep::NAME)
    }

    /// Any text an agent may produce, in every place where it may occur.
    fn events(text: &str) -> Vec<Event<'_>> {
        let touched = |how| FileTouch { path: clean(text), how, lines: vec![(1, 2)] };
        let tool = |name: &'static str| ToolUse { tool: clean(name), ..ToolUse::default() };
        let task = || Task { id: Some(clean(text)), subject: Some(clean(text)), state: TaskState::Open };
        let note = |kind| Note {
            kind,
            text: clean(text),
            why: Some(clean(text)),
            sort: Some(clean(text)),
            severity: None,
            custom_key: None,
            for_team: false,
            resolved: false,
        };
        let run = |command: &'static str, outcome| ToolUse {
            outcome,
            command: Some(clean(command)),
            output: Some(clean(text)),
            ..tool("Bash")
        };
        let mut events = vec![
            Event::Prompt { text: clean(text) },
            Event::Stop { message: clean(text) },
            Event::Compact { stage: CompactStage::After, summary: Some(clean(text)) },
            Event::Task(task()),
            Event::Named(NamedSymbols { path: clean(text), names: vec![clean(text)], edits: vec![] }),
            Event::Recover(Recovery { in_flight: vec![clean(text)], ..Recovery::default() }),
            Event::Tool(ToolUse { files: vec![touched(Touch::Edited)], names: vec![clean(text)], ..tool("Edit") }),
            Event::Tool(ToolUse { files: vec![touched(Touch::Read)], ..tool("Read") }),
            Event::Tool(ToolUse { todos: Some(vec![task()]), ..tool("TodoWrite") }),
            Event::Tool(ToolUse { answers: vec![(clean(text), clean(text))], ..tool("AskUserQuestion") }),
            Event::Tool(ToolUse { plan: Some(clean(text)), ..tool("ExitPlanMode") }),
            Event::Tool(ToolUse { command: Some(clean(text)), output: Some(clean(text)), ..tool("Bash") }),
        ];
        for command in
            ["cargo test", "pytest", "npm test", "go test ./...", "make check", "cargo build", "git commit -m x"]
        {
            events.extend([Outcome::Done, Outcome::Failed].map(|outcome| Event::Tool(run(command, outcome))));
        }
        events.extend(FactKind::ALL.map(|kind| Event::Note(note(kind))));
        events
    }

    proptest! {
        #[test]
        fn no_input_makes_a_code_span_lines(
            text in "\\PC{0,200}|([-*] |## Next steps|FAILED|test |ok|error: |\\[main 1a2b3c4\\] |[\u{1b}\u{7}\u{202e}\r\n\t:;a-z0-9]){0,60}"
        ) {
            for event in events(&text) {
                for fact in extract(&event).facts {
                    let is_safe = |text: &str| !text.contains(|c: char| c.is_control() || c == '\u{202e}');
                    prop_assert!(is_safe(&fact.code) && is_safe(&fact.text), "{:?} of {event:?}", fact);
                }
            }
        }
    }

    fn codes(event: &Event) -> (Vec<String>, Vec<Closing>) {
        let extracted = extract(event);
        (extracted.facts.into_iter().map(|fact| fact.code).collect(), extracted.closings)
    }

    fn task<'a>(id: Option<&'a str>, subject: Option<&'a str>, state: TaskState) -> Task<'a> {
        Task { id: id.map(clean), subject: subject.map(clean), state }
    }

    #[test]
    fn an_edit_gives_a_file_and_its_functions_and_a_failed_one_nothing() {
        let touched = |how| FileTouch { path: clean("src/a.rs"), how, lines: vec![] };
        let mut used = ToolUse {
            tool: clean("Edit"),
            files: vec![touched(Touch::Edited)],
            names: vec![clean("Store"), clean("open")],
            ..ToolUse::default()
        };
        assert_eq!(codes(&Event::Tool(used.clone())).0, ["impl:src/a.rs", "impl:Store", "impl:open"]);
        used.outcome = Outcome::Failed;
        assert_eq!(codes(&Event::Tool(used.clone())).0, [""; 0]);
        used.outcome = Outcome::Done;
        used.names.clear();
        used.files = vec![touched(Touch::Read)];
        assert_eq!(codes(&Event::Tool(used)).0, ["see:src/a.rs"]);
    }

    #[test]
    fn a_name_in_a_patch_of_several_files_belongs_to_none_of_them() {
        let touched = |path| FileTouch { path: clean(path), how: Touch::Edited, lines: vec![] };
        let patch =
            |files| ToolUse { tool: clean("apply_patch"), files, names: vec![clean("open")], ..ToolUse::default() };
        let path_of = |files| extract(&Event::Tool(patch(files))).facts.pop().and_then(|fact| fact.path);
        assert_eq!(path_of(vec![touched("a.rs")]).as_deref(), Some("a.rs"));
        assert_eq!(path_of(vec![touched("a.rs"), touched("b.rs")]), None);
    }

    #[test]
    fn a_new_todo_list_closes_the_old_one() {
        let todos = vec![
            task(None, Some("Write the parser"), TaskState::Done),
            task(None, Some("Write tests"), TaskState::Open),
            task(None, Some("  "), TaskState::Open),
        ];
        let used = ToolUse { tool: clean("TodoWrite"), todos: Some(todos), ..ToolUse::default() };
        let (facts, closings) = codes(&Event::Tool(used));
        assert_eq!(facts, ["done:Write the parser", "next:Write tests"]);
        assert_eq!(
            closings,
            [Closing { target: ClosingTarget::Reference("todos".into()), outcome: ClosedAs::Dropped }]
        );
    }

    #[test]
    fn a_plan_is_open_until_the_agent_reports_whether_it_was_accepted_or_not() {
        let plan = "1. Write the schema\n2. Fold the journal\n";
        for outcome in [Outcome::Done, Outcome::Interrupted] {
            let used = ToolUse { tool: clean("ExitPlanMode"), outcome, plan: Some(clean(plan)), ..ToolUse::default() };
            assert_eq!(codes(&Event::Tool(used)).0, ["next:Write the schema", "next:Fold the journal"]);
        }
        let (_, closings) = codes(&Event::Stop { message: clean("The schema is written.") });
        let plan = Closing { target: ClosingTarget::Reference(PLAN.to_string()), outcome: ClosedAs::Dropped };
        assert!(closings.contains(&plan));
    }

    #[test]
    fn tasks_are_closed_by_id_or_by_words() {
        let by_id = |outcome| vec![Closing { target: ClosingTarget::Reference("task:1".into()), outcome }];
        for (task, facts, closings) in [
            (task(Some("1"), Some("Write tests"), TaskState::Open), vec!["next:Write tests"], vec![]),
            (task(Some("1"), None, TaskState::Open), vec![], vec![]),
            (task(Some("1"), None, TaskState::Done), vec![], by_id(ClosedAs::Done)),
            (task(Some("1"), Some("Write tests"), TaskState::Done), vec!["done:Write tests"], by_id(ClosedAs::Done)),
            (task(Some("1"), None, TaskState::Dropped), vec![], by_id(ClosedAs::Dropped)),
            (
                task(None, Some("Write tests"), TaskState::Dropped),
                vec![],
                vec![Closing {
                    target: ClosingTarget::Code(FactKind::Next, "next:Write tests".into()),
                    outcome: ClosedAs::Dropped,
                }],
            ),
        ] {
            let (found, closed) = codes(&Event::Task(task.clone()));
            assert_eq!((found.iter().map(String::as_str).collect(), closed), (facts, closings), "{task:?}");
        }
    }
}
