use std::collections::HashSet;
use std::time::Duration;

use cerberus_record::clean::text;
use cerberus_record::fact::{ClosedAs, Closing, ClosingTarget, Fact};
use cerberus_record::id::SessionId;
use proptest::prelude::*;

use super::*;
use crate::extract::RECORDED;
use crate::learn::guide::GuideLines;

fn at(secs: i64) -> Timestamp {
    Timestamp::parse("2026-01-22T13:35:14Z").unwrap().plus(Duration::from_secs(secs as u64))
}

fn known(session: &str, secs: i64, fact: Fact) -> KnownFact {
    KnownFact { fact, session: SessionId::new(session), at: at(secs), event: secs }
}

fn file(session: &str, secs: i64, path: &str) -> KnownFact {
    known(session, secs, Fact::file(FactKind::File, path))
}

fn words(session: &str, secs: i64, kind: FactKind, text: &str) -> KnownFact {
    known(session, secs, Fact::words(kind, text))
}

fn settled(session: &str, secs: i64, target: ClosingTarget) -> Settlement {
    Settlement {
        closing: Closing { target, outcome: ClosedAs::Done },
        session: SessionId::new(session),
        at: at(secs),
        event: secs,
    }
}

fn compose_with(facts: &[KnownFact], settlements: &[Settlement], budget_tokens: usize) -> Brief {
    compose_after(&[], facts, settlements, budget_tokens)
}

fn compose_after(worked: &[LastWork], facts: &[KnownFact], settlements: &[Settlement], budget_tokens: usize) -> Brief {
    compose(&BriefRequest {
        project: "hydra",
        facts,
        settlements,
        likely: &Likely::default(),
        now: at(9),
        budget_tokens,
        chars_max: CHARS_MAX,
        prompt: None,
        memories: &[],
        known: None,
        turns: &[],
        live: &[],
        worked,
    })
}

fn text(facts: &[KnownFact]) -> String {
    compose_with(facts, &[], BUDGET_TOKENS).text
}

#[test]
fn sections_come_in_a_fixed_order_and_no_facts_give_no_text() {
    let facts = [
        words("s", 1, FactKind::Next, "add mutex to process struct"),
        words("s", 2, FactKind::Next, "rerun race detector"),
        known("s", 3, Fact::blocker("test failure line 712", Some("race"))),
        words("s", 4, FactKind::Decision, "split proxy 3 files"),
        known("s", 5, Fact::function("supervisor.Process", None)),
        file("s", 6, "internal/proxy.go"),
        words("s", 7, FactKind::Done, "something else"),
    ];
    let expected = "proj:hydra\nblock:race:test failure line 712\nnext:add mutex to process struct\n\
        next:rerun race detector\ndec:split proxy 3 files\nimpl:internal/proxy.go\nimpl:supervisor.Process";
    assert_eq!(text(&facts), expected);
    assert_eq!(text(&[]), "");
    assert_eq!(text(&facts[6..]), "");
}

#[test]
fn duplicates_merge_and_reading_does_not_undo_an_edit() {
    let facts = [
        file("a", 1, "src/x.rs"),
        known("a", 2, Fact::file(FactKind::Read, "src/y.rs")),
        file("b", 3, "src/z.rs"),
        known("b", 4, Fact::file(FactKind::Read, "src/x.rs")),
        words("a", 5, FactKind::Decision, "use tabs"),
        words("b", 6, FactKind::Decision, "use tabs"),
    ];
    assert_eq!(text(&facts), "proj:hydra\ndec:use tabs\nimpl:src/x.rs\nimpl:src/z.rs\nsee:src/y.rs");
    let brief = compose_with(&facts, &[], BUDGET_TOKENS);
    assert_eq!(brief.items[1].why(), "changed 2026-01-22T13:35:18Z in b, 2 times");
}

