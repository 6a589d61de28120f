//! Names of files need not be text. No command may abort where the project's folder, the user's home, the data's home or a
//! folder on PATH is not UTF-8, and what is printed as JSON is JSON.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::{LIMIT, wait_until};
use cerberus_testkit::scratch::SYSTEM_PATH;
use serde_json::{Value, json};

use crate::env;
use crate::help::all_commands;

/// How every command is called; `SESSION`, `MEMORY` and `PROPOSAL` stand for ids, `FILE` for one that does not exist yet.
pub const CALLS: &[&str] = &[
    "try",
    "quote nothing",
    "install --dry-run",
    "install --dry-run --scope project",
    "install --scope project --agent codex gemini",
    "doctor",
    "doctor --rebuild",
    "brief",
    "brief --explain",
    "brief --prompt store",
    "stats",
    "report",
    "status",
    "statusline",
    "import",
    "import codex .",
    "record next mend-it",
    "handoff",
    "run -- true",
    "log",
    "log --project .",
    "show SESSION",
    "search mend",
    "archive",
    "undo",
    "undo diff 1",
    "show SESSION --full",
    "resume SESSION --in codex --print",
    "resume SESSION --print",
    "learn keep-it-short",
    "check add MEMORY --forbid npm",
    "check list",
    "check show MEMORY",
    "check level MEMORY remind",
    "check allow-once MEMORY",
    "check remove MEMORY",
    "review",
    "loop run --agent command --prompt x --max-iterations 1 -- true",
    "loop run --agent command --prompt x --until true --dry-run -- true",
    "loop status",
    "loop list",
    "loop attach",
    "loop logs",
    "loop diff",
    "loop history",
    "loop stop",
    "loop tell hello",
    "loop restore 1",
    "loop prune",
    "memory session-start --phase odd",
    "memory session-status --all",
    "memory session-history",
    "memory session-end",
    "memory session-cleanup",
    "memory recover --list",
    "memory recover SESSION",
    "memory propose",
    "memory review",
    "memory learn always-run-the-tests",
    "memory search tests",
    "memory list",
    "memory show MEMORY",
    "memory edit MEMORY run-all-tests",
    "memory approve MEMORY",
    "memory reject MEMORY",
    "memory undo MEMORY",
    "memory stats",
    "memory export FILE",
    "memory import FILE",
    "memory learn prefer-tabs",
    "memory forget MEMORY",
    "memory publish --dry-run",
    "memory publish",
    "memory unpublish",
    "session export",
    "session complete SESSION",
    "session complete --undo",
    "session import FILE",
    "summarize",
    "pause",
    "unpause",
    "scan",
    "scan --redact",
    "forget --path *.tmp --yes",
    "project",
    "project same-as .",
    "project separate .",
    "sync init hub",
    "sync",
    "sync status",
    "sync pair",
    "sync remove DEVICE",
    "sync hub-sql",
    "sync rotate-recovery --recovery CODE",
    "sync settle --recovery CODE",
    "sync move other-hub",
    "sync move hub",
    "share --dry-run",
    "share",
    "unshare",
    "sync leave --yes",
    "forget --project --yes",
    "completions bash",
    "man",
    "uninstall --dry-run",
    "uninstall --scope project",
];

/// Called in another way below.
const OTHERS: [&str; 4] = ["hook", "watch", "mcp", "loop guard"];

/// The words of a call. `id` runs a command and returns what its JSON has at this pointer.
pub fn words(call: &str, id: impl Fn(&[&str], &str) -> String) -> Vec<String> {
    let real = |word| match word {
        "SESSION" => id(&["memory", "session-status", "--all", "--json"], "/sessions/0/id"),
        "MEMORY" => id(&["memory", "list", "--json"], "/0/id"),
        "FILE" => "kept.jsonl".to_string(),
        word => word.to_string(),
    };
    call.split(' ').map(real).collect()
}

fn odd(name: &str) -> OsString {
    OsString::from_vec([name.as_bytes(), b"-\xff\xfe"].concat())
}

