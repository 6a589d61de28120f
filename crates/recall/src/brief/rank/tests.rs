use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;
use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn now() -> Timestamp {
    Timestamp::parse("2026-01-22T12:00:00Z").unwrap()
}

fn hours_ago(hours: u64) -> Timestamp {
    now().minus(Duration::from_secs(3600 * hours))
}

/// One session: edited and read files, and the text of its last message.
fn worked(name: &str, hours: u64, edited: &[&str], read: &[&str], message: &str) -> SessionWork {
    let touched = |path: &&str, edits: usize| TouchedFile {
        path: path.to_string(),
        edits,
        reads: 1 - edits,
        last_at: hours_ago(hours),
        last_edit: (edits > 0).then(|| hours_ago(hours)),
        last_read: (edits == 0).then(|| hours_ago(hours)),
    };
    let edited = edited.iter().map(|path| touched(path, 1));
    let touched: Vec<TouchedFile> = edited.chain(read.iter().map(|path| touched(path, 0))).collect();
    let mut mentions: Vec<String> = terms::path_like(message).into_iter().collect();
    mentions.sort();
    SessionWork { session: SessionId::new(name), touched, mentions, prompts: Vec::new() }
}

fn commit(hours: u64, files: &[&str]) -> Commit {
    let files = files.iter().map(|path| path.to_string()).collect();
    Commit { at: hours_ago(hours), files, renamed: Vec::new(), deleted: Vec::new() }
}

fn ranked(sessions: &[SessionWork], commits: &[Commit], tracked: &[&str], prompt: Option<&str>) -> Vec<RankedFile> {
    let tracked: Vec<String> = tracked.iter().map(|path| path.to_string()).collect();
    let none = FastSet::default();
    Candidates::new(&RankEvidence { now: now(), sessions, commits, tracked: &tracked, prompt })
        .ranked(&USUAL, &none, &none)
}

fn order(sessions: &[SessionWork], commits: &[Commit], tracked: &[&str], prompt: Option<&str>) -> Vec<String> {
    ranked(sessions, commits, tracked, prompt).into_iter().map(|one| one.path).collect()
}

#[test]
fn more_of_any_trace_comes_first() {
    let none: &[SessionWork] = &[];
    let old = |edited: &[&str]| worked("old", 90, edited, &[], "");
    for (what, sessions, commits, first) in [
        ("newer", vec![worked("new", 1, &["b.rs"], &[], ""), old(&["a.rs"])], vec![], "b.rs"),
        ("oftener", vec![worked("n", 1, &["b.rs"], &["a.rs"], ""), old(&["a.rs", "b.rs"])], vec![], "b.rs"),
        ("edited", vec![worked("n", 1, &["b.rs"], &["a.rs"], "")], vec![], "b.rs"),
        ("committed last", none.to_vec(), vec![commit(1, &["b.rs"]), commit(2, &["a.rs"])], "b.rs"),
        ("committed", vec![old(&["a.rs", "b.rs"])], vec![commit(1, &["b.rs"])], "b.rs"),
    ] {
        assert_eq!(order(&sessions, &commits, &[], None)[0], first, "{what}");
    }
}

#[test]
fn a_file_named_at_the_end_of_a_turn_ranks_above_its_equal() {
    let score = |message| {
        let found = ranked(&[worked("n", 1, &["src/b.rs", "src/a.rs"], &[], message)], &[], &[], None);
        found.iter().find(|one| one.path == "src/b.rs").unwrap().score
    };
    assert!(score("Next is `src/b.rs`.") > score("Next is another."));
}

#[test]
fn a_file_read_after_the_last_edit_ranks_high() {
    let mut session = worked("s", 2, &["a.rs"], &["before.rs", "after.rs"], "");
    session.touched[2].last_read = Some(hours_ago(1));
    let order = order(&[session], &[], &[], None);
    let place = |path: &str| order.iter().position(|other| other == path);
    assert!(place("after.rs") < place("before.rs"), "{order:?}");
}

#[test]
fn files_beside_those_edited_last_rank_above_others() {
    let sessions = [worked("s", 1, &["src/wire/a.rs"], &[], "")];
    let commits = [commit(9, &["docs/c.rs", "src/wire/b.rs"])];
    assert_eq!(order(&sessions, &commits, &[], None), ["src/wire/a.rs", "src/wire/b.rs", "docs/c.rs"]);
}

