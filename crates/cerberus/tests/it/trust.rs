//! What is not ours is not trusted: a home that others can write to, a git directory that does not know the folder. And
//! a limit on the size of files disturbs nobody. An agent runs none of the commands that are the user's.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use cerberus_testkit::env::TestEnv;
use serde_json::{Value, json};

use crate::env;
use crate::forget::holding;
use crate::poison::{as_agent, as_agent_that_claims, said};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

/// In this home hooks store and run nothing, and every command says why and what to do.
fn is_refused(env: &TestEnv, why: &str, repair: &str) {
    let before = contents(&env.home());
    for (event, extra) in [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "Write the lighthouse", "prompt_id": "p"})),
        (
            "PostToolUse",
            json!({"tool_name": "Write", "tool_use_id": "w", "tool_input": {"file_path": "lighthouse.rs"}}),
        ),
        ("SessionEnd", json!({"reason": "other"})),
    ] {
        assert_eq!(env.hook("s9", event, extra), "", "{why}: {event} is told nothing");
    }
    // Not even a failure is noted.
    assert_eq!(env.hook_bytes(b"no payload").status.code(), Some(0));
    assert_eq!(contents(&env.home()), before, "{why}: nothing is stored");
    for args in [
        &["status"][..],
        &["brief"],
        &["record", "next", "lighthouse"],
        &["memory", "learn", "Pay the lighthouse"],
        &["forget", "--project", "--yes"],
        &["install", "--dry-run"],
        &["mcp"],
        &["run", "--", "true"],
    ] {
        let refused = env.run(args);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains(why) && said.contains(repair), "{args:?}: {said}");
    }
    let report = env.doctor();
    let checks = report["checks"].as_array().unwrap();
    assert_eq!((checks.len(), &checks[0]["name"], &report["ok"]), (1, &json!("home"), &json!(false)), "{report}");
    assert!(checks[0]["detail"].as_str().unwrap().contains(why), "{report}");
    assert!(checks[0]["fix"].as_str().unwrap().contains(repair), "{report}");
    let mut line = env.command();
    let line = line.arg("statusline").stdin(Stdio::null()).output().unwrap();
    assert_eq!(line.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&line.stdout).contains("cerberus doctor"));
    assert_eq!(contents(&env.home()), before, "{why}: nothing was written");
}

/// A home whose settings name a program that leaves a trace if it runs.
fn with_provider(env: &TestEnv) -> std::path::PathBuf {
    let trace = env.root().join("trace");
    env.ok(&["record", "next", "sail"]);
    let command = format!("touch {}", trace.display());
    let settings = json!(["sh", "-c", command]);
    fs::write(env.home().join("config.toml"), format!("[summary]\nprovider = \"command\"\ncommand = {settings}\n"))
        .unwrap();
    trace
}

#[test]
fn in_a_home_that_others_can_write_to_nothing_is_stored_or_run() {
    for shared in [0o770, 0o702, 0o777, 0o1777] {
        let env = env();
        let trace = with_provider(&env);
        mode(&env.home(), shared);
        is_refused(&env, "can be written by other users", "chmod -R go=");
        assert!(!trace.exists(), "{shared:o}: a program ran");
        mode(&env.home(), 0o755);
        assert!(env.start("s1", "startup").contains("next:sail"), "readable by others is not writable");
    }
}

#[test]
fn in_a_home_of_another_user_nothing_is_stored_or_run() {
    let env = env();
    let trace = with_provider(&env);
    if chown(env.home(), Some(12_345), None).is_ok() {
        is_refused(&env, "belongs to another user (id 12345)", "chown -R");
        assert!(!trace.exists(), "a program ran");
        chown(env.home(), Some(0), None).unwrap();
        assert!(env.start("s1", "startup").contains("next:sail"));
    } else {
        // Only root can give folders away; a user has those of root, or of a server where root's are its own.
        let user = rustix::process::geteuid().as_raw();
        let owner = |folder: &str| Some(std::fs::metadata(folder).ok()?.uid()).filter(|owner| *owner != user);
        let folders = ["/usr", "/var/lib/postgresql"];
        let (folder, owner) = folders.into_iter().find_map(|folder| Some((folder, owner(folder)?))).unwrap();
        let refused = env.command().env("CERBERUS_HOME", folder).arg("status").output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        let expected = format!("belongs to another user (id {owner})");
        assert!(refused.status.code() == Some(1) && said.contains(&expected), "{said}");
    }
}