struct Place {
    env: TestEnv,
    project: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

impl Place {
    /// A repository with an odd name; with `everywhere`, all folders of the user have one too.
    fn new(everywhere: bool) -> Place {
        let mut env = env();
        env.set_now(None);
        let project = env.root().join(odd("project"));
        std::fs::create_dir_all(project.join("src")).unwrap();
        env.git(&project, &["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(project.join("src").join(odd("file")), "x").unwrap();
        std::fs::write(project.join("src/store.rs"), "fn open() {}").unwrap();
        env.git(&project, &["add", "."]);
        env.git(&project, &["commit", "--quiet", "-m", "first"]);
        let mut variables = Vec::new();
        if everywhere {
            let bin = env.root().join(odd("bin"));
            std::fs::create_dir_all(&bin).unwrap();
            std::os::unix::fs::symlink(env.command().get_program(), bin.join("cerberus")).unwrap();
            for (variable, name) in [("HOME", "user"), ("CERBERUS_HOME", "home"), ("TMPDIR", "tmp")] {
                let folder = env.root().join(odd(name));
                std::fs::create_dir_all(folder.join(".codex")).unwrap();
                variables.push((variable, folder.into_os_string()));
            }
            variables.push(("PATH", [bin.as_os_str(), OsStr::new(SYSTEM_PATH)].join(OsStr::new(":"))));
        }
        Place { env, project, variables }
    }

    fn command(&self) -> Command {
        let mut command = self.env.command();
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).current_dir(&self.project);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        check(args, self.command().args(args).output().unwrap())
    }

    /// Gives a payload to the hook, as it is.
    fn hook(&self, payload: &[u8]) -> Output {
        let mut command = self.command();
        command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(payload);
        let output = check(&["hook"], child.wait_with_output().unwrap());
        assert_eq!(output.status.code(), Some(0), "a hook always exits 0");
        output
    }

    /// What an agent reports that cannot express its folder either.
    fn hold_a_session(&self) {
        let cwd = self.project.to_string_lossy().into_owned();
        let payload = |cwd: &str, event: &str, extra: Value| {
            let mut payload =
                json!({"session_id": "s1", "cwd": cwd, "hook_event_name": event, "transcript_path": "/x"});
            payload.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            payload.to_string()
        };
        let file = json!({"file_path": format!("{cwd}/src/store.rs"), "content": "fn open() {}"});
        let used = json!({"tool_name": "Write", "tool_use_id": "t1", "tool_input": file});
        for (event, extra) in [
            ("SessionStart", json!({"source": "startup"})),
            ("UserPromptSubmit", json!({"prompt": "No, always run the tests before you commit"})),
            ("PostToolUse", used),
            ("Stop", json!({"last_assistant_message": "Done."})),
        ] {
            let said = payload(&cwd, event, extra);
            self.hook(said.as_bytes());
            // The bytes themselves, and half a character.
            self.hook(
                &said.replace('\u{fffd}', "\u{1}").bytes().map(|b| if b == 1 { 0xff } else { b }).collect::<Vec<_>>(),
            );
            self.hook(said.replace('\u{fffd}', "\\udcff").as_bytes());
        }
    }

    fn id(&self, args: &[&str], pointer: &str) -> String {
        let output = self.run(args);
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        printed.pointer(pointer).and_then(Value::as_str).unwrap_or("none").to_string()
    }
}

/// It ended by itself, and without a panic.
fn check(args: &[&str], output: Output) -> Output {
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let code = output.status.code();
    assert_eq!(output.status.signal(), None, "{args:?}: {told}");
    assert!(code.is_some_and(|code| code < 100), "{args:?}: {code:?}: {told}");
    assert!(!told.contains("panicked"), "{args:?}: {told}");
    assert!(std::str::from_utf8(&output.stdout).is_ok(), "{args:?}: {said}");
    output
}

/// Every command that the program has and that has none below it.
fn commands(place: &Place) -> Vec<String> {
    let all = all_commands(&place.env);
    let is_last = |name: &&Vec<String>| !all.iter().any(|other| other.len() > name.len() && other.starts_with(name));
    all.iter().filter(is_last).map(|name| name.join(" ")).collect()
}

#[test]
fn every_command_is_called_here() {
    let place = Place::new(false);
    let all = commands(&place);
    assert!(all.len() > 40, "{all:?}");
    for command in all.iter().filter(|command| !OTHERS.contains(&command.as_str())) {
        let is_called = CALLS.iter().any(|call| *call == command || call.starts_with(&format!("{command} ")));
        assert!(is_called, "`cerberus {command}` is not in CALLS");
    }
}

fn no_command_aborts(everywhere: bool) {
    let place = Place::new(everywhere);
    place.hold_a_session();
    for call in CALLS {
        for form in [&[][..], &["--json"]] {
            let words = words(call, |args, pointer| place.id(args, pointer));
            let (own, rest) = words.split_at(words.iter().position(|word| word == "--").unwrap_or(words.len()));
            let args: Vec<&str> = own.iter().map(String::as_str).chain(form.iter().copied()).collect();
            let args: Vec<&str> = args.into_iter().chain(rest.iter().map(String::as_str)).collect();
            let output = place.run(&args);
            // The output of another program, a script and a page are no results.
            let is_result = !matches!(own[0].as_str(), "run" | "completions" | "man" | "try");
            if !form.is_empty() && is_result {
                for value in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
                    assert!(value.is_ok(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
                }
            }
            let refused = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() != Some(2), "{args:?}: {refused}");
        }
    }
}

#[test]
fn no_command_aborts_in_a_project_of_an_odd_name() {
    no_command_aborts(false);
}

#[test]
fn no_command_aborts_where_nothing_has_a_name_that_is_text() {
    no_command_aborts(true);
}

#[test]
fn paths_in_json_are_told_as_far_as_they_are_text() {
    let place = Place::new(false);
    let shown = place.project.to_string_lossy().into_owned();
    assert!(shown.ends_with("project-\u{fffd}\u{fffd}"));
    for (args, pointer) in
        [(&["status", "--json"][..], "/project/root"), (&["memory", "session-status", "--json"], "/project/root")]
    {
        assert_eq!(place.id(args, pointer), shown);
    }
    let args = ["install", "--dry-run", "--scope", "project", "--agent", "codex", "--json"];
    assert_eq!(place.id(&args, "/agents/0/path"), format!("{shown}/.codex/hooks.json"));
}

#[test]
fn the_server_answers_and_watch_goes_on() {
    for everywhere in [false, true] {
        let place = Place::new(everywhere);
        place.hold_a_session();
        let mut command = place.command();
        let mut server = command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = server.stdin.take().unwrap();
        let start =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let requests = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "session_context", "arguments": {}}}),
        ];
        requests.iter().for_each(|request| writeln!(stdin, "{request}").unwrap());
        drop(stdin);
        let output = check(&["mcp"], server.wait_with_output().unwrap());
        let answers = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
        let last = answers.map(|answer| answer.unwrap()).last().unwrap();
        assert_eq!((&last["id"], last.get("error")), (&json!(2), None), "{last}");

        let home = place.variables.iter().find(|(name, _)| *name == "CERBERUS_HOME");
        let home = home.map_or_else(|| place.env.home(), |(_, home)| PathBuf::from(home));
        let is_view = |path: &Path| path.file_name().unwrap().as_bytes().starts_with(b"view-");
        let views =
            || std::fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().path()).filter(|path| is_view(path));
        views().for_each(|view| std::fs::remove_file(view).unwrap());
        let mut watch = place.command().args(["watch", "--interval", "1"]).stdout(Stdio::null()).spawn().unwrap();
        wait_until("watch to look at the sessions", LIMIT, || views().next()).unwrap();
        assert_eq!(watch.try_wait().unwrap(), None, "it goes on");
        watch.kill().unwrap();
        watch.wait().unwrap();
    }
}
