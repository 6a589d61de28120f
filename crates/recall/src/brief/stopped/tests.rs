use super::*;
use cerberus_record::id::SessionId;
use cerberus_record::source::MemorySource;

fn turn(session: &str, minute: i64, request: &str, reply: &str) -> Quotable {
    let at = Timestamp::from_millis(minute * 60_000);
    let (session, request, reply) = (SessionId::new(session), request.to_string(), reply.to_string());
    Quotable::of(&Turn { session, at, request, sender: None, reply })
}

fn told(turns: &[Quotable], budget_tokens: usize) -> Vec<String> {
    let now = turns.last().map_or(Timestamp::EPOCH, |turn| turn.at).plus(std::time::Duration::from_secs(3_600));
    items(turns, now, budget_tokens, &ToldElsewhere::default(), &mut Vec::new())
        .into_iter()
        .map(|item| item.code)
        .collect()
}

#[test]
fn the_last_request_and_what_came_of_it_are_told_first() {
    let turns = [
        turn("a", 0, "Add a limiter to the proxy", "Done: the limiter is in limiter.rs."),
        turn("b", 60, "Document the limiter", "I wrote docs/limiter.md.\n\nThe burst test still fails on CI."),
        turn("b", 70, "Fix the burst test", "The bucket was refilled twice. Not pushed yet."),
    ];
    assert_eq!(
        told(&turns, 400),
        [
            "last:Fix the burst test",
            "said:The bucket was refilled twice. Not pushed yet.",
            "asked:Document the limiter",
            "said:I wrote docs/limiter.md. The burst test still fails on CI.",
            "asked:Add a limiter to the proxy (2h ago)",
            "said:Done: the limiter is in limiter.rs.",
        ]
    );
    let sections: Vec<Section> = items(&turns, turns[2].at, 400, &ToldElsewhere::default(), &mut Vec::new())
        .into_iter()
        .map(|item| item.section)
        .collect();
    assert_eq!(sections[3..], [Section::Stopped, Section::Earlier, Section::Earlier]);
}

#[test]
fn a_small_budget_keeps_where_it_stopped() {
    let long = "The first sentence is here. ".to_string() + &"Some words that fill the middle of it all. ".repeat(40);
    let turns = [
        turn("a", 0, "An older request about something else", &long),
        turn("b", 60, "Fix the burst test", &format!("{long} Both tests in burst.rs pass now.")),
    ];
    let lines = told(&turns, 40);
    assert_eq!(lines[0], "last:Fix the burst test");
    assert!(lines[1].starts_with("said:The first sentence is here.") && lines[1].ends_with("pass now."), "{lines:?}");
    assert!(tokens::estimate(&lines.join("\n")) <= 50, "{lines:?}");
}

#[test]
fn what_repeats_a_quote_gives_way_to_something_new() {
    let turns = [turn(
        "a",
        0,
        "Go on with it",
        "This is the start.\nThe parser in parser.rs drops the last line of every invoice.\n\
         The parser in parser.rs drops the last line of every invoice file.\n\
         The totals in totals.rs are rounded in the wrong direction now.\nThat is the end.",
    )];
    let lines = told(&turns, 65);
    assert!(lines[1].contains("totals.rs") && lines[1].matches("parser.rs").count() == 1, "{lines:?}");
}

#[test]
fn another_line_may_tell_the_request() {
    let turns = [turn("a", 0, "Wait for it", "")];
    let beside = |turns: &[Quotable], text: &'static str, dropped: &mut Vec<DroppedLine>| -> Vec<String> {
        let told =
            ToldElsewhere { interrupted: vec![(Some(&turns[0].session), text.into())], ..ToldElsewhere::default() };
        items(turns, turns[0].at, 400, &told, dropped).into_iter().map(|item| item.code).collect()
    };
    let mut dropped = Vec::new();
    assert_eq!(beside(&turns, "Wait for it; Bash: sleep", &mut dropped), [""; 0]);
    assert_eq!(dropped[0].code, "asked:Wait for it");
    assert_eq!(told(&turns, 400), ["last:Wait for it"]);
    assert_eq!(told(&[], 400), [""; 0]);
    let longer = [turn("a", 0, "Wait for it. Then write the report about the whole week.", "")];
    assert_eq!(
        beside(&longer, "Wait for it. Then write…", &mut dropped),
        ["last:Then write the report about the whole week."]
    );
}

#[test]
fn a_request_is_what_the_person_typed() {
    for (prompt, expected) in [
        ("Fix the parser", "Fix the parser"),
        ("<command-name>/review</command-name>\n<command-args>PR 12</command-args>", "/review PR 12"),
        ("<command-name>/clear</command-name>", "/clear"),
        ("I got this error:\nTraceback (most recent call last):\n  File \"a.py\", line 1", "I got this error"),
        (
            "Implement the following plan:\n\n# Rate limits\n\n## Steps\n1. Add it",
            "Implement the following plan: Rate limits",
        ),
        ("# Rate limits\n\n## Steps\n1. Add it", "Rate limits"),
        ("<task-notification>done</task-notification>", ""),
    ] {
        assert_eq!(request(prompt), expected, "{prompt}");
    }
}

