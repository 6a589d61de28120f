use std::collections::HashSet;

use super::*;
use crate::agents::codex;
use crate::clean::BUILT_IN;
use crate::clean::glob::Glob;
use crate::clean::text::{Clean, Keep};
use crate::model::event::{FileTouch, Note, Place, Task, TaskState, ToolUse, Touch};

fn clean(text: &str) -> Clean<'_> {
    BUILT_IN.clean(text, Keep::PROMPT)
}

fn record<'a>(session: &'a str, at: i64, event: Event<'a>) -> Record<'a> {
    let place = Place {
        project: ProjectId::of_anchor(b"/p"),
        name: clean("p"),
        root: clean("/p"),
        cwd: clean("/p"),
        branch: None,
    };
    Record {
        at: Timestamp::from_millis(at),
        key: clean("k"),
        agent: codex::AGENT,
        imported: false,
        heard_by: None,
        session: clean(session),
        place,
        event,
    }
}

fn paths(pattern: &str) -> ForgetRequest {
    let bases = HashSet::from(["plan.md".to_string()]);
    ForgetRequest::Paths(Paths {
        glob: Glob::parse_exact(pattern).unwrap(),
        projects: HashSet::from([ProjectId::of_anchor(b"/p")]),
        bases,
    })
}

#[test]
fn a_record_is_removed_when_the_request_covers_it() {
    let said = |session| record(session, 50, Event::Prompt { text: clean("hello") });
    let sessions = ForgetRequest::Sessions(HashSet::from([(codex::AGENT, "s1".to_string())]));
    let project = ForgetRequest::Projects { ids: HashSet::from([ProjectId::of_anchor(b"/p")]), name: "p".to_string() };
    let other = ForgetRequest::Projects { ids: HashSet::from([ProjectId::of_anchor(b"/q")]), name: "q".to_string() };
    let between = |a, b| ForgetRequest::Between(Timestamp::from_millis(a), Timestamp::from_millis(b));
    for (request, session, expected) in [
        (&sessions, "s1", RecordAction::Remove),
        (&sessions, "s2", RecordAction::Keep),
        (&project, "s2", RecordAction::Remove),
        (&other, "s2", RecordAction::Keep),
        (&between(50, 51), "s2", RecordAction::Remove),
        (&between(40, 50), "s2", RecordAction::Keep),
    ] {
        assert_eq!(request.action_for(&said(session)), expected, "{request:?}");
    }
    assert!(sessions.may_be_in("{\"at\":5,\"session\":\"s1\",\"pl") && !sessions.may_be_in("{\"at\":5"));
    assert!(between(1, 9).may_be_in("{\"at\":5,\"k") && !between(1, 5).may_be_in("{\"at\":5,\"k"));
}

#[test]
fn forgetting_a_path_removes_every_mention_of_it() {
    let request = paths("secret/**");
    let touch = |path| FileTouch { path: clean(path), how: Touch::Edited, lines: Vec::new() };
    let tool = |files: &[&'static str]| {
        let files = files.iter().map(|path| touch(path)).collect();
        Event::Tool(ToolUse { tool: clean("Write"), files, names: vec![clean("launch")], ..ToolUse::default() })
    };
    let note = |text| Note {
        kind: Kind::Decision,
        text: clean(text),
        why: None,
        sort: None,
        severity: None,
        custom_key: None,
        resolved: false,
    };
    let gone = [
        tool(&["secret/plan.md"]),
        Event::Note(note("rewrite /p/secret/plan.md:12 soon")),
        Event::Task(Task { id: None, subject: Some(clean("finish plan.md")), state: TaskState::Open }),
    ];
    for event in gone {
        assert_eq!(request.action_for(&record("s", 1, event.clone())), RecordAction::Remove, "{event:?}");
    }
    let kept = [
        tool(&["src/a.rs"]),
        Event::Note(note("keep every secret out of the logs")),
        Event::Prompt { text: clean("the secret of a good plan") },
    ];
    for event in kept {
        assert_eq!(request.action_for(&record("s", 1, event.clone())), RecordAction::Keep, "{event:?}");
    }
    let rest = |event: Event| match request.action_for(&record("s", 1, event)) {
        RecordAction::Rewrite(json) => json,
        action => panic!("{action:?}"),
    };
    let prompt =
        rest(Event::Prompt { text: clean("Fix a.rs. Then read `secret/plan.md`. Thanks!\nMore of (plan.md)") });
    assert!(prompt.contains("\"text\":\"Fix a.rs. Thanks!\""), "{prompt}");
    let patch = rest(tool(&["secret/plan.md", "src/a.rs"]));
    assert!(patch.contains("src/a.rs") && !patch.contains("plan") && !patch.contains("launch"), "{patch}");
}

#[test]
fn forgotten_codes_are_removed_from_other_receipts() {
    let request = ForgetRequest::Sessions(HashSet::from([(codex::AGENT, "s1".to_string())]));
    let touched = FileTouch { path: clean("src/deep/a.rs"), how: Touch::Edited, lines: Vec::new() };
    let edit = record("s1", 1, Event::Tool(ToolUse { tool: clean("W"), files: vec![touched], ..ToolUse::default() }));
    let mut residue = Residue::default();
    residue.add(&request, &edit);
    let told = |codes: &[&'static str]| {
        let codes = codes.iter().map(|code| clean(code)).collect();
        record("s2", 2, Event::Receipt { source: None, codes, memories: Vec::new() })
    };
    let RecordAction::Rewrite(json) =
        residue.action_for(&request, &told(&["impl:deep/a.rs", "impl:aa.rs", "next:go-on"]))
    else {
        panic!("the receipt has a trace")
    };
    assert!(json.contains("[\"impl:aa.rs\",\"next:go-on\"]"), "{json}");
    assert_eq!(residue.action_for(&request, &told(&["next:go-on"])), RecordAction::Keep);
}
