//! What the archive makes of odd text, of damage, and of settings that change.

use std::fs;

use cerberus_archive::search::{PassageQuery, search};
use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;
use cerberus_testkit::env::TestEnv;
use serde_json::json;

use super::{Written, archived, found, kept_session};
use crate::env;
use crate::forget::holding;

fn id_of(env: &TestEnv, session: &str) -> String {
    let all = env.sessions();
    all.iter().find(|one| one["agent_session_id"] == session).unwrap()["id"].as_str().unwrap().to_string()
}

/// How often words are in what the archive has of a session.
fn count(env: &TestEnv, session: &str, words: &str) -> usize {
    archived(env, session).matches(words).count()
}

fn segment(env: &TestEnv, number: u32) -> std::path::PathBuf {
    env.home().join(format!("archive/{number:08}.segment"))
}

#[test]
fn colours_hide_no_word_no_private_file_and_nothing_that_is_forgotten() {
    let env = env();
    let mut written = kept_session(&env);
    let coloured = "\u{1b}[35msrc/secretly.rs\u{1b}[0m:\u{1b}[32m12\u{1b}[0m: the \u{1b}[1m\u{1b}[31mxylo\u{1b}[mphonist\n\
        \u{1b}]8;;file:///src/secretly.rs\u{1b}\\linked\u{1b}]8;;\u{7} words";
    written
        .ran("10:00:42", "rg xylo", coloured)
        .ran("10:00:43", "rg -w PORT", "\u{1b}[35m.env\u{1b}[0m:PORT=theorbo")
        .ran("10:00:44", "fetch", "10%\rsrc/secretly.rs\r100% flugelhorn")
        .said("10:00:50", "Done.")
        .import();
    assert_eq!(found(&env, &["xylophonist"])[0].0, "output");
    assert_eq!(found(&env, &["\"the xylophonist linked words\""])[0].0, "output");
    assert_eq!(found(&env, &["theorbo"]), []);
    let shown = env.ok(&["show", "--full"]);
    assert!(shown.contains("secretly.rs:12: the xylophonist") && shown.contains("linked words"), "{shown}");
    assert!(shown.contains("| 100% flugelhorn") && !shown.contains("[35m") && !shown.contains('?'), "{shown}");
    env.ok(&["forget", "--yes", "--path", "src/secretly.rs"]);
    for words in ["xylophonist", "flugelhorn", "secretly"] {
        assert_eq!(count(&env, "session-one", words), 0, "{words}");
        assert_eq!(holding(&env, words), [] as [String; 0]);
    }
}

#[test]
fn a_private_passage_ends_where_it_ends_also_in_a_later_piece_of_the_message() {
    let env = env();
    let mut written = kept_session(&env);
    let text = |text: &str| json!({"type": "text", "text": text});
    let pieces = json!([
        text("Keep it <private>my xylorimba"),
        {"type": "image", "source": {"type": "base64", "data": "abc"}},
        text("and my flexatone"),
        text("and the theorbo</private> but tune the psaltery"),
    ]);
    written.push("10:01:00", "user", pieces).said("10:01:10", "It is tuned.").import();
    for secret in ["xylorimba", "flexatone", "theorbo"] {
        assert_eq!(count(&env, "session-one", secret), 0, "{secret}");
        assert_eq!(holding(&env, secret), [] as [String; 0]);
    }
    // Its pieces are one prompt.
    let turn = env.json(&["show", "--turn", "2"]);
    assert!(turn["turns"][0]["parts"].to_string().contains("tune the psaltery"), "{turn}");
    let output = env.run(&["show", "--turn", "3"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the conversation has 2 turns"), "{output:?}");
}

#[test]
fn a_private_passage_hides_whatever_stands_between_its_pieces() {
    let env = env();
    let mut written = kept_session(&env);
    let text = |text: &str| json!({"type": "text", "text": text});
    for id in ["lists", "lists-more"] {
        let call = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}]);
        written.push("10:00:42", "assistant", call);
    }
    let pieces = json!([
        text("Keep it <private>my xylorimba"),
        {"type": "tool_result", "tool_use_id": "lists", "content": "a crumhorn"},
        {"type": "tool_result", "tool_use_id": "lists-more", "content": [text("a rackett"), text("a rauschpfeife")]},
        {"type": "thinking", "thinking": "of a sarrusophone"},
        "and a cornamuse",
        text("and the theorbo</private> but tune the psaltery"),
        {"type": "thinking", "thinking": "of a hurdy-gurdy"},
    ]);
    written.push("10:01:00", "user", pieces).said("10:01:10", "It is tuned.").import();
    for secret in ["xylorimba", "crumhorn", "rackett", "rauschpfeife", "sarrusophone", "cornamuse", "theorbo"] {
        assert_eq!(count(&env, "session-one", secret), 0, "{secret}");
        assert_eq!(holding(&env, secret), [] as [String; 0]);
    }
    for (words, wanted) in [("tune the psaltery", 1), ("hurdy-gurdy", 1), ("lists-more", 2)] {
        assert_eq!(count(&env, "session-one", words), wanted, "{words}");
    }
}