/// A hook under a limit on the size of every file that it writes, in blocks of 512 bytes.
fn hook_with_limit(env: &TestEnv, blocks: usize, event: &str, extra: Value) -> Output {
    let mut command = env.command_for("/bin/sh");
    command.args(["-c", "ulimit -f \"$1\"; exec \"$0\" hook claude-code", env!("CARGO_BIN_EXE_cerberus")]);
    command.arg(blocks.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &env.payload("s1", event, extra)).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_limit_on_the_size_of_files_is_like_a_full_disk() {
    let written = |n: usize| {
        let file = format!("f{n}.rs");
        json!({"tool_name": "Write", "tool_use_id": file, "tool_input": {"file_path": file}})
    };
    for blocks in [0, 1, 2, 5] {
        let env = env();
        env.hook("s1", "PostToolUse", written(1));
        for (event, extra) in [
            ("PostToolUse", written(2)),
            ("SessionStart", json!({"source": "startup"})),
            ("UserPromptSubmit", json!({"prompt": "go on ".repeat(600), "prompt_id": "p"})),
            ("SessionEnd", json!({"reason": "other"})),
        ] {
            let output = hook_with_limit(&env, blocks, event, extra);
            assert_eq!(output.status.code(), Some(0), "{blocks} {event}: {output:?}");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{blocks} {event}");
        }
        env.hook("s1", "PostToolUse", written(3));
        let brief = env.brief();
        assert!(brief.contains("impl:f1.rs") && brief.contains("impl:f3.rs"), "{blocks}: {brief}");
    }
}

fn brief_in(env: &TestEnv, folder: &Path) -> String {
    env.json(&["brief", "--cwd", folder.to_str().unwrap()])["text"].as_str().unwrap().to_string()
}

/// A folder that somebody else made, with these files in it.
fn downloaded(env: &TestEnv, name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
    let folder = env.root().join(name);
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_folder_that_points_at_another_repository_learns_nothing_of_it() {
    let mut env = env();
    env.set_now(None);
    env.git(&env.project(), &["remote", "add", "origin", "https://example.com/hydra.git"]);
    env.git(&env.project(), &["commit", "--quiet", "--allow-empty", "-m", "the lighthouse begins"]);
    env.git(&env.project(), &["worktree", "add", "--quiet", "-b", "side", "../side"]);
    env.ok(&["record", "decision", "the lighthouse is painted red"]);
    assert!(brief_in(&env, &env.root().join("side")).contains("painted red"), "a real worktree is told");
    let git = env.project().join(".git");
    let to = |path: &Path| format!("gitdir: {}\n", path.display());
    let head = "ref: refs/heads/main\n";
    let common = format!("{}\n", git.display());
    for (name, files) in [
        ("plain", vec![(".git", to(&git))]),
        ("linked", vec![(".git", to(&git.join("worktrees/side")))]),
        ("folder", vec![(".git/HEAD", head.to_string()), (".git/commondir", common.clone())]),
        (
            "indirect",
            vec![
                (".git", "gitdir: own/worktrees/x\n".to_string()),
                ("own/worktrees/x/HEAD", head.to_string()),
                ("own/worktrees/x/commondir", common),
                ("own/worktrees/x/gitdir", format!("{}\n", env.root().join("indirect/.git").display())),
            ],
        ),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let folder = downloaded(&env, name, &files);
        fs::create_dir_all(folder.join("src")).unwrap();
        for cwd in [folder.clone(), folder.join("src")] {
            let told =
                env.hook("spy", "SessionStart", json!({"source": "startup", "cwd": cwd})) + &brief_in(&env, &cwd);
            assert!(!told.contains("lighthouse"), "{name}: {told}");
        }
        env.ok(&["--cwd", folder.to_str().unwrap(), "record", "decision", &format!("{name} wants to be heard")]);
        assert!(brief_in(&env, &folder).contains("wants to be heard"), "{name} is a project of its own");
    }
    assert!(!brief_in(&env, &env.project()).contains("wants to be heard"), "and tells the other one nothing");
    let report = env.run(&["doctor", "--json", "--cwd", env.root().join("plain").to_str().unwrap()]);
    let said = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(said.contains("does not point back"), "{said}");
}

#[test]
fn a_repository_that_names_its_worktree_is_believed() {
    let env = env();
    let kept = env.root().join("kept.git");
    let folder = env.root().join("apart");
    fs::create_dir(&folder).unwrap();
    env.git(&folder, &["init", "--quiet", "--separate-git-dir", kept.to_str().unwrap()]);
    let project =
        |folder: &Path| env.json(&["memory", "session-status", "--cwd", folder.to_str().unwrap()])["project"].clone();
    let log = |folder: &Path| {
        let run = Command::new("git").args(["rev-parse", "--absolute-git-dir"]).current_dir(folder).output().unwrap();
        String::from_utf8_lossy(&run.stdout).trim().to_string()
    };
    assert_eq!(log(&folder), kept.to_str().unwrap());
    let copy = downloaded(&env, "copy", &[(".git", &format!("gitdir: {}\n", kept.display()))]);
    env.git(&folder, &["config", "core.worktree", folder.to_str().unwrap()]);
    let decide = |folder: &Path, text: &str| env.ok(&["--cwd", folder.to_str().unwrap(), "record", "decision", text]);
    decide(&folder, "the lighthouse is painted red");
    assert!(brief_in(&env, &folder).contains("painted red"));
    assert!(!brief_in(&env, &copy).contains("painted red"), "it names another folder");
    assert_eq!(project(&copy)["root"], copy.to_str().unwrap());
    assert!(!holding(&env, "painted red").is_empty());
}

/// The commands that `docs/commands.md` says an agent may not run. The unit tests of `commands/permission.rs` compare them
/// with the table.
fn commands_of_the_user() -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## What an agent may not run").unwrap();
    let block = section.split("```\n").nth(1).unwrap();
    let line = |line: &str| {
        let (line, _) = line.strip_prefix("cerberus ").unwrap().split_once("  ").unwrap();
        line.split(' ').map(|word| word.trim_matches('\'').to_string()).collect()
    };
    let found: Vec<Vec<String>> = block.lines().map(line).collect();
    assert!(found.len() > 30, "{found:?}");
    found
}

/// A home with a session, a memory, a check, settings of an agent.
fn in_use() -> (TestEnv, String) {
    let env = env();
    fs::create_dir_all(env.root().join("user/.claude")).unwrap();
    env.ok(&["install", "--agent", "claude-code"]);
    let id = env.json(&["learn", "Use pnpm, not npm.", "--scope", "project"])["id"].as_str().unwrap().to_string();
    env.ok(&["check", "add", &id, "--level", "block"]);
    env.start("s1", "startup");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "Paint the lighthouse red", "prompt_id": "p"}));
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    env.ok(&["status"]);
    (env, id)
}

