//! The archive: what was said, run and printed outlives its transcript, and nothing that must not be kept is in it.

mod large;
mod lasting;
mod live;
mod odd;
mod reach;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cerberus_agents::claude_code;
use cerberus_os::fault::ARCHIVE_POINTS;
use cerberus_os::home::Home;
use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::forget::holding;

/// A session as Claude Code writes it down.
struct Written<'e> {
    env: &'e TestEnv,
    session: &'static str,
    lines: Vec<Value>,
}

impl Written<'_> {
    fn new<'e>(env: &'e TestEnv, session: &'static str) -> Written<'e> {
        Written { env, session, lines: Vec::new() }
    }

    fn path(&self) -> PathBuf {
        self.env.root().join(format!("user/.claude/projects/-hydra/{}.jsonl", self.session))
    }

    fn push(&mut self, at: &str, role: &str, content: Value) -> &mut Self {
        let number = self.lines.len();
        self.lines.push(json!({
            "type": role, "uuid": format!("u{number}"), "sessionId": self.session, "cwd": self.env.project(),
            "timestamp": format!("2026-01-21T{at}Z"), "message": {"role": role, "content": content},
        }));
        self
    }

    fn prompt(&mut self, at: &str, text: &str) -> &mut Self {
        self.push(at, "user", json!(text))
    }

    fn said(&mut self, at: &str, text: &str) -> &mut Self {
        self.push(at, "assistant", json!([{"type": "text", "text": text}]))
    }

    fn used(&mut self, at: &str, tool: &str, input: Value, printed: &str, is_error: bool) -> &mut Self {
        let id = format!("call-{}", self.lines.len());
        self.push(at, "assistant", json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]));
        let answer = json!([{"type": "tool_result", "tool_use_id": id, "content": printed, "is_error": is_error}]);
        self.push(at, "user", answer)
    }

    fn ran(&mut self, at: &str, command: &str, printed: &str) -> &mut Self {
        self.used(at, "Bash", json!({"command": command}), printed, false)
    }

    fn save(&self) -> PathBuf {
        fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        fs::write(self.path(), self.lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        self.path()
    }

    fn import(&self) -> PathBuf {
        let path = self.save();
        self.env.ok(&["import", "claude-code", path.to_str().unwrap()]);
        path
    }
}

/// Everything that the archive has of a session, as its lines.
fn archived(env: &TestEnv, session: &str) -> String {
    let home = Home::new(env.home());
    let Some(kept) = cerberus_archive::find(&home, claude_code::AGENT, session).unwrap() else { return String::new() };
    let mut text = String::new();
    let mut take = |line: &str| text.push_str(&format!("{line}\n"));
    cerberus_archive::lines(&home, &kept, &mut take).unwrap();
    for source in &kept.subagent_sources {
        cerberus_archive::lines_of(&home, &kept, source, &mut take).unwrap();
    }
    text
}

fn found(env: &TestEnv, args: &[&str]) -> Vec<(String, String)> {
    let hits = env.json(&[&["search"], args].concat());
    let word = |hit: &Value, key: &str| hit[key].as_str().unwrap_or_default().to_string();
    hits.as_array().unwrap().iter().map(|hit| (word(hit, "kind"), word(hit, "text"))).collect()
}

/// A session that hooks have seen begin, so that its transcript is known.
fn kept_session(env: &TestEnv) -> Written<'_> {
    env.start("session-one", "startup");
    let mut written = Written::new(env, "session-one");
    written
        .prompt("10:00:00", "Find out why the marimba is late")
        .said("10:00:05", "I look at the marimba first.")
        .ran("10:00:10", "tail marimba.log", "the marimba waits for a glockenspiel\nand then for nothing")
        .used("10:00:20", "Bash", json!({"command": "make marimba"}), "Exit code 2\nno rule for celesta", true)
        .used(
            "10:00:30",
            "Read",
            json!({"file_path": env.project().join("src/secretly.rs")}),
            "fn ocarina_inside_a_file() {}",
            false,
        )
        .said("10:00:40", "The glockenspiel blocks it.");
    written
}

