use std::collections::BTreeMap;

use cerberus_agents::stream::StreamEvent;
use cerberus_agents::{claude_code, codex};
use cerberus_recall::brief::failing::SessionRun;
use cerberus_recall::brief::{KnownFact, Settlement};
use cerberus_recall::extract::extract;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Note, Outcome, Severity};
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::ours::without_handoff;
use cerberus_record::runs;
use cerberus_record::time::Timestamp;
use proptest::prelude::*;

use super::state::{FileDifference, HandoffDecision, IncludedFile, Issue, ModifiedFile, TestState};
use super::*;
use crate::texts::{OneLine, Passage, one_line};

fn items(list: &[&str]) -> Vec<OneLine> {
    list.iter().map(|item| one_line(item)).collect()
}

fn issue(description: &str, severity: Severity) -> Issue {
    Issue { description: one_line(description), severity, files: vec![], addressed: false }
}

fn whole() -> PreservedState {
    let file =
        |path: &str, change, was: Option<&str>| ModifiedFile { path: one_line(path), change, was: was.map(one_line) };
    let decision = |what: &str, why: Option<&str>| HandoffDecision {
        description: one_line(what),
        rationale: why.map(one_line),
        timestamp: None,
    };
    PreservedState {
        current_objective: Some(one_line("Build the parser")),
        completed_items: items(&["Lexer"]),
        pending_items: items(&["Write tests", "Write docs"]),
        modified_files: vec![
            file("src/lexer.rs", FileDifference::Modified, None),
            file("src/new.rs", FileDifference::Renamed, Some("src/old.rs")),
            file("gone.rs", FileDifference::Deleted, None),
        ],
        decisions: vec![decision("Borrow tokens", Some("no copies")), decision("One pass", None)],
        known_issues: vec![
            issue("overflow on deep input", Severity::High),
            Issue { addressed: true, ..issue("leaks", Severity::Low) },
        ],
        test_state: Some(TestState { failing: items(&["parser::deep"]), ..TestState::default() }),
        custom: BTreeMap::from([("phase".to_string(), one_line("two"))]),
        notes: items(&["run with --release"]),
        recent_commits: items(&["1a2b3c4 lexer: tokens"]),
        included_files: vec![IncludedFile { path: one_line("PLAN.md"), text: Passage::new(&BUILT_IN, "step one") }],
        ..PreservedState::default()
    }
}

#[test]
fn the_handoff_has_the_documented_format() {
    let handoff = compose(&whole(), &Preserve::default());
    assert_eq!(
        handoff.text,
        "# Context Handoff

You are continuing work from a previous session. Here is the preserved context:

## Current Objective
Build the parser

## Completed
- [x] Lexer

## Pending
- [ ] Write tests
- [ ] Write docs

## Modified Files
- src/lexer.rs
- src/new.rs (renamed from src/old.rs)
- gone.rs (deleted)

## Key Decisions
- Borrow tokens (no copies)
- One pass

## Known Issues
- [HIGH] overflow on deep input

## Failing Tests
- parser::deep

## Recent Commits
- 1a2b3c4 lexer: tokens

## Custom State
- phase: two

## Notes
- run with --release

## PLAN.md
```
step one
```

Please continue working on the pending items.
"
    );
    assert_eq!(handoff.left_out, []);
}

#[test]
fn what_does_not_fit_is_dropped_by_priority_and_counted() {
    let mut state = whole();
    state.completed_items = (0..60).map(|n| one_line(&format!("a thing that was done, number {n}"))).collect();
    let handoff = compose(&state, &Preserve { max_state_bytes: 900, ..Preserve::default() });
    assert!(handoff.text.len() <= 900);
    for line in
        ["Build the parser", "- [ ] Write docs", "- [HIGH] overflow", "- parser::deep", "- src/lexer.rs", HANDOFF_END]
    {
        assert!(handoff.text.contains(line), "{line} in {}", handoff.text);
    }
    assert!(!handoff.text.contains("PLAN.md") && handoff.text.contains("more\n"), "{}", handoff.text);
    assert!(handoff.left_out.iter().any(|(heading, count)| heading == "## PLAN.md" && *count == 1));
}

#[test]
fn an_empty_state_is_still_a_handoff() {
    let handoff = compose(&PreservedState::default(), &Preserve::default());
    assert_eq!(handoff.text, format!("{HANDOFF_HEAD}\n\n{INTRODUCTION}\n\n{HANDOFF_END}\n"));
}

