use std::collections::HashSet;

use cerberus_agents::codex;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::glob::Glob;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{
    FileTouch, ItemSort, Location, Note, Summary, SummaryItem, Task, TaskState, ToolUse, Touch,
};
use cerberus_record::memory::Background;
use cerberus_record::repository::Repository;

use super::*;

fn clean(text: &str) -> Clean<'_> {
    BUILT_IN.clean(text, Keep::PROMPT)
}

fn record<'a>(session: &'a str, at: i64, event: Event<'a>) -> Record<'a> {
    let location = Location {
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
        by_agent: false,
        origin: None,
        session: clean(session),
        location,
        event,
    }
}

fn paths(pattern: &str) -> ForgetRequest {
    let bases = HashSet::from(["plan.md".to_string()]);
    ForgetRequest::Paths(Paths {
        glob: Glob::parse_exact(pattern).unwrap(),
        projects: HashSet::from([ProjectId::of_anchor(b"/p")]),
        bases,
        files: Vec::new(),
        elsewhere: Vec::new(),
    })
}

#[test]
fn a_record_is_removed_when_the_request_covers_it() {
    let said = |session| record(session, 50, Event::Prompt { text: clean("hello") });
    let sessions = ForgetRequest::Sessions(HashSet::from([(codex::AGENT, "s1".to_string())]));
    let project = ForgetRequest::Projects {
        ids: HashSet::from([ProjectId::of_anchor(b"/p")]),
        names: HashSet::from(["p".to_string()]),
    };
    let other = ForgetRequest::Projects {
        ids: HashSet::from([ProjectId::of_anchor(b"/q")]),
        names: HashSet::from(["q".to_string()]),
    };
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
    let answer = record("", 50, Event::SeparateProject { other: ProjectId::of_anchor(b"/q") });
    assert_eq!(
        (project.action_for(&answer), other.action_for(&answer)),
        (RecordAction::Remove, RecordAction::Remove),
        "an answer belongs to both projects"
    );
    assert_eq!(
        (sessions.action_for(&answer), between(40, 50).action_for(&answer)),
        (RecordAction::Keep, RecordAction::Keep)
    );
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
        kind: FactKind::Decision,
        text: clean(text),
        why: None,
        sort: None,
        severity: None,
        custom_key: None,
        for_team: false,
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
        record("s2", 2, Event::Receipt { source: None, codes, memories: Vec::new(), tokens: 0, redline: false })
    };
    let RecordAction::Rewrite(json) =
        residue.action_for(&request, &told(&["impl:deep/a.rs", "impl:aa.rs", "next:go-on"]))
    else {
        panic!("the receipt has a trace")
    };
    assert!(json.contains("[\"impl:aa.rs\",\"next:go-on\"]"), "{json}");
    assert_eq!(residue.action_for(&request, &told(&["next:go-on"])), RecordAction::Keep);
}

fn sessions(name: &str) -> ForgetRequest {
    ForgetRequest::Sessions(HashSet::from([(codex::AGENT, name.to_string())]))
}

fn expired(name: &str) -> ForgetRequest {
    ForgetRequest::Expired(HashSet::from([(codex::AGENT, name.to_string())]))
}

fn project(anchor: &[u8], name: &str) -> ForgetRequest {
    ForgetRequest::Projects {
        ids: HashSet::from([ProjectId::of_anchor(anchor)]),
        names: HashSet::from([name.to_string()]),
    }
}

fn between(since: i64, until: i64) -> ForgetRequest {
    ForgetRequest::Between(Timestamp::from_millis(since), Timestamp::from_millis(until))
}

fn memory<'a>(status: MemoryStatus, is_automatic: bool, sources: &[&'a str]) -> Memory<'a> {
    let said = |session: &&'a str| Evidence {
        text: clean("use tabs"),
        agent: clean(codex::AGENT.name()),
        session: clean(session),
        key: clean("k"),
    };
    Memory {
        status,
        content: clean("Use tabs in plan.md"),
        category: clean("rule"),
        scope: clean("universal"),
        project: None,
        confidence: 1.0,
        created_at: Timestamp::from_millis(50),
        updated_at: Timestamp::from_millis(50),
        source: clean("corrections"),
        background: Background {
            rationale: Some(clean("because it was said")),
            evidence: sources.iter().map(said).collect(),
            is_automatic,
            ..Background::default()
        },
    }
}

fn changed<'a>(id: &'a str, memory: &Memory<'a>) -> Event<'a> {
    Event::Memory(MemoryChange { id: clean(id), memory: Some(Box::new(memory.clone())), based_on: None, parent: None })
}