#[test]
fn what_was_said_and_printed_is_found_when_the_transcript_is_gone() {
    let env = env();
    let path = kept_session(&env).import();
    fs::remove_file(path).unwrap();
    let first = |args: &[&str]| found(&env, args).into_iter().next().unwrap();
    assert_eq!(first(&["waits glockenspiel nothing"]).0, "output");
    assert_eq!(first(&["no rule celesta"]), ("error".to_string(), "Exit code 2\nno rule for celesta".to_string()));
    assert_eq!(first(&["look marimba first"]).0, "said");
    assert_eq!(first(&["\"waits for a glockenspiel\""]).0, "output");
    assert!(found(&env, &["\"glockenspiel waits\""]).iter().all(|(kind, _)| kind != "output"));
    assert!(found(&env, &["celesta", "--kind", "error"]).iter().all(|(kind, _)| kind == "error"));
    assert_eq!(found(&env, &["celesta", "--kind", "output"]), []);
    assert!(!found(&env, &["glockenspiel", "--file", "secretly.rs"]).is_empty());
    assert_eq!(found(&env, &["glockenspiel", "--file", "other.rs"]), []);
    assert_eq!(found(&env, &["glockenspiel", "--agent", "codex"]), []);
    assert_eq!(found(&env, &["glockenspiel", "--since", "2026-01-22"]), []);

    let shown = env.ok(&["show", "--full"]);
    for words in ["> Find out why the marimba is late", "tail marimba.log", "and then for nothing", "blocks it."] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(env.ok(&["show", "--markdown"]).contains("## Turn 1"));
    let turn = env.json(&["show", "--turn", "1"]);
    assert_eq!(turn["turns"][0]["parts"][0]["kind"], "prompt");
    assert!(!env.run(&["show", "--turn", "2"]).status.success());
}

#[test]
fn contents_of_files_are_kept_only_if_the_user_wants_them() {
    for (keep, edit, whole) in [("conversation", false, false), ("edits", true, false), ("everything", true, true)] {
        let env = env();
        fs::create_dir_all(env.home()).unwrap();
        fs::write(env.home().join("config.toml"), format!("[archive]\nkeep = \"{keep}\"\n")).unwrap();
        let mut written = kept_session(&env);
        let edit_input = json!({"file_path": "/x/a.rs", "old_string": "sousaphone before", "new_string": "tuba after"});
        written.used("10:00:32", "Edit", edit_input, "The file /x/a.rs: 1\ttuba after all", false);
        let write_input = json!({"file_path": "/x/b.rs", "content": "fn bassoon_in_a_new_file() {}"});
        written.used("10:00:34", "Write", write_input, "created", false);
        written.said("10:00:50", "Done.");
        written.import();
        let text = archived(&env, "session-one");
        assert!(text.contains("waits for a glockenspiel") && text.contains("src/secretly.rs"), "{text}");
        assert_eq!(text.contains("sousaphone before"), edit, "{keep}");
        assert_eq!(text.contains("bassoon_in_a_new_file"), whole, "{keep}");
        assert_eq!(text.contains("ocarina_inside_a_file"), whole, "{keep}");
        assert_eq!(found(&env, &["bassoon", "--kind", "command"]).is_empty(), !whole, "{keep}");
    }
}

#[test]
fn secrets_and_private_passages_are_cut() {
    let env = env();
    let token = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
    let mut written = Written::new(&env, "session-one");
    written
        .prompt("10:00:00", "Use it <private>my xylorimba</private> today")
        .ran("10:00:10", "printenv", &format!("GITHUB_TOKEN={token}\nplain words"))
        .ran("10:00:20", "cat .env", "CELLO_PORT=flexatone")
        .ran("10:00:25", "grep -r PORT .", ".env:CELLO=theorbo\nREADME: the PORT is free")
        .said("10:00:30", "Done.");
    written.import();
    let text = archived(&env, "session-one");
    assert!(text.contains("plain words") && !text.contains("PORT is free"), "{text}");
    for secret in [token, "xylorimba", "flexatone", "theorbo"] {
        assert!(!text.contains(secret), "{secret}: {text}");
        assert_eq!(holding(&env, secret), [] as [String; 0], "{secret}");
    }
}

#[test]
fn whatever_is_forgotten_leaves_the_archive() {
    let request: [&[&str]; 4] =
        [&["--session", "ID"], &["--project"], &["--path", "src/secretly.rs"], &["--since", "2026-01-21T10:00:08Z"]];
    for request in request {
        let env = env();
        kept_session(&env).import();
        let mut other = Written::new(&env, "session-two");
        other.prompt("09:00:00", "Tune the harpsichord").said("09:00:05", "It is tuned.").import();
        let id = env.sessions().into_iter().find(|one| one["agent_session_id"] == "session-one").unwrap();
        let request: Vec<&str> =
            request.iter().map(|word| if *word == "ID" { id["id"].as_str().unwrap() } else { word }).collect();
        env.ok(&[&["forget", "--yes"], &request[..]].concat());
        let text = archived(&env, "session-one");
        let gone: &[&str] = match request[0] {
            "--path" => &["secretly"],
            "--since" => &["glockenspiel", "celesta"],
            _ => &["marimba", "glockenspiel", "celesta", "secretly"],
        };
        for words in gone {
            assert!(!text.contains(words), "{request:?} {words}: {text}");
            assert_eq!(holding(&env, words), [] as [String; 0], "{request:?}");
        }
        assert_eq!(text.contains("marimba"), request[0] == "--since" || request[0] == "--path", "{request:?}");
        assert_eq!(archived(&env, "session-two").contains("harpsichord"), request[0] != "--project", "{request:?}");
        // The transcript is still there, and what was forgotten does not come back.
        env.ok(&["archive"]);
        for words in gone {
            assert!(!archived(&env, "session-one").contains(words), "{request:?} {words}");
        }
    }
}