#[test]
fn no_line_of_a_file_closes_its_fence_and_no_text_makes_a_heading() {
    let mut state = whole();
    state.current_objective = Some(one_line("## Completed"));
    state.pending_items = items(&["one\n## Known Issues\n- two\u{1b}[2J"]);
    let text = Passage::new(&BUILT_IN, "````\n# not ours\n\t\tdeep\u{202e}\n");
    state.included_files = vec![IncludedFile { path: one_line("a\nb.md"), text }];
    let text = compose(&state, &Preserve::default()).text;
    assert!(text.contains("\n## a b.md\n`````\n````\n# not ours\n\t\tdeep?\n`````\n"), "{text}");
    assert!(text.contains("\n## Current Objective\nCompleted\n"), "{text}");
    assert!(text.contains("- [ ] one ## Known Issues - two [2J\n"), "{text}");
}

#[test]
fn secrets_are_cut_before_a_text_is_made_one_line() {
    let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
    assert!(!OneLine::new(&BUILT_IN, &format!("push with {key} now")).contains("abcdefghij"));
    let mut messages = super::messages::AgentMessages::default();
    messages.asked();
    messages.add(&BUILT_IN, &StreamEvent::Text(format!("<handoff>\n## Pending\n- push with {key}\n</handoff>")));
    assert_eq!(messages.written().unwrap().pending, [one_line("push with [redacted:github-token]")]);
}

#[test]
fn unwanted_kinds_are_not_preserved() {
    let only = |kinds: &[FactKind]| Preserve { kinds: kinds.to_vec(), ..Preserve::default() };
    for (preserve, gone, kept) in [
        (only(&[FactKind::Next]), "## Known Issues", "## Pending"),
        (only(&[FactKind::Blocker]), "## Pending", "## Known Issues"),
        (only(&[FactKind::Next]), "## Custom State", "## Failing Tests"),
        (only(&[FactKind::Decision]), "## Modified Files", "## Key Decisions"),
        (Preserve { test_state: false, ..Preserve::default() }, "## Failing Tests", "## Pending"),
        (Preserve { commits: 0, ..Preserve::default() }, "## Recent Commits", "## Pending"),
    ] {
        let mut state = whole();
        state.keep(&preserve);
        let text = compose(&state, &preserve).text;
        assert!(!text.contains(gone) && text.contains(kept), "{gone}, {kept}: {text}");
    }
}

