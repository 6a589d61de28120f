use cerberus_record::clean::BUILT_IN;
use cerberus_record::fact::Fact;
use cerberus_record::id::SessionId;
use cerberus_record::ours::without_ours;
use cerberus_record::time::Timestamp;
use proptest::prelude::*;

use super::items::{key_items, next_actions};
use super::render::{SummaryInput, before, head_tokens, instead};
use super::*;
use crate::brief::{Brief, KnownFact, everything};

fn facts() -> Vec<Fact> {
    vec![
        Fact::file(FactKind::File, "internal/proxy.go"),
        Fact::file(FactKind::File, "internal/supervisor.go"),
        Fact::function("supervisor.Process", Some("internal/supervisor.go")),
        Fact::decision("split the proxy in 3 files", Some("keep each below 200 lines")),
        Fact::blocker("race condition in the test at line 712", Some("race")),
        Fact::words(FactKind::Next, "fix the race, add a mutex"),
    ]
}

fn codes(facts: Vec<Fact>) -> Brief {
    let known = |(n, fact)| KnownFact { fact, session: SessionId::new("s"), at: Timestamp::EPOCH, event: n };
    let facts: Vec<KnownFact> = (0..).zip(facts).map(known).collect();
    everything("hydra", &facts, &[], Timestamp::EPOCH)
}

fn kept(answer: &str) -> Option<String> {
    let codes = codes(facts());
    let material = SummaryMaterial {
        project: "hydra",
        items: &codes.items,
        shared: &codes.items,
        done: &["split the proxy".to_string()],
        passing: &[],
    };
    read(&BUILT_IN, answer, &material).map(|text| text.to_string())
}

