//! What the archive survives, what it costs to write, and what is said about what agents delete.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::time::{Duration, UNIX_EPOCH};

use cerberus_testkit::env::TestEnv;
use serde_json::json;

use super::{Written, archived, found, kept_session};
use crate::env;
use crate::forget::holding;

/// What the program may allocate at most while a transcript of three times the size is read.
const MEMORY_KIB: u64 = 32 * 1024;

#[test]
fn a_transcript_is_read_in_less_memory_than_it_has() {
    let mut env = env();
    env.set_now(Some("2026-01-21T10:00:00Z"));
    let mut written = kept_session(&env);
    let source = "let trombone = 1;\n".repeat(200_000 / 18);
    for number in 0..500 {
        let path = env.project().join(format!("src/{number}.rs"));
        written.used("10:00:42", "Read", json!({"file_path": path}), &source, false);
    }
    written.said("10:00:44", "The bombardon was in none of them.");
    let path = written.save();
    let bytes = path.metadata().unwrap().len();
    assert!(bytes > 3 * MEMORY_KIB * 1024, "{bytes}");
    env.set_now(Some("2026-01-21T10:00:45Z"));
    env.hook("session-one", "UserPromptSubmit", json!({"prompt": "Go on", "prompt_id": "p"}));
    let bounded = |args: &str| {
        let mut command = env.command_for("sh");
        let program = env!("CARGO_BIN_EXE_cerberus");
        command.args(["-c", &format!("ulimit -d {MEMORY_KIB} && exec \"$0\" {args}"), program]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{args}: {output:?}");
    };
    bounded("archive");
    assert!(archived(&env, "session-one").contains("The bombardon was in none of them."));
    let import = format!("import claude-code '{}'", path.display());
    bounded(&import);
    assert_eq!(found(&env, &["bombardon", "--kind", "said"])[0].1, "The bombardon was in none of them.");
    let journal = fs::read_dir(env.home().join("journal")).unwrap().map(|one| fs::read_to_string(one.unwrap().path()));
    let journal: String = journal.map(Result::unwrap).collect();
    assert_eq!(journal.matches("\"tool\":\"Read\"").count(), 501, "each use counts once");
    bounded(&import);
    // The same from a compressed file.
    let packed = env.root().join("packed/session-one.jsonl.zst");
    fs::create_dir_all(packed.parent().unwrap()).unwrap();
    zstd::stream::copy_encode(File::open(&path).unwrap(), File::create(&packed).unwrap(), 1).unwrap();
    bounded(&format!("import claude-code '{}'", packed.display()));
    let after = fs::read_dir(env.home().join("journal")).unwrap().map(|one| fs::read_to_string(one.unwrap().path()));
    assert_eq!(after.map(Result::unwrap).collect::<String>(), journal, "nothing of it is new");
}

fn damage(env: &TestEnv, how: &str) {
    let index = env.home().join("archive/index-3.db");
    match how {
        "lost" => fs::remove_file(&index).unwrap(),
        "no database" => fs::write(&index, "no database at all, and long enough to be read as one").unwrap(),
        _ => {
            // The first page says what tables there are.
            let (file, length) = (File::options().write(true).open(&index).unwrap(), index.metadata().unwrap().len());
            file.write_all_at(&vec![0xff; length as usize - 4096], 4096).unwrap();
        }
    }
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(env.home().join(format!("archive/index-3.db{ending}")));
    }
}

