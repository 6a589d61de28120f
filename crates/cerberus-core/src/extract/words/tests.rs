use proptest::prelude::*;

use super::*;

const D: Kind = Kind::Decision;
const B: Kind = Kind::Blocker;
const N: Kind = Kind::Next;

fn kinds(statements: &[Statement]) -> Vec<Kind> {
    statements.iter().map(|one| one.kind).collect()
}

fn texts(statements: &[Statement]) -> Vec<&str> {
    statements.iter().map(|one| one.text.as_str()).collect()
}

#[track_caller]
fn check(cases: &[(&str, &[Kind])]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(prompt, expected)| kinds(&cued(prompt)) != *expected)
        .map(|(prompt, expected)| format!("{prompt:?}: {:?}, not {expected:?}", cued(prompt)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn decisions_of_the_user() {
    check(&[
        ("let's use postgres for the queue", &[D]),
        ("Lets keep the retry limit at three.", &[D]),
        ("ok, let's just drop python 3.8", &[D]),
        ("We'll go with the event log and skip the cache.", &[D]),
        ("we will use tabs in this repo", &[D]),
        ("I'm going with the second design", &[D]),
        ("decision: sessions expire after an hour", &[D]),
        ("We decided to ship without the importer.", &[D]),
        ("use serde instead of the hand-written parser", &[D]),
        ("no, keep the old API", &[D]),
        ("yes, option 2 please", &[D]),
        ("go with option B", &[D]),
        ("2 is better, it needs no migration", &[D]),
        ("I'd prefer a single binary", &[D]),
        ("I want to replace the user id with a machine id", &[D]),
        ("I think we should only support linux", &[D]),
        ("don't use mocks for the store", &[D]),
        ("leave it as a warning", &[D]),
        ("let's not add a dependency for that", &[D]),
        ("hm, that breaks resume, so let's store the id in the header", &[D]),
        ("let's do sqlite for now, can you sketch the schema?", &[D]),
        ("instead of a flag make it a subcommand", &[D]),
        ("let’s go with rustls", &[D]),
        ("it's fine to break the wire format", &[D]),
    ]);
}

#[test]
fn blockers_of_the_user() {
    check(&[
        ("I'm blocked on the staging credentials", &[B]),
        ("we can't merge this until legal has answered", &[B]),
        ("The login page is broken and we need it for the demo", &[B]),
        ("waiting for review from Ana", &[B]),
        ("we are still waiting on the vendor", &[B]),
        ("integration tests are failing", &[B]),
        ("CI is red again", &[B]),
        ("can you fix the failing tests", &[B]),
        ("the installer still doesn't work", &[B]),
        ("I can't log in to the registry", &[B]),
        ("I'm getting `error: linker not found` on every build", &[B]),
        ("blocker: no access to the bucket", &[B]),
        ("fix this: cannot find value `x` in this scope of the module", &[B]),
        ("it happened again", &[B]),
        ("the build keeps failing on arm", &[B]),
    ]);
}

#[test]
fn next_actions_of_the_user() {
    check(&[
        ("Next, we should write the migration guide", &[N]),
        ("next: wire the exporter", &[N]),
        ("After that we need to publish the crate", &[N]),
        ("TODO: rotate the keys", &[N]),
        ("later we need to handle windows paths", &[N]),
        ("remaining: docs and the changelog", &[N]),
        ("log a ticket for the flaky upload", &[N]),
        ("can you create a github issue for that?", &[N]),
        ("don't forget to bump the version", &[N]),
        ("remind me to revoke the token", &[N]),
        ("we can tackle the cache in a follow-up PR", &[N]),
        ("that is low priority", &[N]),
    ]);
}

#[test]
fn sentences_without_a_statement() {
    check(&[
        ("what is the issue here?", &[]),
        ("do we need a lock there?", &[]),
        ("should we use postgres instead of sqlite?", &[]),
        ("let's use postgres, right?", &[]),
        ("is the build broken?", &[]),
        ("why are the tests failing", &[]),
        ("why is this blocked by the firewall?", &[]),
        ("I need a function that sorts these", &[]),
        ("that would be easy to change later", &[]),
        ("I like to use the other skill", &[]),
        ("it is unclear to me how the parser works", &[]),
        ("let's look at the logs together", &[]),
        ("let's discuss the options", &[]),
        ("yes, let's do that", &[]),
        ("ok let's continue", &[]),
        ("if the tests are failing, run them again", &[]),
        ("what happens when the upload fails with a timeout", &[]),
        ("the tests are no longer failing", &[]),
        ("nothing is broken", &[]),
        ("that was blocked by the proxy, works now", &[]),
        ("add a test for the case where the server cannot start until the lock is free", &[]),
        ("commit and push", &[]),
        ("can you explain the next step in the algorithm?", &[]),
        ("the next element of the iterator is returned twice", &[]),
        ("run the linter, then commit", &[]),
        ("add a `todo!()` there", &[]),
        ("rename the button to \"let's use this\"", &[]),
        ("he wrote \"I am blocked on you\"", &[]),
        ("no need to deprecate it", &[]),
        ("great, works", &[]),
        ("1", &[]),
        ("", &[]),
        ("\n\n", &[]),
    ]);
}

#[test]
fn what_the_user_did_not_type() {
    check(&[
        ("<command-name>/model</command-name>\n<command-args>let's use opus</command-args>", &[]),
        ("<local-command-stdout>TODO: rotate the keys</local-command-stdout>", &[]),
        ("<task-notification>\nwe decided to stop\n</task-notification>", &[]),
        ("<system-reminder>\nTODO: keep the todo list\nlet's use tabs", &[]),
        ("please go on\n<system-reminder>we can't merge until then</system-reminder>", &[]),
        ("[Request interrupted by user]", &[]),
        ("[Request interrupted by user for tool use] we decided to stop", &[]),
        ("```\n// TODO: let's use a map\n```", &[]),
        ("> let's use a map\n\nwhat did you mean by this?", &[]),
        ("+    // let's use a map\n-    // TODO: a list", &[]),
        ("2026-01-05T10:00:01Z waiting for the database", &[]),
        ("    at waiting.for (until.js:10:3)", &[]),
        ("I got this feedback: we should use a pool instead of opening a connection each time", &[]),
        ("Implement the following plan:\n\n# Plan\n\nWe'll use a pool.\n\n## Next steps\n- test it", &[]),
        ("This session is being continued from a previous conversation.\nTODO: a\nlet's use b", &[]),
        ("dec:use postgres\nnext:write docs\nblock:issue:tests hang", &[]),
        ("- `next:write docs`", &[]),
    ]);
}

#[test]
fn other_languages_give_no_false_statements() {
    check(&[
        ("Lass uns das morgen besprechen", &[]),
        ("Bitte die Tests ausführen und dann committen.", &[]),
        ("Das Problem ist, dass der Build so langsam ist", &[]),
        ("Wann ist der nächste Schritt fertig?", &[]),
        ("also die Option gefällt mir nicht", &[]),
        ("¿puedes revisar el código?", &[]),
        ("on va regarder les erreurs ensemble", &[]),
        ("テストを実行してください", &[]),
        ("нужно проверить тесты", &[]),
    ]);
}

#[test]
fn lists_and_sentences_are_split() {
    let statements =
        cued("Thanks.\n\nTODO:\n- rotate the keys\n- [x] write docs\n2. no\n\nlet's use tabs. Why is main.rs so long?");
    assert_eq!(texts(&statements), ["rotate the keys", "let's use tabs."]);
    let statements = cued("remaining:\n1. the exporter\n2. its tests");
    assert_eq!((kinds(&statements), texts(&statements)), (vec![N, N], vec!["the exporter", "its tests"]));
    // A sentence that only refers to the previous one is quoted together with it.
    let statements = cued("The trailer is obsolete. let's remove it too");
    assert_eq!(texts(&statements), ["The trailer is obsolete. let's remove it too"]);
    // A question after it is cut off.
    assert_eq!(texts(&cued("ok, let's do 2 for now, what would that cost?")), ["let's do 2 for now"]);
    // A pasted failure with a call for help is reported by its own line.
    assert_eq!(texts(&cued("> git gc\nfatal: bad tree object 082c\n\nHALP")), ["fatal: bad tree object 082c"]);
}

#[test]
fn lists_of_the_agent() {
    for (message, expected) in [
        ("Done.\n\n## Next steps\n\n1. Run the **suite**\n2. Tag it\n\nAll good.", vec!["Run the suite", "Tag it"]),
        ("**Remaining:**\n- [ ] docs\n- [x] code\n- ✅ tests\n- ~~bench~~", vec!["docs"]),
        ("What's left:\n* the exporter\n  * with gzip\n* the importer", vec!["the exporter", "the importer"]),
        ("**Next step:** publish the crate", vec!["publish the crate"]),
        ("### Follow-ups (optional)\n- rename it\n\n### Changes\n- did this", vec!["rename it"]),
        ("TODO for the release:\n- sign the binary", vec!["sign the binary"]),
        ("The deploy is blocked by missing credentials.", vec!["The deploy is blocked by missing credentials."]),
        ("## Next steps\n\nWould you like me to:\n1. run it\n2. ship it", vec![]),
        ("## Next steps\n- Let me know if you want more\n- Should I commit?", vec![]),
        ("Remaining usages are fine:\n- display strings", vec![]),
        ("```\nTODO:\n- in code\n```", vec![]),
        ("I will use a map. We decided to keep it. The tests are failing.", vec![]),
        ("Nobody will be blocked by this.\nIt is not blocked on anything.", vec![]),
        ("Next steps: none", vec![]),
        ("next:write docs\n", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(texts(&agent(message)), expected, "{message}");
    }
    let many = format!("Next steps:\n{}", (0..50).map(|n| format!("- step number {n}\n")).collect::<String>());
    assert_eq!(agent(&many).len(), STATEMENTS_MAX);
}

#[test]
fn sections_of_a_summary() {
    let text = "<analysis>\n7. Pending Tasks:\n   - thought of\n</analysis>\n<summary>\n1. Primary Request and Intent:\n   - \
        Build it\n\n2. Key Design Decisions:\n   - Journal first, view second\n\n4. Errors and fixes:\n   - None\n\n7. Pending \
        Tasks:\n   - Write the **importer**\n     - with tests\n   - [x] Write the parser\n\n8. Current Work:\n   Editing \
        a.rs\n\n9. Optional Next Step:\n   Run the suite. The user said \"go\".\n   - detail\n</summary>\nPlease continue.";
    let statements = summary(text);
    assert_eq!(kinds(&statements), [D, N, N]);
    assert_eq!(texts(&statements), ["Journal first, view second", "Write the importer", "Run the suite"]);
    for nothing in [
        "7. Pending Tasks:\n   - None explicitly requested\n9. Optional Next Step:\n   No next step.",
        "8. Current Work:\n   - Editing",
        "```\nPending Tasks:\n- in code\n```",
        "",
    ] {
        assert_eq!(summary(nothing), [], "{nothing}");
    }
}

#[test]
fn steps_of_a_plan() {
    for (text, expected) in [
        (
            "# P\n## Context\n- why\n## Changes\n### 1. Types\n- a\n### 2. `Engine`:\n## Verification\n1. test",
            vec!["Types", "`Engine`"],
        ),
        ("## Step 1: Do a\n## Step 2 — Do b\n### Notes", vec!["Do a", "Do b"]),
        ("# Plan\n## Steps\n1. Do a\n   - how\n2. Do **b**\n\n## Risks\n1. none", vec!["Do a", "Do b"]),
        ("- one\n- two\n", vec!["one", "two"]),
        ("Some prose\n\n1. one\n\n2. two\n\n- aside", vec!["one", "two"]),
        ("```\n1. code\n```\nprose", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(plan(text), expected, "{text}");
    }
    let many: String = (0..50).map(|n| format!("{n}. step {n}\n")).collect();
    assert_eq!(plan(&many).len(), STEPS_MAX);
}

fn is_clean(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= TEXT_CHARS_MAX && !text.contains(char::is_control)
}

proptest! {
    #[test]
    fn any_text_is_accepted_and_the_result_is_clean(
        text in "\\PC*|(let's|we|can't|until|next|TODO|:|,|\\.|\\?|<a-b>|</a-b>|\"|`|'|’|- |1\\. |## |\\*\\*|é|\u{202e}|\u{7}|\n| |use it|blocked by|Remaining:\n){0,60}"
    ) {
        for statements in [cued(&text), agent(&text), summary(&text)] {
            prop_assert!(statements.len() <= STATEMENTS_MAX);
            for one in statements {
                prop_assert!(is_clean(&one.text), "{:?}", one.text);
                prop_assert!(matches!(one.kind, Kind::Decision | Kind::Blocker | Kind::Next));
            }
        }
        let steps = plan(&text);
        prop_assert!(steps.len() <= STEPS_MAX && steps.iter().all(|step| is_clean(step)));
    }

    #[test]
    fn our_own_codes_are_not_statements(words in prop::collection::vec("[a-z]{1,8}", 1..6), kind in 0usize..Kind::ALL.len(), mark in "(- |> |\\* )?") {
        let code = format!("{mark}{}{}", Kind::ALL[kind].prefix(), words.join("-"));
        let text = format!("proj:x\n{code}\n{code}\n");
        prop_assert_eq!(cued(&text), []);
        prop_assert_eq!(agent(&text), []);
        prop_assert_eq!(summary(&text), []);
        prop_assert!(plan(&text).is_empty());
    }
}

#[test]
fn long_and_hostile_texts_are_read_in_time() {
    for piece in ["<a ", "' ", "\"", "let's ", "- [ ] \n", "can't , ", "**", "blocked by until "] {
        let text = piece.repeat(40_000);
        for statements in [cued(&text), agent(&text), summary(&text)] {
            assert!(statements.len() <= STATEMENTS_MAX);
        }
        assert!(plan(&text).len() <= STEPS_MAX);
    }
}
