//! A new version takes over from an earlier one while agents run: it reads what the earlier one stored, both may write
//! at once, and the program's file may be replaced at any time.
//!
//! `fixtures/home-VERSION` was written by that version (`dev/old-home`). With `CERBERUS_PREVIOUS=FILE`, a binary of an earlier
//! version, the last test runs that as well; `dev/platforms upgrade` does.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use cerberus_record::order::{DeviceId, Order};
use cerberus_store::journal;
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::copy_program;
use serde_json::json;

use crate::env;
use crate::summary::configure;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// The homes that released versions wrote.
fn old_homes() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    let all = fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path());
    let is_home = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("home-");
    let homes: Vec<PathBuf> = all.filter(is_home).collect();
    assert!(!homes.is_empty());
    homes
}

/// An environment whose home is a copy of this one.
fn earlier(home: &Path) -> TestEnv {
    let env = env();
    copy(home, &env.home());
    Command::new("chmod").args(["-R", "go="]).arg(env.home()).status().unwrap();
    env
}

fn view_check(env: &TestEnv) -> serde_json::Value {
    let report = env.doctor();
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "view").unwrap().clone()
}

#[test]
fn everything_that_an_earlier_version_stored_is_read() {
    for home in old_homes() {
        let env = earlier(&home);
        // The first thing that a new version does may be a hook.
        let input = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "pip install x"}});
        let refused = env.hook("new", "PreToolUse", input);
        assert!(refused.contains("Use uv instead of pip"), "{refused}");
        env.write_file("new", "t2", "src/new.rs", "");
        // The last one is only in the archive, whose index is made anew after a turn, or by this.
        env.ok(&["archive"]);
        for (words, text) in [
            ("parser", "Fix the parser of dates"),
            ("zoneinfo", "use zoneinfo for dates"),
            ("zones", "add tests for time zones"),
            ("leap seconds", "The parser reads leap seconds now"),
        ] {
            let found = env.json(&["search", words]).to_string();
            assert!(found.contains(text), "{text}: {found}");
        }
        let memories = env.ok(&["memory", "list"]);
        for memory in ["Use uv instead of pip", "always run the tests before you commit"] {
            assert!(memories.contains(memory), "{memories}");
        }
        assert!(env.ok(&["check", "list"]).contains("block"));
        env.write_file("new", "t3", "secret/plan.rs", "");
        let files = env.brief();
        assert!(files.contains("new.rs") && !files.contains("plan.rs"), "its settings hold: {files}");
        let view = view_check(&env);
        assert_eq!((&view["ok"], view["detail"].as_str().unwrap()), (&json!(true), "up to date"));
        assert_eq!(fs::read_to_string(env.home().join("device")).unwrap(), "0102030405060708", "it is the same device");
    }
}

/// What a version that does not exist yet might leave, seen by this one, which was put back in its place.
#[test]
fn a_home_of_a_newer_version_is_read_as_far_as_it_is_known_and_kept() {
    let env = env();
    env.write_file("s1", "t1", "src/known.rs", "");
    let path = fs::read_dir(env.home().join("journal")).unwrap().next().unwrap().unwrap().path();
    let known = fs::read_to_string(&path).unwrap();
    let order = Order { seq: 9_000_000_000_000_000, device: DeviceId::from_bytes([7; 8]) };
    let record = r#"{"at":1769088914000,"key":"newer","agent":"an-agent-to-come","session":"s2","event":{"dreamed":{"of":"xylophones"}}"#;
    let newer = journal::encode_open(record.as_bytes(), journal::FORMAT + 1, order);
    fs::write(&path, [known.as_bytes(), &newer].concat()).unwrap();
    fs::write(env.home().join("config.toml"), "[brief]\nsession_tokens = 600\n").unwrap();
    fs::create_dir(env.home().join("dreams")).unwrap();
    fs::write(env.home().join("dreams/1"), "theirs").unwrap();
    fs::write(env.home().join("checks"), r#"[{"id":"m-1","sentence":"Dream","level":"nudge","rule":["--dream"]}]"#)
        .unwrap();
    let input = json!({"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": "ls"}});
    assert_eq!(env.hook("s1", "PreToolUse", input), "", "a check that is not known refuses nothing");
    env.write_file("s1", "t3", "src/later.rs", "");
    let brief = env.brief();
    assert!(brief.contains("known.rs") && brief.contains("later.rs"), "{brief}");
    assert_eq!(view_check(&env)["detail"], "up to date; skipped 0 torn records and 1 of a newer version");
    env.rebuild();
    assert!(fs::read_to_string(&path).unwrap().contains("xylophones"), "it is kept for the version that wrote it");
    assert_eq!(fs::read_to_string(env.home().join("dreams/1")).unwrap(), "theirs");
}

