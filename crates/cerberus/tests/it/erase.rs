//! Forgetting and redacting reach every place where something is kept: backups, loops and their checkpoints, summaries,
//! old views, records of a newer version.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use cerberus_record::order::{DeviceId, Order};
use cerberus_store::journal;
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::fake_agent::{Act, Tongue};
use serde_json::{Value, json};

use crate::env;
use crate::forget::holding;
#[cfg(feature = "loop")]
use crate::loops::{Stage, begins, prints, with};
use crate::summary::{saying, use_ollama};

/// Put together here, so that no scanner takes this file for a leak.
const TOKEN: &str = concat!("gh", "p_9aZ8bY7cX6dW5eV4fU3gT2hS1iR0jQ9kP8l");

fn references(env: &TestEnv) -> Vec<String> {
    let printed = env.git(&env.project(), &["for-each-ref", "--format=%(refname)", "refs/cerberus"]);
    printed.lines().map(str::to_string).collect()
}

/// A run of a program that writes a file and says a word.
#[cfg(feature = "loop")]
fn run_loop(stage: &Stage) {
    let ran = stage.run(&["--max-iterations", "1"]);
    assert!(!references(&stage.env).is_empty(), "{}", ran.stderr());
}

#[cfg(feature = "loop")]
#[test]
fn a_forgotten_project_leaves_no_checkpoint_no_output_and_no_backup() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo xylophonist; echo xylophonist > plan.md")]);
    let env = &stage.env;
    run_loop(&stage);
    env.git(&env.project(), &["update-ref", "refs/cerberus/loop/1/before-5", "HEAD"]);
    // Another project's stays, and so does every other reference.
    let other = env.add_repository("kraken");
    env.git(&other, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    env.git(&other, &["update-ref", "refs/cerberus/loop/1/1", "HEAD"]);
    let settings = env.project().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{\"env\": {\"NAME\": \"xylophonist\"}}\n").unwrap();
    env.ok(&["install", "--agent", "claude-code", "--scope", "project"]);
    env.ok(&["record", "next", "pay the xylophonist"]);
    let killed = env.home().join("checkpoints/scratch");
    fs::create_dir_all(&killed).unwrap();
    fs::write(killed.join("index-1-1"), "xylophonist.rs").unwrap();
    assert!(holding(env, "xylophonist").len() >= 3, "journal, backup, scratch");

    let planned = env.json(&["forget", "--project", "--dry-run"]);
    assert_eq!(planned["checkpoints"], references(env).len(), "{planned}");
    assert!(references(env).len() > 2, "only shown");
    let said = env.ok(&["forget", "--project", "--yes"]);
    assert!(said.contains(" checkpoints"), "{said}");
    assert_eq!((references(env), holding(env, "xylophonist")), (Vec::new(), Vec::new()));
    assert!(env.git(&other, &["for-each-ref"]).contains("refs/cerberus/loop/1/1"));
    assert!(env.git(&env.project(), &["for-each-ref"]).contains("refs/heads/main"));
    env.ok(&["uninstall", "--agent", "claude-code", "--scope", "project"]);
    assert_eq!(fs::read_to_string(settings).unwrap(), "{\"env\": {\"NAME\": \"xylophonist\"}}\n");
}

#[cfg(feature = "loop")]
#[test]
fn a_forgotten_file_takes_the_checkpoints_that_hold_it() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > plan.md")]);
    let env = &stage.env;
    run_loop(&stage);
    let before = references(env);
    env.ok(&["record", "next", "finish plan.md"]);
    assert_eq!(env.ok(&["forget", "--path", "other.md", "--yes"]), "nothing to forget\n");
    assert_eq!(references(env), before);
    env.ok(&["forget", "--path", "plan.md", "--yes"]);
    let left = references(env);
    assert!(left.len() < before.len(), "{before:?}");
    for name in left {
        assert_eq!(env.git(&env.project(), &["ls-tree", "-r", "--name-only", &name]), "", "{name}");
    }
}

#[cfg(feature = "loop")]
#[test]
fn a_forgotten_session_or_time_takes_the_checkpoints_of_its_runs() {
    for request in ["--session", "--since"] {
        let heard = with(&[&begins(), &[Act::Shell("echo x > plan.md"), Act::Done("done"), Act::Leave]]);
        let stage = Stage::new(Tongue::ClaudeCode, &[heard]);
        let env = &stage.env;
        run_loop(&stage);
        let id = stage.history()[0]["session_id"].as_str().unwrap().to_string();
        run_loop(&stage);
        let value = if request == "--session" { id.as_str() } else { "2020-01-01T00:00:00Z" };
        env.ok(&["forget", "--yes", request, value]);
        let left: Vec<String> = references(env);
        assert!(left.iter().all(|name| name.starts_with("refs/cerberus/loop/2/")), "{request}: {left:?}");
        assert_eq!(left.is_empty(), request == "--since", "{request}: {left:?}");
    }
}

