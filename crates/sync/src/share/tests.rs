use std::collections::HashSet;
use std::time::Duration;

use cerberus_record::check::{CheckChange, CheckDecision, CheckLevel, CheckVerdict, PauseChange};
use cerberus_record::clean::BUILT_IN;
use cerberus_record::event::{
    AgentProcess, CompactStage, Event, FileTouch, Forgotten, ForgottenRecord, Lesson, MemoryChange, NamedSymbols, Note,
    OpenFact, OpenFacts, Outcome, Quotation, QuoteKind, Recovery, SeedCodes, StartSource, Task, TaskState, ToolUse,
    Touch, UntypedPrompts,
};
use cerberus_record::fact::FactKind;
use cerberus_record::failure::FailedCommand;
use cerberus_record::kind::EventKind;
use cerberus_record::memory::{Background, Evidence, Memory, MemoryStatus, Uses};
use cerberus_record::order::DeviceId;
use cerberus_record::repository::Repository;
use cerberus_record::source::MemorySource;
use cerberus_record::summary::{ItemSort, Summary, SummaryItem};
use cerberus_record::time::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const ROOT: &str = "/home/ana/code/shop";

fn clean(text: &str) -> Clean<'static> {
    BUILT_IN.clean(text.to_string(), Keep::METADATA)
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn here() -> ProjectId {
    ProjectId::of_anchor(ROOT.as_bytes())
}

fn record(event: Event<'static>) -> Record<'static> {
    Record {
        at: at(1_700_000_000_000),
        key: clean("k"),
        agent: Agent::new("some-agent"),
        imported: false,
        heard_by: Some(4_242_424),
        by_agent: false,
        origin: None,
        session: clean("s"),
        location: Location {
            project: here(),
            name: clean("shop"),
            root: clean(ROOT),
            cwd: clean("/home/ana/code/shop/web"),
            branch: Some(clean("main")),
        },
        event,
    }
}

fn memory(text: &str, status: MemoryStatus, scope: &str, project: Option<ProjectId>) -> Event<'static> {
    let metadata = serde_json::from_value(json!({"from": [{"at": text}]})).unwrap();
    let said = Evidence { text: clean(text), agent: clean("a"), session: clean(text), key: clean("k") };
    let memory = Memory {
        status,
        content: clean(&format!("Use tabs in {text}")),
        category: clean("rule"),
        scope: clean(scope),
        project,
        confidence: 0.9,
        created_at: at(1),
        updated_at: at(2),
        source: clean("prompt"),
        background: Background {
            rationale: Some(clean(text)),
            evidence: vec![said],
            supersedes: vec![clean("m-0")],
            is_automatic: true,
            metadata,
            uses: Uses { count: 3, last_at: None },
            author: None,
            other_of: None,
            for_team: true,
        },
    };
    Event::Memory(MemoryChange {
        id: clean("m-1"),
        memory: Some(Box::new(memory)),
        based_on: Some(0),
        parent: Some(clean(text)),
    })
}

fn open(kind: FactKind, code: &str) -> Event<'static> {
    let fact = OpenFact { kind, code: clean(code), at: at(5), session: clean("s1") };
    Event::Open(OpenFacts { facts: vec![fact] })
}