fn real(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

#[test]
fn the_request_contains_only_facts() {
    let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
    let mut facts = facts();
    facts.push(Fact::file(FactKind::File, "/home/ada/private/notes.md"));
    facts.push(Fact::words(FactKind::Next, &format!("rotate {key}")));
    facts.extend((0..50).map(|n| Fact::words(FactKind::Decision, &format!("choice {n} {}", "long ".repeat(90)))));
    let codes = codes(facts);
    let prompt = prompt(
        &BUILT_IN,
        &SummaryMaterial {
            project: "hydra",
            items: &codes.items,
            shared: &codes.items,
            done: &["split the proxy".to_string()],
            passing: &[],
        },
    );
    for part in [
        "Project: hydra\n",
        "Files modified: 2\n- internal/proxy.go\n- internal/supervisor.go\n",
        "Functions changed:\n- supervisor.Process\n",
        "Done:\n- split the proxy\n",
        "Blockers:\n- race condition in the test at line 712\n",
        "To be done:\n- fix the race, add a mutex\n- rotate [redacted",
    ] {
        assert!(prompt.contains(part), "{part} in {}", &*prompt);
    }
    assert!(!prompt.contains(key) && !prompt.contains("private"), "{}", &*prompt);
    assert!(real(&prompt) < 600, "{} tokens", real(&prompt));
    assert!(SummaryMaterial { project: "hydra", items: &[], shared: &[], done: &[], passing: &[] }.is_empty());
}

#[test]
fn sentences_are_extracted_from_any_form_of_answer() {
    const WANTED: &str = "Split proxy.go into three files. Keep each below 200 lines. Fix the race next.";
    for answer in [
        "Split proxy.go into three files. Keep each below 200 lines. Fix the race next.",
        "Sure! Here is the summary:\n\nSplit `proxy.go` into three files. Keep each below\n200 lines. Fix the race next.",
        "## Summary\n\n- Split **proxy.go** into three files\n- Keep each below 200 lines.\n- Fix the race next.\n",
        "**Summary:** Split proxy.go into three files. Keep each below 200 lines. Fix the race next. Let me know if I can help!",
        "1. Split [proxy.go](internal/proxy.go) into three files.\n2. Keep each below 200 lines.\n3. Fix the race next.\n4. Rest.",
        "<think>The user wants\na summary. Easy.</think>\nSplit proxy.go into three files. Keep each below 200 lines. Fix the race next.",
        "the user wants it short</think>Split proxy.go into three files. Keep each below 200 lines. Fix the race next.",
        "```\nSplit proxy.go into three files. Keep each below 200 lines. Fix the race next.\n```",
        "Split proxy.go into three files. Keep each below 200 lines.\n```go\nfunc x() {}\n```\nFix the race next.",
        "Sure! Here it is: Split proxy.go into three files. Keep each below 200 lines. Fix the race next.",
        "Sure, here's the summary: Split proxy.go into three files. Keep each below 200 lines. Fix the race next.",
        "Here's a summary of the session:\r\n\r\nSplit proxy.go into three files.\tKeep each below 200 lines.\r\nFix the race next.",
    ] {
        assert_eq!(kept(answer).as_deref(), Some(WANTED), "{answer}");
    }
    assert_eq!(
        kept("Add a mutex, e.g. in supervisor.Process. Done?").as_deref(),
        Some("Add a mutex, e.g. in supervisor.Process.")
    );
    for nothing in [
        "",
        "   \n",
        "<think>Hm. It is",
        "Here is the summary:",
        "I'm sorry, I cannot help with that.",
        "##",
        "...",
        "42.",
    ] {
        assert_eq!(kept(nothing), None, "{nothing}");
    }
}

#[test]
fn names_that_no_fact_contains_are_not_told() {
    let codes = codes(facts());
    let done = ["split the proxy".to_string()];
    let names = check::Names::of(&SummaryMaterial {
        project: "hydra",
        items: &codes.items,
        shared: &codes.items,
        done: &done,
        passing: &[],
    });
    for sentence in [
        "Add a mutex to supervisor.Process.",
        "Add a mutex to Process() in internal/supervisor.go.",
        "Touch proxy.go/supervisor.go, client/server side, and/or I/O.",
        "See proxy.go:712 (the race).",
        "Use GitHub, PostgreSQL and Node.js instead of SQLite.",
        "Move hydra's APIs to v1.2 (see RFC 2119).",
        "Work in internal/ only.",
        "Hold `proxy.go`'s `mutex`, run `go test -race` and `--verbose`.",
    ] {
        assert!(names.know(sentence), "{sentence}");
    }
    for invented in [
        "Add a mutex to forwarder.go.",
        "Rename load() to save().",
        "Change Store::open as well.",
        "Call recorder.Flush at the end.",
        "Introduce parse_header for this.",
        "Let ConfigLoader read it.",
        "Make readLine faster.",
        "Move it to src/state.",
        "Look at internal/proxy/state for the rest.",
        "Visit https://example.com/docs for more.",
        "Edit `.env` first.",
        "Call `flush` before the end.",
        "Call (`flush`), then go on.",
        "Use `forwarder.go`'s lock.",
    ] {
        assert!(!names.know(invented), "{invented}");
        let mixed = format!("Split the proxy. {invented} Fix the race.");
        assert_eq!(kept(&mixed).as_deref(), Some("Split the proxy. Fix the race."), "{invented}");
    }
    for unfit in ["Turn it \u{1b}[31mred.", "A\u{202e}b is reversed.", &format!("{} ends.", "very ".repeat(200))] {
        assert_eq!(kept(unfit), None, "{unfit}");
    }
    let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
    assert!(!kept(&format!("Rotate {key} soon.")).unwrap_or_default().contains(key));
}

#[test]
fn the_most_important_items_are_shown() {
    let mut facts: Vec<Fact> = (0..10).map(|n| Fact::file(FactKind::File, &format!("f{n}.rs"))).collect();
    facts.extend((0..5).map(|n| Fact::words(FactKind::Decision, &format!("choice {n}"))));
    facts.extend((0..2).map(|n| Fact::blocker(&format!("obstacle {n}"), None)));
    facts.push(Fact::function("load", None));
    let listed = |facts: &[Fact]| -> Vec<String> {
        key_items(&codes(facts.to_vec()).items).iter().map(|item| item.code.clone()).collect()
    };
    let all = listed(&facts);
    assert_eq!(&all[..2], ["block:issue:obstacle 0", "block:issue:obstacle 1"]);
    assert!(all.len() == 5 && all[2..].iter().all(|code| code.starts_with("dec:")), "{all:?}");
    facts.retain(|fact| fact.kind != FactKind::Decision);
    assert_eq!(listed(&facts).iter().filter(|code| code.ends_with(".rs")).count(), 3, "three files, then none more");
    facts.retain(|fact| fact.kind != FactKind::Blocker);
    assert_eq!(listed(&facts).last().map(String::as_str), Some("impl:load"), "functions where there is room");
    assert!(next_actions(&codes(facts).items).is_empty());
}

fn input(text: &str) -> SummaryInput<'_> {
    SummaryInput { project: "hydra", text, budget_tokens: 1000, chars_max: 9_500 }
}

