//! Project identity: worktrees, subfolders and links, moved folders, clones and forks.

use std::fs;
use std::path::{Path, PathBuf};

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::forget::holding;

#[test]
fn worktrees_subfolders_and_links_share_a_brief_and_namesakes_do_not() {
    let env = env();
    let project = env.project();
    env.git(&project, &["commit", "--quiet", "--allow-empty", "--message=start"]);
    env.git(&project, &["worktree", "add", "--quiet", "-b", "side", "../side"]);
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::os::unix::fs::symlink(&project, env.root().join("link")).unwrap();
    let write = |cwd: &std::path::Path, id: &str, file: &str| {
        let input = json!({"file_path": cwd.join(file)});
        env.hook(
            "s1",
            "PostToolUse",
            json!({"cwd": cwd, "tool_name": "Write", "tool_use_id": id, "tool_input": input}),
        );
    };
    write(&project, "t1", "src/a.rs");
    write(&env.root().join("side"), "t2", "src/b.rs");
    write(&env.root().join("link"), "t3", "src/c.rs");
    for seen_from in ["hydra", "hydra/src", "side", "link"] {
        let dir = env.root().join(seen_from);
        let brief = env.json(&["brief", "--cwd", dir.to_str().unwrap()])["text"].clone();
        assert_eq!(brief, "proj:hydra\nimpl:src/a.rs\nimpl:src/b.rs\nimpl:src/c.rs", "{seen_from}");
    }
    let namesake = env.add_repository("elsewhere/hydra");
    assert_eq!(env.json(&["brief", "--cwd", namesake.to_str().unwrap()])["text"], "");
}

#[test]
fn files_are_named_by_their_path_from_the_root() {
    let env = env();
    let project = env.project();
    for file in ["src/store/mod.rs", "src/brief/mod.rs", "src/main.rs"] {
        std::fs::create_dir_all(project.join(file).parent().unwrap()).unwrap();
        std::fs::write(project.join(file), "").unwrap();
    }
    env.git(&project, &["add", "."]);
    env.write_file("s1", "t1", "src/store/mod.rs", "");
    env.write_file("s1", "t2", "src/main.rs", "");
    let outside = env.root().join("notes.txt");
    std::fs::write(&outside, "").unwrap();
    env.write_file("s1", "t3", outside.to_str().unwrap(), "");
    let told =
        "proj:hydra\ngit:on main; not committed: src/{main.rs, store/mod.rs}\nimpl:src/main.rs\nimpl:src/store/mod.rs";
    let expected = format!("{told}\nimpl:{}", outside.display());
    assert_eq!(env.brief(), expected);
}

#[test]
fn a_folder_without_git_is_a_project() {
    let env = env();
    let plain = env.root().join("plain");
    std::fs::create_dir_all(&plain).unwrap();
    let input = json!({"file_path": plain.join("x.py")});
    env.hook("s1", "PostToolUse", json!({"cwd": plain, "tool_name": "Write", "tool_use_id": "t", "tool_input": input}));
    assert_eq!(env.json(&["brief", "--cwd", plain.to_str().unwrap()])["text"], "proj:plain\nimpl:x.py");
    assert_eq!(env.brief(), "");
}