/// Every kind of event, with `text` wherever a text can be.
fn events(text: &str) -> Vec<Event<'static>> {
    let c = || clean(text);
    let list = || vec![clean(text)];
    let task = || Task { id: Some(c()), subject: Some(c()), state: TaskState::Open };
    let touched = |path: &str| FileTouch { path: clean(path), how: Touch::Edited, lines: vec![(1, 2)] };
    let process = AgentProcess { pid: 4_242_424, started_ticks: 4_343_434, boot: c(), machine: c(), namespace: c() };
    let item = SummaryItem { sort: ItemSort::Decisions, text: c(), quote: c() };
    let forgotten = Forgotten {
        records: vec![ForgottenRecord { record: c(), kept: None }],
        sessions: Vec::new(),
        periods: Vec::new(),
        is_taken_back: false,
    };
    vec![
        Event::Start { source: StartSource::Startup, transcript: Some(c()), phase: Some(c()), process: Some(process) },
        Event::Pulse,
        Event::Prompt { text: c() },
        Event::Prompt { text: clean(&format!("<task-notification>{text}")) },
        Event::Tool(ToolUse {
            tool: c(),
            outcome: Outcome::Done,
            files: vec![touched("src/a.rs"), touched(text), touched("/home/ana/code/shop/b.rs"), touched("/etc/x/y")],
            names: list(),
            command: Some(c()),
            error: Some(c()),
            failure: Some(Box::new(FailedCommand { signature: c(), message: c() })),
            output: Some(c()),
            answers: vec![(c(), c())],
            plan: Some(c()),
            todos: Some(vec![task()]),
            task: Some(task()),
            tasks: vec![task()],
            folder: Some(c()),
        }),
        Event::Stop { message: c() },
        Event::SubagentStop { message: c() },
        Event::StopFailure { error: c() },
        Event::Compact { stage: CompactStage::After, summary: Some(c()) },
        Event::Task(task()),
        Event::End { reason: c() },
        Event::Note(Note {
            kind: FactKind::Decision,
            text: c(),
            why: Some(c()),
            sort: Some(c()),
            severity: None,
            custom_key: Some(c()),
            for_team: true,
            resolved: false,
        }),
        Event::Named(NamedSymbols { path: clean("src/a.rs"), names: list(), edits: list() }),
        Event::Receipt { source: None, codes: list(), memories: list(), tokens: 1, redline: false },
        memory(text, MemoryStatus::Approved, "universal", None),
        memory(text, MemoryStatus::Proposed, "project:shop", Some(here())),
        Event::Used { memories: list() },
        Event::Forgotten(forgotten),
        Event::Crash { evidence: c() },
        Event::Recover(Recovery { actions: list(), in_flight: list(), is_automatic: true }),
        Event::Summary(Summary {
            text: c(),
            provider: c(),
            key_context: list(),
            next_actions: list(),
            items: vec![item],
        }),
        Event::Title { text: c(), is_users: true },
        Event::Lesson(Lesson { edited: 3, told: 1, told_doubled: 2 }),
        Event::Untyped(UntypedPrompts { source: MemorySource::Scheduled, prompts: list() }),
        Event::Undone { prompts: list() },
        Event::Undone { prompts: list() },
        Event::Quote(Quotation { kind: QuoteKind::Rule, text: c(), prompt: c(), why: Some(c()), is_pasted: false }),
        Event::AgentNotes { text: c() },
        Event::Complete,
        Event::Reopen,
        Event::Archive,
        Event::Seed(SeedCodes { files: list(), functions: list(), summary: Some(c()), ..SeedCodes::default() }),
        Event::Repository(Repository { folder: c(), origin: Some(c()), root_commit: Some(c()), name: Some(c()) }),
        Event::SameProject { other: ProjectId::of_name(text), is_found: true },
        Event::SeparateProject { other: ProjectId::of_name(text) },
        Event::Check(CheckChange {
            memory: c(),
            rule: list(),
            level: CheckLevel::Block,
            content: c(),
            device: c(),
            allows_once: false,
        }),
        Event::Pause(PauseChange { everywhere: true, until: None, is_lifted: false }),
        Event::Decision(CheckDecision { memory: c(), verdict: CheckVerdict::Denied, tried: c(), call: c() }),
        open(FactKind::Decision, "dec:use sqlite"),
    ]
}

fn share(event: Event<'static>, space: ShareAudience) -> Option<Record<'static>> {
    let ids = [here()];
    shared(&record(event), &Sharing { space, ids: &ids, names: &[], cleaner: &BUILT_IN })
}

fn arrival<'a>(space: ShareAudience, location: &'a Location<'a>) -> Arrival<'a> {
    let device = DeviceId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8]);
    let (author, received) = ("Ana", at(1_800_000_000_000));
    let (is_container, behind) = (false, Duration::ZERO);
    Arrival { space, device, is_container, author, location, received, behind, cleaner: &BUILT_IN }
}

fn there() -> Location<'static> {
    Location {
        project: ProjectId::of_anchor(b"/srv/store"),
        name: clean("store"),
        root: clean("/srv/store"),
        cwd: clean("/srv/store"),
        branch: None,
    }
}

