//! A hermetic environment for the real binary: its own home, its own project, a clock that the test sets.
//!
//! Only PATH is taken from the machine's environment; nothing outside the temporary folder is touched.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use cerberus_recall::brief::FIRST_LINE;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scratch::SYSTEM_PATH;

/// The time at which tests run, unless they set another.
pub const START: &str = "2026-01-22T13:35:14Z";

#[derive(Debug)]
pub struct TestEnv {
    dir: TempDir,
    binary: PathBuf,
    now: Option<String>,
    /// The processes that play the agent. They end when their standard input is closed.
    agents: Mutex<Vec<Child>>,
}

impl TestEnv {
    /// `binary` is the program under test; it runs at [`START`] in an empty git repository called `hydra`.
    pub fn new(binary: impl AsRef<Path>) -> TestEnv {
        let dir = tempfile::Builder::new().prefix("cerberus-").tempdir().expect("makes a temporary directory");
        let env = TestEnv {
            dir,
            binary: binary.as_ref().to_path_buf(),
            now: Some(START.to_string()),
            agents: Mutex::default(),
        };
        std::fs::create_dir_all(env.root().join("user")).expect("makes a directory in a new one");
        env.add_repository("hydra");
        env
    }

    /// The same environment at another time; `None` uses the machine's clock.
    pub fn set_now(&mut self, now: Option<&str>) {
        self.now = now.map(str::to_string);
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("the directory is there")
    }