#[test]
fn the_state_is_written_and_read_back_the_same() {
    let written = serde_json::to_string(&whole()).unwrap();
    let read: PreservedState = serde_json::from_str(&written).unwrap();
    assert_eq!(read, whole());
    assert!(written.contains(r#""severity":"high""#) && written.contains(r#""change":"renamed""#), "{written}");
}

#[test]
fn our_own_handoff_is_removed_from_what_comes_back() {
    let handoff = compose(&whole(), &Preserve::default()).text;
    for (prompt, left) in [
        (format!("Build the parser.\n\n{handoff}"), "Build the parser."),
        (format!("{handoff}\nBuild it."), "Build it."),
        (written::request(), ""),
        (format!("Go on.\n{}\n", written::request()), "Go on."),
        ("Explain the # Context Handoff format".to_string(), "Explain the # Context Handoff format"),
        ("nothing of ours".to_string(), "nothing of ours"),
    ] {
        assert_eq!(without_handoff(prompt.as_str().into()), left, "{prompt}");
    }
}

#[test]
fn only_the_users_part_of_a_loop_prompt_is_recorded() {
    let handoff = compose(&whole(), &Preserve::default()).text;
    for agent in [claude_code::AGENT, codex::AGENT] {
        for (prompt, words) in [
            (format!("Build the parser.\n\n{handoff}"), Some("Build the parser.")),
            (written::request(), None),
            ("Go on".to_string(), Some("Go on")),
        ] {
            let payload = serde_json::json!({
                "hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/r", "turn_id": "t", "prompt": prompt,
            });
            let payload = payload.to_string();
            let parsed = cerberus_agents::parse(&BUILT_IN, agent, payload.as_bytes()).unwrap();
            let event = words.map(|words| Event::Prompt { text: BUILT_IN.clean(words, Keep::PROMPT) });
            assert_eq!(parsed.map(|parsed| parsed.event), event, "{agent}: {prompt}");
        }
    }
}

fn note(kind: FactKind, text: &'static str) -> Note<'static> {
    Note {
        kind,
        text: Clean::word(text),
        why: None,
        sort: None,
        severity: None,
        custom_key: None,
        resolved: false,
        for_team: false,
    }
}

/// The state after these notes, one per second.
fn left(notes: &[Note<'static>], runs: &[SessionRun]) -> PreservedState {
    let session = SessionId::new("s");
    let (mut facts, mut settlements) = (Vec::new(), Vec::new());
    for (order, note) in notes.iter().enumerate() {
        let (at, event) = (Timestamp::from_millis(order as i64 * 1_000), order as i64);
        let extracted = extract(&Event::Note(note.clone()));
        facts.extend(extracted.facts.into_iter().map(|fact| KnownFact { fact, session: session.clone(), at, event }));
        let closed = extracted.closings.into_iter();
        settlements.extend(closed.map(|closing| Settlement { closing, session: session.clone(), at, event }));
    }
    gather(HandoffEvidence { facts: &facts, settlements: &settlements, runs })
}

#[test]
fn everything_that_can_be_recorded_is_preserved() {
    let with_key = |text, key| Note { custom_key: Some(Clean::word(key)), ..note(FactKind::Note, text) };
    let state = left(
        &[
            note(FactKind::Objective, "first objective"),
            note(FactKind::Objective, "Build the parser"),
            note(FactKind::Next, "write the docs"),
            note(FactKind::Next, "fix the lexer"),
            note(FactKind::Done, "fix the lexer"),
            note(FactKind::Next, "write part two"),
            note(FactKind::Done, "write part one"),
            Note { why: Some(Clean::word("no copies: fast")), ..note(FactKind::Decision, "borrow: tokens") },
            note(FactKind::Decision, "one pass"),
            note(FactKind::Blocker, "disk is slow"),
            Note { severity: Some(Severity::Critical), ..note(FactKind::Blocker, "no access to the server") },
            Note { severity: Some(Severity::Low), ..note(FactKind::Blocker, "a typo") },
            Note { resolved: true, ..note(FactKind::Blocker, "a typo") },
            note(FactKind::Note, "run with --release"),
            with_key("one", "phase"),
            with_key("two", "phase"),
            with_key("gone", "owner"),
            Note { resolved: true, ..note(FactKind::Note, "gone") },
            note(FactKind::File, "src/a.rs"),
            note(FactKind::File, "src/b.rs"),
            note(FactKind::File, "src/a.rs"),
        ],
        &[],
    );
    let decisions: Vec<_> = state.decisions.iter().map(|one| (&*one.description, one.rationale.as_deref())).collect();
    let issues: Vec<_> =
        state.known_issues.iter().map(|one| (&*one.description, one.severity, one.addressed)).collect();
    assert_eq!(state.current_objective.as_deref(), Some("Build the parser"));
    assert_eq!(state.pending_items, items(&["write part two", "write the docs"]));
    assert_eq!(state.completed_items, items(&["write part one", "fix the lexer"]));
    assert_eq!(decisions, [("one pass", None), ("borrow: tokens", Some("no copies: fast"))]);
    assert_eq!(
        issues,
        [
            ("no access to the server", Severity::Critical, false),
            ("disk is slow", Severity::Medium, false),
            ("a typo", Severity::Low, true),
        ]
    );
    assert_eq!(state.notes, items(&["run with --release"]));
    assert_eq!(state.custom, BTreeMap::from([("phase".to_string(), one_line("two"))]));
    let files: Vec<&str> = state.modified_files.iter().map(|file| &*file.path).collect();
    assert_eq!(files, ["src/a.rs", "src/b.rs"]);
    assert_eq!(state.test_state, None);
}

fn ran(order: i64, command: &str, output: &str, outcome: Outcome) -> SessionRun {
    let command = runs::recognise(command).unwrap();
    let run = runs::read(&command, output, outcome);
    SessionRun { command, run, session: SessionId::new("s"), at: Timestamp::from_millis(order * 1_000), event: order }
}

#[test]
fn failing_tests_are_the_test_state_and_other_failures_issues() {
    let first = "test parse::deep ... ok\ntest parse::wide ... FAILED\ntest parse::tabs ... FAILED\n\n\
        test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
    let second = "test parse::deep ... FAILED\ntest parse::wide ... ok\ntest parse::tabs ... FAILED\n\n\
        test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
    let state = left(
        &[],
        &[
            ran(1, "cargo test", first, Outcome::Failed),
            ran(2, "cargo test", second, Outcome::Failed),
            ran(3, "cargo build", "error[E0308]: mismatched types\n --> src/a.rs:3:5\n", Outcome::Failed),
        ],
    );
    let tests = state.test_state.clone().unwrap();
    assert_eq!(tests.failing, items(&["parse::deep", "parse::tabs"]));
    assert_eq!((tests.fixed, tests.regressed), (items(&["parse::wide"]), items(&["parse::deep"])));
    let issues: Vec<_> = state.open_issues().collect();
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert!(issues[0].description.starts_with("build fails:") && issues[0].severity == Severity::High, "{issues:?}");
}

prop_compose! {
    fn text()(text in "[a-zA-Z0-9 #`_./\u{1b}\n-]{1,20}|\\PC{1,400}") -> OneLine { one_line(&text) }
}

prop_compose! {
    fn any_issue()(text in text(), severity in 0usize..4, addressed in any::<bool>()) -> Issue {
        Issue { addressed, ..issue(&format!("i{}", &*text), Severity::ALL[severity]) }
    }
}

prop_compose! {
    fn any_state()(
        objective in proptest::option::of(text()),
        lists in proptest::collection::vec(proptest::collection::vec(text(), 0..12), 5),
        failing in proptest::collection::vec(text(), 0..60),
        known_issues in proptest::collection::vec(any_issue(), 0..30),
        file in "[a-z`\n ]{0,2000}",
    ) -> PreservedState {
        let numbered = |list: &[OneLine]| list.iter().enumerate().map(|(n, one)| one_line(&format!("{n}{}", &**one))).collect::<Vec<_>>();
        let file_of = |path: OneLine| ModifiedFile { path, change: FileDifference::Added, was: None };
        let decided = |description| HandoffDecision { description, rationale: None, timestamp: None };
        PreservedState {
            current_objective: objective,
            completed_items: lists[0].clone(),
            pending_items: numbered(&lists[1]),
            modified_files: lists[2].iter().cloned().map(file_of).collect(),
            decisions: lists[3].iter().cloned().map(decided).collect(),
            known_issues,
            test_state: Some(TestState { failing: numbered(&failing), ..TestState::default() }),
            notes: lists[4].clone(),
            included_files: vec![IncludedFile { path: one_line("f"), text: Passage::new(&BUILT_IN, &file) }],
            ..PreservedState::default()
        }
    }
}

/// The lines under a heading, and the reported number of further ones.
fn under(text: &str, heading: &str) -> (Vec<String>, usize) {
    let mut lines = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.is_empty());
    let mut shown: Vec<String> = lines.by_ref().map(str::to_string).collect();
    let more = shown.last().and_then(|line| line.strip_prefix("- and ")?.strip_suffix(" more")?.parse().ok());
    if more.is_some() {
        shown.pop();
    }
    (shown, more.unwrap_or(0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn mandatory_parts_survive_any_budget_and_lines_are_whole(
        state in any_state(),
        max_state_bytes in prop_oneof![500usize..1_500, 500usize..60_000],
    ) {
        let text = compose(&state, &Preserve { max_state_bytes, ..Preserve::default() }).text;
        let all = compose(&state, &Preserve { max_state_bytes: usize::MAX, ..Preserve::default() }).text;
        prop_assert!(text.len() <= max_state_bytes);
        let end = format!("\n{HANDOFF_END}\n");
        prop_assert!(text.starts_with(HANDOFF_HEAD) && text.ends_with(&end));
        let failing = state.test_state.as_ref().map(|tests| tests.failing.len()).unwrap_or(0);
        let open = state.open_issues().count();
        for (heading, count) in
            [("## Failing Tests", failing), ("## Known Issues", open), ("## Pending", state.pending_items.len())]
        {
            let (shown, more) = under(&text, heading);
            prop_assert_eq!(shown.len() + more, count, "{} in {}", heading, text);
            prop_assert!(count == 0 || !shown.is_empty());
            // Only the one line that had to be shortened differs from the full text.
            let (every, _) = under(&all, heading);
            for (short, line) in shown.iter().zip(&every) {
                let is_begun = short.strip_suffix('…').is_some_and(|short| line.starts_with(short) && shown.len() == 1);
                prop_assert!(short == line || is_begun, "{short} of {line}");
                prop_assert!(short.len() > 20 || short == line, "{short}");
            }
        }
    }
}
