use std::collections::HashSet;

use super::*;
use crate::agents::codex;
use crate::clean::BUILT_IN;
use crate::clean::glob::Glob;
use crate::clean::text::{Clean, Keep};
use crate::model::event::{FileTouch, Note, Place, Task, TaskState, ToolUse, Touch};
use crate::model::repository::Repository;

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

fn paths(pattern: &str) -> Wish {
    let bases = HashSet::from(["plan.md".to_string()]);
    Wish::Paths(Paths {
        glob: Glob::parse_exact(pattern).unwrap(),
        projects: HashSet::from([ProjectId::of_anchor(b"/p")]),
        bases,
    })
}

#[test]
fn a_record_goes_when_it_is_meant() {
    let said = |session| record(session, 50, Event::Prompt { text: clean("hello") });
    let sessions = Wish::Sessions(HashSet::from([(codex::AGENT, "s1".to_string())]));
    let project =
        Wish::Projects { ids: HashSet::from([ProjectId::of_anchor(b"/p")]), names: HashSet::from(["p".to_string()]) };
    let other =
        Wish::Projects { ids: HashSet::from([ProjectId::of_anchor(b"/q")]), names: HashSet::from(["q".to_string()]) };
    let between = |a, b| Wish::Between(Timestamp::from_millis(a), Timestamp::from_millis(b));
    for (wish, session, expected) in [
        (&sessions, "s1", Fate::Goes),
        (&sessions, "s2", Fate::Stays),
        (&project, "s2", Fate::Goes),
        (&other, "s2", Fate::Stays),
        (&between(50, 51), "s2", Fate::Goes),
        (&between(40, 50), "s2", Fate::Stays),
    ] {
        assert_eq!(wish.fate(&said(session)), expected, "{wish:?}");
    }
    let answer = record("", 50, Event::SeparateProject { other: ProjectId::of_anchor(b"/q") });
    assert_eq!(
        (project.fate(&answer), other.fate(&answer)),
        (Fate::Goes, Fate::Goes),
        "an answer belongs to both projects"
    );
    assert_eq!((sessions.fate(&answer), between(40, 50).fate(&answer)), (Fate::Stays, Fate::Stays));
    assert!(sessions.may_be_in("{\"at\":5,\"session\":\"s1\",\"pl") && !sessions.may_be_in("{\"at\":5"));
    assert!(between(1, 9).may_be_in("{\"at\":5,\"k") && !between(1, 5).may_be_in("{\"at\":5,\"k"));
}

#[test]
fn a_path_takes_along_what_speaks_of_it() {
    let wish = paths("secret/**");
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
        assert_eq!(wish.fate(&record("s", 1, event.clone())), Fate::Goes, "{event:?}");
    }
    let kept = [
        tool(&["src/a.rs"]),
        Event::Note(note("keep every secret out of the logs")),
        Event::Prompt { text: clean("the secret of a good plan") },
    ];
    for event in kept {
        assert_eq!(wish.fate(&record("s", 1, event.clone())), Fate::Stays, "{event:?}");
    }
    let rest = |event: Event| match wish.fate(&record("s", 1, event)) {
        Fate::Becomes(json) => json,
        fate => panic!("{fate:?}"),
    };
    let prompt =
        rest(Event::Prompt { text: clean("Fix a.rs. Then read `secret/plan.md`. Thanks!\nMore of (plan.md)") });
    assert!(prompt.contains("\"text\":\"Fix a.rs. Thanks!\""), "{prompt}");
    let patch = rest(tool(&["secret/plan.md", "src/a.rs"]));
    assert!(patch.contains("src/a.rs") && !patch.contains("plan") && !patch.contains("launch"), "{patch}");
}

#[test]
fn what_others_were_told_of_it_is_taken_back() {
    let wish = Wish::Sessions(HashSet::from([(codex::AGENT, "s1".to_string())]));
    let touched = FileTouch { path: clean("src/deep/a.rs"), how: Touch::Edited, lines: Vec::new() };
    let edit = record("s1", 1, Event::Tool(ToolUse { tool: clean("W"), files: vec![touched], ..ToolUse::default() }));
    let mut traces = Traces::default();
    traces.add(&wish, &edit);
    let told = |codes: &[&'static str]| {
        let codes = codes.iter().map(|code| clean(code)).collect();
        record("s2", 2, Event::Receipt { source: None, codes, memories: Vec::new() })
    };
    let Fate::Becomes(json) = traces.fate(&wish, &told(&["impl:deep/a.rs", "impl:aa.rs", "next:go-on"])) else {
        panic!("the receipt has a trace")
    };
    assert!(json.contains("[\"impl:aa.rs\",\"next:go-on\"]"), "{json}");
    assert_eq!(traces.fate(&wish, &told(&["next:go-on"])), Fate::Stays);
}

#[test]
fn project_memories_are_forgotten_by_id_or_name() {
    let ids = HashSet::from([ProjectId::of_anchor(b"/p"), ProjectId::of_anchor(b"/moved")]);
    let wish = Wish::Projects { ids, names: HashSet::from(["p".to_string(), "moved".to_string()]) };
    for (scope, project, goes) in [
        ("project:p", Some(b"/p".as_slice()), true),
        ("project:p", Some(b"/elsewhere/p"), false),
        ("project:q", Some(b"/moved"), true),
        ("project:moved", None, true),
        ("project:other", None, false),
        ("universal", None, false),
    ] {
        let memory = Memory {
            status: Status::Approved,
            content: clean("use tabs"),
            category: clean("rule"),
            scope: clean(scope),
            project: project.map(ProjectId::of_anchor),
            confidence: 1.0,
            created_at: Timestamp::EPOCH,
            updated_at: Timestamp::EPOCH,
            source: clean("user"),
            background: Default::default(),
        };
        assert_eq!(Traces::default().add_memory(&wish, "m", &memory), goes, "{scope} {project:?}");
    }
}

#[test]
fn forgetting_a_path_keeps_the_repository_record() {
    let event = Event::Repository(Repository { folder: clean("/p/secret/.git"), ..Repository::default() });
    assert_eq!(paths("secret/**").fate(&record("", 1, event)), Fate::Stays);
}