#[test]
fn newest_session_first_and_each_in_its_own_order() {
    let facts = [
        words("old", 1, FactKind::Next, "first old"),
        words("old", 2, FactKind::Next, "second old"),
        words("new", 3, FactKind::Next, "first new"),
        words("new", 4, FactKind::Next, "second new"),
    ];
    assert_eq!(text(&facts), "proj:hydra\nnext:first new\nnext:second new\nnext:first old\nnext:second old");
}

#[test]
fn done_removes_its_next_and_nothing_else() {
    let next = words("a", 1, FactKind::Next, "Add the mutex to the process struct");
    for (done, gone) in [
        ("add mutex to process struct", true),
        ("added: process struct mutex", true),
        ("add mutex", false),
        ("process the list", false),
    ] {
        let brief = text(&[next.clone(), words("b", 5, FactKind::Done, done)]);
        assert_eq!(brief.is_empty(), gone, "{done}");
        let before = text(&[next.clone(), words("b", 0, FactKind::Done, done)]);
        assert!(!before.is_empty(), "an item done before it was planned settles nothing");
    }
}

#[test]
fn a_settled_item_is_dropped_with_its_reason() {
    let open = Fact { reference: Some("task:1".into()), ..Fact::words(FactKind::Next, "write tests") };
    let facts =
        [known("a", 1, open.clone()), known("b", 1, open), known("a", 2, Fact::blocker("needs ollama", Some("need")))];
    let by_reference = settled("a", 3, ClosingTarget::Reference("task:1".into()));
    let brief = compose_with(&facts[..1], std::slice::from_ref(&by_reference), BUDGET_TOKENS);
    assert_eq!(brief.text, "");
    assert_eq!(brief.dropped, [DroppedLine { code: "next:write tests".into(), reason: "settled by the agent".into() }]);
    // Another session's task with the same number is another task.
    let brief = compose_with(&facts, &[by_reference], BUDGET_TOKENS);
    assert_eq!(brief.text, "proj:hydra\nblock:need:needs ollama\nnext:write tests");
    // A session that never stated this task works on the list of a teammate.
    let by_teammate = settled("c", 3, ClosingTarget::Reference("task:1".into()));
    assert_eq!(compose_with(&facts, &[by_teammate], BUDGET_TOKENS).text, "proj:hydra\nblock:need:needs ollama");
    let other_list = settled("c", 3, ClosingTarget::Reference("todos".into()));
    assert_eq!(compose_with(&facts[..1], &[other_list], BUDGET_TOKENS).text, "proj:hydra\nnext:write tests");
    let by_code = settled("b", 9, ClosingTarget::Code(FactKind::Blocker, "block:need:needs ollama".into()));
    assert_eq!(compose_with(&facts[2..], &[by_code], BUDGET_TOKENS).text, "");
}

#[test]
fn a_replaced_list_keeps_its_own_items() {
    let todo = |text| Fact { reference: Some("todos".into()), ..Fact::words(FactKind::Next, text) };
    let facts = [known("a", 1, todo("old item")), known("a", 1, todo("kept item")), known("a", 5, todo("kept item"))];
    let replaced = [
        settled("a", 1, ClosingTarget::Reference("todos".into())),
        settled("a", 5, ClosingTarget::Reference("todos".into())),
    ];
    assert_eq!(compose_with(&facts, &replaced, BUDGET_TOKENS).text, "proj:hydra\nnext:kept item");
}