#[test]
fn a_session_is_forgotten_by_the_id_that_its_agent_gave_it() {
    let env = env();
    for session in ["0b1e-odd", "0b1e-even"] {
        env.hook(session, "UserPromptSubmit", json!({"prompt": format!("Tune the {session}"), "prompt_id": "p"}));
    }
    // Two agents may use the same id.
    let other = json!({"session_id": "0b1e-odd", "cwd": env.project(), "hook_event_name": "UserPromptSubmit",
        "prompt": "Tune the 0b1e-odd too", "turn_id": "p"});
    env.hook_of("codex", other.to_string().as_bytes());
    let report = env.json(&["forget", "--session", "0b1e-odd", "--yes"]);
    assert_eq!(report["sessions"], 2, "{report}");
    assert_eq!(holding(&env, "0b1e-odd"), [""; 0]);
    assert!(!holding(&env, "0b1e-even").is_empty());
    let again = env.run(&["forget", "--session", "0b1e-odd", "--yes"]);
    assert_eq!(again.status.code(), Some(1));
}

#[cfg(feature = "loop")]
#[test]
fn copies_are_forgotten_even_if_the_command_is_killed() {
    for label in ["rewrite-copied", "rewrite-removed", "rewrite-folded"] {
        let heard = with(&[&begins(), &[Act::Done("done"), Act::Leave]]);
        let stage = Stage::new(Tongue::ClaudeCode, &[heard]);
        let env = &stage.env;
        run_loop(&stage);
        let id = stage.history()[0]["session_id"].as_str().unwrap().to_string();
        env.hook(&id, "UserPromptSubmit", json!({"prompt": "pay the xylophonist", "prompt_id": "p"}));
        fs::write(env.home().join("view-1.db"), "xylophonist").unwrap();
        let mut command = env.command();
        command.args(["forget", "--session", &id, "--yes"]).env("CERBERUS_FAULT", format!("{label}=kill"));
        assert!(!command.stdin(Stdio::null()).output().unwrap().status.success(), "{label}");
        // The session may be gone already, so that nobody can ask for it again.
        env.run(&["forget", "--session", &id, "--yes"]);
        assert_eq!(holding(env, "xylophonist"), [""; 0], "{label}");
        assert_eq!(holding(env, "I look around"), [""; 0], "{label}: the loop's output");
        assert_eq!(references(env), [""; 0], "{label}");
    }
}

