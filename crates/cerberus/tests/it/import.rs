//! `import claude-code`: transcripts become the same facts that hooks would have left.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use cerberus_agents::claude_code;
use cerberus_agents::conversation::reduce::KeepFiles;
use cerberus_agents::install::Surroundings;
use cerberus_archive::update::ArchiveUpdate;
use cerberus_os::ahead::ahead;
use cerberus_os::clock::Clock;
use cerberus_os::home::{Home, create_dir};
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;
use cerberus_store::import::{Import, TakeForgotten, Unwritten};
use cerberus_store::view::fold;
use cerberus_testkit::env::{TestEnv, codes};
use serde_json::{Value, json};

use crate::env;

fn line(kind: &str, number: u32, extra: Value) -> Value {
    let mut line = json!({
        "type": kind, "uuid": format!("u{number}"), "sessionId": "old-session", "cwd": "/home/somebody/project",
        "gitBranch": "main", "timestamp": format!("2026-01-21T10:00:{number:02}.500Z"), "isSidechain": false,
    });
    line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    line
}

fn tool(number: u32, id: &str, name: &str, input: Value, result: Value) -> [Value; 2] {
    let used = json!({"message": {"content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}});
    let answer = json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
    let came = json!({"message": {"content": [answer]}, "toolUseResult": result});
    [line("assistant", number, used), line("user", number + 1, came)]
}

fn transcript() -> String {
    let mut lines = vec![line("user", 1, json!({"message": {"content": "Write the store"}}))];
    let path = "/home/somebody/project/src/store.rs";
    lines.extend(tool(
        2,
        "toolu_1",
        "Write",
        json!({"file_path": path, "content": "pub fn open() {}\n"}),
        json!({"type": "create"}),
    ));
    let todos = json!({"todos": [{"content": "Write tests", "status": "pending"}]});
    lines.extend(tool(4, "toolu_2", "TodoWrite", todos, json!({})));
    lines.push(line("assistant", 6, json!({"message": {"content": [{"type": "text", "text": "All done."}]}})));
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    format!("{}\n{{damaged\n", text.join("\n"))
}

#[test]
fn a_transcript_carries_over_into_the_project_it_is_mapped_onto() {
    let env = env();
    let file = env.root().join("old.jsonl");
    std::fs::write(&file, transcript()).unwrap();
    let project = env.project();
    let args = ["import", "claude-code", "--project", project.to_str().unwrap(), file.to_str().unwrap()];
    let report = env.json(&args);
    assert_eq!((&report["sessions"], &report["events"], &report["damaged_lines"]), (&json!(1), &json!(4), &json!(1)));
    assert_eq!(
        env.brief(),
        "proj:hydra\nlast:Write the store (27h ago)\nsaid:All done.\nnext:Write tests\nimpl:src/store.rs"
    );
    let session = env.sessions()[0].clone();
    assert_eq!((&session["status"], &session["end_trigger"]), (&json!("ended"), &json!("import")));
    assert_eq!(session["ended_at"], "2026-01-21T10:00:06.500Z", "ended at its last event");
    assert_eq!(session["facts"][0]["path"], "src/store.rs");
    assert_eq!(session["facts"][0]["source"], "import");

    let again = env.json(&args);
    assert_eq!((&again["events"], &again["known_events"]), (&json!(0), &json!(4)));
    assert_eq!(env.sessions(), [session]);
}

#[test]
fn what_was_corrected_in_a_transcript_is_proposed_by_itself() {
    let env = env();
    let file = env.root().join("old.jsonl");
    let said = ["recuerda actualizar siempre la documentación", "I prefer small commits"];
    let lines =
        said.iter().zip(1..).map(|(text, at)| line("user", at, json!({"message": {"content": text}})).to_string());
    std::fs::write(&file, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let project = env.project();
    env.ok(&["import", "claude-code", "--project", project.to_str().unwrap(), file.to_str().unwrap()]);
    let memories = env.json(&["status"])["memories"].clone();
    let waiting = memories["proposed"].as_u64().unwrap() + memories["approved"].as_u64().unwrap();
    assert_eq!(waiting, 2, "{memories}");
    let proposals = env.json(&["memory", "propose"]);
    let liked = proposals.as_array().unwrap().iter().find(|one| one["category"] == "preference").unwrap();
    assert_eq!(liked["content"], "I prefer small commits");
    assert!(env.ok(&["status"]).contains("proposed: `cerberus review`"));
}

#[test]
fn compressed_transcripts_and_folders_of_them() {
    let env = env();
    let folder = env.root().join("kept/-home-somebody-project");
    std::fs::create_dir_all(folder.join("old-session/subagents")).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(transcript().as_bytes()).unwrap();
    std::fs::write(folder.join("old-session.jsonl.gz"), gz.finish().unwrap()).unwrap();
    let side = tool(20, "toolu_s", "Read", json!({"file_path": "/home/somebody/project/README.md"}), json!({}));
    let side: Vec<String> = side
        .into_iter()
        .map(|mut line| {
            line["isSidechain"] = json!(true);
            line.to_string()
        })
        .collect();
    std::fs::write(folder.join("old-session/subagents/agent-1.jsonl"), side.join("\n")).unwrap();
    std::fs::write(folder.join("notes.txt"), "no transcript").unwrap();
    let project = env.project();
    let kept = env.root().join("kept");
    env.ok(&["import", "claude-code", "--project", project.to_str().unwrap(), kept.to_str().unwrap()]);
    let sessions = env.sessions();
    assert_eq!(sessions.len(), 1, "a subagent's file belongs to its session");
    assert_eq!(codes(&sessions[0], "read"), ["see:README.md"]);
    assert_eq!(codes(&sessions[0], "file"), ["impl:src/store.rs"]);
}

#[test]
fn without_a_path_everything_the_agent_keeps_is_imported() {
    let env = env();
    let folder = env.root().join("user/.claude/projects/-home-somebody-project");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("old-session.jsonl"), transcript()).unwrap();
    assert!(env.ok(&["import", "claude-code"]).starts_with("1 file: 1 session, 4 new events"));
}

#[test]
fn a_session_that_hooks_saw_counts_once() {
    let env = env();
    env.hook("old-session", "SessionStart", json!({"source": "startup"}));
    env.hook("old-session", "UserPromptSubmit", json!({"prompt": "Write the store", "prompt_id": "p"}));
    let input = json!({"file_path": env.project().join("src/store.rs"), "content": "pub fn open() {}\n"});
    env.hook(
        "old-session",
        "PostToolUse",
        json!({"tool_name": "Write", "tool_use_id": "toolu_1", "tool_input": input}),
    );
    let file = env.root().join("old.jsonl");
    std::fs::write(&file, transcript()).unwrap();
    let project = env.project();
    env.ok(&["import", "claude-code", "--project", project.to_str().unwrap(), file.to_str().unwrap()]);
    let session = env.sessions()[0].clone();
    assert_eq!((&session["turn_count"], &session["tools_used"]), (&json!(1), &json!({"TodoWrite": 1, "Write": 1})));
    assert_eq!(session["status"], "active", "a live session is not ended by an import");
}

#[test]
fn what_cannot_be_read_is_said() {
    let env = env();
    let output = env.run(&["import", "claude-code", "/nowhere/at/all.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read /nowhere/at/all.jsonl"));
    let broken = env.root().join("broken.jsonl.gz");
    std::fs::write(&broken, "not gzip").unwrap();
    let output = env.run(&["import", "claude-code", broken.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not be read"));
}

/// Transcripts of several sizes. The first lines of all are those of one session; one is read in several pieces.
fn several_transcripts(env: &TestEnv) -> Vec<(Agent, PathBuf)> {
    let key = concat!("gh", "p_0123456789abcdefghijABCDEFGHIJ012345");
    let write = |session: u32| {
        let named = |mut line: Value| {
            line["sessionId"] = json!(format!("session-number-{session}"));
            format!("{line}\n")
        };
        let words = |number: u32| format!("The {number}th part of session {session} is about drums. ").repeat(20);
        let mut text: String =
            transcript().lines().filter_map(|line| serde_json::from_str(line).ok()).map(named).collect();
        for number in 0..session * 4 {
            let (id, second) = (format!("call-{number}"), number % 50);
            let printed = format!("{} ../{session}/a.rs {key}", words(number));
            let input = json!({"command": format!("make part-{number}")});
            text.extend(tool(second, &id, "Bash", input, json!({"stdout": printed})).map(named));
            text += &named(line(
                "assistant",
                second,
                json!({"message": {"content": [{"type": "text", "text": words(number)}]}}),
            ));
            text += &named(line("user", second, json!({"message": {"content": format!("Now part {number}")}})));
        }
        if session == 3 {
            let picture = line("user", 50, json!({"message": {"content": "Look"}, "picture": "x".repeat(5_000_000)}));
            text += &named(picture);
            text += &named(line("user", 51, json!({"message": {"content": "Is it round?"}})));
        }
        let path = env.root().join(format!("transcripts/{session:02}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        (claude_code::AGENT, path)
    };
    (0..5).chain([9]).map(write).collect()
}

/// The journal and the archive that an import with so many threads leaves.
fn left_by(env: &TestEnv, files: &[(Agent, PathBuf)], workers: usize) -> BTreeMap<String, Vec<u8>> {
    let home = Home::new(env.root().join(format!("home-{workers}")));
    create_dir(home.root()).unwrap();
    fs::write(home.device(), "0102030405060708\n").unwrap();
    let now = Timestamp::parse("2026-01-22T10:00:00Z").unwrap();
    let clock = Clock { now, wall: now, is_given: true };
    let mut store = fold::open(&home).unwrap();
    let (agent, project, forgotten) = (claude_code::AGENT, None, TakeForgotten::No);
    let import = Import { home: &home, clock: &clock, agent, project, forgotten, by_agent: false, user: None };
    let mut unwritten = Unwritten::default();
    ahead(workers, files, &|(_, path), give| import.pieces(path, give), &mut |(_, path), pieces| {
        import.take(&store, path, pieces, &mut unwritten).map(drop)
    })
    .unwrap();
    unwritten.write(&home, &clock).unwrap();
    fold::fold(&home, &mut store).unwrap();
    let variable = |_: &str| None;
    let surroundings = Surroundings::new(&variable, env.project());
    let keep = KeepFiles::Conversation;
    let mut update = ArchiveUpdate::begin(&home, &clock, &surroundings, &store, keep, workers).unwrap();
    update.files(files).unwrap();
    update.finish().unwrap();
    let folders = [home.journal_dir(), home.archive_dir()];
    let found = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let found = found.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl" || ending == "segment"));
    found.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let env = env();
    let files = several_transcripts(&env);
    let one = left_by(&env, &files, 1);
    assert_eq!(one.len(), 2, "{:?}", one.keys());
    assert!(one.values().all(|bytes| bytes.len() > 1_000));
    let several = left_by(&env, &files, 3);
    let lengths = several.iter().map(|(name, bytes)| (name, bytes.len())).collect::<Vec<_>>();
    assert!(several == one, "{lengths:?}");
}