#[test]
fn over_budget_functions_go_first_and_blockers_last() {
    let mut facts = Vec::new();
    for n in 0..200 {
        facts.push(file("s", n, &format!("src/module_{n}/file_{n}.rs")));
        facts.push(known("s", n, Fact::function(&format!("Module{n}.method_{n}"), None)));
        facts.push(words("s", n, FactKind::Decision, &format!("decision number {n} because of reason {n}")));
        facts.push(known("s", n, Fact::blocker(&format!("blocker number {n}"), Some("need"))));
        facts.push(words("s", n, FactKind::Next, &format!("next number {n}")));
    }
    let worked = ["s", "t"].map(|id| LastWork { session: SessionId::new(id), at: at(0) });
    let brief = compose_after(&worked, &facts, &[], BUDGET_TOKENS);
    let count = |brief: &Brief, section| brief.items.iter().filter(|item| item.section == section).count();
    let total = |brief: &Brief, section| -> usize {
        brief.items.iter().filter(|item| item.section == section).map(|item| item.tokens).sum()
    };
    assert!(total(&brief, Section::Files) + 40 > BUDGET_TOKENS * 3 / 10 && count(&brief, Section::Files) < 200);
    let limits = [
        (Section::Functions, rank::weights::FUNCTIONS_MAX),
        (Section::Decisions, rank::weights::DECISIONS_MAX),
        (Section::Next, rank::weights::NEXT_MAX),
        (Section::Blockers, rank::weights::BLOCKERS_MAX),
    ];
    for (section, max) in limits {
        assert_eq!(count(&brief, section), max, "{section:?}");
    }
    assert!(brief.tokens * 10 > BUDGET_TOKENS * 9 && brief.tokens <= BUDGET_TOKENS);
    assert_eq!(brief.items.len() + brief.dropped.len(), 1000);
    assert!(brief.text.contains("impl:src/module_199/file_199.rs") && !brief.text.contains("module_0/"));

    let small = compose_with(&facts, &[], 20);
    assert_eq!(count(&small, Section::Functions), 0);
    assert!(count(&small, Section::Blockers) > 0 && small.tokens <= 20);
    assert_eq!(compose_with(&facts, &[], 1).text, "");
}

#[test]
fn a_resumed_session_gets_only_what_is_new_to_it() {
    let facts = [file("own", 1, "a.rs"), file("other", 2, "b.rs"), file("other", 3, "c.rs")];
    let known = AlreadyKnown {
        shown_codes: HashSet::from(["impl:b.rs".to_string()]),
        own_sessions: HashSet::from([SessionId::new("own")]),
        ..AlreadyKnown::default()
    };
    let request = BriefRequest {
        project: "hydra",
        facts: &facts,
        settlements: &[],
        likely: &Likely::default(),
        now: at(9),
        budget_tokens: BUDGET_TOKENS,
        chars_max: CHARS_MAX,
        prompt: None,
        memories: &[],
        known: Some(&known),
        turns: &[],
        live: &[],
        worked: &[],
    };
    assert_eq!(compose(&request).text, "proj:hydra\nimpl:c.rs");
    let nothing_new = compose(&BriefRequest { facts: &facts[..2], ..request });
    assert_eq!(nothing_new.text, "");
}

#[test]
fn items_related_to_the_prompt_come_first() {
    let facts: Vec<KnownFact> =
        (0..9).map(|n| file("s", n, ["src/a.rs", "src/parser.rs", "src/store/rows.rs"][n as usize % 3])).collect();
    let request = |prompt| {
        compose(&BriefRequest {
            project: "hydra",
            facts: &facts,
            settlements: &[],
            likely: &Likely::default(),
            now: at(9),
            budget_tokens: BUDGET_TOKENS,
            chars_max: CHARS_MAX,
            prompt,
            memories: &[],
            known: None,
            turns: &[],
            live: &[],
            worked: &[],
        })
        .text
    };
    assert_eq!(request(None), "proj:hydra\nimpl:src/store/rows.rs\nimpl:src/parser.rs\nimpl:src/a.rs");
    assert_eq!(
        request(Some("why do both Parsers fail?")),
        "proj:hydra\nimpl:src/parser.rs\nimpl:src/store/rows.rs\nimpl:src/a.rs"
    );
}

fn item(section: Section, code: &str, tokens: usize) -> BriefLine {
    BriefLine {
        section,
        kind: FactKind::Decision,
        code: code.to_string(),
        text: String::new(),
        path: None,
        session: None,
        at: at(0),
        tokens,
        times: 1,
        place: None,
        reference: None,
        author: None,
    }
}

/// The sections whose shares are tested.
const SHARES: [Section; 5] = [Section::Files, Section::Functions, Section::Decisions, Section::Blockers, Section::Next];