    /// `CERBERUS_HOME`.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("hydra")
    }

    /// Another repository next to the first one.
    pub fn add_repository(&self, name: &str) -> PathBuf {
        let path = self.root().join(name);
        std::fs::create_dir_all(&path).expect("makes a directory in a new one");
        self.git(&path, &["init", "--quiet", "--initial-branch=main"]);
        path
    }

    pub fn git(&self, dir: &Path, args: &[&str]) -> String {
        let author = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
        let output = self.clean(Command::new("git").args(author).args(args).current_dir(dir)).output();
        let output = output.expect("git is installed");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn clean<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env_clear()
            .env("PATH", SYSTEM_PATH)
            .env("HOME", self.root().join("user"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("CERBERUS_HOME", self.home())
            // Where a binary built for `dev/coverage` writes its profile; otherwise that would be its working
            // directory.
            .envs(std::env::var_os("LLVM_PROFILE_FILE").map(|file| ("LLVM_PROFILE_FILE", file)))
    }

    /// The binary in the project's folder, without arguments yet.
    pub fn command(&self) -> Command {
        self.command_for(&self.binary)
    }

    /// Any other program in the same folder and environment.
    pub fn command_for(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.clean(&mut command).current_dir(self.project());
        if let Some(now) = &self.now {
            command.env("CERBERUS_NOW", now);
        }
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command().args(args).stdin(Stdio::null()).output().expect("the binary runs")
    }

    /// Runs a command that must succeed. Returns its output.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cerberus {args:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command with `--json` that must succeed. Returns its output.
    pub fn json(&self, args: &[&str]) -> Value {
        let printed = without_first_line(&self.ok(&[args, &["--json"]].concat()));
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("cerberus {args:?}: {error}: {printed}"))
    }

    /// What `doctor` found. It must exit 1 exactly if something is wrong.
    pub fn doctor(&self) -> Value {
        let output = self.run(&["doctor", "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("doctor prints JSON");
        let expected = if report["ok"] == true { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(expected), "{report}");
        report
    }

    /// Rebuilds the view, whatever else `doctor` finds.
    pub fn rebuild(&self) {
        let output = self.run(&["doctor", "--rebuild", "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("doctor prints JSON");
        let checks = report["checks"].as_array().expect("doctor lists its checks");
        let is_built = checks.iter().any(|check| check["name"] == "view" && check["ok"] == true);
        assert!(is_built, "{report}");
    }

    /// The brief's text as it is now.
    pub fn brief(&self) -> String {
        self.json(&["brief"])["text"].as_str().expect("a brief has a text").to_string()
    }

    /// Passes raw bytes to the hook.
    pub fn hook_bytes(&self, payload: &[u8]) -> Output {
        self.hook_of("claude-code", payload)
    }

    /// Passes raw bytes to an agent's hook. A session starts in a process of its own, because the test itself plays the
    /// user: the commands that it runs are not those of an agent.
    pub fn hook_of(&self, agent: &str, payload: &[u8]) -> Output {
        let is_start = [&b"essionStart"[..], b"\"source\"", b"\"start\""]
            .iter()
            .any(|name| payload.windows(name.len()).any(|window| window == *name));
        if is_start { self.start_of(agent, payload) } else { self.direct_hook(agent, payload) }
    }

    /// Runs the hook in a process that lives as long as this environment.
    fn start_of(&self, agent: &str, payload: &[u8]) -> Output {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let (program, number) = (self.root().join("agent"), agents.len());
        if number == 0 {
            // The name of a shell would be skipped when the hook looks for the agent.
            std::os::unix::fs::symlink("/bin/sh", &program).expect("makes a link in a new directory");
        }
        let file = |ending: &str| self.root().join(format!("start-{number}.{ending}"));
        std::fs::write(file("in"), payload).expect("writes a payload");
        const SCRIPT: &str = "\"$0\" hook \"$1\" <\"$2.in\" >\"$2.out\" 2>\"$2.err\"; echo $?; exec >&-; read end";
        // Cline runs plugins in a process of their own, which calls the hook.
        const PLUGIN_SCRIPT: &str = "\"$3\" -c '\"$0\" hook \"$1\"; exit $?' \"$0\" \"$1\" <\"$2.in\" >\"$2.out\" \
            2>\"$2.err\"; echo $?; exec >&-; read end";
        let script = if agent == "cline" { PLUGIN_SCRIPT } else { SCRIPT };
        let mut command = self.command_for(&program);
        command.args(["-c", script]).arg(&self.binary).arg(agent).arg(self.root().join(format!("start-{number}")));
        command.arg(&program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell is there");
        let printed = child.stdout.take().expect("standard output is a pipe");
        agents.push(child);
        drop(agents);
        let code = std::io::read_to_string(printed).expect("the hook ends");
        let code: i32 = code.trim().parse().expect("an exit code");
        let read = |ending: &str| std::fs::read(file(ending)).expect("the hook's output is there");
        let output = Output { status: ExitStatus::from_raw(code << 8), stdout: read("out"), stderr: read("err") };
        ["in", "out", "err"].iter().for_each(|ending| std::fs::remove_file(file(ending)).expect("removes its files"));
        output
    }

    /// Ends the process that plays the agent of the session that started as this one, counted from 0.
    pub fn end_agent(&self, number: usize) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = agents.get_mut(number).expect("that session has started");
        drop(agent.stdin.take());
        agent.wait().expect("the agent ends");
    }

    fn direct_hook(&self, agent: &str, payload: &[u8]) -> Output {
        let mut command = self.command();
        command.args(["hook", agent]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        // A hook may stop reading early; the caller checks the result.
        let _ = child.stdin.take().expect("standard input is a pipe").write_all(payload);
        child.wait_with_output().expect("the hook ends")
    }

    /// Passes a payload to the hook, which must accept it. Returns the reply.
    pub fn hook(&self, session: &str, event: &str, extra: Value) -> String {
        let output = self.hook_bytes(&self.payload(session, event, extra));
        assert_eq!(output.status.code(), Some(0), "a hook always exits 0");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "a hook is silent");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What the session is told at its start.
    pub fn start(&self, session: &str, source: &str) -> String {
        let reply = self.hook(session, "SessionStart", json!({"source": source}));
        if reply.is_empty() {
            return reply;
        }
        let reply: Value = serde_json::from_str(&reply).expect("a reply is JSON");
        assert_eq!(reply["hookSpecificOutput"]["hookEventName"], "SessionStart");
        without_first_line(reply["hookSpecificOutput"]["additionalContext"].as_str().expect("a reply has a text"))
    }

    /// The agent writes a file of the project.
    pub fn write_file(&self, session: &str, id: &str, path: &str, content: &str) {
        let path = self.project().join(path);
        let input = json!({"file_path": path, "content": content});
        let response = json!({"type": "create", "filePath": path, "content": content, "structuredPatch": []});
        let extra = json!({"tool_name": "Write", "tool_use_id": id, "tool_input": input, "tool_response": response});
        self.hook(session, "PostToolUse", extra);
    }

    /// A payload as the client sends it.
    pub fn payload(&self, session: &str, event: &str, extra: Value) -> Vec<u8> {
        let mut payload = json!({
            "session_id": session,
            "transcript_path": self.root().join(format!("user/.claude/projects/-hydra/{session}.jsonl")),
            "cwd": self.project(),
            "permission_mode": "default",
            "hook_event_name": event,
        });
        let fields = payload.as_object_mut().expect("an object");
        fields.extend(extra.as_object().expect("extra fields are an object").clone());
        payload.to_string().into_bytes()
    }

    /// All of the project's sessions.
    pub fn sessions(&self) -> Vec<Value> {
        let status = self.json(&["memory", "session-status", "--all"]);
        status["sessions"].as_array().expect("a list of sessions").clone()
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        let agents = self.agents.get_mut().unwrap_or_else(PoisonError::into_inner);
        for agent in agents {
            drop(agent.stdin.take());
            let _ = agent.wait();
        }
    }
}

/// JSON, or the text of a brief, without the line that every brief begins with. `quote` tests that it is there.
pub fn without_first_line(printed: &str) -> String {
    printed.replace(&format!("{FIRST_LINE}\\n"), "").replace(&format!("{FIRST_LINE}\n"), "")
}

/// The codes of a session's facts of one kind.
pub fn codes(session: &Value, kind: &str) -> Vec<String> {
    let facts = session["facts"].as_array().expect("a list of facts");
    facts
        .iter()
        .filter(|fact| fact["kind"] == kind)
        .map(|fact| fact["code"].as_str().unwrap_or_default().to_string())
        .collect()
}