/// Each version has a view of its own. If one removed that of the other, both would build theirs again and again.
#[test]
fn the_view_of_a_version_in_use_stays() {
    let env = earlier(&old_homes()[0]);
    let other = |name: &str| env.home().join(format!("view-00c0ffee00c0ffee.db{name}"));
    let day = Duration::from_secs(24 * 60 * 60);
    let age = |name: &str, age: Duration| {
        fs::write(other(name), "theirs").unwrap();
        fs::File::options().write(true).open(other(name)).unwrap().set_modified(SystemTime::now() - age).unwrap();
    };
    // SQLite writes to the log first.
    age("", 30 * day);
    age("-wal", day / 2);
    env.start("s1", "startup");
    env.ok(&["status"]);
    assert!(other("").exists() && other("-wal").exists());
    age("-wal", 2 * day);
    env.ok(&["status"]);
    assert!(!other("").exists() && !other("-wal").exists());
}

/// A copy of the program under test, at a path where it can be replaced.
fn installed(env: &TestEnv) -> PathBuf {
    let file = env.root().join("bin/cerberus");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    copy_program(Path::new(env!("CARGO_BIN_EXE_cerberus")), &file);
    file
}

/// As package managers do it: the new file is renamed over the old one.
fn replace(file: &Path) {
    let new = file.with_extension("new");
    copy_program(file, &new);
    fs::rename(&new, file).unwrap();
}

#[test]
fn a_running_program_goes_on_after_its_file_was_replaced() {
    let env = env();
    // At its end, the program starts itself to summarize the session.
    configure(&env, "provider = 'command'\ncommand = ['echo', 'Done.']");
    let program = installed(&env);
    let mut command = env.command_for(&program);
    command.args(["run", "--", "sh", "-c", "echo started; cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(running.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    replace(&program);
    // Its hooks run the new file; the running program is still the old one.
    let mut hook = env.command_for(&program).args(["hook", "claude-code"]).stdin(Stdio::piped()).spawn().unwrap();
    let payload = env.payload("s2", "UserPromptSubmit", json!({"prompt": "Fix the parser."}));
    hook.stdin.take().unwrap().write_all(&payload).unwrap();
    assert!(hook.wait().unwrap().success());
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success());
    let log = env.ok(&["log"]);
    assert!(log.contains("Fix the parser"), "{log}");
    let failures = env.home().join("failures.jsonl");
    assert!(!failures.exists(), "{}", fs::read_to_string(failures).unwrap());
}

/// Two versions share a home: each reads what the other writes.
#[test]
fn an_earlier_version_and_this_one_work_side_by_side() {
    let Some(previous) = std::env::var_os("CERBERUS_PREVIOUS") else { return };
    let env = env();
    let earlier = |args: &[&str]| {
        let output = env.command_for(&previous).args(args).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", "");
    for round in 0..3 {
        let mut hook = env.command_for(&previous);
        let mut hook = hook.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let prompt = json!({"prompt": format!("Fix parser number {round}.")});
        hook.stdin.take().unwrap().write_all(&env.payload("s1", "UserPromptSubmit", prompt)).unwrap();
        assert!(hook.wait().unwrap().success());
        env.write_file("s1", &format!("u{round}"), &format!("b{round}.rs"), "");
    }
    for brief in [env.brief(), earlier(&["brief"])] {
        for text in ["a.rs", "b0.rs", "b2.rs", "parser number 2"] {
            assert!(brief.contains(text), "{text}: {brief}");
        }
    }
    assert_eq!(view_check(&env)["ok"], json!(true));
    earlier(&["record", "next", "written by the earlier one"]);
    assert!(env.brief().contains("written by the earlier one"));
    env.ok(&["record", "next", "written by the new one"]);
    assert!(earlier(&["brief"]).contains("written by the new one"));
}