/// An environment with the real clock, because commands with `--now` record nothing.
fn real_time() -> TestEnv {
    let mut env = env();
    env.set_now(None);
    env
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn repository(env: &TestEnv, name: &str) -> PathBuf {
    let path = env.add_repository(name);
    env.git(&path, &["commit", "--quiet", "--allow-empty", &format!("--message={name}")]);
    path
}

fn clone(env: &TestEnv, from: &str, name: &str) -> PathBuf {
    env.git(&env.root(), &["clone", "--quiet", from, name]);
    env.root().join(name)
}

fn set_origin(env: &TestEnv, dir: &Path, url: &str) {
    env.git(dir, &["config", "remote.origin.url", url]);
}

/// Starts a session and returns the reply.
fn start(env: &TestEnv, dir: &Path, session: &str) -> String {
    env.hook(session, "SessionStart", json!({"source": "startup", "cwd": dir}))
}

fn write(env: &TestEnv, dir: &Path, session: &str, file: &str) {
    let input = json!({"file_path": dir.join(file)});
    let tool = json!({"cwd": dir, "tool_name": "Write", "tool_use_id": file, "tool_input": input});
    env.hook(session, "PostToolUse", tool);
}

fn end(env: &TestEnv, dir: &Path, session: &str) {
    env.hook(session, "SessionEnd", json!({"reason": "other", "cwd": dir}));
}

/// Runs a session that writes one file.
fn work(env: &TestEnv, dir: &Path, session: &str, file: &str) {
    start(env, dir, session);
    write(env, dir, session, file);
    end(env, dir, session);
}

fn brief(env: &TestEnv, dir: &Path) -> String {
    env.json(&["brief", "--cwd", shown(dir)])["text"].as_str().unwrap().to_string()
}

fn project(env: &TestEnv, dir: &Path) -> Value {
    env.json(&["project", "--cwd", shown(dir)])
}

/// The folders that are joined, each with the reason, and those that are asked about.
type Folders = (Vec<(String, String)>, Vec<String>);

fn joined(env: &TestEnv, dir: &Path) -> Folders {
    let told = project(env, dir);
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_string();
    let joined = told["joined"].as_array().unwrap().iter();
    let asked = told["may_be_same"].as_array().unwrap().iter();
    (joined.map(|one| (text(one, "root"), text(one, "reason"))).collect(), asked.map(|one| text(one, "root")).collect())
}

fn because(dir: &Path, reason: &str) -> Folders {
    (vec![(shown(dir).to_string(), reason.to_string())], vec![])
}

fn asked(dir: &Path) -> Folders {
    (vec![], vec![shown(dir).to_string()])
}

const NOTHING: Folders = (vec![], vec![]);

#[test]
fn a_moved_folder_keeps_its_sessions_and_memories() {
    let env = real_time();
    let (old, new) = (repository(&env, "lerna"), env.root().join("elsewhere"));
    work(&env, &old, "s1", "src/a.rs");
    env.ok(&["memory", "learn", "Feed the swan", "--scope", "project", "--cwd", shown(&old)]);
    fs::rename(&old, &new).unwrap();
    let told = start(&env, &new, "s2");
    assert!(told.contains("impl:src/a.rs") && told.contains("Feed the swan"), "at the first start: {told}");
    assert_eq!(joined(&env, &new), because(&old, "moved"));
    let status = env.ok(&["status", "--cwd", shown(&new)]);
    assert!(status.contains(&format!("joined    {}: the folder was moved", old.display())), "{status}");
    let sessions = env.json(&["memory", "session-status", "--all", "--cwd", shown(&new)]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(env.json(&["memory", "session-history", "--cwd", shown(&new)]).as_array().unwrap().len(), 2);
    for scope in ["project:elsewhere", "project:lerna"] {
        let found = env.json(&["memory", "search", "swan", "--scope", scope, "--cwd", shown(&new)]);
        assert_eq!(found.as_array().unwrap().len(), 1, "{scope}");
        let listed = env.json(&["memory", "list", "--scope", scope, "--cwd", shown(&new)]);
        assert_eq!(listed.as_array().unwrap().len(), 1, "{scope}");
    }
    write(&env, &new, "s2", "src/b.rs");
    let told = brief(&env, &new);
    assert!(
        told.contains("proj:elsewhere\n") && told.contains("impl:src/a.rs") && told.contains("impl:src/b.rs"),
        "{told}"
    );
    env.ok(&["memory", "learn", "Never feed the swan", "--scope", "project", "--cwd", shown(&new)]);
    assert!(!brief(&env, &new).contains("rule:Feed the swan"), "a newer memory replaces one from the old folder");
}

#[test]
fn a_session_goes_on_in_a_moved_folder() {
    let env = real_time();
    let (old, new) = (repository(&env, "lerna"), env.root().join("elsewhere"));
    work(&env, &old, "s1", "src/a.rs");
    start(&env, &old, "s2");
    write(&env, &old, "s2", "src/b.rs");
    fs::rename(&old, &new).unwrap();
    let told = env.hook("s2", "SessionStart", json!({"source": "compact", "cwd": new}));
    assert!(told.contains("impl:src/a.rs") && told.contains("impl:src/b.rs"), "{told}");
}

#[test]
fn without_a_reflog_a_moved_folder_is_recognised_when_a_session_ends() {
    let env = real_time();
    let (old, new) = (repository(&env, "lerna"), env.root().join("elsewhere"));
    work(&env, &old, "s1", "src/a.rs");
    fs::rename(&old, &new).unwrap();
    fs::remove_dir_all(new.join(".git/logs")).unwrap();
    assert_eq!(start(&env, &new, "s2"), "", "git is not started while the agent waits");
    end(&env, &new, "s2");
    assert!(start(&env, &new, "s3").contains("impl:src/a.rs"));
}

#[test]
fn a_copy_next_to_the_original_is_asked_about() {
    let env = real_time();
    let (one, two) = (repository(&env, "lerna"), env.root().join("copy"));
    work(&env, &one, "s1", "src/a.rs");
    assert!(std::process::Command::new("cp").arg("-r").args([&one, &two]).status().unwrap().success());
    work(&env, &two, "s2", "src/b.rs");
    assert_eq!((joined(&env, &two), brief(&env, &two).contains("a.rs")), (asked(&one), false));
}

#[test]
fn a_second_clone_shares_the_project_from_its_first_session() {
    let env = real_time();
    let source = repository(&env, "source");
    let url = format!("file://{}", source.display());
    let (one, two) = (clone(&env, &url, "one"), clone(&env, shown(&source), "two"));
    work(&env, &one, "s1", "src/a.rs");
    env.ok(&["memory", "learn", "Feed the swan", "--scope", "project", "--cwd", shown(&one)]);
    let told = start(&env, &two, "s2");
    assert!(told.contains("impl:src/a.rs") && told.contains("Feed the swan"), "{told}");
    assert_eq!(joined(&env, &two), because(&one, "same_origin"));
    work(&env, &source, "s3", "src/c.rs");
    assert!(brief(&env, &source).contains("impl:src/a.rs"), "the source of both clones is joined too");
    start(&env, &one, "s4");
    env.ok(&["record", "next", "call the agent", "--cwd", shown(&two)]);
    let sessions = env.json(&["memory", "session-status", "--all", "--cwd", shown(&one)])["sessions"].clone();
    let noted = |session: &&Value| session["facts"].to_string().contains("call the agent");
    let found: Vec<&Value> = sessions.as_array().unwrap().iter().filter(noted).map(|one| &one["cwd"]).collect();
    assert_eq!(found, [shown(&two)], "a fact belongs to a session of its own folder");
    let fetched = env.git(&one, &["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(project(&env, &one)["project"]["root_commit"], fetched.trim());
}

#[test]
fn all_spellings_of_an_origin_join_and_no_password_is_stored() {
    let env = real_time();
    let spelled = [
        "git@git.example:team/hydra.git",
        "https://me:hunter2hunter2@Git.Example/team/hydra",
        "https://hunter2hunter2@git.example:443/team/hydra.git/?token=hunter2hunter2",
        "ssh://git@git.example:22/team/hydra",
    ];
    let bare = clone(&env, shown(&repository(&env, "source")), "bare");
    let mut clones = Vec::new();
    for (at, url) in spelled.iter().enumerate() {
        let dir = clone(&env, shown(&bare), &format!("clone{at}"));
        set_origin(&env, &dir, url);
        work(&env, &dir, &format!("s{at}"), &format!("src/{at}.rs"));
        clones.push(dir);
    }
    for dir in &clones {
        let told = brief(&env, dir);
        assert!((0..spelled.len()).all(|at| told.contains(&format!("impl:src/{at}.rs"))), "{told}");
        assert_eq!(project(&env, dir)["project"]["origin"], "git.example/team/hydra");
    }
    assert_eq!(holding(&env, "hunter2"), [""; 0]);
    set_origin(&env, &clones[0], "https://git.example/team/other");
    env.ok(&["status", "--cwd", shown(&clones[0])]);
    assert!(!brief(&env, &clones[0]).contains("1.rs"), "a different origin is a different project");
    assert_eq!(joined(&env, &clones[0]).1.len(), 1, "which may be the same");
    set_origin(&env, &clones[0], spelled[0]);
    env.ok(&["status", "--cwd", shown(&clones[0])]);
    assert!(brief(&env, &clones[0]).contains("1.rs"), "and back again");
}

#[test]
fn a_fork_is_not_joined_and_asked_about_once() {
    let env = real_time();
    let source = repository(&env, "source");
    let (ours, fork) = (clone(&env, shown(&source), "ours"), clone(&env, shown(&source), "the fork"));
    set_origin(&env, &ours, "https://git.example/team/hydra");
    set_origin(&env, &fork, "https://git.example/me/hydra");
    work(&env, &ours, "s1", "src/a.rs");
    work(&env, &fork, "s2", "src/b.rs");
    assert!(!brief(&env, &ours).contains("b.rs") && !brief(&env, &fork).contains("a.rs"));
    assert_eq!(joined(&env, &ours), asked(&fork));
    let question = format!(
        "this may be the same project as {0}: `cerberus project same-as '{0}'` joins them, \
         `cerberus project separate '{0}'` keeps them apart",
        fork.display()
    );
    for command in ["status", "doctor", "project"] {
        let told = env.ok(&[command, "--cwd", shown(&ours)]);
        assert_eq!(told.matches(&question).count(), 1, "{command}: {told}");
    }
    env.ok(&["project", "separate", shown(&fork), "--cwd", shown(&ours)]);
    for (command, dir) in [("status", &ours), ("doctor", &ours), ("status", &fork), ("doctor", &fork)] {
        let told = env.ok(&[command, "--cwd", shown(dir)]);
        assert!(!told.contains("may be the same"), "{command}: {told}");
    }
    env.ok(&["project", "same-as", shown(&ours), "--cwd", shown(&fork)]);
    assert_eq!(joined(&env, &ours), because(&fork, "user"));
    assert!(brief(&env, &ours).contains("b.rs") && brief(&env, &fork).contains("a.rs"));
}

#[test]
fn a_committed_name_does_not_join_and_is_asked_about() {
    let env = real_time();
    let (one, two) = (repository(&env, "one"), repository(&env, "two"));
    for dir in [&one, &two] {
        fs::write(dir.join(".cerberus-project"), "hydra\n").unwrap();
    }
    work(&env, &one, "s1", "src/a.rs");
    env.ok(&["memory", "learn", "Feed the swan", "--scope", "project", "--cwd", shown(&one)]);
    work(&env, &two, "s2", "src/b.rs");
    assert_eq!(joined(&env, &two), asked(&one));
    let told = brief(&env, &two);
    assert!(!told.contains("a.rs") && !told.contains("swan"), "{told}");
    assert_eq!(project(&env, &two)["project"]["given_name"], "hydra");
    for odd in ["two\nlines", "\u{1b}[2J", "", "  ", &"x".repeat(101), &"x".repeat(5000)] {
        fs::write(two.join(".cerberus-project"), odd).unwrap();
        assert_eq!(project(&env, &two)["project"]["given_name"], Value::Null, "{odd:?}");
        assert_eq!(joined(&env, &two), NOTHING, "{odd:?}");
    }
}

#[test]
fn the_last_answer_holds_and_survives_a_rebuild() {
    let env = real_time();
    let source = repository(&env, "source");
    let (one, two) = (clone(&env, shown(&source), "one"), clone(&env, shown(&source), "two"));
    work(&env, &one, "s1", "src/a.rs");
    work(&env, &two, "s2", "src/b.rs");
    let id = project(&env, &two)["project"]["id"].as_str().unwrap().to_string();
    let everything = || {
        let told = |dir: &PathBuf| (project(&env, dir), brief(&env, dir), env.json(&["status", "--cwd", shown(dir)]));
        [told(&one), told(&two)].map(|(project, brief, status)| (project, brief, status["folders"].clone()))
    };
    for (word, other, is_joined) in [
        ("separate", shown(&two), false),
        ("same-as", id.as_str(), true),
        ("separate", "../two", false),
        ("same-as", "../two/.", true),
    ] {
        env.ok(&["project", word, other, "--cwd", shown(&one)]);
        assert_eq!(brief(&env, &one).contains("b.rs"), is_joined, "{word} {other}");
        assert_eq!(brief(&env, &two).contains("a.rs"), is_joined, "{word} {other}");
        assert_eq!(joined(&env, &one).1, [""; 0], "there is no question after an answer");
        let before = everything();
        env.rebuild();
        assert_eq!(everything(), before, "{word} {other}");
    }
    for wrong in [shown(&one), "/nowhere/at/all", "0123456789abcdef"] {
        assert_eq!(env.run(&["project", "same-as", wrong, "--cwd", shown(&one)]).status.code(), Some(1), "{wrong}");
    }
}

#[test]
fn folders_without_git_are_joined_only_by_the_user() {
    let env = real_time();
    let (old, new) = (env.root().join("old"), env.root().join("new"));
    fs::create_dir_all(&old).unwrap();
    work(&env, &old, "s1", "a.py");
    fs::rename(&old, &new).unwrap();
    assert_eq!((start(&env, &new, "s2").as_str(), joined(&env, &new)), ("", NOTHING));
    env.ok(&["project", "same-as", "../old", "--cwd", shown(&new)]);
    assert_eq!(joined(&env, &new), because(&old, "user"));
    assert!(brief(&env, &new).contains("impl:a.py"));
}

#[test]
fn shallow_clones_and_missing_git_rely_on_the_origin() {
    let env = real_time();
    let source = repository(&env, "source");
    env.git(&source, &["commit", "--quiet", "--allow-empty", "--message=more"]);
    let url = format!("file://{}", source.display());
    let full = clone(&env, &url, "full");
    env.git(&env.root(), &["clone", "--quiet", "--depth=1", &url, "shallow"]);
    let shallow = env.root().join("shallow");
    work(&env, &full, "s1", "src/a.rs");
    work(&env, &shallow, "s2", "src/b.rs");
    assert_eq!(joined(&env, &shallow), because(&full, "same_origin"));
    assert_eq!(
        project(&env, &shallow)["project"]["root_commit"],
        Value::Null,
        "its oldest commit is not the first one"
    );
    let third = clone(&env, &url, "third");
    let output = env.command().args(["brief", "--cwd", shown(&third)]).env("PATH", "/nowhere").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("impl:src/a.rs"), "{output:?}");
}

/// A name, and what is done to the configuration of a repository.
type Trap<'a> = (&'a str, &'a dyn Fn(&Path));

#[test]
fn hostile_git_configurations_have_no_effect() {
    let env = real_time();
    let source = repository(&env, "source");
    let victim = clone(&env, shown(&source), "victim");
    set_origin(&env, &victim, "https://git.example/team/hydra");
    work(&env, &victim, "s1", "src/a.rs");
    let include = env.root().join("included");
    fs::write(&include, "[remote \"origin\"]\n\turl = https://git.example/team/hydra\n").unwrap();
    let traps: [Trap; 5] = [
        ("pipe", &|config| {
            fs::remove_file(config).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(config).status().unwrap().success());
        }),
        ("huge", &|config| fs::OpenOptions::new().write(true).open(config).unwrap().set_len(100_000_000).unwrap()),
        ("include", &|config| fs::write(config, format!("[include]\n\tpath = {}\n", include.display())).unwrap()),
        ("program", &|config| fs::write(config, "[remote \"origin\"]\n\turl = ext::touch sprung\n").unwrap()),
        ("bytes", &|config| fs::write(config, b"[remote \"origin\"]\n\turl = \xff\xfe\x00://\n".as_slice()).unwrap()),
    ];
    for (name, set) in traps {
        let dir = repository(&env, name);
        set(&dir.join(".git/config"));
        assert_eq!(start(&env, &dir, name), "", "{name}");
        end(&env, &dir, name);
        assert_eq!((joined(&env, &dir), brief(&env, &dir)), (NOTHING, String::new()), "{name}");
        assert!(!dir.join("sprung").exists());
    }
}

#[test]
fn an_ordinary_event_is_still_one_record_of_the_same_form() {
    let env = env();
    let dir = repository(&env, "lerna");
    set_origin(&env, &dir, "https://git.example/team/hydra");
    fs::write(dir.join(".cerberus-project"), "hydra").unwrap();
    let journal = || {
        let files = fs::read_dir(env.home().join("journal")).unwrap();
        let text: String = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        text.lines().filter(|line| !line.is_empty()).map(str::to_string).collect::<Vec<_>>()
    };
    write(&env, &dir, "s1", "src/a.rs");
    let lines = journal();
    assert_eq!(lines.len(), 1);
    let record: Value = serde_json::from_str(&lines[0]).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&record), ["agent", "at", "crc", "device", "event", "key", "place", "seq", "session", "v"]);
    assert_eq!(keys(&record["place"]), ["branch", "cwd", "name", "project", "root"]);
    start(&env, &dir, "s1");
    assert!(journal().iter().any(|line| line.contains("\"repository\":{\"folder\"")), "a start records the repository");
    let count = journal().len();
    start(&env, &dir, "s1");
    write(&env, &dir, "s1", "src/b.rs");
    assert_eq!(journal().iter().filter(|line| line.contains("\"repository\":{")).count(), 1, "once");
    assert!(journal().len() > count);
    end(&env, &dir, "s1");
    end(&env, &dir, "s1");
    assert_eq!(
        journal().iter().filter(|line| line.contains("\"repository\":{")).count(),
        2,
        "the end adds the first commit"
    );
}