#[test]
fn a_stump_is_of_no_use_to_anybody_but_must_not_hold_what_is_meant() {
    let id = ProjectId::of_anchor(b"/p");
    let stump = format!("{{\"at\":5,\"session\":\"s1\",\"project\":\"{}\",\"na", id.as_str());
    for (wish, stump, may_be) in [
        (sessions("s1"), stump.as_str(), true),
        (sessions("s2"), &stump, false),
        (expired("s1"), &stump, false),
        (project(b"/p", "p"), &stump, true),
        (project(b"/q", "q"), &stump, false),
        (paths("secret/**"), &stump, true),
        (paths("secret/**"), "{\"at\":5,\"session\":\"s1\"", false),
        (between(5, 6), &stump, true),
        (between(6, 9), &stump, false),
        (between(1, 5), &stump, false),
        // When it was written is not known: it may have been then.
        (between(1, 2), "{\"at\":", true),
        (between(1, 2), "rubbish", true),
    ] {
        assert_eq!(wish.may_be_in(stump), may_be, "{wish:?} {stump}");
    }
}

#[test]
fn memories_are_decided_apart_and_so_is_what_was_looked_up() {
    let stands = memory(MemoryStatus::Approved, false, &[]);
    let used = || Event::Used { memories: vec![clean("m-1")] };
    for (wish, event, fate) in [
        (sessions("s1"), changed("m-1", &stands), RecordAction::Keep),
        (project(b"/p", "p"), changed("m-1", &stands), RecordAction::Keep),
        (between(1, 99), changed("m-1", &stands), RecordAction::Keep),
        (sessions("s1"), used(), RecordAction::Keep),
        (expired("s1"), used(), RecordAction::Keep),
        (project(b"/p", "p"), used(), RecordAction::Remove),
        (between(1, 99), used(), RecordAction::Remove),
        (expired("s1"), Event::Prompt { text: clean("x") }, RecordAction::Remove),
        (expired("s2"), Event::Prompt { text: clean("x") }, RecordAction::Keep),
    ] {
        assert_eq!(wish.action_for(&record("s1", 50, event)), fate, "{wish:?}");
    }
}

/// The traces of a session that is forgotten.
fn traces_of(wish: &ForgetRequest, session: &str) -> Residue {
    let mut traces = Residue::default();
    traces.add(wish, &record(session, 1, Event::Prompt { text: clean("Always use tabs") }));
    traces
}

#[test]
fn a_memory_goes_with_all_that_it_was_learnt_from_unless_the_user_decided() {
    let (approved, proposed, rejected) = (MemoryStatus::Approved, MemoryStatus::Proposed, MemoryStatus::Rejected);
    for (wish, status, is_automatic, sources, goes) in [
        (sessions("s1"), proposed, false, &["s1"][..], true),
        (sessions("s1"), rejected, false, &["s1"], true),
        (sessions("s1"), approved, true, &["s1"], true),
        (sessions("s1"), approved, false, &["s1"], false),
        (sessions("s1"), proposed, false, &["s1", "s2"], false),
        (sessions("s1"), proposed, false, &["s2"], false),
        (sessions("s1"), proposed, false, &[], false),
        (expired("s1"), proposed, false, &["s1"], false),
        (between(50, 51), approved, false, &[], true),
        (between(40, 50), approved, false, &[], false),
        (paths("secret/**"), approved, false, &[], true),
        (project(b"/p", "p"), approved, false, &[], false),
    ] {
        let memory = memory(status, is_automatic, sources);
        let mut traces = traces_of(&wish, "s1");
        let case = format!("{wish:?} {status:?} {is_automatic} {sources:?}");
        assert_eq!(traces.add_memory(&wish, "m-1", &memory), goes, "{case}");
        let is_gone =
            traces.action_for(&wish, &record("memories", 60, changed("m-1", &memory))) == RecordAction::Remove;
        assert_eq!(is_gone, goes, "{case}");
    }
}

#[test]
fn a_memory_of_a_project_goes_with_it_and_no_other() {
    for (scope, known, goes) in [
        ("project:p", None, true),
        ("project:q", None, false),
        ("universal", None, false),
        ("project:p", Some(b"/p"), true),
        // Names alone are shared.
        ("project:p", Some(b"/q"), false),
    ] {
        let id = known.map(|anchor| ProjectId::of_anchor(anchor));
        let memory = Memory { scope: clean(scope), project: id, ..memory(MemoryStatus::Approved, false, &[]) };
        assert_eq!(Residue::default().add_memory(&project(b"/p", "p"), "m-1", &memory), goes, "{scope} {known:?}");
    }
}