#[test]
fn a_phrase_is_found_where_its_words_are_everywhere_and_where_a_passage_ends() {
    let env = env();
    let mut written = kept_session(&env);
    written.said("10:01:00", "No such file was there.");
    let filler: String = (0..299).map(|number| format!("{number:04} ")).collect();
    written.ran("10:01:01", "cat", &format!("{filler}{filler}"));
    written.ran("10:01:02", "cat", &format!("{}the sousaphone player left", &filler[..1_490]));
    for _ in 0..120 {
        written.said("10:02:00", "There is a file of no such kind.");
    }
    written.said("10:03:00", "Done.").import();
    assert_eq!(found(&env, &["\"no such file\"", "--kind", "said"])[0].1, "No such file was there.");
    assert_eq!(found(&env, &["sousaphone"])[0].0, "output");
    assert_eq!(found(&env, &["\"the sousaphone player left\""])[0].0, "output");
    assert_eq!(found(&env, &["\"0298 0000\""])[0].0, "output");
    assert_eq!(found(&env, &["\"player sousaphone\""]), []);
}

#[test]
fn passages_beside_a_better_one_do_not_count() {
    let env = env();
    let mut written = kept_session(&env);
    let filler = "0123 ".repeat(280);
    written.ran("10:01:01", "cat", &format!("serpent cimbasso {filler}\nserpent cimbasso {filler}"));
    written.said("10:01:02", "The serpent is tuned.").said("10:01:03", "Done.").import();
    let query = PassageQuery {
        text: "serpent cimbasso",
        limit: 2,
        projects: &[],
        agent: None,
        kinds: &[],
        file: None,
        since: Timestamp::EPOCH,
        until: Timestamp::LAST,
    };
    let found = search(&Home::new(env.home()), &query).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].text.starts_with("serpent cimbasso") && found[1].text == "The serpent is tuned.", "{found:?}");
}

#[test]
fn what_answers_a_call_is_kept_when_more_than_two_hundred_others_have_no_answer() {
    let env = env();
    let mut written = kept_session(&env);
    for number in 0..300 {
        let call = json!({"type": "tool_use", "id": format!("waits-{number}"), "name": "Bash",
            "input": {"command": format!("sleep {number}")}});
        written.push("10:01:00", "assistant", json!([call]));
    }
    for (number, word) in [(299, "bombardon"), (60, "ophicleide")] {
        let answer = json!([{"type": "tool_result", "tool_use_id": format!("waits-{number}"),
            "content": format!("the {word} is tuned")}]);
        written.push("10:01:01", "user", answer);
    }
    written.said("10:01:02", "Done.").import();
    assert_eq!(count(&env, "session-one", "bombardon"), 1);
    assert_eq!(count(&env, "session-one", "ophicleide"), 1);
}

/// Words that can hardly be compressed.
fn mixed_words(number: u64) -> String {
    let mixed = |word: u64| (number << 32 | word).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (0..12_000).map(|word| format!("{:08x} ", mixed(word))).collect()
}

/// Two sessions, of which the first takes several blocks.
fn two_sessions(env: &TestEnv) -> Written<'_> {
    let mut written = kept_session(env);
    for number in 0..4 {
        written.ran("10:00:42", "seq", &format!("bombardon{number} {}", mixed_words(number)));
    }
    written.said("10:00:44", "All is counted.").import();
    let mut other = Written::new(env, "session-two");
    other.prompt("09:00:00", "Tune the harpsichord").said("09:00:05", "It is tuned.").import();
    written
}