/// A record as a newer version would write it.
fn append_newer(env: &TestEnv, words: &str) {
    let folder = env.home().join("journal");
    let segment = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&segment).unwrap();
    let mut record: Value = serde_json::from_str(text.lines().find(|line| !line.is_empty()).unwrap()).unwrap();
    record["key"] = json!("newer");
    record["event"] = json!({"dreamed": {"of": words}});
    for field in ["v", "device", "seq", "crc"] {
        record.as_object_mut().unwrap().remove(field);
    }
    let text = record.to_string();
    let order = Order { seq: 9_000_000_000_000_000, device: DeviceId::from_bytes([7; 8]) };
    let line = journal::encode_open(text.strip_suffix('}').unwrap().as_bytes(), journal::FORMAT + 1, order);
    let mut all = fs::read(&segment).unwrap();
    all.extend(line);
    fs::write(segment, all).unwrap();
}

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[cfg(feature = "loop")]
#[test]
fn a_scan_redacts_every_place_and_breaks_none() {
    let stage = Stage::new(Tongue::Plain, &[prints("echo x > a.md")]);
    let env = &stage.env;
    run_loop(&stage);
    env.ok(&["record", "next", "sail"]);
    append_newer(env, &format!("a {TOKEN} dream"));
    // A checkpoint with a secret that is not committed, and one without.
    stage.write("plan.md", &format!("deploy with {TOKEN}\n"));
    run_loop(&stage);
    let loops = env.home().join("loops");
    let project = fs::read_dir(&loops)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.join("ledger.jsonl").exists())
        .unwrap();
    write(project.join("output-1-1-1.log"), &format!("key {TOKEN}\n"));
    // An older version did not clean what it wrote into its ledger.
    let ledger = fs::read_to_string(project.join("ledger.jsonl")).unwrap();
    let line = ledger.lines().find(|line| line.contains("Build the parser")).unwrap();
    let open = line.rsplit_once(",\"crc\":").unwrap().0.replace("Build the parser", &format!("Build {TOKEN}"));
    write(project.join("ledger.jsonl"), &ledger.replace(line, &format!("{open}{}", journal::seal(open.as_bytes()))));
    let settings = env.root().join("user/.claude/settings.json");
    write(settings.clone(), &format!("{{\"env\": {{\"KEY\": \"{TOKEN}\"}}}}\n"));
    env.ok(&["install", "--agent", "claude-code"]);
    write(env.home().join("view-1.damaged"), &format!("text {TOKEN}"));
    write(env.home().join("view-1.damaged-foreign-2"), "not ours");
    let before = (stage.history(), references(env));

    let found = env.run(&["scan", "--json"]);
    assert_eq!(found.status.code(), Some(1));
    let printed = String::from_utf8_lossy(&found.stdout).into_owned();
    for place in ["journal/", "backups/", "output-1-1-1.log", "ledger.jsonl", "refs/cerberus/loop/2/1 in "] {
        assert!(printed.contains(place), "{place}: {printed}");
    }
    assert!(!printed.contains(TOKEN) && !printed.contains("refs/cerberus/loop/1/1 in "), "{printed}");
    env.ok(&["scan", "--redact"]);
    assert_eq!(holding(env, TOKEN), [""; 0]);
    assert!(!holding(env, "[redacted:github-token]").is_empty());
    let kept: Vec<&String> = before.1.iter().filter(|name| name.starts_with("refs/cerberus/loop/1/")).collect();
    assert_eq!(references(env).iter().collect::<Vec<_>>(), kept, "only the checkpoint with the secret");
    assert_eq!(stage.history(), before.0, "the ledger can still be read");
    assert_eq!(env.run(&["scan"]).status.code(), Some(0));
    let detail = env.doctor()["checks"].to_string();
    assert!(detail.contains("1 of a newer version"), "the version of the record is kept: {detail}");
    assert_eq!(fs::read_to_string(env.home().join("view-1.damaged-foreign-2")).unwrap(), "not ours");
    // The backup no longer has the user's key; what is restored does.
    env.ok(&["uninstall", "--agent", "claude-code"]);
    assert_eq!(fs::read_to_string(settings).unwrap(), format!("{{\"env\": {{\"KEY\": \"{TOKEN}\"}}}}\n"));
}

#[test]
fn a_summary_is_forgotten_and_redacted_with_what_it_retells() {
    for request in [
        &["--path", "internal/proxy.go"][..],
        &["--session", "s1"],
        &["--since", "2026-01-22T00:00:00Z"],
        &["--project"],
    ] {
        let (env, server) = (env(), saying("Split proxy.go into three files."));
        crate::summary::work(&env, 2, 1, 0);
        use_ollama(&env, &server);
        env.ok(&["summarize"]);
        assert!(!holding(&env, "Split proxy.go into").is_empty());
        env.ok(&[&["forget", "--yes"], request].concat());
        assert_eq!(holding(&env, "proxy.go"), [""; 0], "{request:?}");
    }
    let (env, server) = (env(), saying("Split proxy.go into three files."));
    crate::summary::work(&env, 2, 1, 0);
    use_ollama(&env, &server);
    env.ok(&["summarize"]);
    // As an older version would have stored it.
    let folder = env.home().join("journal");
    let segment = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&segment).unwrap();
    let line = text.lines().find(|line| line.contains("into three files")).unwrap();
    let sealed = journal::decode(line.as_bytes()).unwrap();
    let open =
        String::from_utf8_lossy(sealed.open_record()).replace("three files", &format!("three files with {TOKEN}"));
    let again = journal::encode_open(open.as_bytes(), sealed.version, sealed.order.unwrap());
    fs::write(&segment, text.replace(line, String::from_utf8(again).unwrap().trim())).unwrap();
    env.rebuild();
    assert!(!holding(&env, TOKEN).is_empty());
    env.ok(&["scan", "--redact"]);
    assert_eq!(holding(&env, TOKEN), [""; 0]);
    assert!(!holding(&env, "three files with [redacted:github-token]").is_empty());
}
