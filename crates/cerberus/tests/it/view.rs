//! The journal is the truth: the view can be deleted, damaged or made anew, and every brief stays the same.

use serde_json::json;

use crate::env;
use cerberus_testkit::env::TestEnv;

fn fill(env: &mut TestEnv) {
    for (day, session) in ["2026-01-20", "2026-01-21", "2026-01-22"].into_iter().zip(["a", "b", "c"]) {
        env.set_now(Some(&format!("{day}T10:00:00Z")));
        env.start(session, "startup");
        env.write_file(session, "t1", "src/x.rs", "fn x() {}\n");
        env.write_file(session, "t2", &format!("src/{session}.rs"), "struct S;\n");
        env.ok(&["record", "next", &format!("finish {session}")]);
        env.ok(&["record", "decision", &format!("use plan {session}")]);
    }
    env.ok(&["record", "done", "finish a"]);
}

fn everything(env: &TestEnv) -> (serde_json::Value, Vec<serde_json::Value>) {
    (env.json(&["brief"]), env.sessions())
}

#[test]
fn rebuilt_from_the_journal_everything_is_the_same() {
    let mut env = env();
    fill(&mut env);
    let before = everything(&env);
    env.ok(&["doctor", "--rebuild"]);
    assert_eq!(everything(&env), before);
    for entry in std::fs::read_dir(env.home()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("view-") {
            std::fs::remove_file(path).unwrap();
        }
    }
    assert_eq!(everything(&env), before);
}

#[test]
fn a_damaged_view_is_set_aside_and_made_anew() {
    let mut env = env();
    fill(&mut env);
    let before = everything(&env);
    for damage in [&b"this is not a database at all, and long enough to be read as one"[..], b""] {
        for entry in std::fs::read_dir(env.home()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with("-wal") || name.ends_with("-shm") {
                std::fs::remove_file(path).unwrap();
            } else if name.starts_with("view-") && name.ends_with(".db") {
                std::fs::write(path, damage).unwrap();
            }
        }
        assert_eq!(everything(&env), before);
    }
}

#[test]
fn torn_records_are_skipped_counted_and_hurt_nobody() {
    let env = env();
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", "");
    let segment = std::fs::read_dir(env.home().join("journal")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&segment).unwrap();
    let stump = &whole[whole.len() - 200..whole.len() - 20];
    std::fs::write(&segment, [&whole[..], b"\n{\"at\":1,\"key\":", stump].concat()).unwrap();
    env.write_file("s1", "t2", "b.rs", "");
    assert_eq!(env.brief(), "proj:hydra\nimpl:a.rs\nimpl:b.rs");
    let view = env.json(&["doctor"])["checks"][2].clone();
    assert_eq!(view["ok"], json!(true));
    assert!(view["detail"].as_str().unwrap().contains("1 torn record"), "{view}");
}

#[test]
fn everything_in_the_home_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mut env = env();
    fill(&mut env);
    env.hook_bytes(b"bad");
    let mut dirs = vec![env.home()];
    while let Some(dir) = dirs.pop() {
        assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700, "{}", dir.display());
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
                assert_eq!(mode, 0o600, "{}", path.display());
            }
        }
    }
}

#[test]
fn a_brief_of_nothing_is_empty() {
    let env = env();
    assert_eq!(env.brief(), "");
    assert!(env.json(&["brief", "--prompt", "write the store"])["items"].as_array().unwrap().is_empty());
}