#[test]
fn the_lines_of_a_fork_are_stored_once_and_stay_with_it() {
    let env = env();
    let mut first = kept_session(&env);
    first.ran("10:01:00", "seq", &(0..2_000).map(|n| format!("{} ", n * 7919 % 10_007)).collect::<String>());
    first.said("10:01:10", "Counted.").import();
    let size = |env: &TestEnv| env.json(&["status"])["archive"]["bytes"].as_u64().unwrap();
    let before = size(&env);
    let mut fork = Written::new(&env, "session-two");
    fork.lines = first
        .lines
        .iter()
        .map(|line| {
            let mut line = line.clone();
            line["sessionId"] = json!("session-two");
            line
        })
        .collect();
    fork.prompt("10:02:00", "Go on elsewhere").said("10:02:10", "Elsewhere it is.").import();
    assert!(size(&env) - before < before / 2, "{before} {}", size(&env));
    let forked = archived(&env, "session-two");
    assert!(
        forked.contains("waits for a glockenspiel") && forked.contains("\"sessionId\":\"session-two\""),
        "{forked}"
    );
    let id = env.sessions().into_iter().find(|one| one["agent_session_id"] == "session-one").unwrap();
    env.ok(&["forget", "--yes", "--session", id["id"].as_str().unwrap()]);
    assert_eq!(archived(&env, "session-one"), "");
    assert_eq!(archived(&env, "session-two"), forked, "its lines are its own");
    assert!(!found(&env, &["waits glockenspiel nothing"]).is_empty());
}

#[test]
fn a_paused_turn_stays_out_though_its_transcript_has_it() {
    let mut env = env();
    let turn = |env: &mut TestEnv, at: &str, text: &str| {
        env.set_now(Some(&format!("2026-01-21T{at}Z")));
        env.hook("session-one", "UserPromptSubmit", json!({"prompt": text, "prompt_id": text}));
        env.hook("session-one", "Stop", json!({"last_assistant_message": format!("Said of {text}.")}));
    };
    env.set_now(Some("2026-01-21T10:00:00Z"));
    env.start("session-one", "startup");
    turn(&mut env, "10:00:01", "the zither");
    env.ok(&["pause"]);
    turn(&mut env, "10:10:00", "the didgeridoo");
    env.ok(&["unpause"]);
    turn(&mut env, "10:20:00", "the psaltery");
    let mut written = Written::new(&env, "session-one");
    for (at, text) in [("10:00:01", "the zither"), ("10:10:00", "the didgeridoo"), ("10:20:00", "the psaltery")] {
        written.prompt(at, text).said(at, &format!("Said of {text}."));
    }
    written.save();
    env.ok(&["archive"]);
    let text = archived(&env, "session-one");
    assert!(text.contains("zither") && text.contains("psaltery") && !text.contains("didgeridoo"), "{text}");
}

#[test]
fn a_turn_is_archived_by_itself() {
    let mut env = env();
    env.set_now(Some("2026-01-21T10:00:00Z"));
    kept_session(&env).save();
    env.hook("session-one", "UserPromptSubmit", json!({"prompt": "Find out", "prompt_id": "p"}));
    env.set_now(Some("2026-01-21T10:00:45Z"));
    env.hook("session-one", "Stop", json!({"last_assistant_message": "The glockenspiel blocks it."}));
    let begun = Instant::now();
    while !archived(&env, "session-one").contains("waits for a glockenspiel") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", archived(&env, "session-one"));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn it_can_be_switched_off_and_deleted() {
    let env = env();
    kept_session(&env).import();
    assert_eq!(env.json(&["status"])["archive"]["conversations"], 1);
    fs::write(env.home().join("config.toml"), "[archive]\nkeep = \"nothing\"\n").unwrap();
    let mut other = Written::new(&env, "session-two");
    other.prompt("09:00:00", "Tune the harpsichord").said("09:00:05", "It is tuned.").import();
    assert_eq!(archived(&env, "session-two"), "");
    assert!(env.ok(&["status"]).contains("`cerberus archive --delete` removes it"));
    env.ok(&["archive", "--delete"]);
    assert_eq!(archived(&env, "session-one"), "");
    assert_eq!(env.json(&["status"])["archive"]["bytes"], 0);
}