#[test]
fn what_the_last_message_leaves_open_is_told_as_next() {
    let reply =
        "The limiter works. Next step: mend the burst test in burst.rs, which is red. Would you like me to do it?";
    let turns =
        [turn("a", 0, "Add a limiter", "Still to do: write the docs for it."), turn("a", 1, "Go on with it", reply)];
    let next = |told: &ToldElsewhere| -> Vec<String> {
        let items = items(&turns, turns[1].at, 400, told, &mut Vec::new());
        items.into_iter().filter(|item| item.kind == FactKind::Next).map(|item| item.code).collect()
    };
    assert_eq!(
        next(&ToldElsewhere::default()),
        ["next:mend the burst test in burst.rs, which is red."],
        "an offer is no step"
    );
    let known = ToldElsewhere { open: vec!["fix the red burst test in burst.rs"], ..ToldElsewhere::default() };
    assert_eq!(next(&known), [""; 0]);
    let said: Vec<String> = told(&turns, 400).into_iter().filter(|line| line.starts_with("said:")).collect();
    assert_eq!(
        said,
        ["said:The limiter works. Would you like me to do it?", "said:Still to do: write the docs for it."]
    );
}

#[test]
fn a_step_may_be_short_and_a_list_of_steps_is_told_from_its_beginning() {
    let lines = |reply: &str| -> Vec<String> {
        let lines = told(&[turn("a", 0, "Add a limiter", reply)], 400);
        lines.into_iter().filter(|line| !line.starts_with("last:")).collect()
    };
    assert_eq!(
        lines("The limiter works. Next step: test the limiter."),
        ["next:test the limiter.", "said:The limiter works."]
    );
    let list = "The limiter works.\n\n## Next steps\n\n1. Document the limits\n   in the README\n\
        2. Ship the binary. It is small enough.\n3. ✅ Test the burst\n4. Tag the release\n5. Tell the others\n\nAll tests pass.";
    assert_eq!(
        lines(list),
        [
            "next:Document the limits; in the README",
            "next:Ship the binary. It is small enough.",
            "next:Tag the release",
            "said:The limiter works. Next steps: ✅ Test the burst; Tell the others. All tests pass."
        ]
    );
    assert_eq!(lines("## Changes\n\n- Ship the binary\n- Tag it now"), ["said:Changes: Ship the binary; Tag it now"]);
}

#[test]
fn what_may_remain_is_quoted_first_and_is_no_step() {
    let filler = "Some words that fill the middle of it all. ".repeat(9);
    let reply =
        format!("The limiter works. {filler}The burst test in burst.rs is still red on CI. {filler}All is said.");
    let lines = told(&[turn("a", 0, "Add a limiter", &reply)], 60);
    assert!(lines[1].starts_with("said:The limiter works.") && lines[1].contains("still red on CI."), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("next:")), "{lines:?}");
}

#[test]
fn old_quotes_are_marked_with_their_age() {
    let turns = [turn("a", 0, "Fix the burst test", "The bucket was refilled twice.")];
    let after = |hours: u64| {
        let now = turns[0].at.plus(std::time::Duration::from_secs(hours * 3_600));
        items(&turns, now, 400, &ToldElsewhere::default(), &mut Vec::new()).remove(0).code
    };
    assert_eq!(after(23), "last:Fix the burst test");
    assert_eq!(after(24), "last:Fix the burst test (24h ago)");
    assert_eq!(after(24 * 9), "last:Fix the burst test (9d ago)");
}

#[test]
fn what_we_told_ourselves_is_not_quoted() {
    let reply = "proj:hydra\nsaid:The limiter works in limiter.rs now.\nThe burst test passes now too.";
    assert_eq!(told(&[turn("a", 0, "Go on", reply)], 400), ["last:Go on", "said:The burst test passes now too."]);
}

#[test]
fn a_prompt_that_nobody_typed_is_marked_and_the_reply_is_not() {
    let reply = "The burst test passes on CI since the bucket is larger.";
    let mut turns = [turn("a", 0, "Fix the burst test", reply), turn("a", 9, "Check CI every hour", reply)];
    turns[1].sender = Some(MemorySource::Scheduled);
    let lines = told(&turns, 400);
    assert!(lines.contains(&"last:Check CI every hour [not typed: scheduled]".to_string()), "{lines:?}");
    assert!(lines.contains(&"asked:Fix the burst test".to_string()), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("not typed")).count(), 1, "{lines:?}");
}