#[test]
fn the_format_is_that_of_the_original_tool() {
    let brief = instead(codes(facts()), &input("Split the proxy. Fix the race."));
    let text = "## Previous Session Context\n\n**Project:** hydra\n\n**Summary:** Split the proxy. Fix the race.\n\n\
        **Context:**\n- block:race:race condition in the test at line 712\n\
        - dec:split the proxy in 3 files - keep each below 200 lines\n- impl:internal/proxy.go\n- impl:internal/supervisor.go\n\
        - impl:supervisor.Process\n\n**Next:**\n- fix the race, add a mutex";
    assert_eq!(brief.text, text);
    assert_eq!(brief.items.len(), 6, "the shown items are part of the brief");
    assert_eq!(without_ours(&format!("{text}\n\nGo on.")), "Go on.", "and never comes back as evidence");

    let both = before(codes(facts()), &input("Split the proxy."));
    assert!(both.text.starts_with(
        "## Previous Session Context\n\n**Project:** hydra\n\n**Summary:** Split the proxy.\n\nproj:hydra\nblock:"
    ));
    assert_eq!(both.items.len(), 6);
    assert_eq!(instead(Brief::default(), &input("x")).text.lines().last(), Some("**Summary:** x"));
    assert_eq!(before(Brief::default(), &input("x")).text, "", "no facts, no summary before them");
    let small = SummaryInput { budget_tokens: 10, ..input("Split the proxy.") };
    assert_eq!(instead(codes(facts()), &small), codes(facts()), "if it does not fit, the codes are used");
}

#[test]
fn blockers_are_dropped_last() {
    let long = |n: usize| format!("{n} {}", "something rather long that has to be said ".repeat(9));
    let mut facts: Vec<Fact> = (0..3).map(|n| Fact::words(FactKind::Decision, &long(n))).collect();
    facts.extend((0..2).map(|n| Fact::blocker(&long(n), None)));
    facts.extend((0..5).map(|n| Fact::words(FactKind::Next, &long(n))));
    let brief = instead(codes(facts), &SummaryInput { budget_tokens: 160, ..input("Split the proxy.") });
    assert!(real(&brief.text) <= 160, "{} tokens", real(&brief.text));
    assert!(brief.text.contains("- block:issue:0") && !brief.text.contains("- dec:2"), "{}", brief.text);
    assert_eq!(brief.items.len() + brief.dropped.len(), 10, "every item is shown or dropped");
}

proptest! {
    #[test]
    fn any_answer_stays_within_the_budget(
        answer in prop_oneof![
            "(\\PC{0,30}[.!?] ){0,20}", "([a-z]{1,14} ){1,300}[.]", "([bcdfgjkqvxz0-9]{1,9} ){1,120}[.]", "([A-Za-z]{2,9} ){1,60}[.] [一-龯]{1,300}。",
            proptest::collection::vec(any::<char>(), 0..400).prop_map(String::from_iter),
        ]
    ) {
        if let Some(text) = kept(&answer) {
            prop_assert!(real(&text) <= TEXT_TOKENS_MAX, "{} tokens: {text}", real(&text));
            prop_assert!(!text.contains(char::is_control));
            prop_assert!(head_tokens(&input(&text)) < 300);
            let brief = instead(codes(facts()), &input(&text));
            prop_assert!(brief.text.starts_with("## Previous"), "it always fits");
            prop_assert!(real(&brief.text) <= render::SUMMARY_TOKENS, "{} tokens: {}", real(&brief.text), brief.text);
        }
    }

    #[test]
    fn any_answer_can_be_read(answer in "[-*#`>|.!?()\\[\\]<>/thinkA-Za-z \n:éあ0-9]{0,300}") {
        let _ = kept(&answer);
    }
}