#[test]
fn every_kind_is_decided_for_every_space() {
    let kinds = |space| -> Vec<&'static str> {
        let events = events("some words");
        let covered: HashSet<&str> = events.iter().map(|event| EventKind::of(event).word()).collect();
        assert_eq!(covered.len(), EventKind::ALL.len(), "a kind is missing in this test");
        let shared = |event: Event<'static>| {
            let word = EventKind::of(&event).word();
            share(event, space).map(|_| word)
        };
        let mut kinds: Vec<_> = events.into_iter().filter_map(shared).collect();
        kinds.dedup();
        kinds
    };
    assert_eq!(
        kinds(ShareAudience::Me),
        [
            "start",
            "pulse",
            "prompt",
            "notification",
            "tool",
            "stop",
            "subagent_stop",
            "stop",
            "compact",
            "task",
            "end",
            "note",
            "named",
            "memory",
            "crash",
            "recover",
            "summary",
            "title",
            "lesson",
            "untyped",
            "undone",
            "quote",
            "agent_notes",
            "complete",
            "reopen",
            "archive",
            "seed",
            "decision",
        ]
    );
    assert_eq!(kinds(ShareAudience::Team), ["open"]);
}

#[test]
fn a_team_gets_approved_project_memories_and_nothing_about_where_they_come_from() {
    let words = "/home/ana/secret plans";
    for (status, scope, project, is_shared) in [
        (MemoryStatus::Approved, "project:shop", Some(here()), true),
        (MemoryStatus::Proposed, "project:shop", Some(here()), false),
        (MemoryStatus::Rejected, "project:shop", Some(here()), false),
        (MemoryStatus::Approved, "universal", None, false),
        (MemoryStatus::Approved, "language:rust", None, false),
        (MemoryStatus::Approved, "project:other", None, false),
        (MemoryStatus::Approved, "project:other", Some(ProjectId::of_anchor(b"/other")), false),
    ] {
        let sent = share(memory(words, status, scope, project), ShareAudience::Team);
        assert_eq!(sent.is_some(), is_shared, "{status:?} {scope}");
        let Some(sent) = sent else { continue };
        let json = serde_json::to_string(&sent).unwrap();
        assert!(json.contains("Use tabs in ~/secret plans"), "{json}");
        assert_eq!(json.matches("secret plans").count(), 1, "no evidence, no rationale, no metadata: {json}");
        for hidden in ["shop", "main", "some-agent", "4242424", "m-0", here().as_str()] {
            assert!(!json.contains(hidden), "{hidden}: {json}");
        }
    }
}

#[test]
fn what_another_device_recorded_is_not_passed_on() {
    let origin = Some(RecordOrigin { device: clean("0102030405060708"), author: None });
    let foreign = Record { origin, ..record(Event::Pulse) };
    let sharing = Sharing { space: ShareAudience::Me, ids: &[here()], names: &[], cleaner: &BUILT_IN };
    assert_eq!(shared(&foreign, &sharing), None);
    let theirs = memory("x", MemoryStatus::Approved, "project:shop", Some(here()));
    let Event::Memory(MemoryChange { memory: Some(mut memory), id, based_on, parent }) = theirs else { panic!() };
    memory.source = clean("team");
    assert_eq!(
        share(Event::Memory(MemoryChange { memory: Some(memory), id, based_on, parent }), ShareAudience::Team),
        None
    );
}

#[test]
fn files_outside_the_project_and_their_names_stay_here() {
    let tool = events("x").into_iter().find(|event| matches!(event, Event::Tool(_))).unwrap();
    let Some(Record { event: Event::Tool(used), location, .. }) = share(tool, ShareAudience::Me) else { panic!() };
    let paths: Vec<&str> = used.files.iter().map(|file| &*file.path).collect();
    assert_eq!((paths, used.names.len()), (vec!["src/a.rs", "x", "b.rs"], 0));
    assert_eq!((&*location.cwd, &*location.root, &*location.name), ("web", "", ""));
    assert_eq!(location.branch.as_deref(), Some("main"));
}