#[test]
fn an_archive_that_was_cut_or_lost_is_whole_again_and_has_nothing_twice() {
    for how in ["between blocks", "in a block", "all", "replaced", "last byte"] {
        let env = env();
        two_sessions(&env);
        let wanted = archived(&env, "session-one");
        assert_eq!(count(&env, "session-one", "bombardon3"), 1);
        let bytes = fs::read(segment(&env, 1)).unwrap();
        let blocks: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(b"CRB1")).collect();
        assert!(blocks.len() > 3, "{blocks:?}");
        let third = blocks[2];
        match how {
            "between blocks" => fs::write(segment(&env, 1), &bytes[..third]).unwrap(),
            "in a block" => fs::write(segment(&env, 1), &bytes[..third + 500]).unwrap(),
            "all" => fs::remove_file(segment(&env, 1)).unwrap(),
            "replaced" => fs::write(segment(&env, 1), vec![0x55; 3_000]).unwrap(),
            _ => {
                let mut broken = bytes.clone();
                broken[*blocks.last().unwrap() - 1] ^= 0xff;
                fs::write(segment(&env, 1), broken).unwrap();
            }
        }
        // Nothing of another session is taken for what is lost, and a search does not fail.
        env.ok(&["search", "harpsichord"]);
        assert!(count(&env, "session-one", "bombardon0") <= 1, "{how}");
        assert!(!archived(&env, "session-one").contains("harpsichord"), "{how}");
        if how != "last byte" {
            let damaged = env.json(&["status"])["archive"]["damaged_bytes"].as_u64().unwrap();
            assert!(damaged > 0, "{how}: it is told");
        }
        env.ok(&["archive"]);
        // No hook told where the other transcript is.
        env.ok(&["import", "claude-code", Written::new(&env, "session-two").path().to_str().unwrap()]);
        assert_eq!(archived(&env, "session-one"), wanted, "{how}");
        assert_eq!(found(&env, &["bombardon3"]).len(), 1, "{how}");
        assert_eq!(count(&env, "session-two", "harpsichord"), 1, "{how}");
        env.rebuild();
        assert_eq!(env.json(&["status"])["archive"]["damaged_bytes"], 0, "{how}");
        assert_eq!(archived(&env, "session-one"), wanted, "{how}");
        assert_eq!(found(&env, &["bombardon3"]).len(), 1, "{how}");
    }
}

#[test]
fn what_was_forgotten_does_not_come_back_when_blocks_are_lost() {
    let request: [&[&str]; 2] =
        [&["--path", "src/secretly.rs"], &["--since", "2026-01-21T10:00:45Z", "--until", "2026-01-21T10:00:46Z"]];
    for (request, how) in request.into_iter().flat_map(|one| ["after", "before", "deleted"].map(|how| (one, how))) {
        let env = env();
        let mut written = kept_session(&env);
        for number in 0..4 {
            written.ran("10:00:42", "seq", &mixed_words(number));
        }
        written
            .said("10:00:43", "The bombardon is counted.")
            .ran("10:00:45", "rg tuning", "src/secretly.rs: the tuning of a flugelhorn")
            .said("10:00:50", "Done.")
            .import();
        assert_eq!(count(&env, "session-one", "flugelhorn"), 1);
        let damage = || {
            let mut bytes = fs::read(segment(&env, 1)).unwrap();
            let last = (0..bytes.len() - 4).rfind(|at| bytes[*at..].starts_with(b"CRB1")).unwrap();
            assert!(last > 0);
            *bytes.last_mut().unwrap() ^= 0xff;
            fs::write(segment(&env, 1), bytes).unwrap();
        };
        if how == "before" {
            damage();
        }
        env.ok(&[&["forget", "--yes"], request].concat());
        match how {
            "after" => damage(),
            "deleted" => drop(env.ok(&["archive", "--delete"])),
            _ => {}
        }
        written.said("10:05:00", "The bassoon is new.").import();
        env.ok(&["archive"]);
        assert_eq!(count(&env, "session-one", "flugelhorn"), 0, "{request:?} {how}");
        assert_eq!(holding(&env, "flugelhorn"), [] as [String; 0], "{request:?} {how}");
        assert_eq!(count(&env, "session-one", "bassoon"), 1, "{request:?} {how}");
    }
}