#[test]
fn old_conversations_are_removed_if_the_user_wants_that() {
    let mut env = env();
    kept_session(&env).import();
    fs::write(env.home().join("config.toml"), "[archive]\nretention = \"30d\"\n").unwrap();
    // Whoever gives the time, maybe an agent, does not decide what is old.
    env.ok(&["archive", "--now", "2099-03-21T10:00:00Z"]);
    assert_ne!(archived(&env, "session-one"), "");
    env.set_now(None);
    env.ok(&["archive"]);
    assert_eq!(archived(&env, "session-one"), "");
    env.ok(&["archive"]);
    assert_eq!(env.json(&["status"])["archive"]["conversations"], 0);
}

#[test]
fn a_damaged_block_loses_nothing_but_itself() {
    let env = env();
    kept_session(&env).import();
    let mut other = Written::new(&env, "session-two");
    other.prompt("09:00:00", "Tune the harpsichord").said("09:00:05", "It is tuned.").import();
    let segment = env.home().join("archive/00000001.segment");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[200] ^= 0xff;
    fs::write(&segment, &bytes).unwrap();
    assert_eq!(archived(&env, "session-one"), "");
    assert!(archived(&env, "session-two").contains("harpsichord"));
    let said = |env: &TestEnv| {
        env.doctor()["checks"].as_array().unwrap().iter().find(|check| check["name"] == "archive").unwrap().clone()
    };
    assert_eq!(said(&env)["ok"], false);
    env.rebuild();
    assert_eq!(said(&env)["ok"], true);
    assert!(archived(&env, "session-two").contains("harpsichord"));
    assert!(env.home().join("archive/00000001.segment.damaged").is_file());
    // The transcript is still there.
    env.ok(&["archive"]);
    assert!(archived(&env, "session-one").contains("glockenspiel"));
    assert!(!found(&env, &["waits glockenspiel nothing"]).is_empty());
}

#[test]
fn death_at_every_point_loses_and_doubles_nothing() {
    let whole = env();
    kept_session(&whole).import();
    let wanted = archived(&whole, "session-one").replace(whole.root().to_str().unwrap(), "");
    for label in ARCHIVE_POINTS {
        for fault in ["kill", "short"] {
            let env = env();
            fs::create_dir_all(env.home()).unwrap();
            fs::write(env.home().join("config.toml"), "[archive]\nkeep = \"nothing\"\n").unwrap();
            kept_session(&env).import();
            fs::remove_file(env.home().join("config.toml")).unwrap();
            let mut command = env.command();
            command.arg("archive").env("CERBERUS_FAULT", format!("{label}={fault}"));
            let _ = command.output().unwrap();
            env.ok(&["archive"]);
            let text = archived(&env, "session-one").replace(env.root().to_str().unwrap(), "");
            assert_eq!(text, wanted, "{label} {fault}");
            assert_eq!(env.json(&["status"])["archive"]["damaged_bytes"], 0, "{label} {fault}");
            let hits = found(&env, &["waits glockenspiel nothing", "--kind", "output"]);
            assert_eq!(hits.len(), 1, "{label} {fault}: {hits:?}");
        }
    }
}

#[test]
fn a_full_disk_stops_the_archive_and_nothing_else() {
    let mut env = env();
    env.set_now(Some("2026-01-21T10:00:00Z"));
    kept_session(&env).save();
    env.set_now(Some("2026-01-21T10:00:45Z"));
    env.hook("session-one", "UserPromptSubmit", json!({"prompt": "Find out", "prompt_id": "p"}));
    let mut command = env.command();
    command.args(["archive", "--detached"]).env("CERBERUS_FAULT", "archive-write=enospc");
    assert!(command.output().unwrap().status.success());
    let failures = env.json(&["status"])["failures"].to_string();
    assert!(failures.contains("archive") && failures.contains("No space left"), "{failures}");
    // Nor was there room for the note, or for the index.
    fs::remove_file(env.home().join("failures.jsonl")).unwrap();
    let mut command = env.command();
    command.arg("archive").env("CERBERUS_FAULT", "archive-synced=kill");
    assert!(!command.output().unwrap().status.success());
    let status = env.ok(&["status"]);
    assert!(status.contains("not in the index yet: `cerberus archive` adds it"), "{status}");
    env.ok(&["archive"]);
    assert!(!env.ok(&["status"]).contains("not in the index yet"));
}