/// How many items of each section of [`SHARES`] fit.
fn fitting(items: Vec<BriefLine>, budget_tokens: usize, chars_max: usize) -> [usize; 5] {
    let request = BriefRequest {
        project: "hydra",
        facts: &[],
        settlements: &[],
        likely: &Likely::default(),
        now: at(9),
        budget_tokens,
        chars_max,
        prompt: None,
        memories: &[],
        known: None,
        turns: &[],
        live: &[],
        worked: &[],
    };
    let total = items.len();
    let mut dropped = Vec::new();
    let kept = fit::fit("proj:hydra", items, &fit::RoomLeft::of(&request), &mut dropped);
    assert_eq!(kept.len() + dropped.len(), total, "every item is kept or dropped");
    SHARES.map(|section| kept.iter().filter(|item| item.section == section).count())
}

#[test]
fn each_section_keeps_its_share_to_the_token() {
    let of = |counts: [usize; 5]| {
        let lists = SHARES.into_iter().zip(counts);
        lists.flat_map(|(section, count)| vec![item(section, "code", 10); count]).collect::<Vec<_>>()
    };
    // Files, functions, decisions, blockers, next. The header takes a little more than nothing.
    for (counts, budget_tokens, kept) in [
        ([3, 2, 2, 1, 1], 100, [3, 2, 2, 1, 1]),
        ([9, 9, 9, 9, 9], 100, [3, 2, 2, 1, 1]),
        // A section within its share loses nothing while another exceeds its own.
        ([8, 2, 0, 0, 0], 100, [7, 2, 0, 0, 0]),
        ([3, 0, 7, 0, 0], 100, [3, 0, 6, 0, 0]),
        ([0, 0, 2, 0, 8], 100, [0, 0, 2, 0, 7]),
        ([0, 0, 0, 8, 2], 100, [0, 0, 0, 8, 1]),
        ([9, 9, 9, 9, 9], 20, [0, 0, 0, 1, 0]),
    ] {
        assert_eq!(fitting(of(counts), budget_tokens, 10_000), kept, "{counts:?}");
    }
}

#[test]
fn the_hosts_limit_is_used_to_the_character() {
    // The header has 10 characters, each line 9 and its break.
    let items = || vec![item(Section::Decisions, "dec:12345", 1); 5];
    for (chars_max, kept) in [(60, 5), (59, 4), (50, 4), (49, 3), (40, 3), (39, 2), (20, 1), (19, 0)] {
        assert_eq!(fitting(items(), 1_000, chars_max)[2], kept, "{chars_max}");
    }
}

#[test]
fn interrupted_work_comes_before_everything_else() {
    let facts = [
        file("s", 1, "src/a.rs"),
        words("s", 2, FactKind::Decision, "use tabs"),
        words("s", 3, FactKind::Next, "interrupted reads must be retried"),
        words("s", 4, FactKind::Next, "interrupted:run the tests"),
    ];
    let expected = "proj:hydra\nnext:interrupted:run the tests\nnext:interrupted reads must be retried\n\
        dec:use tabs\nimpl:src/a.rs";
    assert_eq!(text(&facts), expected);
}

#[test]
fn in_a_section_the_objective_comes_first_and_notes_last() {
    let facts = [
        words("s", 3, FactKind::Note, "the api is slow"),
        words("s", 2, FactKind::Next, "write tests"),
        words("s", 1, FactKind::Objective, "ship it"),
    ];
    assert_eq!(text(&facts), "proj:hydra\ngoal:ship it\nnext:write tests\nnote:the api is slow");
}

#[test]
fn a_repeated_item_belongs_to_the_session_that_said_it_last() {
    for (secs, said_last) in [([1, 1, 1], "c"), ([1, 3, 2], "b"), ([3, 2, 1], "a")] {
        let facts: Vec<KnownFact> = ["a", "b", "c"]
            .iter()
            .zip(secs)
            .map(|(session, secs)| words(session, secs, FactKind::Decision, "tabs"))
            .collect();
        let brief = compose_with(&facts, &[], BUDGET_TOKENS);
        let item = &brief.items[0];
        assert_eq!((item.times, item.session.clone()), (3, Some(SessionId::new(said_last))), "{secs:?}");
    }
}