#[test]
fn private_and_paused_repositories_are_not_recorded() {
    let env = real_time();
    let dir = repository(&env, "lerna");
    set_origin(&env, &dir, "https://git.example/team/lernaean");
    fs::write(dir.join(".nocerberus"), "").unwrap();
    env.ok(&["status", "--cwd", shown(&dir)]);
    env.ok(&["project", "--cwd", shown(&dir)]);
    assert_eq!(env.run(&["project", "same-as", "../hydra", "--cwd", shown(&dir)]).status.code(), Some(1));
    fs::remove_file(dir.join(".nocerberus")).unwrap();
    env.ok(&["pause"]);
    env.ok(&["status", "--cwd", shown(&dir)]);
    assert_eq!(holding(&env, "lernaean"), [""; 0]);
    env.ok(&["unpause"]);
    env.ok(&["status", "--cwd", shown(&dir)]);
    assert_ne!(holding(&env, "lernaean"), [""; 0]);
}

#[test]
fn forgetting_a_project_includes_all_its_folders() {
    let env = real_time();
    let source = repository(&env, "source");
    let (one, two) = (clone(&env, shown(&source), "one"), clone(&env, shown(&source), "two"));
    set_origin(&env, &one, "https://git.example/team/xylophonist");
    set_origin(&env, &two, "git@git.example:team/xylophonist.git");
    work(&env, &one, "s1", "src/xylophonist.rs");
    work(&env, &two, "s2", "src/b.rs");
    env.ok(&["memory", "learn", "Feed the xylophonist", "--scope", "project", "--cwd", shown(&one)]);
    work(&env, &env.project(), "s3", "src/zitherist.rs");
    env.ok(&["project", "separate", shown(&two), "--cwd", shown(&env.project())]);
    let planned = env.ok(&["forget", "--project", "--dry-run", "--cwd", shown(&two)]);
    assert!(planned.contains(&format!("includes the same project in {}\n", one.display())), "{planned}");
    let report = env.json(&["forget", "--project", "--yes", "--cwd", shown(&two)]);
    assert_eq!((&report["sessions"], &report["also_in"]), (&json!(2), &json!([shown(&one)])), "{report}");
    for word in ["xylophonist", shown(&one), shown(&two)] {
        assert_eq!(holding(&env, word), [""; 0], "{word}");
    }
    assert!(brief(&env, &env.project()).contains("impl:src/zitherist.rs"));
}