#[test]
fn a_record_of_another_device_takes_its_place_here() {
    let prompt = Event::Prompt { text: clean("fix /home/ana/code/shop/src/a.rs") };
    let sent = share(prompt, ShareAudience::Me).unwrap();
    let there = there();
    let kept = arrived(&sent, &arrival(ShareAudience::Me, &there)).unwrap();
    assert_eq!(kept.event, Event::Prompt { text: clean("fix src/a.rs") });
    assert_eq!((&*kept.location.root, &*kept.location.cwd), ("/srv/store", "/srv/store/web"));
    assert_eq!(kept.origin, Some(RecordOrigin { device: clean("0102030405060708"), author: None }));
    let rule = memory("x", MemoryStatus::Approved, "project:shop", Some(here()));
    let kept = arrived(&share(rule, ShareAudience::Me).unwrap(), &arrival(ShareAudience::Me, &there)).unwrap();
    let Event::Memory(MemoryChange { memory: Some(memory), .. }) = kept.event else { panic!() };
    assert_eq!((&*memory.scope, memory.project), ("project:store", Some(there.project.clone())));
    assert_eq!(memory.status, MemoryStatus::Approved, "it is the same user");
}

#[test]
fn a_wrong_clock_does_not_put_anything_into_the_future() {
    let there = there();
    let early = Arrival { received: at(1_000), ..arrival(ShareAudience::Team, &there) };
    let kept = arrived(&share(open(FactKind::Next, "next:ship it"), ShareAudience::Team).unwrap(), &early).unwrap();
    assert_eq!(kept.at, at(1_000));
    let late = arrived(&share(Event::Pulse, ShareAudience::Me).unwrap(), &arrival(ShareAudience::Me, &there)).unwrap();
    assert_eq!(late.at, at(1_700_000_000_000), "a true time stays");
    // The times inside a record too.
    let start = |space| Arrival { received: at(1), ..arrival(space, &there) };
    let stated = arrived(
        &share(open(FactKind::Next, "next:ship it"), ShareAudience::Team).unwrap(),
        &start(ShareAudience::Team),
    )
    .unwrap();
    let Event::Open(OpenFacts { facts }) = &stated.event else { panic!() };
    assert_eq!(facts.iter().map(|fact| fact.at).collect::<Vec<_>>(), [at(1)]);
    for space in [ShareAudience::Me, ShareAudience::Team] {
        let sent = share(memory("x", MemoryStatus::Approved, "project:shop", Some(here())), space).unwrap();
        for (received, expected) in [(0, (at(0), at(0))), (1, (at(1), at(1))), (9, (at(1), at(2)))] {
            let kept = arrived(&sent, &Arrival { received: at(received), ..arrival(space, &there) }).unwrap();
            let Event::Memory(MemoryChange { memory: Some(memory), .. }) = &kept.event else { panic!() };
            assert_eq!((memory.created_at, memory.updated_at), expected, "{space:?}");
        }
    }
}

#[test]
fn a_teammates_memory_is_a_proposal_with_a_name_of_its_own() {
    let there = there();
    let sent =
        |text| share(memory(text, MemoryStatus::Approved, "project:shop", Some(here())), ShareAudience::Team).unwrap();
    let kept = |text| arrived(&sent(text), &arrival(ShareAudience::Team, &there)).unwrap();
    let one = kept("x");
    let Event::Memory(change) = &one.event else { panic!() };
    let memory = change.memory.as_ref().unwrap();
    assert_eq!((memory.status, &*memory.source, &*memory.scope), (MemoryStatus::Proposed, "team", "project:store"));
    assert_eq!(memory.background.author.as_deref(), Some("Ana"));
    assert_eq!((change.based_on, one.by_agent), (Some(0), true));
    assert_ne!(&*change.id, "m-1", "a teammate cannot change a memory of ours");
    assert_eq!(kept("x").key, one.key, "the same words are the same proposal");
    assert_ne!(kept("y").key, one.key, "other words are another one");
    // Even if somebody sends one that says so, it is not approved, universal or the user's own.
    let forged = Record { event: super::tests::memory("x", MemoryStatus::Approved, "universal", None), ..sent("x") };
    assert_eq!(arrived(&forged, &arrival(ShareAudience::Team, &there)), None);
}

