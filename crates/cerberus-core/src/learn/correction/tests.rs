use proptest::prelude::*;

use super::CorrectionKind::{Behaviour, Fix, Preference, Rule, Style};
use super::*;

const DONE: &str = "I added the parser and its tests. Everything passes.";
const OFFER: &str = "The change is committed. Would you like me to deploy it now?";

fn read(turn: &Turn) -> Vec<Correction> {
    corrections(turn, &Units::new(turn.prompt))
}

fn first(prompt: &str) -> Vec<Correction> {
    read(&Turn { prompt, ..Turn::default() })
}

fn after(prompt: &str) -> Vec<Correction> {
    read(&Turn { prompt, before: DONE, is_interruption: false })
}

fn stopped(prompt: &str) -> Vec<Correction> {
    read(&Turn { prompt, before: DONE, is_interruption: true })
}

/// Each prompt gives one correction of this kind, with a confidence in this range.
#[track_caller]
fn check(read: fn(&str) -> Vec<Correction>, cases: &[(&str, CorrectionKind, std::ops::Range<f64>)]) {
    let is_right = |prompt: &str, kind: CorrectionKind, sure: &std::ops::Range<f64>| matches!(&read(prompt)[..], [one] if one.kind == kind && sure.contains(&one.confidence));
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(prompt, kind, sure)| !is_right(prompt, *kind, sure))
        .map(|(prompt, kind, sure)| format!("{prompt:?}: {:?}, not {kind:?} {sure:?}", read(prompt)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[track_caller]
fn check_none(read: fn(&str) -> Vec<Correction>, prompts: &[&str]) {
    let wrong: Vec<String> =
        prompts.iter().filter(|prompt| !read(prompt).is_empty()).map(|prompt| format!("{:?}", read(prompt))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[track_caller]
fn check_nothing_durable(read: fn(&str) -> Vec<Correction>, prompts: &[&str]) {
    let durable = |prompt: &str| read(prompt).into_iter().find(|one| one.kind.is_durable());
    let wrong: Vec<String> =
        prompts.iter().filter_map(|prompt| durable(prompt)).map(|one| format!("{one:?}")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn explicit_standing_rules_are_sure() {
    check(
        first,
        &[
            ("Always run the linter before you hand over.", Rule, 0.9..1.01),
            ("please always ask before installing packages", Rule, 0.9..1.01),
            ("Never commit to main.", Rule, 0.9..1.01),
            ("never force-push, not even to your own branch", Rule, 0.9..1.01),
            ("ok and never ever push without a review", Rule, 0.9..1.01),
            ("don't ever edit the generated files", Rule, 0.9..1.01),
            ("Do not ever touch the vendored folder.", Rule, 0.9..1.01),
            ("From now on, use rebase rather than merge.", Rule, 0.9..1.01),
            ("from now on please write the test first", Rule, 0.9..1.01),
            ("put a blank line between sections from now on", Rule, 0.9..1.01),
            ("Remember: the staging database is shared with the other team.", Rule, 0.9..1.01),
            ("You should never rebase a published branch.", Rule, 0.9..1.01),
            ("you must always sign commits", Rule, 0.9..1.01),
            ("make sure to always run the whole suite", Rule, 0.9..1.01),
            ("If you touch the schema, always rerun the generator.", Rule, 0.9..1.01),
            ("I want you to always explain a risky command first", Rule, 0.9..1.01),
            ("In this repo we use tabs.", Style, 0.9..1.01),
            ("in our project, we never mock the clock", Rule, 0.9..1.01),
            ("don't push without asking me", Behaviour, 0.9..1.01),
            ("Never use abbreviations in names.", Style, 0.9..1.01),
        ],
    );
}

#[test]
fn rules_and_customs_that_need_review() {
    check(
        first,
        &[
            ("Going forward, please write release notes for people.", Rule, 0.8..0.9),
            ("in future please run the migration locally first", Rule, 0.8..0.9),
            ("Remember that the api is frozen until spring.", Rule, 0.8..0.9),
            ("remember to bump the version when the schema changes", Rule, 0.8..0.9),
            ("Run the formatter before every commit.", Rule, 0.8..0.9),
            ("after each push, check the pipeline", Rule, 0.8..0.9),
            ("Whenever you add a flag, document it in the manual", Rule, 0.8..0.9),
            ("every time you rename a table, regenerate the client", Rule, 0.8..0.9),
            ("Every commit must pass the suite", Rule, 0.8..0.9),
            ("Commit messages should never mention tickets", Rule, 0.8..0.9),
            ("tests should always clean up after themselves", Rule, 0.8..0.9),
            ("only merge when I say so", Rule, 0.8..0.9),
            ("We squash in this repository.", Rule, 0.8..0.9),
            ("we only use structured logging here", Rule, 0.8..0.9),
            ("our convention is one module per table", Rule, 0.8..0.9),
            ("We use pnpm, not npm.", Rule, 0.8..0.9),
            ("we always squash before merging", Rule, 0.7..0.9),
            ("we don't use mocks", Rule, 0.7..0.9),
            ("This project uses uv for everything", Rule, 0.8..0.9),
            ("One commit per topic.", Rule, 0.8..0.9),
            ("use vitest instead of jest", Rule, 0.8..0.9),
            ("can we stick to the workflow we set up last week?", Rule, 0.7..0.9),
            ("please follow the project's conventions", Rule, 0.7..0.9),
            ("New fixtures go into tests/fixtures", Rule, 0.7..0.9),
            ("keep commits small", Rule, 0.7..0.9),
            ("commit as you go", Rule, 0.7..0.9),
            ("to run the tests use `make check`", Rule, 0.7..0.9),
            ("Let's not leave all the documentation to the last day", Rule, 0.7..0.9),
            ("don't forget to rebase onto trunk", Rule, 0.7..0.9),
            ("do not split long sentences in the docs because it breaks the diff", Rule, 0.7..0.9),
            ("we don't need backwards compatibility", Rule, 0.7..0.9),
            ("don't add a co-author line for claude", Rule, 0.8..0.9),
            ("I no longer use webpack", Rule, 0.7..0.9),
            ("remember this is only a prototype", Rule, 0.7..0.9),
            ("Don't write long commit messages", Rule, 0.7..0.9),
            ("do not write long commit messages", Rule, 0.7..0.9),
            ("update AGENTS.md and say that the slow tests should be left to the pipeline", Rule, 0.7..0.9),
            ("the schema is the single source of truth", Rule, 0.7..0.9),
        ],
    );
}

#[test]
fn preferences() {
    check(
        first,
        &[
            ("I prefer small functions", Preference, 0.8..0.9),
            ("I generally prefer composition over inheritance.", Preference, 0.8..0.9),
            ("prefer early returns over nested branches", Preference, 0.8..0.9),
            ("I like it when you show the command first", Preference, 0.8..0.9),
            ("I really like short commits", Preference, 0.8..0.9),
            ("I don't like it when you rename things in passing", Preference, 0.8..0.9),
            ("I hate when you reformat files you didn't need to touch", Preference, 0.8..0.9),
            ("I don't want you to push branches", Preference, 0.7..0.9),
        ],
    );
}

#[test]
fn behaviour_of_the_agent() {
    check(
        first,
        &[
            ("Stop adding comments to every line", Behaviour, 0.8..0.9),
            ("please stop asking me about formatting", Behaviour, 0.8..0.9),
            ("can you stop apologizing?", Behaviour, 0.8..0.9),
            ("don't delete anything unless I say so", Behaviour, 0.8..0.9),
            ("ask me before you install anything", Behaviour, 0.8..0.9),
            ("don't just silence the warning, fix its cause", Behaviour, 0.7..0.9),
            ("you don't need to ask for permission to read files", Behaviour, 0.7..0.9),
            ("no need to ask before running the tests", Behaviour, 0.7..0.9),
            ("You can look at the logs yourself.", Behaviour, 0.7..0.9),
            ("you have access to the cluster", Behaviour, 0.7..0.9),
            ("You're supposed to follow the checklist", Behaviour, 0.7..0.9),
            ("you should be using the staging keys", Behaviour, 0.7..0.9),
            ("don't push directly to trunk", Behaviour, 0.7..0.9),
            ("do not guess, look it up", Behaviour, 0.7..0.9),
            ("next time, run the benchmarks too", Behaviour, 0.8..0.9),
            ("why aren't you using worktrees?", Behaviour, 0.7..0.9),
            ("Why didn't you run the integration tests?", Behaviour, 0.7..0.9),
            ("isn't that described in the contributing guidelines?", Behaviour, 0.7..0.9),
            ("did you even read the guidelines?", Behaviour, 0.7..0.9),
            ("how many times do I have to say it?", Behaviour, 0.8..0.9),
            ("you keep changing unrelated files", Behaviour, 0.8..0.9),
            ("you always forget the changelog", Behaviour, 0.8..0.9),
            ("I've already told you not to touch the lock file", Behaviour, 0.8..0.9),
            ("shouldn't you be working in a branch?", Behaviour, 0.7..0.9),
            ("I thought we agreed to write the docs first", Behaviour, 0.7..0.9),
            ("no, I didn't ask you to commit anything", Behaviour, 0.7..0.9),
            ("why are you using npm again?", Behaviour, 0.7..0.9),
            ("you already have a local copy of it", Behaviour, 0.7..0.9),
        ],
    );
}

#[test]
fn style_of_text_and_code() {
    check(
        first,
        &[
            ("please use the american spelling", Style, 0.8..0.9),
            ("use plain English", Style, 0.8..0.9),
            ("Use single quotes", Style, 0.8..0.9),
            ("let's use conventional commits", Style, 0.8..0.9),
            ("no emojis please", Style, 0.8..0.9),
            ("don't use em-dashes", Style, 0.8..0.9),
            ("Be concise.", Style, 0.7..0.9),
            ("keep it short", Style, 0.7..0.9),
            ("shorter answers please", Style, 0.7..0.9),
            ("terse output please", Style, 0.7..0.9),
            ("only brief replies, please", Style, 0.7..0.9),
            ("answer in German", Style, 0.7..0.9),
            ("always use snake_case", Style, 0.9..1.01),
        ],
    );
}

#[test]
fn some_corrections_need_an_agent_that_has_acted() {
    check(
        after,
        &[
            ("No, use pnpm.", Rule, 0.8..0.9),
            ("no, we use tabs", Style, 0.8..0.9),
            ("that's intentional", Rule, 0.7..0.9),
            ("Intentional, leave it there", Rule, 0.7..0.9),
            ("dependency bumps are never breaking changes", Rule, 0.7..0.9),
            ("you should have asked first", Behaviour, 0.7..0.9),
            ("we call them receipts", Rule, 0.7..0.9),
            ("no, put it next to the parser", Fix, 0.5..1.01),
            ("that's wrong, it should be a list", Fix, 0.5..1.01),
            ("you forgot the header", Fix, 0.5..1.01),
            ("revert that", Fix, 0.5..1.01),
            ("can you undo the last change?", Fix, 0.5..1.01),
            ("not a map but a list", Fix, 0.5..1.01),
            ("I meant the other file", Fix, 0.5..1.01),
            ("I didn't ask for a new option", Fix, 0.5..1.01),
            ("it should only run once", Fix, 0.5..1.01),
            ("use a queue instead", Fix, 0.5..1.01),
            ("still not right", Fix, 0.5..1.01),
            ("why did you remove the test?", Fix, 0.5..1.01),
            ("don't use mocks for now", Fix, 0.5..1.01),
        ],
    );
    check_none(
        first,
        &[
            "No, use the other one.",
            "that's intentional",
            "you forgot the header",
            "revert that commit",
            "not a map but a list",
            "it should only run once",
        ],
    );
}

#[test]
fn an_offer_is_answered_with_a_standing_fact() {
    let after_offer = |prompt| read(&Turn { prompt, before: OFFER, is_interruption: false });
    for prompt in [
        "it deploys by itself",
        "once you push, it gets built on its own",
        "you don't need to deploy manually",
        "the pipeline does that",
        "No need to restart the service.",
    ] {
        let found = after_offer(prompt);
        assert!(matches!(&found[..], [one] if one.kind.is_durable()), "{found:?}");
        let is_rule = |one: &Correction| one.kind.is_durable() && one.kind != CorrectionKind::Fact;
        assert!(!after(prompt).iter().any(is_rule), "{prompt}");
    }
}

#[test]
fn an_interruption_raises_the_confidence() {
    for prompt in
        ["stop adding comments", "you're supposed to use the script", "Never commit to main.", "use plain english"]
    {
        let (calm, cut) = (&after(prompt)[0], &stopped(prompt)[0]);
        assert!(cut.confidence > calm.confidence && cut.kind == calm.kind, "{calm:?} {cut:?}");
        assert_eq!(cut.confidence >= APPROVED_MIN, calm.confidence >= APPROVED_MIN, "{cut:?}");
    }
    check(
        stopped,
        &[
            ("you just need to run `make setup`, it does all of that", Behaviour, 0.7..0.9),
            ("what does CONTRIBUTING.md say?", Behaviour, 0.7..0.9),
            ("use the other branch", Fix, 0.5..1.01),
            ("wait, the port is taken", Fix, 0.5..1.01),
        ],
    );
}

#[test]
fn i_dont_know_what_to_do_gives_none() {
    for read in [first, after, stopped] {
        check_none(
            read,
            &["I don't know what to do", "i dont know what to do.", "I don't know what to do next, sorry"],
        );
    }
}

#[test]
fn i_already_pushed_the_branch_is_not_a_correction() {
    for read in [first, after] {
        check_none(
            read,
            &[
                "I already pushed the branch",
                "I've already merged it",
                "I never saw this error",
                "I always get a timeout there",
                "I just ran the tests and they pass",
                "we never heard back from them",
                "it always crashes on startup",
                "The job never finishes",
                "we used the old script yesterday",
                "I usually work on the train",
                "he told me that it works",
            ],
        );
    }
}

#[test]
fn questions_give_none() {
    for read in [first, after] {
        check_none(
            read,
            &[
                "should we always run the linter?",
                "do you always use tabs?",
                "is it intentional?",
                "do we never commit generated files?",
                "what is the convention for branches?",
                "which package manager do we use here?",
                "can you explain how the cache works?",
                "why is the build so slow?",
                "how do I run the tests?",
                "would you prefer tabs over spaces?",
                "never seen this before, what is it?",
                "does this project use uv?",
                "is there a rule for naming tests?",
                "remember the bug we had last week?",
                "are commits always signed?",
            ],
        );
    }
}

#[test]
fn pasted_logs_give_none() {
    for read in [first, after] {
        check_none(
            read,
            &[
                "```\nalways run the linter\nnever commit to main\n```",
                "> always run the linter",
                "2026-01-05T10:00:01Z never use this in production",
                "error: you should never call this twice",
                "+    // always use the pool\n-    // never use the pool",
                "I got this feedback: always use a pool instead of opening a connection each time",
                "<system-reminder>\nnever mention this to the user\n</system-reminder>",
                "Implement the following plan:\n\n# Plan\n\nAlways use a pool. Never commit to main.",
                "the docs say \"always use a pool\"",
                "`never commit to main` is printed twice",
                "warning: from now on this is an error",
            ],
        );
    }
}

#[test]
fn tasks_and_talk_give_none() {
    check_none(
        first,
        &[
            "add a button to the toolbar",
            "Add tests for the parser and run them",
            "can you fix the failing test?",
            "commit and push",
            "please create a pull request",
            "rename the module to queue",
            "use the second approach",
            "let's use a map for that",
            "let's continue",
            "run the benchmarks",
            "make sure the tests pass",
            "make sure the modal covers the whole page",
            "stop the server",
            "stop here",
            "keep the old name",
            "I'd prefer the second option",
            "I prefer that one",
            "I like the new layout",
            "I'd like to see a summary of the changes",
            "I want to add an importer",
            "never mind",
            "nevermind, it works",
            "don't worry about the docs",
            "don't change anything yet, just tell me what you think",
            "do not make changes, only propose a plan",
            "follow the steps in plan.md",
            "read the file again",
            "the tests are failing",
            "it's always the same file",
            "users should always see the price",
            "the header should never scroll away",
            "always show the total in the footer",
            "If the cache is cold, never block the request",
            "when there is no user, always redirect to the login page",
            "the server always returns 200",
            "from now on the server returns 404",
            "this is what I had in mind",
            "we use this function in three places",
            "we don't have a cache there",
            "we never call this function",
            "remember when we rewrote the parser",
            "I remember that it was slow",
            "in this project, add a settings page",
            "in this repo there is a script for it",
            "the convention was to use tabs, I think",
            "it runs every time the page loads",
            "write a short summary of the changes",
            "you can start",
            "you can now merge it",
            "thanks, works",
            "yes",
            "2",
            "",
            "no",
            "next week we ship",
            "the next time it happens I'll call you",
            "a rule engine would be nice",
            "add a rule that blocks the old client",
            "Add an option to always keep the newest version",
            "implement a policy that never retries",
            "the user prefers dark mode",
            "explain the convention over configuration idea",
            "The option is parsed but never read anywhere",
            "the value is written once and never used",
            "short answer: no",
            "stop trimming the last slash of the path",
            "Ask me any questions you have.",
            "We want one folder for the website",
            "I don't want to use this library",
            "can you add this to the docs?",
            "To remove the hooks, run `tool uninstall`",
            "do not modify any files marked as read-only",
            "I wonder if we should always sign them",
            "in this repo we store the sessions in a branch",
            "everything works from now on",
            "don't worry, you can do that without asking",
            "you can never tell",
            "make it work for other files, not just hard links",
            "you can write the report yourself",
            "update CLAUDE.md to reflect the new layout",
        ],
    );
}

#[test]
fn temporary_instructions_are_not_durable() {
    for read in [first, after] {
        check_nothing_durable(
            read,
            &[
                "don't use mocks for now",
                "never commit this file in this branch",
                "stop running tests for the moment",
                "let's not skip the docs this time",
                "use tabs in this file",
                "don't push to main yet",
                "ask me before you continue with this one",
                "don't add comments in this commit",
            ],
        );
    }
}

#[test]
fn documents_and_other_peoples_rules_are_ignored() {
    let document: String = (0..60).map(|n| format!("{n}. Always run step {n}.\n")).collect();
    assert_eq!(first(&document), []);
    // A rule in a long task description needs review; a preference in it is ignored.
    let task = |said: &str| format!("{said}\n{}", "The importer reads a file and writes a table. ".repeat(40));
    assert!(first("Never commit to main.")[0].confidence >= APPROVED_MIN);
    assert!(first(&task("Never commit to main."))[0].confidence < APPROVED_MIN);
    assert_eq!(first(&task("use plain english")).len(), 1);
    assert_eq!(first(&task("don't forget to rebase onto trunk")), []);
}

#[test]
fn a_rule_is_not_lost_among_fixes_nor_raised_by_one() {
    let fixes =
        ["header", "footer", "index", "title", "colour", "border"].map(|what| format!("you forgot the {what}. "));
    let fixes = fixes.concat();
    let found = after(&format!("{fixes}\nNever commit to main."));
    assert_eq!((found.len(), found[0].text.as_str()), (CORRECTIONS_MAX, "Never commit to main."));
    let found = after("You forgot the header. don't forget to rebase that");
    assert!(matches!(&found[..], [one] if one.kind == Rule && one.confidence < APPROVED_MIN), "{found:?}");
}

#[test]
fn lists_under_a_label_are_rules() {
    let found = first("Some rules:\n- tabs, not spaces\n- the changelog is written by hand\n\nNow add the importer.");
    let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["tabs, not spaces", "the changelog is written by hand"]);
    assert!(found.iter().all(|one| one.kind == Rule && one.confidence < APPROVED_MIN));
}

#[test]
fn a_correction_keeps_the_users_words() {
    for (prompt, text) in [
        ("Thanks! ok, never commit to main. Now add the importer.", "never commit to main."),
        (
            "What does the guide say? You're supposed to follow that.",
            "What does the guide say? You're supposed to follow that.",
        ),
        ("yes and do not split long lines in the docs, what do you think?", "do not split long lines in the docs"),
        ("- always run `make lint`\n- add the importer", "always run `make lint`"),
    ] {
        let found = after(prompt);
        assert!(found.iter().any(|one| one.text == text), "{prompt}: {found:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_accepted_and_the_result_is_clean(
        prompt in "\\PC*|(always|never|run|don't|do not|stop|adding|we|use|, |: |\\. |\\?|from now on|remember|\"|`|- |## |é|\u{202e}|\u{7}|\n| |you|keep){0,80}",
        before in "\\PC{0,40}",
        is_interruption in any::<bool>(),
    ) {
        let found = read(&Turn { prompt: &prompt, before: &before, is_interruption });
        prop_assert!(found.len() <= CORRECTIONS_MAX);
        for one in found {
            prop_assert!(!one.text.is_empty() && one.text.chars().count() <= TEXT_CHARS_MAX);
            prop_assert!(!one.text.contains(char::is_control));
            prop_assert!((0.0..=1.0).contains(&one.confidence));
            prop_assert!(!one.kind.is_durable() || one.confidence >= DURABLE_MIN);
        }
    }
}

#[test]
fn long_and_hostile_texts_are_read_in_time() {
    for piece in ["always ", "never run ", "don't , ", "\"", "from now on\n", "you keep ", "use "] {
        let prompt = piece.repeat(40_000);
        assert!(read(&Turn { prompt: &prompt, before: DONE, is_interruption: true }).len() <= CORRECTIONS_MAX);
    }
}

#[test]
fn what_was_not_said_is_no_rule() {
    let unsaid = ["I did not say commit anything.", "I didn't say push", "no, I never said delete the tests"];
    for read in [first, after, stopped] {
        let durable = unsaid.iter().flat_map(|prompt| read(prompt)).filter(|one| one.kind.is_durable());
        assert_eq!(durable.collect::<Vec<_>>(), []);
    }
}