/// The arguments, with the ids of what is there.
fn meant(words: &[String], memory: &str) -> Vec<String> {
    let is_session = words[0] == "forget" || words.contains(&"recover".to_string());
    let id = if is_session && !words.contains(&"--memory".to_string()) { "s1" } else { memory };
    let asks = ["forget", "remove", "--discard", "session-cleanup", "--source"];
    let yes = words.iter().any(|word| asks.contains(&word.as_str())) && words[0] != "check";
    let words = words.iter().map(|word| if word == "ID" { id.to_string() } else { word.clone() });
    words.chain(yes.then(|| "--yes".to_string())).collect()
}

#[test]
fn an_agent_runs_none_of_the_users_commands_and_changes_nothing() {
    let (env, memory) = in_use();
    let settings = env.root().join("user/.claude");
    let state = || (contents(&env.home()), contents(&settings), contents(&env.project()));
    let before = state();
    let all = commands_of_the_user();
    for words in &all {
        let args = meant(words, &memory);
        let output = env.command().args(&args).env("CLAUDECODE", "1").stdin(Stdio::null()).output().unwrap();
        let told = said(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert!(
            told.contains("only the user can") && told.contains("terminal of their own: cerberus"),
            "{args:?}: {told}"
        );
        assert!(args.iter().all(|word| told.contains(word.as_str())), "the line to type, {args:?}: {told}");
    }
    assert_eq!(state(), before, "nothing was changed");
    // Nor is it the variable alone that tells: the process of its session does too.
    for words in &all {
        let args = meant(words, &memory);
        let output = as_agent(&env, &args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(output.status.code() == Some(1) && said(&output).contains("only the user can"), "{args:?}");
    }
    assert!(!holding(&env, "lighthouse").is_empty());
    assert!(env.home().join("checks").exists() && !env.home().join("paused.json").exists());
}

#[cfg(all(feature = "loop", feature = "sync"))]
#[test]
fn a_script_runs_all_of_the_users_commands() {
    let (env, memory) = in_use();
    for words in commands_of_the_user().iter().filter(|words| words[..2.min(words.len())] != ["loop", "run"]) {
        let mut command = env.command_for("/bin/sh");
        command.args(["-c", "\"$0\" \"$@\"; exit $?", env!("CARGO_BIN_EXE_cerberus")]).args(meant(words, &memory));
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(!said(&output).contains("only the user can"), "{words:?}: {}", said(&output));
    }
    assert!(holding(&env, "lighthouse").is_empty(), "it was forgotten");
    assert!(!fs::read_to_string(env.root().join("user/.claude/settings.json")).is_ok_and(|text| text.contains("hook")));
}

#[test]
fn an_agent_forgets_only_the_session_that_it_runs_in() {
    let (env, _) = in_use();
    let refused = as_agent(&env, &["forget", "--session", "s1", "--yes"]);
    assert!(said(&refused).contains("only the one that it runs in"), "{}", said(&refused));
    // Together with another one, neither.
    let both = as_agent(&env, &["forget", "--session", "live", "--session", "s1", "--yes"]);
    assert!(said(&both).contains("only the one that it runs in"), "{}", said(&both));
    // A variable says who calls, but not which session is its own.
    let output = env.command().args(["forget", "--session", "live", "--yes"]).env("CODEX_THREAD_ID", "live").output();
    assert!(said(&output.unwrap()).contains("only the one that it runs in"));
    assert!(!holding(&env, "lighthouse").is_empty());
    let is_known = || env.sessions().iter().any(|session| session["agent_session_id"] == "live");
    assert!(is_known());
    let own = as_agent(&env, &["forget", "--session", "live", "--yes"]);
    assert!(own.status.success(), "{}", said(&own));
    assert!(!is_known() && !holding(&env, "lighthouse").is_empty());
}

#[cfg(feature = "loop")]
#[test]
fn a_session_that_a_process_below_an_agent_claims_is_not_its_own() {
    let (env, _) = in_use();
    let output = as_agent_that_claims(&env, &["forget", "--session", "s1", "--yes"]);
    assert!(said(&output).contains("only the one that it runs in"), "{}", said(&output));
    assert!(!holding(&env, "lighthouse").is_empty());
}

#[test]
fn what_a_loop_starts_is_an_agents() {
    let (env, memory) = in_use();
    for args in [&["pause"][..], &["check", "remove", &memory], &["loop", "run", "--agent", "command", "--", "true"]] {
        let output = env.command().args(args).env("CERBERUS_LOOP", "1-1").output().unwrap();
        assert!(output.status.code() == Some(1) && said(&output).contains("only the user can"), "{args:?}");
    }
}

#[cfg(feature = "sync")]
#[test]
fn doctor_says_what_leaves_this_machine() {
    let mut env = env();
    env.set_now(None);
    env.git(&env.project(), &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let leaves = || {
        let report = env.doctor();
        let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "leaves").cloned();
        check.unwrap()["detail"].as_str().unwrap().to_string()
    };
    assert_eq!(leaves(), "nothing leaves this machine");
    let hub = tempfile::tempdir().unwrap();
    let url = hub.path().to_str().unwrap();
    env.ok(&["sync", "init", url]);
    assert_eq!(leaves(), format!("no project is shared yet with your own devices at {url}"));
    env.ok(&["share"]);
    assert_eq!(leaves(), format!("hydra shared with your own devices at {url}"));
    fs::write(env.home().join("config.toml"), "[summary]\nprovider = \"command\"\ncommand = [\"true\"]\n").unwrap();
    assert!(leaves().contains("; facts of each session go to command"), "{}", leaves());
}