#[test]
fn the_file_touched_last_comes_first_among_equals() {
    let mut session = worked("s", 5, &["a.rs", "b.rs"], &["c.rs", "d.rs"], "");
    for (place, hours) in [(0, 4), (1, 2), (2, 8), (3, 7)] {
        session.touched[place].last_at = hours_ago(hours);
    }
    assert_eq!(order(&[session], &[], &[], None), ["b.rs", "a.rs", "d.rs", "c.rs"]);
}

#[test]
fn uncommitted_edits_count_for_a_day_or_two() {
    let score = |hours| ranked(&[worked("s", hours, &["a.rs"], &[], "")], &[], &[], None)[0].score;
    assert!(score(1) > score(30) && score(30) > score(90));
    let committed = ranked(&[worked("s", 1, &["a.rs"], &[], "")], &[commit(0, &["a.rs"])], &[], None).remove(0);
    assert_eq!(committed.trace.value(Feature::Uncommitted), 0.0);
}

#[test]
fn a_file_that_differs_from_git_is_open_work_however_old_the_session() {
    let sessions = [worked("s", 200, &["a.rs", "b.rs", "c.rs"], &[], "")];
    let commits = [commit(100, &["a.rs", "b.rs", "c.rs"])];
    let changed = FastSet::from_iter(["b.rs".to_string()]);
    let evidence = RankEvidence { now: now(), sessions: &sessions, commits: &commits, tracked: &[], prompt: None };
    let first = Candidates::new(&evidence).ranked(&USUAL, &changed, &FastSet::default()).remove(0);
    assert_eq!(first.path, "b.rs");
    assert!(first.trace.why(now()).contains("changed on disk since"), "{}", first.trace.why(now()));
}

#[test]
fn a_prompt_finds_files_by_path_folder_and_words() {
    let sessions = [worked("s", 1, &["src/main.rs", "src/store/read.rs"], &[], "")];
    let tracked =
        ["src/main.rs", "src/store/read.rs", "src/wire/codex.rs", "src/wire/cursor.rs", "docs/tokenBudget.md"];
    for (prompt, first) in [
        ("have a look at @src/wire/cursor.rs", "src/wire/cursor.rs"),
        ("see /home/me/project/src/wire/codex.rs:12", "src/wire/codex.rs"),
        ("the token budgets are described wrongly", "docs/tokenBudget.md"),
        ("how are you?", "src/main.rs"),
    ] {
        assert_eq!(order(&sessions, &[], &tracked, Some(prompt))[0], first, "{prompt}");
    }
    let by_name = order(&sessions, &[], &tracked, Some("Codex sends another payload now"));
    assert_eq!(by_name[..3], ["src/wire/codex.rs", "src/main.rs", "src/store/read.rs"], "its whole name is said");
    let by_word = order(&sessions, &[], &tracked, Some("describe the tokens"));
    assert_eq!(by_word[0], "src/main.rs", "one word does not outweigh the work of the last session");
    assert_eq!(by_word[2], "docs/tokenBudget.md");
    let in_folder = order(&sessions, &[], &tracked, Some("everything in src/wire/ please"));
    assert!(in_folder[..4].iter().filter(|path| path.starts_with("src/wire/")).count() == 2, "{in_folder:?}");
    assert_eq!(order(&sessions, &[], &tracked, None).len(), 2, "a file known only from git needs a prompt");
}

/// A session that was asked this and then edited these files, and nothing else.
fn asked(name: &str, hours: u64, prompt: &str, edited: &[&str]) -> SessionWork {
    let (terms, paths) = PastPrompt::words(prompt);
    let prompt = PastPrompt { terms, paths, edited: (0..edited.len()).collect() };
    SessionWork { prompts: vec![prompt], ..worked(name, hours, edited, &[], "") }
}