#[test]
fn a_forgotten_project_is_recognised_again() {
    let env = real_time();
    let source = repository(&env, "source");
    let (one, two) = (clone(&env, shown(&source), "one"), clone(&env, shown(&source), "two"));
    for turn in 0..3 {
        for dir in [&one, &two] {
            env.ok(&["status", "--cwd", shown(dir)]);
        }
        assert_eq!(joined(&env, &one), because(&two, "same_origin"), "{turn}");
        env.ok(&["project", "separate", shown(&two), "--cwd", shown(&one)]);
        assert_eq!(joined(&env, &one), NOTHING, "{turn}");
        env.ok(&["project", "same-as", shown(&two), "--cwd", shown(&one)]);
        assert_eq!(joined(&env, &one), because(&two, "user"), "{turn}");
        env.ok(&["forget", "--project", "--yes", "--cwd", shown(&one)]);
        assert_eq!(holding(&env, shown(&two)), [""; 0], "{turn}");
    }
}

#[test]
fn corrections_in_two_clones_count_as_one_project() {
    let env = real_time();
    let source = repository(&env, "source");
    let (one, two) = (clone(&env, shown(&source), "one"), clone(&env, shown(&source), "two"));
    for (dir, session) in [(&one, "s1"), (&two, "s2")] {
        start(&env, dir, session);
        let prompt = "Always put the exporters below src/exporters/ in this repository";
        let said = json!({"prompt": prompt, "prompt_id": session, "cwd": dir});
        env.hook(session, "UserPromptSubmit", said);
        end(&env, dir, session);
    }
    let memories = env.json(&["memory", "list", "--all", "--cwd", shown(&one)]);
    let scopes: Vec<&Value> = memories.as_array().unwrap().iter().map(|memory| &memory["scope"]).collect();
    assert_eq!(scopes, ["project:one"], "{memories}");
    env.run(&["memory", "approve", memories[0]["id"].as_str().unwrap()]);
    for dir in [&one, &two] {
        assert!(brief(&env, dir).contains("exporters"), "it applies in both clones: {memories}");
    }
}