fn idle(mut turn: Quotable) -> Quotable {
    take_part(std::slice::from_mut(&mut turn), WorkDone::Idle);
    turn
}

fn worked(turn: Quotable) -> Quotable {
    Quotable { part: WorkDone::Work, ..turn }
}

#[test]
fn questions_in_between_are_one_line_and_hide_nothing() {
    let mut turns = vec![worked(turn(
        "a",
        0,
        "Add a limiter to the proxy",
        "The limiter is in limiter.rs. The burst test is still red on CI.",
    ))];
    let before = told(&turns, 400);
    for (session, asked) in [("b", "what does git rebase --onto do?"), ("c", "thanks"), ("d", "and git bisect run?")] {
        turns.push(idle(turn(session, turns.len() as i64, asked, "It is still a command. What would you like next?")));
        let lines = told(&turns, 400);
        let (questions, others): (Vec<String>, Vec<String>) =
            lines.into_iter().partition(|line| line.starts_with("asked:"));
        assert_eq!(others, before, "{asked}");
        assert_eq!(questions.len(), 1, "{questions:?}");
    }
    assert!(told(&turns, 400).contains(&"asked:and git bisect run? (1h ago)".to_string()), "{:?}", told(&turns, 400));
    let long = idle(turn("e", 9, &"We keep the parser as it is and write another one. ".repeat(9), "Good."));
    assert_eq!(long.part, WorkDone::Talk, "somebody who writes that much decides something");
    let only = oldest_first(vec![vec![idle(turn("b", 0, "what is rebase?", "A git command that moves commits."))]]);
    assert_eq!(told(&only, 400), ["last:what is rebase?", "said:A git command that moves commits."]);
}

#[test]
fn the_last_session_at_work_keeps_its_place_beside_those_that_only_talked() {
    let long = "Many words about other things of no interest here and there. ".repeat(30);
    let work = worked(turn("a", 0, "Add a limiter", "The limiter is in limiter.rs."));
    let turns = [work, turn("b", 5, &long, &long), turn("c", 6, "Explain the parser to me", &long)];
    let lines = told(&turns, 80).join("\n");
    assert!(lines.contains("asked:Add a limiter") && lines.contains("The limiter is in limiter.rs."), "{lines}");
    assert!(lines.contains("last:Explain the parser to me"), "{lines}");
}

#[test]
fn what_was_said_again_is_told_once() {
    let again = |minute| turn("a", minute, "Check the build of the parser", "The build of the parser is red.");
    assert_eq!(
        told(&[again(0), again(1), again(2), again(3)], 400),
        ["last:Check the build of the parser", "said:The build of the parser is red."]
    );
}

#[test]
fn what_is_not_quoted_is_listed() {
    let turns = [turn("a", 0, "Add a limiter to the proxy", &"Some words that say what it is about. ".repeat(4))];
    let mut dropped = Vec::new();
    items(&turns, turns[0].at, 400, &ToldElsewhere::default(), &mut dropped);
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    assert!(dropped[0].code.starts_with("said:Some words that say"), "{dropped:?}");
}

#[test]
fn short_turns_reach_further_back() {
    let turns: Vec<Quotable> = (0..20).map(|at| turn("a", at, "Go on with the next one", "Done with it.")).collect();
    assert_eq!(last_turns(turns.clone()).len(), 20);
    let long = "Some words that fill the middle of it all, and more. ".repeat(40);
    let turns: Vec<Quotable> = (0..20).map(|at| turn("a", at, "Go on", &long)).collect();
    assert_eq!(last_turns(turns).len(), TURNS_MAX);
}

#[test]
fn a_reminder_keeps_its_budget_whatever_files_are_called() {
    use super::super::rank::{RankedFile, Trace};
    use super::super::{BUDGET_TOKENS_RANGE, EndRoom, Likely, remind};
    let named = |number: usize| RankedFile {
        path: format!("src/{}/{number}.rs", "ein-ziemlich-langer-Name/".repeat(12)),
        score: 1.0,
        trace: Trace::default(),
    };
    let likely = Likely { files: (0..10).map(named).collect(), ..Likely::default() };
    let last = turn("a", 0, "Add a limiter to the proxy", "Done: the limiter is in limiter.rs.");
    for (budget_tokens, chars_max) in [(*BUDGET_TOKENS_RANGE.start(), 9_000), (1_500, 700), (40, 9_000)] {
        let room = EndRoom { budget_tokens, chars_max, now: Timestamp::from_millis(30 * 86_400_000) };
        let brief = remind("hydra", &last, &likely, &[], &room);
        assert!(brief.tokens <= budget_tokens && brief.text.chars().count() <= chars_max, "{}", brief.text);
        assert!(brief.text.contains("last:Add a limiter") && !brief.dropped.is_empty(), "{}", brief.text);
    }
}