#[test]
fn a_memory_that_stays_loses_the_words_it_was_learnt_from() {
    let stands = memory(MemoryStatus::Approved, false, &["s1", "s2"]);
    let change = record("memories", 60, changed("m-1", &stands));
    let after = |traces: &Residue, wish: &ForgetRequest| match traces.action_for(wish, &change) {
        RecordAction::Rewrite(json) => json,
        fate => panic!("{fate:?}"),
    };
    let wish = sessions("s1");
    let json = after(&traces_of(&wish, "s1"), &wish);
    let kept: Record = serde_json::from_str(&json).unwrap();
    let Event::Memory(MemoryChange { memory: Some(memory), .. }) = &kept.event else { panic!("{json}") };
    assert_eq!((memory.background.evidence.len(), &*memory.background.evidence[0].session), (1, "s2"));
    assert_eq!((&memory.background.rationale, &kept.location), (&None, &change.location));
    // Of a project that is forgotten, a memory does not say where it was learnt.
    let wish = project(b"/p", "p");
    let json = after(&Residue::default(), &wish);
    let kept: Record = serde_json::from_str(&json).unwrap();
    let location = &kept.location;
    assert_eq!((&*location.name, &*location.root, &*location.cwd, &location.branch), ("", "", "", &None));
    assert_eq!(kept.event, change.event);
    for wish in [sessions("s3"), project(b"/q", "q"), between(1, 2)] {
        assert_eq!(traces_of(&wish, "s3").action_for(&wish, &change), RecordAction::Keep, "{wish:?}");
    }
}

#[test]
fn what_was_told_is_known_by_its_code_its_branch_or_its_path() {
    let wish = sessions("s1");
    let note = |text| {
        let why = None;
        Event::Note(Note {
            kind: FactKind::Decision,
            text: clean(text),
            why,
            sort: None,
            severity: None,
            custom_key: None,
            for_team: false,
            resolved: false,
        })
    };
    let touched = FileTouch { path: clean("src/deep/a.rs"), how: Touch::Edited, lines: Vec::new() };
    let edit = Event::Tool(ToolUse { tool: clean("W"), files: vec![touched], ..ToolUse::default() });
    let mut traces = Residue::default();
    traces.add(&wish, &record("s1", 1, note("use tabs")));
    traces.add(&wish, &record("s1", 2, edit));
    traces.add(&wish, &record("s2", 3, note("use spaces")));
    for (code, was_told) in [
        ("dec:use tabs", true),
        ("dec:use-tabs", true),
        ("dec:use-tabs@main", true),
        ("dec:use tabs everywhere", false),
        ("dec:use-spaces", false),
        ("impl:a.rs", true),
        ("see:deep/a.rs", true),
        ("impl:src/deep/a.rs", true),
        ("impl:p/a.rs", false),
        ("impl:rs", false),
        ("impl:", false),
    ] {
        assert_eq!(traces.may_name(code), was_told, "{code}");
    }
    let mut none = Residue::default();
    none.add(&expired("s1"), &record("s1", 1, note("use tabs")));
    assert!(!none.may_name("dec:use-tabs"), "what leaves for want of room was not unsaid");
}

#[test]
fn what_a_record_still_says_is_no_trace() {
    let wish = paths("secret/**");
    let touch = |path| FileTouch { path: clean(path), how: Touch::Edited, lines: Vec::new() };
    let files = vec![touch("secret/plan.md"), touch("src/a.rs")];
    let mut traces = Residue::default();
    traces.add(&wish, &record("s", 1, Event::Tool(ToolUse { tool: clean("W"), files, ..ToolUse::default() })));
    assert!(traces.may_name("impl:plan.md") && !traces.may_name("impl:a.rs"));
}

#[test]
fn project_memories_are_forgotten_by_id_or_name() {
    let ids = HashSet::from([ProjectId::of_anchor(b"/p"), ProjectId::of_anchor(b"/moved")]);
    let wish = ForgetRequest::Projects { ids, names: HashSet::from(["p".to_string(), "moved".to_string()]) };
    for (scope, project, goes) in [
        ("project:p", Some(b"/p".as_slice()), true),
        ("project:p", Some(b"/elsewhere/p"), false),
        ("project:q", Some(b"/moved"), true),
        ("project:moved", None, true),
        ("project:other", None, false),
        ("universal", None, false),
    ] {
        let memory = Memory {
            status: MemoryStatus::Approved,
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
        assert_eq!(Residue::default().add_memory(&wish, "m", &memory), goes, "{scope} {project:?}");
    }
}

#[test]
fn forgetting_a_path_keeps_the_repository_record() {
    let event = Event::Repository(Repository { folder: clean("/p/secret/.git"), ..Repository::default() });
    assert_eq!(paths("secret/**").action_for(&record("", 1, event)), RecordAction::Keep);
}

#[test]
fn a_summary_goes_with_any_part_of_what_it_retells() {
    let said = |session| record(session, 50, Event::Prompt { text: clean("hello") });
    let summary = |session| {
        let item = SummaryItem { sort: ItemSort::Open, text: clean("hello"), quote: clean("hello") };
        let (text, provider) = (clean("Said hello."), Clean::word("command"));
        let (key_context, next_actions, items) = (Vec::new(), Vec::new(), vec![item]);
        record(session, 90, Event::Summary(Summary { text, provider, key_context, next_actions, items }))
    };
    let mut residue = Residue::default();
    residue.add(&between(40, 60), &said("s1"));
    assert_eq!(residue.action_for(&between(40, 60), &summary("s1")), RecordAction::Remove);
    assert_eq!(residue.action_for(&between(40, 60), &summary("s2")), RecordAction::Keep);
}