#[test]
fn only_a_later_matching_item_of_the_same_kind_settles() {
    let open = words("a", 5, FactKind::Next, "add mutex to process struct");
    let code = "next:add mutex to process struct";
    for (secs, event, kind, settled_code, outcome, reason) in [
        (9, 9, FactKind::Next, code, ClosedAs::Done, Some("resolved 2026-01-22T13:35:23Z")),
        (9, 9, FactKind::Next, code, ClosedAs::Dropped, Some("dropped 2026-01-22T13:35:23Z")),
        (9, 9, FactKind::Next, "next:mutex process struct", ClosedAs::Done, Some("resolved 2026-01-22T13:35:23Z")),
        (9, 9, FactKind::Next, "next:add mutex", ClosedAs::Done, None),
        (9, 9, FactKind::Blocker, code, ClosedAs::Done, None),
        // In the same instant, the place in the journal decides.
        (5, 6, FactKind::Next, code, ClosedAs::Done, Some("resolved 2026-01-22T13:35:19Z")),
        (5, 5, FactKind::Next, code, ClosedAs::Done, None),
        (4, 9, FactKind::Next, code, ClosedAs::Done, None),
    ] {
        let closing = Closing { target: ClosingTarget::Code(kind, settled_code.into()), outcome };
        let settlement = Settlement { closing, session: SessionId::new("b"), at: at(secs), event };
        let brief = compose_with(std::slice::from_ref(&open), &[settlement], BUDGET_TOKENS);
        let reasons: Vec<&str> = brief.dropped.iter().map(|dropped| dropped.reason.as_str()).collect();
        assert_eq!(reasons, Vec::from_iter(reason), "{secs} {event} {kind:?} {settled_code}");
        assert_eq!(brief.text.is_empty(), reason.is_some());
    }
}

#[test]
fn a_repeated_item_is_open_again_and_a_settled_one_is_dropped_once() {
    let planned = |secs| words("a", secs, FactKind::Next, "write tests");
    let done = || words("b", 5, FactKind::Done, "write tests");
    let brief = compose_with(&[planned(1), planned(2), done()], &[], BUDGET_TOKENS);
    assert_eq!((brief.text.as_str(), brief.dropped.len()), ("", 1));
    let brief = compose_with(&[planned(1), done(), planned(9)], &[], BUDGET_TOKENS);
    assert_eq!((brief.text.as_str(), brief.dropped.len()), ("proj:hydra\nnext:write tests", 0));
}

#[test]
fn the_last_settlement_of_a_reference_counts() {
    let fact = Fact { reference: Some("task:1".into()), ..Fact::words(FactKind::Next, "write tests") };
    let facts = [known("a", 5, fact)];
    for (times, is_open) in [([1, 4], true), ([9, 1], false), ([1, 9], false), ([5, 5], true)] {
        let settlements = times.map(|secs| settled("a", secs, ClosingTarget::Reference("task:1".into())));
        assert_eq!(!compose_with(&facts, &settlements, BUDGET_TOKENS).text.is_empty(), is_open, "{times:?}");
    }
}

#[test]
fn interrupted_work_is_open_until_another_session_works() {
    let fact = Fact::words(FactKind::Next, "interrupted:run the tests");
    let fact = Fact { reference: Some("interrupted".into()), text: "run the tests".into(), ..fact };
    let broken_off = known("a", 5, fact);
    let read = |session, secs| known(session, secs, Fact::file(FactKind::Read, "x.rs"));
    for (other, is_open) in [
        (file("b", 6, "x.rs"), false),
        (words("b", 6, FactKind::Done, "something"), false),
        (file("a", 6, "x.rs"), true),
        (file("b", 4, "x.rs"), true),
        (read("b", 6), true),
        (words("b", 6, FactKind::Next, "something"), true),
    ] {
        let brief = compose_with(&[broken_off.clone(), other.clone()], &[], BUDGET_TOKENS);
        assert_eq!(brief.text.contains("next:interrupted:run the tests"), is_open, "{other:?}");
        let reasons: Vec<&str> = brief.dropped.iter().map(|dropped| dropped.reason.as_str()).collect();
        assert_eq!(reasons.contains(&"continued by b"), !is_open, "{other:?}");
    }
}