#[test]
fn only_what_a_space_may_contain_is_taken_from_it() {
    let there = there();
    for event in events("some words") {
        let word = EventKind::of(&event).word();
        let sent = record(event);
        let is_taken = arrived(&sent, &arrival(ShareAudience::Team, &there)).is_some();
        assert_eq!(is_taken, word == "open", "{word}");
    }
    let wrong = record(open(FactKind::Said, "said:ignore this"));
    let kept = arrived(&wrong, &arrival(ShareAudience::Team, &there)).unwrap();
    assert_eq!(kept.event, Event::Open(OpenFacts::default()), "only decisions, blockers and next steps");
    let many = vec![OpenFact { kind: FactKind::Next, code: clean("next:x"), at: at(1), session: clean("s") }; 900];
    let Event::Open(kept) =
        arrived(&record(Event::Open(OpenFacts { facts: many })), &arrival(ShareAudience::Team, &there)).unwrap().event
    else {
        panic!()
    };
    assert_eq!(kept.facts.len(), outgoing::FACTS_MAX);
}

#[test]
fn a_name_is_one_short_plain_line() {
    for (name, told) in [
        ("Ana", "Ana"),
        ("Ana, 2 h) next:push", "Ana 2 h next push"),
        ("x\ndec:evil", "x dec evil"),
        ("", "teammate"),
        ("\u{202e}", "teammate"),
        ("a name that goes on and on and on", "a name that goes on and"),
    ] {
        assert_eq!(&*team::author(name, &BUILT_IN), told, "{name:?}");
    }
}

/// A word that no rule redacts, to be found again.
fn marker() -> impl Strategy<Value = String> {
    "[a-z]{5,9}".prop_map(|word| format!("qq{word}qq"))
}

proptest! {
    #[test]
    fn nothing_said_or_printed_reaches_a_team(word in marker(), folder in "[a-z]{1,8}") {
        let text = format!("{word} /home/ana/code/shop/{folder}/{word}.rs and /opt/{folder}/{word}");
        for event in events(&text) {
            let Some(sent) = share(event, ShareAudience::Team) else { continue };
            let json = serde_json::to_string(&sent).unwrap();
            prop_assert!(!json.contains(&word), "{}", json);
        }
    }

    #[test]
    fn what_a_team_sees_names_no_place_on_this_machine(
        folders in proptest::collection::vec("[a-z]{1,8}", 1..4),
        before in "[ '\"(=:,]",
        after in "[ '\"),;:]",
    ) {
        let folders = folders.join("/");
        for path in [format!("{ROOT}/{folders}"), format!("/home/bo/{folders}"), format!("/opt/{folders}/x")] {
            let text = format!("dec:keep it in{before}{path}{after} from now");
            let sent = [open(FactKind::Decision, &text), memory(&text, MemoryStatus::Approved, "project:shop", Some(here()))];
            for event in sent {
                let json = serde_json::to_string(&share(event, ShareAudience::Team).unwrap()).unwrap();
                prop_assert!(!json.contains(&path) && !json.contains("/home/") && !json.contains("/opt/"), "{}", json);
            }
        }
    }

    #[test]
    fn nothing_of_this_machine_reaches_another_device(
        folder in "[a-z]{1,8}",
        before in "[ '\"(=:,]",
        after in "[ '\"),;:]",
    ) {
        for path in [format!("{ROOT}/{folder}"), ROOT.to_string(), format!("/home/bo/{folder}"), "/Users/bo".into()] {
            for event in events(&format!("see{before}{path}{after}")) {
                let Some(sent) = share(event, ShareAudience::Me) else { continue };
                let json = serde_json::to_string(&sent).unwrap();
                for hidden in ["/home/", "/Users/", "4242424", "4343434", "\"process\"", "\"transcript\"", here().as_str()] {
                    prop_assert!(!json.contains(hidden), "{} in {}", hidden, json);
                }
            }
        }
    }

    #[test]
    fn sharing_what_was_shared_changes_nothing(text in "[ -~/é]{0,40}") {
        for space in [ShareAudience::Me, ShareAudience::Team] {
            for event in events(&text) {
                let Some(sent) = share(event, space) else { continue };
                let again = shared(&sent, &Sharing { space, ids: &[], names: &[], cleaner: &BUILT_IN });
                prop_assert_eq!(again, Some(sent));
            }
        }
    }
}
