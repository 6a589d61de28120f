//! Nothing that the program does needs a network or asks for one, apart from what the user set up.
//!
//! Every command and hook is run twice, the second time in a network of its own without routes, where it must end as it did
//! before. Both times strace writes down whatever it, or a process that it starts, says about sockets: an attempt counts,
//! even one that fails.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use cerberus_testkit::answering::Answering;
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::need;
use serde_json::{Value, json};

use crate::env;
use crate::odd_paths::{CALLS, words};
use crate::summary::{saying, use_ollama, work};

/// Agents whose hooks take this payload.
const AGENTS: [&str; 4] = ["claude-code", "codex", "gemini", "qwen-code"];

/// Called with something on standard input, besides `hook`.
const SERVER: &str = "mcp";

/// An environment in which every program is started by these words.
struct Watched {
    env: TestEnv,
    words: Vec<OsString>,
    trace: PathBuf,
}

impl Watched {
    /// Whatever is started below `outer` writes down what it does with sockets.
    fn new(outer: &[&str]) -> Watched {
        let env = env();
        let trace = env.root().join("trace");
        let options = ["strace", "-f", "--seccomp-bpf", "-qq", "-s", "200", "-e", "trace=network", "-o"];
        let words = outer.iter().chain(&options).map(OsString::from).chain([trace.clone().into_os_string()]).collect();
        Watched { env, words, trace }
    }

    /// Runs the program to its end, and to that of the processes that it leaves behind if it is traced.
    fn run(&self, args: &[&str], input: &str) -> Output {
        let real_time = args.iter().any(|word| matches!(*word, "sync" | "share" | "unshare" | "loop"));
        let mut command = self.env.command_for(&self.words[0]);
        if real_time {
            command.env_remove("CERBERUS_NOW");
        }
        command.args(&self.words[1..]).arg(env!("CARGO_BIN_EXE_cerberus")).args(args);
        ended(&mut command, input)
    }

    /// How every hook and every command ended.
    fn run_everything(&self) -> Vec<(String, Option<i32>)> {
        let mut ends = Vec::new();
        let project = self.env.project();
        self.env.git(&project, &["remote", "add", "origin", "https://git.example.com/acme/hydra.git"]);
        for agent in AGENTS {
            for (event, extra) in events() {
                let payload = self.env.payload(agent, event, extra);
                let output = self.run(&["hook", agent], &String::from_utf8(payload).unwrap());
                assert_eq!(output.status.code(), Some(0), "a hook always exits 0");
            }
        }
        let requests = requests().map(|request| format!("{request}\n")).concat();
        let server = self.run(&[SERVER], &requests);
        assert!(String::from_utf8_lossy(&server.stdout).contains("\"id\":2"), "{server:?}");
        ends.push((SERVER.to_string(), server.status.code()));
        for call in CALLS {
            let words = words(call, |args, pointer| {
                let printed: Value = serde_json::from_str(&self.env.ok(args)).unwrap();
                printed.pointer(pointer).and_then(Value::as_str).unwrap_or("none").to_string()
            });
            let output = self.run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
            ends.push((call.to_string(), output.status.code()));
        }
        ends
    }

    /// What was said about sockets that leave this machine, or that are those of another process. Sockets of a file
    /// are left out.
    fn attempts(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(&self.trace).unwrap_or_default();
        let lines = text.lines().filter(|line| line.contains("AF_") && !line.contains("AF_UNIX"));
        lines.map(|line| line.split_once(' ').map_or(line, |(_, call)| call).trim().to_string()).collect()
    }
}

fn ended(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command need not read it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// A session from its start to its end.
fn events() -> [(&'static str, Value); 5] {
    let file = json!({"file_path": "src/store.rs", "content": "fn open() {}"});
    let failed = json!({"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": "cargo test"},
        "tool_response": {"stdout": "test a ... FAILED", "stderr": "", "interrupted": false, "exit_code": 101}});
    [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "Always run the tests before you commit."})),
        ("PostToolUse", json!({"tool_name": "Write", "tool_use_id": "t1", "tool_input": file})),
        ("PostToolUse", failed),
        ("SessionEnd", json!({"reason": "exit"})),
    ]
}

fn requests() -> [Value; 3] {
    let start =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let call = json!({"name": "session_context", "arguments": {}});
    [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ]
}

#[test]
fn no_command_asks_for_a_network_or_needs_one() {
    let (true, Some(isolated)) = (need::has(&["strace"]), need::without_network()) else { return };
    let [ends, isolated] = [&[][..], isolated].map(|outer| {
        let watched = Watched::new(outer);
        let ends = watched.run_everything();
        assert_eq!(watched.attempts(), BTreeSet::new());
        ends
    });
    let differing: Vec<_> = ends.iter().zip(&isolated).filter(|(with, without)| with != without).collect();
    assert!(differing.is_empty() && ends.len() == isolated.len(), "with a network, and without: {differing:?}");
    let succeeded = ends.iter().filter(|(_, code)| *code == Some(0)).count();
    assert!(succeeded * 10 > ends.len() * 7, "most commands had something to do: {ends:?}");
}

/// The address of a server as strace writes it.
fn address(server: &Answering) -> String {
    format!("sin_port=htons({}), sin_addr=inet_addr(\"127.0.0.1\")", server.url().rsplit(':').next().unwrap())
}

/// The summary that the user set up is the only one who asks, and asks nobody else. This also shows that the trace
/// sees attempts, those of processes that outlive their command too.
#[test]
fn what_the_user_set_up_is_all_that_is_asked() {
    if !need::has(&["strace"]) {
        return;
    }
    let server = saying("Split proxy.go into three files. Fix the race next.");
    let watched = Watched::new(&[]);
    work(&watched.env, 2, 1, 0);
    use_ollama(&watched.env, &server);
    let asked = || {
        let attempts = watched.attempts();
        let connects: Vec<&String> = attempts.iter().filter(|line| line.starts_with("connect(")).collect();
        let is_ours = connects.iter().all(|line| line.contains(&address(&server)));
        assert!(!connects.is_empty() && is_ours, "{attempts:?}");
    };
    let payload = watched.env.payload("s1", "SessionEnd", json!({"reason": "exit"}));
    watched.run(&["hook", "claude-code"], &String::from_utf8(payload).unwrap());
    asked();
    fs::remove_file(&watched.trace).unwrap();
    let output = watched.run(&["summarize"], "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    asked();
    assert_eq!(server.requests().len(), 2);
}