#[test]
fn a_task_finished_by_its_number_is_the_task_last_seen_under_it() {
    let task = |text| Fact { reference: Some("task:1".into()), ..Fact::words(FactKind::Next, text) };
    let facts = [
        known("a", 1, task("first words")),
        known("a", 2, task("better words")),
        known("b", 3, task("of another session")),
        known("a", 4, Fact::words(FactKind::Next, "without a number")),
    ];
    let by = |session, target, outcome| {
        let closing = Closing { target, outcome };
        [Settlement { closing, session: SessionId::new(session), at: at(9), event: 9 }]
    };
    let number = |number: &str| ClosingTarget::Reference(format!("task:{number}"));
    for (settlement, expected) in [
        (by("a", number("1"), ClosedAs::Done), Some("done:better words")),
        (by("b", number("1"), ClosedAs::Done), Some("done:of another session")),
        (by("c", number("1"), ClosedAs::Done), Some("done:of another session")),
        (by("a", number("2"), ClosedAs::Done), None),
        (by("a", number("1"), ClosedAs::Dropped), None),
        (by("a", ClosingTarget::Code(FactKind::Next, "next:better words".into()), ClosedAs::Done), None),
    ] {
        let done = done_by_reference(&facts, &settlement);
        let codes: Vec<&str> = done.iter().map(|known| known.fact.code.as_str()).collect();
        assert_eq!(codes, Vec::from_iter(expected), "{settlement:?}");
        assert!(done.iter().all(|known| (known.at, known.event, &known.session) == (at(9), 9, &settlement[0].session)));
    }
}

/// The lines that call something open, after these sessions worked at these seconds.
fn open_after(worked: &[(&str, i64)], facts: &[KnownFact]) -> Vec<String> {
    let worked: Vec<LastWork> =
        worked.iter().map(|(id, secs)| LastWork { session: SessionId::new(*id), at: at(*secs) }).collect();
    let brief = compose_after(&worked, facts, &[], BUDGET_TOKENS);
    brief
        .text
        .lines()
        .filter(|line| line.starts_with("next:") || line.starts_with("block:"))
        .map(str::to_string)
        .collect()
}

#[test]
fn what_later_sessions_pass_over_fades_out() {
    let with = |reference: Option<&str>, text: &str| {
        let fact = Fact { reference: reference.map(str::to_string), ..Fact::words(FactKind::Next, text) };
        known("a", 1, fact)
    };
    let facts = [
        with(None, "said"),
        with(Some("plan"), "planned"),
        with(Some("todos"), "listed"),
        with(Some(RECORDED), "by hand"),
    ];
    let all = ["next:said", "next:planned", "next:listed", "next:by hand"];
    assert_eq!(open_after(&[("a", 2), ("b", 0)], &facts), all, "its own work and earlier work do not count");
    assert_eq!(open_after(&[("a", 2), ("b", 3)], &facts), all[2..]);
    assert_eq!(open_after(&[("a", 2), ("b", 3), ("c", 4)], &facts), all[3..]);
    let dropped =
        compose_after(&[LastWork { session: SessionId::new("b"), at: at(3) }], &facts, &[], BUDGET_TOKENS).dropped;
    assert_eq!(dropped[0].reason, "not taken up by 1 later session");
}