#[test]
fn a_prompt_finds_what_similar_prompts_led_to() {
    let sessions = [
        worked("c", 1, &["x.rs"], &[], ""),
        asked("b", 2, "rename the settings of the importer", &["y.rs"]),
        asked("a", 3, "die Rechnung zeigt einen falschen Betrag", &["z.rs"]),
    ];
    let found = ranked(&sessions, &[], &[], Some("der Betrag auf der Rechnung fehlt"));
    let place = |path: &str| found.iter().position(|one| one.path == path);
    assert!(place("z.rs") < place("y.rs"), "{found:?}");
    let why = found.iter().find(|one| one.path == "z.rs").map(|one| one.trace.why(now())).unwrap_or_default();
    assert!(why.starts_with("edited after a similar prompt"), "{why}");
}

#[test]
fn the_test_of_a_named_source_and_its_folder_are_likely_too() {
    let sessions = [worked("s", 9, &["b/other.go", "a/near.go", "c/store_test.go", "a/store.go"], &[], "")];
    let order = order(&sessions, &[], &[], Some("a/store.go loses rows"));
    assert_eq!(order, ["a/store.go", "c/store_test.go", "a/near.go", "b/other.go"]);
}

#[test]
fn a_vague_prompt_changes_nothing() {
    let sessions = [worked("b", 1, &["a.rs", "src/b.rs"], &["c.rs"], ""), worked("a", 30, &["d.rs", "c.rs"], &[], "")];
    let commits = [commit(20, &["e.rs", "c.rs"])];
    let without = order(&sessions, &commits, &[], None);
    for prompt in ["go on", "/context", "https://example.com/src/b.rs/c.rs", "<system-reminder>d.rs</system-reminder>"]
    {
        assert_eq!(order(&sessions, &commits, &["unseen.rs"], Some(prompt))[..without.len()], without, "{prompt}");
    }
}

#[test]
fn the_ending_of_a_file_is_not_a_word() {
    let sessions = [worked("s", 1, &["a/parse.go", "b/ready.go"], &[], "")];
    let found = ranked(&sessions, &[], &[], Some("ready to go?"));
    let shared = |path: &str| found.iter().find(|one| one.path == path).map(|one| one.trace.shared_words());
    assert_eq!((shared("a/parse.go"), shared("b/ready.go")), (Some(0), Some(1)));
}

#[test]
fn a_file_that_an_earlier_prompt_named_ranks_above_its_equal() {
    let score = |prompt| {
        let found = ranked(&[asked("s", 1, prompt, &["src/b.rs", "src/a.rs"])], &[], &[], None);
        found.iter().find(|one| one.path == "src/b.rs").map(|one| one.score)
    };
    assert!(score("then do src/b.rs") > score("then do another"));
}

#[test]
fn weights_are_never_negative() {
    assert!(WEIGHTS.iter().all(|weight| *weight >= 0.0 && weight.is_finite()));
}

#[test]
fn a_renamed_file_keeps_its_traces_and_a_deleted_one_is_not_ranked() {
    let renamed = |old: &str, new: &str| (old.to_string(), new.to_string());
    let mut commits = [commit(1, &["c.rs"]), commit(2, &["b.rs"]), commit(3, &["x.rs"])];
    commits[0].renamed.push(renamed("b.rs", "c.rs"));
    commits[1].renamed.push(renamed("a.rs", "b.rs"));
    commits[2].deleted.push("x.rs".to_string());
    let renames = Renames::new(&commits, &HashSet::from(["c.rs"]));
    for (path, current_name) in [("a.rs", "c.rs"), ("b.rs", "c.rs"), ("c.rs", "c.rs"), ("d.rs", "d.rs")] {
        assert_eq!(renames.current_name(path), current_name);
    }
    // A new file has the old name.
    let again = Renames::new(&commits, &HashSet::from(["a.rs", "c.rs"]));
    assert_eq!(again.current_name("a.rs"), "a.rs");
    let mut sessions = [worked("s", 9, &["a.rs", "other.rs"], &[], "")];
    renames.follow_work(&mut sessions);
    renames.follow_commits(&mut commits);
    let gone = FastSet::from_iter(["other.rs".to_string(), "x.rs".to_string()]);
    let evidence = RankEvidence { now: now(), sessions: &sessions, commits: &commits, tracked: &[], prompt: None };
    let ranked = Candidates::new(&evidence).ranked(&USUAL, &FastSet::default(), &gone);
    assert_eq!(ranked.into_iter().map(|one| one.path).collect::<Vec<_>>(), ["c.rs"]);
}

