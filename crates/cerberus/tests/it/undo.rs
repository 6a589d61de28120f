//! What an agent destroyed comes back, byte for byte; nothing of the user's is changed; nothing half-kept is offered.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use cerberus_os::fault::CHECKPOINT_POINTS;
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::LIMIT;
use cerberus_testkit::processes::command_lines;
use cerberus_testkit::scratch::SYSTEM_PATH;
use cerberus_testkit::terminal::Terminal;
use serde_json::{Value, json};

use crate::env;

/// A repository with a commit, and changes that nobody committed.
fn stage() -> TestEnv {
    let env = env();
    write(&env, "src/main.rs", "fn main() {}\n");
    write(&env, "src/lib.rs", "one\n");
    write(&env, ".gitignore", "target/\n");
    env.git(&env.project(), &["add", "."]);
    env.git(&env.project(), &["commit", "-qm", "one"]);
    write(&env, "src/lib.rs", "a day's work\n");
    write(&env, "notes.txt", "untracked\n");
    env
}

fn write(env: &TestEnv, path: &str, text: &str) {
    let path = env.project().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn on(env: &TestEnv) {
    env.ok(&["undo", "--on", "--here"]);
}

fn prompt(env: &TestEnv, session: &str, text: &str) {
    env.hook(session, "UserPromptSubmit", json!({"prompt": text}));
    settled(env);
}

fn stop(env: &TestEnv, session: &str) {
    env.hook(session, "Stop", json!({"stop_hook_active": false}));
    settled(env);
}

fn before(env: &TestEnv, session: &str, line: &str) {
    env.hook(session, "PreToolUse", json!({"tool_name": "Bash", "tool_use_id": line, "tool_input": {"command": line}}));
}

fn sh(env: &TestEnv, line: &str) {
    env.command_for("sh").args(["-c", line]).output().unwrap();
}

/// Waits until no process keeps files for a hook. While a program is being replaced its arguments are empty, so one look is
/// not enough.
fn settled(env: &TestEnv) {
    let begun = Instant::now();
    let mut quiet = 0;
    while quiet < 5 {
        let project = env.project().to_str().unwrap().to_string();
        let keeps = |line: &String| line.contains(" undo --keep") && line.contains(&project);
        let running = command_lines().iter().any(keeps);
        quiet = if running { 0 } else { quiet + 1 };
        assert!(begun.elapsed() < Duration::from_secs(60), "files are still being kept");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn turns(env: &TestEnv) -> Vec<Value> {
    env.json(&["undo"])["turns"].as_array().unwrap().clone()
}

fn references(env: &TestEnv) -> usize {
    env.git(&env.project(), &["for-each-ref", "refs/cerberus"]).lines().count()
}

/// Every file with its mode, or the target of a link.
fn files(root: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, (u32, Vec<u8>)>) {
        for entry in fs::read_dir(dir).unwrap().flatten().filter(|entry| entry.file_name() != ".git") {
            let (path, known) = (entry.path(), entry.metadata().unwrap());
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            match () {
                () if known.is_dir() => walk(root, &path, found),
                () if known.is_symlink() => {
                    let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                    found.insert(name, (0o120_000, target));
                }
                () => drop(found.insert(name, (known.permissions().mode() & 0o111, fs::read(&path).unwrap()))),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

/// Everything in a git directory that is the user's.
fn own(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if name == "objects" || name.starts_with("refs/cerberus") {
                continue;
            }
            match path.is_dir() {
                true => walk(root, &path, found),
                false => drop(found.insert(name, fs::read(&path).unwrap())),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(dir, dir, &mut found);
    found
}

#[test]
fn what_a_command_destroyed_comes_back_and_an_undo_can_be_undone() {
    let env = stage();
    on(&env);
    env.start("s1", "startup");
    prompt(&env, "s1", "Tidy up the sources");
    write(&env, "src/new.rs", "the agent's own\n");
    let wanted = files(&env.project());
    before(&env, "s1", "git checkout . && rm -rf notes.txt src");
    sh(&env, "git checkout -q . && rm -rf notes.txt src");
    let destroyed = files(&env.project());
    stop(&env, "s1");
    let git = own(&env.project().join(".git"));
    let listed = turns(&env);
    assert_eq!(listed[0]["moment"], "turn", "{listed:?}");
    assert_eq!(listed[0]["title"], "Tidy up the sources");
    assert_eq!(listed[0]["files"].as_array().unwrap().len(), 4, "{listed:?}");
    assert_eq!(listed[1]["moment"], "command", "{listed:?}");
    let undone = env.json(&["undo", "--last", "--yes"]);
    assert_eq!(files(&env.project()), wanted);
    let back = undone["undo"].as_u64().unwrap().to_string();
    env.ok(&["undo", &back, "--yes"]);
    assert_eq!(files(&env.project()), destroyed, "the undo was undone");
    env.ok(&["undo", "src", "--at", &listed[0]["turn"].to_string(), "--yes"]);
    let mut sources = wanted.clone();
    sources.remove("notes.txt");
    assert_eq!(files(&env.project()), sources, "only the folder");
    assert_eq!(own(&env.project().join(".git")), git, "commits, index, branch and stash are untouched");
    let diff = env.ok(&["undo", "diff", &listed[0]["turn"].to_string()]);
    assert!(diff.contains("-a day's work") && diff.contains("src/lib.rs"), "{diff}");
    env.git(&env.project(), &["gc", "-q", "--prune=now"]);
    env.ok(&["undo", &listed[0]["turn"].to_string(), "--yes"]);
    assert_eq!(files(&env.project()), wanted, "a collection removes nothing that is kept");
}

#[test]
fn whatever_a_command_destroys_comes_back() {
    let env = stage();
    on(&env);
    fs::write(env.project().join("table.csv"), "1,2\n".repeat(20_000)).unwrap();
    symlink("src/lib.rs", env.project().join("link")).unwrap();
    let wanted = files(&env.project());
    for line in [
        "git checkout -q .",
        "git checkout -qf HEAD",
        "git restore .",
        "git reset -q --hard",
        "git clean -fdq",
        "git stash -qu && git stash drop -q",
        "git rebase -q --autostash HEAD && git checkout -q -- .",
        "git rm -rqf src",
        "rm -rf notes.txt src link table.csv",
        "truncate --size 0 src/lib.rs",
        "find . -name '*.txt' -delete",
        "mv src/lib.rs src/main.rs",
    ] {
        before(&env, "s1", line);
        sh(&env, line);
        assert_ne!(files(&env.project()), wanted, "{line} destroys something");
        env.ok(&["undo", "--last", "--yes"]);
        assert_eq!(files(&env.project()), wanted, "{line}");
    }
    let write = json!({"tool_name": "Write", "tool_use_id": "w1",
        "tool_input": {"file_path": env.project().join("table.csv"), "content": ""}});
    env.hook("s1", "PreToolUse", write);
    fs::write(env.project().join("table.csv"), "").unwrap();
    env.ok(&["undo", "--last", "--yes"]);
    assert_eq!(files(&env.project()), wanted, "a large file that is written anew");
}

#[test]
fn an_undo_shows_its_diff_and_asks() {
    let env = stage();
    on(&env);
    write(&env, "src/lib.rs", "an agent's work\n");
    stop(&env, "s1");
    for (answer, left) in [("n\r", "an agent's work\n"), ("y\r", "a day's work\n")] {
        let mut command = env.command();
        command.args(["undo", "--last"]).env("TERM", "xterm").env("PAGER", "cat");
        let mut terminal = Terminal::spawn(&command).unwrap();
        terminal.wait_for_text("+a day's work", LIMIT).unwrap();
        terminal.wait_for_text("Put 1 file back to before turn 2?", LIMIT).unwrap();
        terminal.type_keys(answer).unwrap();
        terminal.wait(LIMIT).unwrap();
        assert_eq!(fs::read_to_string(env.project().join("src/lib.rs")).unwrap(), left);
    }
}

#[test]
fn a_full_disk_is_noted_and_nothing_is_half_kept() {
    let env = stage();
    on(&env);
    let git = own(&env.project().join(".git"));
    sh(&env, "head -c 1000000 /dev/urandom >model.bin");
    let wanted = files(&env.project());
    // What a file may not grow beyond is what a full disk does to a write.
    let mut full = env.command_for("sh");
    full.args(["-c", "ulimit -f 64; exec \"$0\" undo --keep turn", env!("CARGO_BIN_EXE_cerberus")]);
    full.output().unwrap();
    assert_eq!((references(&env), files(&env.project())), (1, wanted.clone()));
    assert_ne!(env.json(&["status"])["failures"], json!([]), "it is said");
    env.ok(&["undo", "--keep", "turn"]);
    assert_eq!(own(&env.project().join(".git")), git);
    sh(&env, "rm -rf model.bin src");
    stop(&env, "s1");
    env.ok(&["undo", "--last", "--yes"]);
    assert_eq!(files(&env.project()), wanted);
}

#[test]
fn nothing_is_kept_until_it_is_switched_on() {
    let env = stage();
    env.start("s1", "startup");
    prompt(&env, "s1", "Go on");
    before(&env, "s1", "rm -rf src");
    stop(&env, "s1");
    assert_eq!(references(&env), 0);
    assert!(!env.home().join("checkpoints").exists());
    assert!(env.ok(&["undo"]).contains("cerberus undo --on"));
    let refused = env.run(&["undo", "--last", "--yes"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no files are kept"), "{refused:?}");
    // Everywhere, except where git is missing or the user does not want it.
    env.ok(&["undo", "--on"]);
    assert_eq!(references(&env), 1, "what is there already is kept at once");
    write(&env, "src/lib.rs", "more\n");
    stop(&env, "s1");
    assert_eq!(references(&env), 2);
    stop(&env, "s1");
    assert_eq!(references(&env), 2, "nothing has changed");
    env.ok(&["undo", "--off", "--here"]);
    write(&env, "src/lib.rs", "even more\n");
    stop(&env, "s1");
    assert_eq!(references(&env), 2);
    assert!(env.ok(&["status"]).contains("off; 2 states kept"));
    let plain = env.root().join("plain");
    fs::create_dir(&plain).unwrap();
    let said = env.ok(&["undo", "--on", "--cwd", plain.to_str().unwrap()]);
    assert!(said.contains("not in a git repository"), "{said}");
    env.ok(&["undo", "--off"]);
    assert!(!env.home().join("checkpoints/on").exists());
}

#[test]
fn an_agent_may_look_but_not_undo() {
    let env = stage();
    on(&env);
    write(&env, "src/lib.rs", "more\n");
    let agent = |args: &[&str]| env.command().args(args).env("CLAUDECODE", "1").output().unwrap();
    for args in [&["undo", "--last", "--yes"][..], &["undo", "1", "--yes"], &["undo", "--off"], &["undo", "--on"]] {
        let refused = agent(args);
        assert!(!refused.status.success(), "{args:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("only the user can"), "{refused:?}");
    }
    assert!(agent(&["undo"]).status.success());
    assert_eq!(fs::read_to_string(env.project().join("src/lib.rs")).unwrap(), "more\n");
    assert!(env.home().join("checkpoints/on").exists());
}

#[test]
fn it_waits_for_a_session_that_is_at_work() {
    let env = stage();
    on(&env);
    env.start("s1", "startup");
    prompt(&env, "s1", "Go on");
    write(&env, "src/lib.rs", "half\n");
    let refused = env.run(&["undo", "--last", "--yes"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("claude-code is working on these files"), "{refused:?}");
    assert_eq!(fs::read_to_string(env.project().join("src/lib.rs")).unwrap(), "half\n");
    env.ok(&["undo", "--last", "--yes", "--anyway"]);
    assert_eq!(fs::read_to_string(env.project().join("src/lib.rs")).unwrap(), "a day's work\n");
    stop(&env, "s1");
    env.ok(&["undo", "--last", "--yes"]);
    assert_eq!(fs::read_to_string(env.project().join("src/lib.rs")).unwrap(), "half\n");
}

/// A repository in some state, made from the one of `stage`.
type Scenario = (&'static str, fn(&TestEnv));

const SCENARIOS: [Scenario; 12] = [
    ("an index that is locked", |env| write(env, ".git/index.lock", "")),
    ("a merge with conflicts", |env| {
        sh(
            env,
            "git stash -qu && git checkout -qb b && echo b >src/lib.rs && git commit -qam b && git checkout -q main",
        );
        sh(env, "echo c >src/lib.rs && git commit -qam c; git merge -q b; echo mine >>src/lib.rs");
    }),
    ("a rebase that stopped", |env| {
        sh(
            env,
            "git stash -qu && git checkout -qb b && echo b >src/lib.rs && git commit -qam b && git checkout -q main",
        );
        sh(env, "echo c >src/lib.rs && git commit -qam c; git rebase -q b; echo mine >>src/lib.rs");
    }),
    ("a detached head", |env| sh(env, "git checkout -q --detach")),
    ("no commit yet", |env| sh(env, "rm -rf .git && git init -q")),
    ("a sparse checkout", |env| {
        sh(env, "mkdir far && echo x >far/x && git add far && git commit -qm far && git sparse-checkout set src");
    }),
    ("filters like those of LFS, and hooks", |env| {
        write(env, ".gitattributes", "*.bin filter=lfs\n*.rs filter=lfs text eol=crlf\n");
        write(env, "model.bin", "the real contents\r\n");
        let program = format!("sh -c 'touch {}/ran; cat'", env.root().display());
        for name in ["filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process", "core.fsmonitor", "diff.external"] {
            env.git(&env.project(), &["config", name, &program]);
        }
        env.git(&env.project(), &["config", "filter.lfs.required", "true"]);
        for hook in ["reference-transaction", "post-checkout", "post-index-change", "pre-commit"] {
            let path = env.project().join(".git/hooks").join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\ntouch {}/ran\n", env.root().display())).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }),
    ("links and modes", |env| {
        symlink("../nowhere", env.project().join("src/link")).unwrap();
        symlink("src", env.project().join("folder")).unwrap();
        write(env, "src/run.sh", "#!/bin/sh\n");
        fs::set_permissions(env.project().join("src/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    }),
    ("names without case", |env| {
        env.git(&env.project(), &["config", "core.ignorecase", "true"]);
        sh(env, "git mv src/main.rs src/Main.rs; echo x >src/MAIN.txt");
    }),
    ("a submodule and a repository inside", |env| {
        sh(
            env,
            "git init -q inner && cd inner && echo x >x && git add x && git -c user.name=t -c user.email=t@t commit -qm x",
        );
    }),
    ("odd names", |env| {
        for name in ["src/ü \"q\".rs", "src/line\nbreak", "src/-rf", "src/ tab\t"] {
            write(env, name, "odd\n");
        }
    }),
    ("settings of git", |env| {
        for (name, value) in [("core.splitIndex", "true"), ("index.skipHash", "true"), ("core.untrackedCache", "true")]
        {
            env.git(&env.project(), &["config", name, value]);
        }
        sh(env, "git status");
    }),
];

#[test]
fn every_kind_of_repository_is_put_back_and_nothing_else_of_it_changes() {
    for (name, make) in SCENARIOS {
        let env = stage();
        make(&env);
        let (wanted, git) = (files(&env.project()), own(&env.project().join(".git")));
        on(&env);
        assert_eq!(own(&env.project().join(".git")), git, "{name}");
        before(&env, "s1", "rm -rf src");
        for path in ["src", "notes.txt", "folder", "model.bin"] {
            sh(&env, &format!("rm -rf {path}"));
        }
        env.hook("s1", "Stop", json!({"stop_hook_active": false}));
        settled(&env);
        env.ok(&["undo", "--last", "--yes"]);
        assert_eq!(files(&env.project()), wanted, "{name}");
        assert_eq!(own(&env.project().join(".git")), git, "{name}");
        assert!(!env.root().join("ran").exists(), "{name}: a program of the repository was run");
        assert_eq!(env.json(&["status"])["failures"], json!([]), "{name}");
    }
}

#[test]
fn private_large_and_ignored_files_are_not_kept_and_not_touched() {
    let env = stage();
    fs::create_dir_all(env.home()).unwrap();
    let settings = "[undo]\nmax_file_size = \"1 MB\"\n[private]\npaths = [\"*.ledger\"]\n";
    fs::write(env.home().join("config.toml"), settings).unwrap();
    write(&env, ".env", "TRACKED=1\n");
    env.git(&env.project(), &["add", "-f", ".env"]);
    env.git(&env.project(), &["commit", "-qm", "env"]);
    for (path, text) in [("deploy/.env.local", "x"), ("my.ledger", "x"), ("target/out", "x"), (".env", "CHANGED=1")] {
        write(&env, path, text);
    }
    write(&env, "big.bin", &"x".repeat(1_000_001));
    on(&env);
    for (path, text) in [("deploy/.env.local", "y"), ("my.ledger", "y"), ("target/out", "y"), (".env", "CHANGED=2")] {
        write(&env, path, text);
    }
    write(&env, "big.bin", "small now");
    write(&env, "src/lib.rs", "changed\n");
    stop(&env, "s1");
    let objects = env.git(&env.project(), &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!objects.contains("CHANGED="), "the contents of a private file are kept");
    assert!(!objects.contains("my.ledger"), "the name of a private file is kept");
    let trees = env.git(&env.project(), &["ls-tree", "-r", "--name-only", "refs/cerberus/undo/1"]);
    assert_eq!(trees, ".gitignore\nnotes.txt\nsrc/lib.rs\nsrc/main.rs\n");
    let listed = env.json(&["undo"]);
    assert_eq!(listed["turns"][0]["files"][1]["path"], "src/lib.rs", "{listed}");
    let undone = env.json(&["undo", "--last", "--yes"]);
    assert_eq!(undone["kept"], json!(["big.bin"]), "it is told");
    let read = |path: &str| fs::read_to_string(env.project().join(path)).unwrap();
    assert_eq!(["src/lib.rs", "my.ledger", "target/out"].map(read), ["a day's work\n", "y", "y"]);
    assert_eq!(["deploy/.env.local", ".env", "big.bin"].map(read), ["y", "CHANGED=2", "small now"]);
}

#[test]
fn a_kill_at_any_point_leaves_nothing_half_kept() {
    for label in CHECKPOINT_POINTS {
        let env = stage();
        on(&env);
        let wanted = files(&env.project());
        let git = own(&env.project().join(".git"));
        sh(&env, "rm -rf src");
        write(&env, "later.txt", "later\n");
        let destroyed = files(&env.project());
        let is_restore = label.starts_with("restore");
        for fault in ["kill", "enospc"] {
            let args = if is_restore { vec!["undo", "--last", "--yes"] } else { vec!["undo", "--keep", "turn"] };
            let mut command = env.command();
            command.args(&args).env("CERBERUS_FAULT", format!("{label}={fault}"));
            let ended = command.output().unwrap();
            assert!(fault != "kill" || !ended.status.success(), "{label} was not reached");
            if !is_restore {
                assert_eq!(files(&env.project()), destroyed, "{label}={fault}");
            }
        }
        env.ok(&["undo", "--keep", "turn"]);
        assert_eq!(own(&env.project().join(".git")), git, "{label}");
        env.git(&env.project(), &["fsck", "--strict"]);
        let listed = turns(&env);
        let first = listed.last().unwrap()["turn"].to_string();
        env.ok(&["undo", &first, "--yes"]);
        assert_eq!(files(&env.project()), wanted, "{label}");
    }
}

#[test]
fn what_is_forgotten_is_not_kept() {
    let env = stage();
    on(&env);
    env.start("s1", "startup");
    for (session, text) in [("s1", "first\n"), ("s2", "second\n")] {
        prompt(&env, session, "Go on");
        write(&env, "src/lib.rs", text);
        stop(&env, session);
    }
    assert_eq!(references(&env), 3);
    env.ok(&["forget", "--session", "s1", "--yes"]);
    assert_eq!(references(&env), 2, "the turn of that session");
    write(&env, "secret.pem", "x\n");
    stop(&env, "s2");
    let would = env.ok(&["forget", "--path", "src/lib.rs", "--dry-run"]);
    assert!(would.contains("checkpoint"), "{would}");
    env.ok(&["forget", "--project", "--yes"]);
    assert_eq!(references(&env), 0);
    let folders = fs::read_dir(env.home().join("checkpoints")).unwrap().flatten().filter(|entry| entry.path().is_dir());
    assert_eq!(folders.count(), 0, "no names of files are left");
    let objects = env.git(&env.project(), &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!objects.contains("second\n"), "the objects go at once");
    assert!(objects.contains("one\n"), "what is committed stays");
}

#[test]
fn there_is_a_limit_to_the_room_and_status_says_that_it_was_reached() {
    let env = stage();
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "[undo]\nmax_room = \"5 MB\"\n").unwrap();
    on(&env);
    assert!(!env.ok(&["status"]).contains("limit was reached"));
    for _ in 0..6 {
        sh(&env, "head -c 1500000 /dev/urandom >model.bin");
        stop(&env, "s1");
    }
    let kept = references(&env);
    assert!((2..=3).contains(&kept), "{kept}");
    let status = env.ok(&["status"]);
    assert!(status.contains(" of at most 4.8 MiB; the limit was reached "), "{status}");
    let model = fs::read(env.project().join("model.bin")).unwrap();
    sh(&env, "rm -rf model.bin src");
    stop(&env, "s1");
    env.ok(&["undo", "--last", "--yes"]);
    assert_eq!(fs::read(env.project().join("model.bin")).unwrap(), model, "the newest are there");
}

#[test]
fn the_oldest_are_removed_by_age_and_by_number() {
    let mut env = stage();
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "[undo]\nturns = 3\nkeep = \"14d\"\n").unwrap();
    on(&env);
    for number in 0..5 {
        write(&env, "src/lib.rs", &format!("{number}\n"));
        stop(&env, "s1");
    }
    assert_eq!(references(&env), 3);
    let status = env.ok(&["status"]);
    assert!(status.contains("on; 3 states kept; ") && status.contains(" of at most 1.0 GiB"), "{status}");
    // Whoever gives the time, maybe an agent, does not decide what is old.
    for command in [&["undo", "--keep", "turn"][..], &["undo"]] {
        env.ok(&[command, &["--now", "2099-01-01T00:00:00Z"]].concat());
        assert_eq!(references(&env), 3, "{command:?}");
    }
    env.set_now(None);
    write(&env, "src/lib.rs", "much later\n");
    stop(&env, "s1");
    assert_eq!(references(&env), 1);
}

#[test]
fn worktrees_are_kept_apart() {
    let env = stage();
    on(&env);
    env.git(&env.project(), &["worktree", "add", "-q", "../linked"]);
    let linked = env.root().join("linked");
    let cwd = linked.to_str().unwrap();
    env.ok(&["undo", "--keep", "before", "--cwd", cwd]);
    fs::write(linked.join("src/lib.rs"), "linked\n").unwrap();
    env.ok(&["undo", "--keep", "turn", "--cwd", cwd]);
    write(&env, "src/lib.rs", "main\n");
    env.ok(&["undo", "--keep", "turn"]);
    env.ok(&["undo", "--last", "--yes", "--cwd", cwd]);
    assert_eq!(fs::read_to_string(linked.join("src/lib.rs")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(env.project().join("src/lib.rs")).unwrap(), "main\n");
    env.ok(&["undo", "--last", "--yes"]);
    assert_eq!(fs::read_to_string(env.project().join("src/lib.rs")).unwrap(), "a day's work\n");
}

#[test]
fn a_file_that_does_not_stop_changing_is_left_out_and_told() {
    let env = stage();
    on(&env);
    let (log, bin) = (env.project().join("log.txt"), env.project().parent().unwrap().join("bin"));
    fs::write(&log, "line\n").unwrap();
    // Whenever files are hashed, another line is written.
    let git = "case \" $* \" in *' hash-object '*) echo line >>";
    let git = format!("#!/bin/sh\n{git}'{}' ;; esac\nPATH={SYSTEM_PATH} exec git \"$@\"\n", log.display());
    cerberus_testkit::process::write_program(&bin.join("git"), &git);
    write(&env, "src/lib.rs", "changed\n");
    let path = format!("{}:{SYSTEM_PATH}", bin.display());
    let run = |args: &[&str]| env.command().env("PATH", &path).args(args).output().unwrap().stdout;
    run(&["undo", "--keep", "turn"]);
    let listed: Value = serde_json::from_slice(&run(&["undo", "--json"])).unwrap();
    let listed = listed["turns"].as_array().unwrap();
    assert_eq!(env.json(&["status"])["failures"], json!([]));
    assert_eq!(listed[0]["left_out"], json!(["log.txt"]), "{listed:?}");
    env.ok(&["undo", &listed.last().unwrap()["turn"].to_string(), "--yes"]);
    assert_eq!(fs::read_to_string(env.project().join("src/lib.rs")).unwrap(), "a day's work\n");
}

#[test]
fn a_command_does_not_wait_for_long_and_it_is_said_what_was_not_kept() {
    let env = stage();
    on(&env);
    fs::write(env.home().join("config.toml"), "[undo]\nwait_secs = 0.0\n").unwrap();
    write(&env, "src/lib.rs", "more\n");
    before(&env, "s1", "git reset --hard");
    assert_eq!(references(&env), 1, "there was no time");
    let failures = env.json(&["status"])["failures"].to_string();
    assert!(failures.contains("the files were not kept before `git reset`"), "{failures}");
}

#[test]
fn status_mentions_it_once_while_it_is_off() {
    let env = stage();
    let status = || {
        let mut command = env.command();
        command.arg("status").env("TERM", "xterm").env("PAGER", "cat");
        let mut terminal = Terminal::spawn(&command).unwrap();
        terminal.wait(LIMIT).unwrap();
        terminal.printed()
    };
    let mention = "cerberus undo --on";
    assert!(!env.ok(&["status"]).contains(mention), "only people are told");
    assert!(status().contains(mention));
    assert!(!status().contains(mention), "once");
}

#[test]
fn the_page_of_a_session_shows_its_turns_and_their_diffs() {
    let env = stage();
    on(&env);
    env.start("s1", "startup");
    prompt(&env, "s1", "Replace the library");
    write(&env, "src/lib.rs", "an agent's work\n");
    stop(&env, "s1");
    let mut command = env.command();
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::spawn_sized(&command, (40, 120)).unwrap();
    terminal.wait_for_text("Replace the library", LIMIT).unwrap();
    terminal.type_keys("\r").unwrap();
    terminal.wait_for_text("+1 −1", LIMIT).unwrap();
    terminal.type_keys("d").unwrap();
    terminal.wait_for_text("-a day's work", LIMIT).unwrap();
    terminal.close();
}