#[test]
fn functions_stand_behind_their_file() {
    let of = |name: &str, path: &str, secs| known("s", secs, Fact::function(name, Some(path)));
    let facts = [
        file("s", 1, "src/store.rs"),
        of("open", "src/store.rs", 2),
        of("Store.fold", "src/store.rs", 3),
        of("Store.close", "src/store.rs", 4),
        of("Store.rotate", "src/store.rs", 5),
        of("elsewhere", "src/other.rs", 6),
    ];
    let brief = compose_with(&facts, &[], BUDGET_TOKENS);
    assert_eq!(brief.text, "proj:hydra\nimpl:src/store.rs Store.close, Store.rotate");
    let codes: Vec<&str> = brief.items.iter().map(|item| item.code.as_str()).collect();
    assert_eq!(codes, ["impl:src/store.rs", "impl:Store.close", "impl:Store.rotate"]);
}

#[test]
fn names_of_functions_have_what_quotes_leave() {
    let turn = stopped::Turn {
        session: SessionId::new("s"),
        at: at(7),
        request: "Fix the burst test".to_string(),
        sender: None,
        reply: "The burst test in burst.rs is still red on CI. The bucket of every client refills too late."
            .to_string(),
    };
    let facts = [file("s", 1, "src/store.rs"), known("s", 2, Fact::function("Store.rotate", Some("src/store.rs")))];
    let brief = |facts: &[KnownFact], budget_tokens| {
        let request = BriefRequest {
            project: "hydra",
            facts,
            settlements: &[],
            likely: &Likely::default(),
            now: at(9),
            budget_tokens,
            chars_max: 10_000,
            prompt: None,
            memories: &[],
            known: None,
            turns: &[stopped::Quotable::of(&turn)],
            live: &[],
            worked: &[],
        };
        compose(&request)
    };
    let others = |brief: &Brief| {
        let others = brief.items.iter().filter(|item| item.section != Section::Functions);
        others.map(|item| item.text.clone()).collect::<Vec<_>>()
    };
    let whole = brief(&facts, 1_000);
    assert!(whole.text.contains("Fix the burst test") && whole.text.contains("Store.rotate"), "{}", whole.text);
    for budget_tokens in 10..=whole.tokens {
        let (with, without) = (brief(&facts, budget_tokens), brief(&facts[..1], budget_tokens));
        assert_eq!(others(&with), others(&without), "{budget_tokens}");
    }
}

#[test]
fn a_receipt_names_a_quote_by_its_place_not_by_its_words() {
    let turn = stopped::Turn {
        session: SessionId::new("a"),
        at: at(1),
        request: "Fix the burst test".to_string(),
        sender: None,
        reply: "Next step: mend the burst test in burst.rs. I changed the bucket.".to_string(),
    };
    let items = stopped::items(
        &[stopped::Quotable::of(&turn)],
        at(2),
        400,
        &stopped::ToldElsewhere::default(),
        &mut Vec::new(),
    );
    assert_eq!(items.len(), 3, "{items:?}");
    for item in items {
        let receipt = item.receipt_code();
        assert!(receipt.ends_with("a@2026-01-22T13:35:15Z") && !receipt.contains("burst"), "{receipt}");
    }
    let named = compose_with(&[file("s", 1, "src/a.rs")], &[], BUDGET_TOKENS);
    assert_eq!(named.items[0].receipt_code(), "impl:src/a.rs");
}