#[test]
fn a_rebuild_that_is_killed_loses_no_block_that_can_be_read() {
    let env = env();
    fs::remove_file(two_sessions(&env).path()).unwrap();
    let mut bytes = fs::read(segment(&env, 1)).unwrap();
    bytes[200] ^= 0xff;
    fs::write(segment(&env, 1), &bytes).unwrap();
    let mut command = env.command();
    command.args(["doctor", "--rebuild"]).env("CERBERUS_FAULT", "archive-aside=kill");
    assert!(!command.output().unwrap().status.success());
    assert_eq!(count(&env, "session-two", "harpsichord"), 1);
    env.rebuild();
    assert_eq!(count(&env, "session-two", "harpsichord"), 1);
    assert_eq!(fs::read(env.home().join("archive/00000001.segment.damaged")).unwrap(), bytes);
    // Forgetting reaches what was set aside, and what a killed process was writing.
    fs::write(env.home().join("archive/.00000001.segment.1.tmp"), "harpsichord").unwrap();
    env.ok(&["forget", "--yes", "--session", &id_of(&env, "session-two")]);
    assert_eq!(holding(&env, "harpsichord"), [] as [String; 0]);
}

#[test]
fn death_between_a_call_and_its_answer_loses_no_answer() {
    let env = env();
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "[archive]\nkeep = \"nothing\"\n").unwrap();
    let mut written = kept_session(&env);
    let call = json!({"type": "tool_use", "id": "waits", "name": "Bash", "input": {"command": "sleep 9"}});
    written.push("10:00:42", "assistant", json!([call]));
    for number in 0..3 {
        written.said("10:00:43", &mixed_words(number));
    }
    written.push("10:00:44", "user", json!([{"type": "tool_result", "tool_use_id": "waits", "content": "bombardon"}]));
    written.said("10:00:45", "Done.").import();
    fs::remove_file(env.home().join("config.toml")).unwrap();
    let mut command = env.command();
    command.arg("archive").env("CERBERUS_FAULT", "archive-write=kill@2");
    assert!(!command.output().unwrap().status.success());
    env.ok(&["archive"]);
    assert_eq!(count(&env, "session-one", "bombardon"), 1);
}

#[test]
fn a_forget_that_is_killed_takes_no_line_from_a_fork() {
    let env = env();
    let first = kept_session(&env);
    first.import();
    let mut fork = Written::new(&env, "session-two");
    fork.lines.clone_from(&first.lines);
    fork.lines.iter_mut().for_each(|line| line["sessionId"] = json!("session-two"));
    fork.prompt("10:02:00", "Go on elsewhere").said("10:02:10", "Elsewhere it is.").import();
    fs::remove_file(first.path()).unwrap();
    fs::remove_file(fork.path()).unwrap();
    let wanted = archived(&env, "session-two");
    // Each has a segment of its own.
    let bytes = fs::read(segment(&env, 1)).unwrap();
    let second = (1..bytes.len() - 4).find(|at| bytes[*at..].starts_with(b"CRB1")).unwrap();
    fs::write(segment(&env, 1), &bytes[..second]).unwrap();
    fs::write(segment(&env, 2), &bytes[second..]).unwrap();
    env.rebuild();
    assert_eq!(archived(&env, "session-two"), wanted);
    let id = id_of(&env, "session-one");
    for kill in ["archive-erase=kill", "archive-erase=kill@2"] {
        let mut command = env.command();
        command.args(["forget", "--yes", "--session", &id]).env("CERBERUS_FAULT", kill);
        assert!(!command.output().unwrap().status.success(), "{kill}");
        assert_eq!(archived(&env, "session-two"), wanted, "{kill}");
    }
    env.ok(&["forget", "--yes", "--session", &id]);
    assert_eq!(archived(&env, "session-one"), "");
    assert_eq!(archived(&env, "session-two"), wanted);
}

#[test]
fn an_import_leaves_nothing_that_is_too_old() {
    let mut env = env();
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "[archive]\nretention = \"30d\"\n").unwrap();
    env.set_now(None);
    Written::new(&env, "session-two").prompt("09:00:00", "Tune the harpsichord").said("09:00:05", "It is.").import();
    assert_eq!(env.json(&["status"])["archive"]["conversations"], 0);
    assert_eq!(env.sessions().len(), 1);
}

#[test]
fn a_project_that_is_opted_out_later_is_found_no_more() {
    let env = env();
    kept_session(&env).import();
    assert!(!found(&env, &["glockenspiel"]).is_empty());
    fs::write(env.project().join(".nocerberus"), "").unwrap();
    assert_eq!(found(&env, &["glockenspiel"]), []);
    assert_eq!(found(&env, &["marimba"]), [], "nor by what the view has");
    fs::remove_file(env.project().join(".nocerberus")).unwrap();
    assert!(!found(&env, &["glockenspiel"]).is_empty());
}
