//! The real agents against a scripted model: what they send to the model is what counts.
//!
//! Claude Code and Codex are always run. The others are run where the feature `all-clients` asks for them, as
//! `./dev/test --clients` does. A client that is missing fails its tests.

mod claude_code;
mod codex;
mod story;
mod terminal;

use std::process::{Command, Output};
use std::time::Duration;

use cerberus_testkit::clients::{Client, Place};
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use cerberus_testkit::process::{Finished, Running, kill_group};
use cerberus_testkit::scratch::{SYSTEM_PATH, Scratch};
use serde_json::Value;

/// Far beyond what a session takes, for a machine that is busy with something else.
const LIMIT: Duration = Duration::from_secs(180);

/// A home in which Cerberus is installed, and a repository.
struct Stage {
    scratch: Scratch,
}

impl Stage {
    fn new(client: &dyn Client) -> Stage {
        let stage = Stage { scratch: Scratch::new() };
        client.prepare(&stage.scratch);
        stage.cerberus(&["install", "--agent", client.pin().name]);
        stage
    }

    fn place(&self, server: &ModelServer) -> Place {
        Place::new(&self.scratch, server)
    }

    /// Runs a command that must succeed; what it printed.
    fn cerberus(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert!(output.status.success(), "cerberus {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command that may fail; all that it printed.
    fn try_cerberus(&self, args: &[&str]) -> String {
        let output = self.output(args);
        [output.stdout, output.stderr].iter().map(|printed| String::from_utf8_lossy(printed)).collect()
    }

    fn output(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cerberus"))
            .args(args)
            .env_clear()
            .envs([("HOME", self.scratch.home().as_os_str()), ("PATH", SYSTEM_PATH.as_ref())])
            .current_dir(self.scratch.repo())
            .output()
            .unwrap()
    }

    /// The project's sessions, newest first.
    fn sessions(&self) -> Vec<Value> {
        let status = self.cerberus(&["memory", "session-status", "--all", "--json"]);
        let status: Value = serde_json::from_str(&status).unwrap();
        status["sessions"].as_array().unwrap().clone()
    }
}

/// Runs the command to its end, which must be a good one.
fn finish(command: &mut Command) -> Finished {
    let finished = Running::spawn(command).unwrap().wait(LIMIT).unwrap();
    assert!(finished.status.success(), "{}\n{}", finished.stdout, finished.stderr);
    finished
}

/// Runs the command until the model has been asked so many times, then kills all of it with SIGKILL.
fn kill_after(command: &mut Command, server: &ModelServer, requests: usize) {
    let mut running = Running::spawn(command).unwrap();
    if let Err(late) = server.wait_for_main_requests(requests, LIMIT) {
        panic!("{late}\n{:?}", running.wait(Duration::ZERO));
    }
    kill_group(running.pid()).unwrap();
    let _ = running.wait(LIMIT).unwrap();
}

/// One session that only says something; what reached the model with its first request.
fn told(stage: &Stage, client: &dyn Client, prompt: &str) -> String {
    let server = ModelServer::start([Reply::text("I know where we were.")]);
    let finished = finish(&mut client.session(&stage.place(&server), prompt));
    let requests = server.main_requests();
    let first = requests.first().unwrap_or_else(|| panic!("no request came: {finished:?}"));
    request_text(first)
}

/// How many lines of the text are this one.
fn lines(text: &str, wanted: &str) -> usize {
    text.lines().filter(|line| *line == wanted).count()
}