proptest! {
    #[test]
    fn never_over_budget_never_a_broken_line(
        facts in proptest::collection::vec((0usize..11, "\\PC{0,300}|[a-z\n\u{1b}\u{202e} ]{0,40}", 0i64..5), 0..60),
        budget_tokens in 0usize..1500,
        project in "\\PC{0,40}|[a\n\t]{1,9}",
    ) {
        let facts: Vec<KnownFact> = facts.into_iter().map(|(kind, text, secs)| {
            let kind = FactKind::ALL[kind];
            let fact = match kind {
                FactKind::File | FactKind::Read => Fact::file(kind, &text),
                kind => Fact::words(kind, &text),
            };
            known("s", secs, fact)
        }).collect();
        let request = BriefRequest {
            project: &project, facts: &facts, settlements: &[], likely: &Likely::default(), now: at(9), budget_tokens, chars_max: 900, prompt: None,
        memories: &[],
        known: None,
        turns: &[],
        live: &[],
        worked: &[],
        };
        let brief = compose(&request);
        prop_assert!(brief.tokens <= budget_tokens && brief.text.chars().count() <= 900);
        prop_assert_eq!(brief.tokens, tokens::estimate(&brief.text));
        let lines = if brief.text.is_empty() { 0 } else { brief.items.len() + 1 };
        prop_assert_eq!(brief.text.split('\n').filter(|_| !brief.text.is_empty()).count(), lines);
        prop_assert!(brief.text.chars().all(|c| c == '\n' || !c.is_control()));
        prop_assert_eq!(compose(&request), brief);
    }

    #[test]
    fn never_over_budget_with_functions_memories_and_teammates(
        facts in proptest::collection::vec((0usize..4, 0usize..4, "[a-zé]{1,30}|[A-Z_.é(]{1,12}", 0i64..5), 0..60),
        memories in proptest::collection::vec("\\PC{1,80}", 0..9),
        team in proptest::collection::vec("[a-zé ]{1,40}", 0..4),
        budget_tokens in 0usize..300,
        project in "[a-z]{1,9}",
    ) {
        const PATHS: [&str; 4] = ["src/a.rs", "src/some/deeper/folder/of/the_project/Names.java", "ä.rs", "b"];
        let facts: Vec<KnownFact> = facts.into_iter().map(|(kind, path, text, secs)| known("s", secs, match kind {
            0 => Fact::file(FactKind::File, PATHS[path]),
            1 => Fact::words(FactKind::Next, &text),
            _ => Fact::function(&text, Some(PATHS[path])),
        })).collect();
        let memories: Vec<MemoryItem> = memories.into_iter().map(|text| {
            let code = text::code(&format!("rule:{text}")).into_owned();
            let (id, tokens) = (cerberus_record::id::MemoryId::of(&[&text]), tokens::line(&code));
            let (category, why) = ("rule".to_string(), String::new());
            MemoryItem { id, category, code, text, evidence: Vec::new(), at: at(0), tokens, why }
        }).collect();
        let memory_tokens: usize = memories.iter().map(|item| item.tokens).sum();
        let both_tokens = budget_tokens + memory_tokens;
        let budget_tokens = Brief::tokens_after(&memories, both_tokens);
        let text: String = team.iter().map(|words| format!("- {words}\n")).collect();
        let session = SessionId::new("s");
        let notes = AgentNotes { agent: "codex".to_string(), session, at: at(1), text, is_of_other_device: false };
        let team: Vec<TeamFact> = team.into_iter().map(|code| TeamFact {
            author: "Ana".to_string(), kind: FactKind::Next, code, at: at(1),
        }).collect();
        let brief = compose(&BriefRequest {
            project: &project, facts: &facts, settlements: &[], likely: &Likely::default(),
            now: at(9), budget_tokens, chars_max: 900, prompt: None, memories: &memories, known: None, turns: &[], live: &[],
            worked: &[],
        });
        prop_assert!(brief.tokens <= budget_tokens, "{} of {budget_tokens}: {}", brief.tokens, brief.text);
        let room = EndRoom { budget_tokens, chars_max: 900, now: at(9) };
        let brief = brief.with_notes(&project, &[notes], GuideLines::default(), None, &room);
        prop_assert!(brief.tokens <= budget_tokens, "{} of {budget_tokens}: {}", brief.tokens, brief.text);
        let brief = brief.with_team(&project, &team, None, &room);
        prop_assert!(brief.tokens <= budget_tokens, "{} of {budget_tokens}: {}", brief.tokens, brief.text);
        let brief = brief.after(memories, Vec::new());
        prop_assert!(brief.tokens <= both_tokens, "{} of {both_tokens}: {}", brief.tokens, brief.text);
    }
}
