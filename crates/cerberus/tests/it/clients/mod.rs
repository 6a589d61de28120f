//! The real agents against a scripted model: what they send to the model is what counts.
//!
//! Claude Code and Codex are always run. The others, and older releases, are run where the feature `all-clients` asks for
//! them, as `./dev/test --clients` does. A client that is missing fails its tests.

mod checks;
mod claude_code;
mod codex;
#[cfg(feature = "loop")]
mod loops;
mod matrix;
mod moments;
#[cfg(feature = "loop")]
mod night;
mod resume;
mod story;
mod tasks;
mod terminal;
mod undo;
mod versions;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use cerberus_testkit::clients::{Client, Place};
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};
use cerberus_testkit::process::{Finished, LIMIT, Running, copy_program, kill_group, write_program};
use cerberus_testkit::scratch::{SYSTEM_PATH, Scratch};
use serde_json::Value;

use crate::typed::shown;

/// Names a directory in which every payload is kept that a hook hears: how the fixtures of `wire` in core are made.
const RECORD_VARIABLE: &str = "CERBERUS_RECORD";

/// A home in which Cerberus is installed, and a repository.
struct Stage {
    scratch: Scratch,
    /// Where our commands find programs: the client first.
    path: String,
}

impl Stage {
    fn new(client: &dyn Client) -> Stage {
        let stage = Stage::with(client);
        match std::env::var_os(RECORD_VARIABLE) {
            None => drop(stage.cerberus(&["install", "--agent", client.pin().agent])),
            Some(dir) => stage.install_recorder(client, Path::new(&dir)),
        }
        stage
    }

    /// Without a client.
    fn bare() -> Stage {
        Stage { scratch: Scratch::new(), path: SYSTEM_PATH.to_string() }
    }

    /// With a client on PATH, into which nothing is installed yet.
    fn with(client: &dyn Client) -> Stage {
        let mut stage = Stage::bare();
        client.prepare(&stage.scratch);
        let (pin, programs) = (client.pin(), stage.scratch.root().join("programs"));
        std::fs::create_dir(&programs).unwrap();
        symlink(pin.locate().unwrap(), programs.join(pin.program)).unwrap();
        stage.path = format!("{}:{SYSTEM_PATH}", programs.display());
        stage
    }

    /// Installs a copy of the binary, which then gives way to a script that keeps what it hears and calls the binary.
    fn install_recorder(&self, client: &dyn Client, dir: &Path) {
        let (binary, copy) = (env!("CARGO_BIN_EXE_cerberus"), self.scratch.root().join("cerberus"));
        std::fs::create_dir_all(dir).unwrap();
        copy_program(Path::new(binary), &copy);
        let mut install = Command::new(&copy);
        install
            .args(["install", "--agent", client.pin().agent])
            .env("HOME", self.scratch.home())
            .env("PATH", &self.path);
        finish(&mut install);
        let kept = dir.join(client.pin().name);
        // The binary takes the script's place, so that its parent is the agent.
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = hook ] || exec '{binary}' \"$@\"\n\
             kept=$(mktemp '{}.XXXXXXXX')\ncat >\"$kept\"\nexec '{binary}' \"$@\" <\"$kept\"\n",
            kept.display()
        );
        std::fs::remove_file(&copy).unwrap();
        write_program(&copy, &script);
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
        self.command(args).output().unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cerberus"));
        command
            .args(args)
            .env_clear()
            .envs([("HOME", self.scratch.home().as_os_str()), ("PATH", self.path.as_ref())])
            .current_dir(self.scratch.repo());
        command
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

/// What the shell writes without any tool for edits: redirections, `sed`, `tee`, a patch, a formatter.
fn what_a_command_wrote_is_told(client: &dyn Client, settings: &[&str]) {
    let stage = Stage::new(client);
    for name in ["old", "patched", "formatted"] {
        std::fs::write(stage.scratch.repo().join(format!("{name}.go")), format!("package {name}\n")).unwrap();
    }
    let format = stage.scratch.root().join("gofmt");
    write_program(&format, "#!/bin/sh\nfor file; do echo '// formatted' >>\"$file\"; done\n");
    stage.scratch.git(&["add", "--all"]);
    stage.scratch.git(&["commit", "--quiet", "-m", "old"]);
    let commands = [
        "cat > new.go <<'END'\npackage new\nEND",
        "sed -i s/old/other/ old.go",
        "echo x | tee by_tee.txt",
        "git apply <<'END'\n--- a/patched.go\n+++ b/patched.go\n@@ -1 +1 @@\n-package patched\n+package other\nEND",
        &format!("{} formatted.go", format.display()),
    ];
    let script = commands.map(|command| client.run(command)).into_iter().chain([Reply::text("Written.")]);
    let server = ModelServer::start(script);
    finish(client.session(&stage.place(&server), "Write them").args(settings));
    let text = told(&stage, client, "Go on");
    for code in ["impl:new.go", "impl:old.go", "impl:by_tee.txt", "impl:patched.go", "impl:formatted.go"] {
        assert_eq!(times(&text, code), 1, "{code} in {text}");
    }
    let is_listed = |line: &str| line.contains("not committed: ") && line.contains("by_tee.txt");
    assert!(text.lines().any(is_listed), "{text}");
}

/// All memories and proposals as status, source, scope and words, sorted.
fn memories(stage: &Stage) -> Vec<String> {
    stage.cerberus(&["memory", "propose"]);
    shown(&serde_json::from_str(&stage.cerberus(&["memory", "list", "--all", "--json"])).unwrap())
}

/// How often a code is told in a text, as a word of its own: clients put words of theirs around the brief.
fn times(text: &str, code: &str) -> usize {
    let is_edge = |next: Option<char>| next.is_none_or(|next| next.is_whitespace() || "<>".contains(next));
    let stands_alone = |(at, _): &(usize, &str)| {
        is_edge(text[..*at].chars().next_back()) && is_edge(text[at + code.len()..].chars().next())
    };
    text.match_indices(code).filter(stands_alone).count()
}