#[test]
fn a_search_makes_a_lost_or_damaged_index_anew() {
    for how in ["lost", "no database", "damaged pages"] {
        let env = env();
        fs::remove_file(kept_session(&env).import()).unwrap();
        damage(&env, how);
        let output = env.run(&["search", "waits glockenspiel nothing", "--json"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("the index of the archive is lost or damaged"), "{how}: {told}");
        assert_eq!(found(&env, &["waits glockenspiel nothing"])[0].0, "output", "{how}");
        assert!(env.ok(&["show", "--full"]).contains("blocks it."), "{how}");
        assert_eq!(env.run(&["search", "celesta"]).stderr, b"", "{how}: it is there again");
    }
}

#[test]
fn what_an_agent_deletes_soon_is_said_with_what_the_archive_has() {
    let env = env();
    env.ok(&["install", "--agent", "claude-code"]);
    let written = |path: &std::path::Path, days: u64| {
        let at = UNIX_EPOCH + Duration::from_secs(1_768_996_800 - days * 86_400);
        File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
    };
    let said = |env: &TestEnv| {
        let report = env.doctor();
        let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "claude-code").unwrap();
        check["detail"].as_str().unwrap().to_string()
    };
    written(&kept_session(&env).import(), 3);
    assert!(!said(&env).contains("within 7 days"), "{}", said(&env));
    written(&kept_session(&env).path(), 28);
    assert!(said(&env).contains("deletes transcripts after 30 days, 1 within 7 days: the archive has all of them"));
    let mut other = Written::new(&env, "session-two");
    other.prompt("09:00:00", "Tune the harpsichord").said("09:00:05", "It is tuned.");
    written(&other.save(), 40);
    let missing = "2 within 7 days: the archive has 1 of them, `cerberus import claude-code` adds the others";
    assert!(said(&env).contains(missing), "{}", said(&env));
    let output = env.run(&["import", "claude-code"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("2 within 7 days: the archive has all of them; what is imported stays"), "{told}");
}

#[test]
fn the_report_says_how_a_conversation_is_read() {
    let env = env();
    kept_session(&env).import();
    env.start("session-two", "startup");
    let id = |name: &str| {
        let all = env.sessions();
        all.iter().find(|one| one["agent_session_id"] == name).unwrap()["id"].as_str().unwrap().to_string()
    };
    let made = env.json(&["report"]);
    let page = fs::read_to_string(made["file"].as_str().unwrap()).unwrap();
    assert!(page.contains(&format!("<code>cerberus show {} --full</code>", id("session-one"))));
    assert!(!page.contains(&format!("cerberus show {} --full", id("session-two"))), "it is not archived");
    assert!(env.ok(&["show", &id("session-one"), "--full"]).contains("blocks it."));
}

#[test]
fn the_oldest_conversations_go_while_the_archive_is_larger_than_allowed() {
    let env = env();
    let mut old = Written::new(&env, "session-two");
    // Hardly to be compressed.
    let mixed = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let printed: String = (0..300_000).map(|number| format!("{:08x} ", mixed(number))).collect();
    old.prompt("08:00:00", "Tune the harpsichord").ran("08:00:05", "seq", &printed).import();
    kept_session(&env).import();
    let settings = |size: &str| {
        fs::write(env.home().join("config.toml"), format!("[archive]\nmax_size = \"{size}\"\n")).unwrap();
        env.ok(&["archive"]);
        [archived(&env, "session-two").contains("harpsichord"), archived(&env, "session-one").contains("celesta")]
    };
    fs::remove_file(old.path()).unwrap();
    assert_eq!(settings("9 MB"), [true, true]);
    assert_eq!(settings("1 MB"), [false, true]);
    assert_eq!(found(&env, &["harpsichord", "--kind", "output"]), []);
}

#[test]
fn a_forget_that_was_killed_in_the_archive_can_be_made_again() {
    let env = env();
    fs::remove_file(kept_session(&env).import()).unwrap();
    let id = env.sessions()[0]["id"].as_str().unwrap().to_string();
    let mut command = env.command();
    command.args(["forget", "--yes", "--session", &id]).env("CERBERUS_FAULT", "archive-erase=kill");
    assert!(!command.output().unwrap().status.success());
    assert!(archived(&env, "session-one").contains("celesta"), "half of it would be worse than all");
    env.ok(&["forget", "--yes", "--session", &id]);
    assert_eq!(holding(&env, "celesta"), [] as [String; 0]);
}