#[test]
fn every_rank_has_its_reasons() {
    let sessions =
        [worked("b", 2, &["src/a.rs"], &[], "src/a.rs is done"), worked("a", 30, &["src/a.rs"], &["b.rs"], "")];
    let commits = [commit(26, &["src/a.rs"]), commit(24 * 9, &["c.rs"])];
    let why = |path: &str, prompt| {
        let all = ranked(&sessions, &commits, &[], prompt);
        all.iter().find(|one| one.path == path).unwrap().trace.why(now())
    };
    let edited = "edited in 2 sessions, last 2 h ago, not committed since; committed yesterday; \
        mentioned in the agent's last message";
    assert_eq!(why("src/a.rs", None), edited);
    assert_eq!(why("b.rs", None), "read in 1 session, last yesterday");
    assert_eq!(why("c.rs", Some("fix c.rs")), "named by the prompt; committed 9 days ago");
}

proptest! {
    #[test]
    fn any_input_gives_the_same_order_twice_and_every_file_once(
        paths in proptest::collection::vec("[a-c]{1,2}(/[a-c]{1,2}){0,2}\\.(rs|md)", 1..12),
        prompt in "\\PC{0,80}|([a-c/]{1,4}\\.(rs|md) ?){0,5}",
        hours in 0u64..3000,
    ) {
        let half = paths.len() / 2;
        let names: Vec<&str> = paths.iter().map(String::as_str).collect();
        let sessions = [worked("s", hours, &names[..half], &names[half..], &prompt)];
        let commits = [commit(hours / 2, &names)];
        let first = order(&sessions, &commits, &names, Some(&prompt));
        prop_assert_eq!(&first, &order(&sessions, &commits, &names, Some(&prompt)));
        let once: HashSet<&String> = first.iter().collect();
        prop_assert_eq!(once.len(), first.len());
        let score_is_finite = |one: &RankedFile| one.score.is_finite();
        prop_assert!(ranked(&sessions, &commits, &names, Some(&prompt)).iter().all(score_is_finite));
    }
}

#[test]
fn a_bare_command_ranks_as_no_prompt_does() {
    let sessions = [worked("n", 1, &["b.rs"], &["a.rs"], "")];
    let tracked = ["src/clear.rs", "a.rs", "b.rs", "c.md"];
    let none = order(&sessions, &[], &tracked, None);
    assert_eq!(order(&sessions, &[], &tracked, Some("/clear")), none);
    assert_ne!(order(&sessions, &[], &tracked, Some("/explain src/clear.rs")), none);
}

#[test]
fn a_prompt_counts_double_from_a_whole_session_on() {
    assert_eq!(weights::learned(weights::LEARNED_MIN - 1), &USUAL);
    let doubled = weights::learned(weights::LEARNED_MIN).weights;
    assert_eq!(doubled[..PAST], WEIGHTS[..PAST]);
    assert!(doubled[PAST..].iter().zip(&WEIGHTS[PAST..]).all(|(doubled, usual)| *doubled == 2.0 * usual));
}

#[test]
fn a_prompt_hints_at_one_file_or_where_it_counts_double_at_more() {
    let busy: Vec<String> = (0..12).map(|number| format!("work/busy{number}.rs")).collect();
    let hinted = ["a", "b", "c"].map(|letter| format!("src/limiter_{letter}{letter}.rs"));
    let commits = [commit(90, &busy.iter().map(String::as_str).collect::<Vec<_>>())];
    let tracked = [busy.clone(), hinted.to_vec()].concat();
    let prompt = Some("Make the limiter stricter.");
    let told = |by: &Scoring| {
        let evidence = RankEvidence { now: now(), sessions: &[], commits: &commits, tracked: &tracked, prompt };
        let ranked = Candidates::new(&evidence).ranked(by, &FastSet::default(), &FastSet::default());
        ranked.iter().take(weights::FILES_MAX).filter(|file| hinted.contains(&file.path)).count()
    };
    assert_eq!((told(&USUAL), told(&weights::PROMPT_DOUBLED)), (1, 3));
}
