//! The journal is the truth: the view can be deleted, damaged or made anew, and every brief stays the same.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use cerberus_testkit::env::TestEnv;
use serde_json::json;

use crate::env;

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
    env.rebuild();
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

fn view_of(env: &TestEnv) -> PathBuf {
    let is_view = |path: &PathBuf| path.extension().is_some_and(|end| end == "db");
    fs::read_dir(env.home()).unwrap().map(|entry| entry.unwrap().path()).find(is_view).unwrap()
}

fn remove_view(env: &TestEnv) -> PathBuf {
    let view = view_of(env);
    for part in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{part}", view.display()));
    }
    view
}

/// What stands in the view's place, what is done to put it there, and whether it is kept whatever its age.
type Misplaced = (&'static str, fn(&Path), bool);

const MISPLACED: [Misplaced; 12] = [
    ("other tables", |view| sql(view, "CREATE TABLE notes (text); INSERT INTO notes VALUES ('theirs')"), true),
    ("tables of our names", |view| sql(view, "CREATE TABLE fact (text); PRAGMA user_version=6"), true),
    ("our tables with other columns", |view| sql(view, "CREATE TABLE segment (x); PRAGMA user_version=6"), false),
    ("only a version", |view| sql(view, "PRAGMA user_version=6"), true),
    ("a folder", |view| fs::create_dir(view).unwrap(), true),
    (
        "a folder with files",
        |view| {
            fs::create_dir(view).unwrap();
            fs::write(view.join("theirs"), "x").unwrap();
        },
        true,
    ),
    ("a pipe", |view| make_pipe(view), true),
    ("a socket", |view| drop(std::os::unix::net::UnixListener::bind(view).unwrap()), true),
    ("a link to nothing", |view| symlink("nowhere", view).unwrap(), true),
    ("a link to a device", |view| symlink("/dev/zero", view).unwrap(), true),
    ("no database", |view| fs::write(view, "x".repeat(5000)).unwrap(), false),
    (
        "a file that nobody may read",
        |view| {
            sql(view, "CREATE TABLE segment (x)");
            fs::set_permissions(view, fs::Permissions::from_mode(0o000)).unwrap();
        },
        false,
    ),
];

fn sql(path: &Path, statements: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn aside(env: &TestEnv) -> Vec<String> {
    let names = fs::read_dir(env.home()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains(".damaged")).collect();
    names.sort();
    names
}

#[test]
fn whatever_stands_in_the_views_place_is_set_aside_and_the_view_made_anew() {
    let mut env = env();
    fill(&mut env);
    let before = everything(&env);
    for (what, put, is_foreign) in MISPLACED {
        put(&remove_view(&env));
        assert_eq!(everything(&env), before, "{what}");
        let kept = aside(&env);
        assert!(!kept.is_empty(), "{what}: it is kept");
        assert_eq!(kept.iter().all(|name| name.contains("foreign")), is_foreign, "{what}: {kept:?}");
        kept.iter().for_each(|name| {
            let path = env.home().join(name);
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        });
        let noted = fs::read_to_string(env.home().join("failures.jsonl")).unwrap();
        assert!(noted.contains("the view was rebuilt"), "{what}: {noted}");
        fs::remove_file(env.home().join("failures.jsonl")).unwrap();
    }
    fs::create_dir(remove_view(&env)).unwrap();
    env.set_now(None);
    let told = env.run(&["doctor"]);
    let told = String::from_utf8_lossy(&told.stdout);
    assert!(told.contains("the view was rebuilt") && told.contains("damaged-foreign"), "{told}");
}

#[test]
fn no_hook_is_disturbed_by_what_stands_in_the_views_place() {
    for (what, put, _) in MISPLACED {
        let env = env();
        env.start("s1", "startup");
        env.write_file("s1", "t1", "a.rs", "");
        put(&remove_view(&env));
        assert_eq!(env.start("s2", "startup"), "proj:hydra\nimpl:a.rs", "{what}");
    }
}

#[test]
fn our_view_with_something_in_it_that_is_not_ours_is_made_anew() {
    let mut env = env();
    fill(&mut env);
    let before = everything(&env);
    for change in [
        "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM fact; END",
        "CREATE VIEW seen AS SELECT * FROM prompt",
        "CREATE TABLE other (x)",
        "ALTER TABLE fact ADD COLUMN more TEXT",
        "PRAGMA user_version=3",
        "PRAGMA user_version=0",
    ] {
        sql(&view_of(&env), change);
        assert_eq!(everything(&env), before, "{change}");
        assert_eq!(aside(&env).iter().filter(|name| !name.contains("foreign")).count(), aside(&env).len(), "{change}");
    }
    let kept: Vec<String> =
        aside(&env).into_iter().filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm")).collect();
    assert_eq!(kept.len(), 6, "none took another's place: {kept:?}");
}

#[test]
fn a_log_that_is_no_file_is_set_aside_too() {
    let mut env = env();
    fill(&mut env);
    let before = everything(&env);
    for part in ["-wal", "-shm"] {
        for (what, put) in [("pipe", make_pipe as fn(&Path)), ("folder", |path: &Path| fs::create_dir(path).unwrap())] {
            let path = PathBuf::from(format!("{}{part}", view_of(&env).display()));
            let _ = fs::remove_file(&path);
            put(&path);
            assert_eq!(everything(&env), before, "{part} is a {what}");
        }
    }
}

/// A view of another version, or a damaged one, holds prompts too.
#[test]
fn views_of_no_use_are_removed() {
    let age = |path: &Path, days: u64| {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 24 * 60 * 60);
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    };
    for by_hook in [true, false] {
        let env = env();
        env.start("s1", "startup");
        env.write_file("s1", "t1", "a.rs", "");
        let old = [
            ("view-1.db", 2),
            ("view-1.db-wal", 2),
            ("view-99.db", 2),
            ("view-00c0ffee00c0ffee.db", 2),
            ("view-1.damaged", 31),
            ("view-6.damaged-2-wal", 31),
        ];
        let kept = [("view-7.db", 0), ("view-6.damaged", 29), ("view-6.damaged-foreign", 400), ("view-notes.txt", 400)];
        for (name, days) in old.into_iter().chain(kept) {
            fs::write(env.home().join(name), "prompts").unwrap();
            age(&env.home().join(name), days);
        }
        match by_hook {
            true => drop(env.start("s2", "startup")),
            false => drop(env.ok(&["status"])),
        }
        old.iter().for_each(|(name, _)| assert!(!env.home().join(name).exists(), "{name}"));
        kept.iter().for_each(|(name, _)| assert!(env.home().join(name).exists(), "{name}"));
    }
}

/// While the view is behind the journal, the other one may still be of use.
#[test]
fn a_view_of_another_version_stays_until_the_own_one_is_complete() {
    let env = env();
    env.start("s1", "startup");
    let view = view_of(&env);
    let other = env.home().join("view-1.db");
    fs::write(&other, "prompts").unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 24 * 60 * 60);
    fs::File::options().write(true).open(&other).unwrap().set_modified(long_ago).unwrap();
    env.write_file("s1", "t1", "a.rs", "");
    let writer = rusqlite::Connection::open(&view).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    env.ok(&["brief"]);
    assert!(other.exists(), "another process is folding");
    writer.execute_batch("ROLLBACK").unwrap();
    env.ok(&["brief"]);
    assert!(!other.exists());
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
    let view = env.doctor()["checks"][2].clone();
    assert_eq!(view["ok"], json!(true));
    assert!(view["detail"].as_str().unwrap().contains("1 torn record"), "{view}");
}

#[test]
fn everything_in_the_home_is_for_its_owner_alone() {
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
