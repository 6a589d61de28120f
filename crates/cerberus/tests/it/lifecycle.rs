//! Sessions that end, idle, are killed, come back, or overlap. The clock is an argument; only processes really die.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use cerberus_testkit::env::{TestEnv, codes};
use cerberus_testkit::process::LIMIT;
use serde_json::{Value, json};

use crate::env;

/// A process of its own that runs hooks as its children, as an agent does, and then waits to be killed.
pub struct Agent {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Agent {
    pub fn start(env: &TestEnv) -> Agent {
        Agent::start_as(env, "claude-code")
    }

    pub fn start_as(env: &TestEnv, agent: &str) -> Agent {
        // Python, not a shell: the nearest ancestor that is not a shell must be this process.
        const BODY: &str = "import subprocess, sys\n\
            for line in sys.stdin:\n    \
                out = subprocess.run(sys.argv[1:], input=line.encode(), stdout=subprocess.PIPE)\n    \
                print(out.stdout.decode(), flush=True)\n";
        // Cline runs plugins in a process of their own.
        const PLUGIN: [&str; 3] = ["python3", "-c", "import subprocess, sys\nsubprocess.run(sys.argv[1:])\n"];
        let binary = env.command().get_program().to_os_string();
        let mut command = env.command_for("python3");
        command.args(["-c", BODY]);
        if agent == "cline" {
            command.args(PLUGIN);
        }
        command.arg(binary).args(["hook", agent]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 is installed");
        let said = BufReader::new(child.stdout.take().unwrap());
        Agent { child, said }
    }

    pub fn hook(&mut self, env: &TestEnv, session: &str, event: &str, extra: Value) -> String {
        self.say(env.payload(session, event, extra))
    }

    /// Gives a payload to the hook; what it replied.
    pub fn say(&mut self, mut payload: Vec<u8>) -> String {
        payload.push(b'\n');
        self.child.stdin.as_mut().unwrap().write_all(&payload).unwrap();
        let mut reply = String::new();
        self.said.read_line(&mut reply).unwrap();
        reply.trim().to_string()
    }

    pub fn write_file(&mut self, env: &TestEnv, session: &str, id: &str, path: &str) {
        let input = json!({"file_path": env.project().join(path), "content": "x"});
        self.hook(env, session, "PostToolUse", json!({"tool_name": "Write", "tool_use_id": id, "tool_input": input}));
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn status_of(env: &TestEnv, session: &str) -> String {
    let sessions = env.sessions();
    let found = sessions.iter().find(|found| found["agent_session_id"] == session).expect("the session is known");
    found["status"].as_str().unwrap().to_string()
}

#[test]
fn a_session_that_ends_leaves_a_short_log_of_the_view() {
    let env = env();
    let log_bytes = || {
        let files = std::fs::read_dir(env.home()).unwrap().map(|file| file.unwrap());
        let logs = files.filter(|file| file.file_name().to_string_lossy().ends_with(".db-wal"));
        logs.map(|file| file.metadata().unwrap().len()).sum::<u64>()
    };
    // The first one makes the tables, which nearly fill a log.
    for session in ["s1", "s2"] {
        env.write_file(session, "t1", "src/a.rs", "fn a() {}");
        env.start(session, "startup");
        assert!(log_bytes() > 32 * 1024, "{}", log_bytes());
        env.hook(session, "SessionEnd", json!({"reason": "other"}));
        assert!(log_bytes() <= 8 * 1024, "{}", log_bytes());
    }
}

#[test]
fn the_process_of_a_plugin_is_not_the_agent() {
    let env = env();
    let mut agent = Agent::start_as(&env, "cline");
    let start = json!({"event": "start", "sessionID": "s1", "cwd": env.project(), "at": 1});
    agent.say(start.to_string().into_bytes());
    assert_eq!(status_of(&env, "s1"), "active");
    agent.kill();
    assert_eq!(status_of(&env, "s1"), "crashed");
}

#[test]
fn sigkill_is_noticed_and_the_next_session_is_told_what_was_in_flight() {
    let env = env();
    let mut agent = Agent::start(&env);
    agent.hook(&env, "s1", "SessionStart", json!({"source": "startup"}));
    agent.hook(&env, "s1", "UserPromptSubmit", json!({"prompt": "Make the proxy safe", "prompt_id": "1"}));
    agent.write_file(&env, "s1", "t1", "proxy.go");
    assert_eq!(status_of(&env, "s1"), "active");
    agent.kill();
    assert_eq!(status_of(&env, "s1"), "crashed", "seen at once, whatever the clock says");
    let listed = env.json(&["memory", "recover", "--list"]);
    assert_eq!((&listed[0]["project"], &listed[0]["facts"]), (&json!("hydra"), &json!(1)));

    let told = env.start("s2", "startup");
    assert_eq!(told, "proj:hydra\nnext:interrupted:Make the proxy safe\nimpl:proxy.go");
    assert_eq!(status_of(&env, "s1"), "recovered");
    assert_eq!(env.json(&["memory", "recover", "--list"]), json!([]));
    // Recovering twice equals once, and when another goes on it is no longer in flight.
    env.start("s3", "startup");
    env.write_file("s3", "t2", "mutex.go", "");
    assert_eq!(env.start("s4", "startup"), "proj:hydra\nlast:Make the proxy safe\nimpl:mutex.go\nimpl:proxy.go");
}

#[test]
fn a_resumed_session_is_active_again_with_its_facts() {
    let mut env = env();
    let mut agent = Agent::start(&env);
    agent.hook(&env, "s1", "SessionStart", json!({"source": "startup"}));
    agent.write_file(&env, "s1", "t1", "a.rs");
    agent.kill();
    env.start("s2", "startup");
    assert_eq!(status_of(&env, "s1"), "recovered");
    env.set_now(Some("2026-01-22T14:00:00Z"));
    env.start("s1", "resume");
    assert_eq!(status_of(&env, "s1"), "active");
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(status_of(&env, "s1"), "ended");
    let sessions = env.sessions();
    let first = sessions.iter().find(|session| session["agent_session_id"] == "s1").unwrap();
    assert_eq!(codes(first, "file"), ["impl:a.rs"]);
}

#[test]
fn idle_after_half_an_hour_then_ended_by_the_sweep_and_resumed_by_activity() {
    let mut env = env();
    env.start("s1", "startup");
    env.write_file("s1", "t1", "a.rs", "");
    let at = |env: &TestEnv, now: &str| {
        let sessions = env.json(&["memory", "session-status", "--all", "--now", now])["sessions"].clone();
        sessions[0]["status"].as_str().unwrap().to_string()
    };
    assert_eq!(at(&env, "2026-01-22T14:05:14Z"), "active");
    // Asked for as of a moment, what a sweep would record is computed, not stored.
    assert_eq!(at(&env, "2026-01-22T14:05:15Z"), "ended");
    assert_eq!(at(&env, "2026-01-22T13:40:00Z"), "active");
    // The next start settles for real.
    let env_now = env.json(&["log"])[0]["started_at"].clone();
    env.set_now(Some("2026-01-22T15:00:00Z"));
    env.start("s2", "startup");
    let sessions = env.sessions();
    let first = sessions.iter().find(|session| session["agent_session_id"] == "s1").unwrap();
    assert_eq!((&first["status"], &first["end_trigger"]), (&json!("ended"), &json!("timeout")));
    let listed = env.json(&["log"]).as_array().unwrap().last().unwrap().clone();
    assert_eq!(listed["ended_at"], env_now, "it ended when it was last heard of: {listed}");
    env.set_now(Some("2026-01-22T15:01:00Z"));
    env.write_file("s1", "t2", "b.rs", "");
    assert_eq!(status_of(&env, "s1"), "active", "any work resumes what only silence had ended");
    env.hook("s1", "SessionEnd", json!({"reason": "other"}));
    env.write_file("s1", "t3", "late.rs", "");
    assert_eq!(status_of(&env, "s1"), "ended", "a hook that was overtaken does not");
    env.hook("s1", "UserPromptSubmit", json!({"prompt": "back again"}));
    assert_eq!(status_of(&env, "s1"), "active");
}

#[test]
fn sessions_by_hand_start_and_end() {
    let env = env();
    let output = env.run(&["memory", "session-end"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no live session"));
    let started = env.json(&["memory", "session-start", "--phase", "feature-auth"]);
    assert_eq!(started["session_id"], "20260122-133514");
    let session = env.sessions()[0].clone();
    assert_eq!((&session["phase"], &session["status"]), (&json!("feature-auth"), &json!("active")));
    env.ok(&["record", "next", "write tests"]);
    assert_eq!(env.sessions().len(), 1, "what is recorded goes to the live session");
    env.ok(&["memory", "session-end"]);
    let session = env.sessions()[0].clone();
    assert_eq!((&session["status"], &session["end_trigger"]), (&json!("ended"), &json!("explicit")));
    assert_eq!(env.brief(), "proj:hydra\nnext:write tests");
}

#[test]
fn any_program_runs_as_a_session() {
    let mut env = env();
    env.set_now(None);
    let output = env.run(&["run", "--", "sh", "-c", "echo out; exit 3"]);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(3), "out\n"));
    let session = env.sessions()[0].clone();
    assert_eq!((&session["status"], &session["end_trigger"]), (&json!("ended"), &json!("exit 3")));
    let output = env.run(&["run", "--", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(env.sessions()[0]["end_trigger"], "did not start");
}

#[test]
fn sigterm_to_a_run_reaches_the_program_and_ends_the_session() {
    let mut env = env();
    env.set_now(None);
    let mut command = env.command();
    command.args(["run", "--", "python3", "-c", "import time; print('up', flush=True); time.sleep(600)"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut up = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut up).unwrap();
    assert_eq!(up, "up\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert_eq!(env.sessions()[0]["end_trigger"], "signal 15");
}

#[test]
fn a_killed_run_is_a_crashed_session() {
    let mut env = env();
    env.set_now(None);
    let mut command = env.command();
    command.args(["run", "--", "python3", "-c", "import time; print('up', flush=True); time.sleep(2)"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(env.sessions()[0]["status"], "crashed");
}

#[test]
fn recover_and_discard_by_hand() {
    let env = env();
    let crash = |session: &str, path: &str| {
        let mut agent = Agent::start(&env);
        agent.hook(&env, session, "SessionStart", json!({"source": "startup"}));
        agent.write_file(&env, session, "t1", path);
        agent.kill();
    };
    crash("s1", "a.rs");
    crash("s2", "SECRETNAME.rs");
    let listed = env.json(&["memory", "recover", "--list"]);
    let id = |session: &str| {
        let sessions = env.sessions();
        let found = sessions.iter().find(|found| found["agent_session_id"] == session).unwrap().clone();
        found["id"].as_str().unwrap().to_string()
    };
    // The start of s2 recovered s1 by itself.
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["session_id"]), (1, &json!(id("s2"))));
    let recovered = env.json(&["memory", "recover", &id("s2")]);
    assert_eq!((&recovered["session_id"], &recovered["auto_recovered"]), (&json!(id("s2")), &json!(false)));
    assert!(recovered["recovery_actions"][0].as_str().unwrap().contains("carried over 1 fact"));
    assert_eq!(env.json(&["memory", "recover", &id("s2")])["recovery_actions"], json!(["was already recovered"]));
    assert_eq!(env.json(&["memory", "recover", &id("s1")])["auto_recovered"], true);

    let output = env.run(&["memory", "recover", &id("s2"), "--discard"]);
    assert_eq!(output.status.code(), Some(1), "nobody is there to answer");
    let discarded = env.json(&["memory", "recover", &id("s2"), "--discard", "--yes"]);
    assert_eq!(discarded["dropped"], json!(["impl:SECRETNAME.rs"]));
    env.rebuild();
    assert_eq!(env.sessions().len(), 1);
    for entry in std::fs::read_dir(env.home().join("journal")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("SECRETNAME"), "gone from the journal too");
    }
    assert_eq!(env.run(&["memory", "recover", "20200101-000000"]).status.code(), Some(1));
}

#[test]
fn history_tells_the_last_days_newest_first() {
    let mut env = env();
    for (now, session) in
        [("2026-01-10T10:00:00Z", "old"), ("2026-01-21T10:00:00Z", "b"), ("2026-01-22T10:00:00Z", "c")]
    {
        env.set_now(Some(now));
        env.start(session, "startup");
        env.write_file(session, "t1", "a.rs", "");
        env.write_file(session, "t2", "a.rs", "");
        env.set_now(Some(&now.replace("10:00", "10:30")));
        env.hook(session, "SessionEnd", json!({"reason": "other"}));
    }
    env.set_now(Some("2026-01-22T13:00:00Z"));
    let history = env.json(&["memory", "session-history", "--days", "7"]);
    let history = history.as_array().unwrap();
    assert_eq!(history.len(), 2);
    let expected = json!({
        "session_id": "20260122-100000", "started_at": "2026-01-22T10:00:00Z", "ended_at": "2026-01-22T10:30:00Z",
        "duration_minutes": 30.0, "correction_count": 0, "tool_count": 2, "modified_files": 1, "status": "ended",
    });
    assert_eq!(history[0], expected);
    let table = env.ok(&["memory", "session-history"]);
    assert!(table.contains("20260121-100000") && table.contains("·····██"), "{table}");
}

#[test]
fn cleanup_deletes_what_is_old_enough_and_only_when_told() {
    let mut env = env();
    for (now, session) in [("2025-11-01T10:00:00Z", "ancient"), ("2026-01-10T10:00:00Z", "old")] {
        env.set_now(Some(now));
        env.start(session, "startup");
        env.write_file(session, "t1", &format!("{session}.rs"), "");
    }
    env.set_now(Some("2026-01-22T10:00:00Z"));
    let cleanup = |args: &[&str]| env.json(&[&["memory", "session-cleanup"], args].concat());
    assert_eq!(cleanup(&["--older-than", "30d", "--dry-run"])["deleted"], 1);
    assert_eq!(env.run(&["memory", "session-cleanup", "--older-than", "30d"]).status.code(), Some(1));
    assert_eq!(env.sessions().len(), 2);
    assert_eq!(cleanup(&["--older-than", "30d", "--yes"])["deleted"], 1);
    env.rebuild();
    let left: Vec<Value> = env.sessions().iter().map(|session| session["agent_session_id"].clone()).collect();
    assert_eq!(left, [json!("old")]);
    assert_eq!(env.run(&["memory", "session-cleanup", "--older-than", "soon"]).status.code(), Some(2));
}

#[test]
fn overlapping_sessions_stay_apart_and_both_brief_the_next() {
    let env = env();
    let (mut one, mut two) = (Agent::start(&env), Agent::start(&env));
    one.hook(&env, "s1", "SessionStart", json!({"source": "startup"}));
    two.hook(&env, "s2", "SessionStart", json!({"source": "startup"}));
    one.write_file(&env, "s1", "t1", "one.rs");
    two.write_file(&env, "s2", "t1", "two.rs");
    one.kill();
    assert_eq!((status_of(&env, "s1"), status_of(&env, "s2")), ("crashed".into(), "active".into()));
    assert_eq!(env.start("s3", "startup"), "proj:hydra\nimpl:two.rs\nimpl:one.rs");
    two.hook(&env, "s2", "SessionEnd", json!({"reason": "other"}));
    two.kill();
    assert_eq!(status_of(&env, "s2"), "ended", "what ended did not crash");
}

#[test]
fn ten_sessions_with_deliberate_crashes() {
    let env = env();
    for n in 0..12 {
        let mut agent = Agent::start(&env);
        let session = format!("s{n}");
        agent.hook(&env, &session, "SessionStart", json!({"source": "startup"}));
        agent.write_file(&env, &session, "t1", &format!("f{n}.rs"));
        if n % 3 == 0 {
            agent.hook(&env, &session, "SessionEnd", json!({"reason": "other"}));
        }
        agent.kill();
    }
    let told = env.start("last", "startup");
    assert_eq!(told.lines().count(), 11, "the ten likeliest of twelve files: {told}");
    let count = |status: &str| env.sessions().iter().filter(|session| session["status"] == status).count();
    assert_eq!((count("ended"), count("recovered"), count("active")), (4, 8, 1));
}

#[test]
fn a_start_recovers_a_limited_number_of_sessions() {
    let env = env();
    let mut agent = Agent::start(&env);
    for n in 0..25 {
        agent.hook(&env, &format!("s{n:02}"), "SessionStart", json!({"source": "startup"}));
    }
    agent.kill();
    let of = |status: &str| {
        let found = env.sessions().into_iter().filter(|session| session["status"] == status);
        let mut found: Vec<String> =
            found.map(|session| session["agent_session_id"].as_str().unwrap().into()).collect();
        found.sort();
        found
    };
    env.start("first", "startup");
    assert_eq!(of("crashed"), ["s00", "s01", "s02", "s03", "s04"], "the newest are recovered first");
    env.start("second", "startup");
    assert_eq!((of("crashed").len(), of("recovered").len()), (0, 25));
}

#[test]
fn watch_settles_in_the_foreground() {
    let env = env();
    let mut agent = Agent::start(&env);
    agent.hook(&env, "s1", "SessionStart", json!({"source": "startup"}));
    agent.kill();
    let mut command = env.command();
    let mut watch = command.args(["watch", "--interval", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let (told, tell) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        let _ = out.read_line(&mut said);
        told.send(said)
    });
    let said = tell.recv_timeout(LIMIT).unwrap_or_default();
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(said.contains("crashed: the agent's process is gone"), "{said}");
}
