//! The loop from outside: the real binary, and a fake agent that does what real ones do wrong.

mod agents;
mod bounds;
mod comparison;
mod control;
mod faults;
mod honest;
mod kill;
mod money;
mod parallel;
mod seed;
mod seeing;
mod stops;
mod terminal;
mod told;

use std::process::{Command, Output, Stdio};

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::fake_agent::{Act, FakeAgent, Tongue};
pub use cerberus_testkit::process::LIMIT;
use cerberus_testkit::process::{running_in, wait_until};
use serde_json::Value;

/// A project with a commit, a fake agent, and a clock that moves.
pub struct Stage {
    pub env: TestEnv,
    pub agent: FakeAgent,
    tongue: Tongue,
}

impl Stage {
    pub fn new(tongue: Tongue, contexts: &[Vec<Act>]) -> Stage {
        let mut env = crate::env();
        env.set_now(None);
        env.git(&env.project(), &["commit", "--quiet", "--allow-empty", "--message=start"]);
        let agent = FakeAgent::new(&env.root().join("agent"), tongue, contexts);
        Stage { env, agent, tongue }
    }

    /// `cerberus loop run` with nothing to wait for but the agent.
    pub fn command(&self, options: &[&str]) -> Command {
        self.command_with(&["--prompt", "Build the parser"], options)
    }

    pub fn command_with(&self, task: &[&str], options: &[&str]) -> Command {
        let mut command = self.env.command();
        let name = match self.tongue {
            Tongue::ClaudeCode => "claude-code",
            Tongue::Codex => "codex",
            Tongue::Plain => "command",
        };
        command.args(["loop", "run", "--agent", name, "--program", self.agent.program()]).args(task);
        command.args(["--min-interval", "0", "--backoff", "0", "--linger", "1s", "--max-reboots-per-hour", "100000"]);
        command.args(options).stdin(Stdio::null());
        command
    }

    pub fn run(&self, options: &[&str]) -> Ran {
        let ran = Ran(self.command(options).output().expect("the binary runs"));
        self.nobody_is_left();
        ran
    }

    pub fn resume(&self, options: &[&str]) -> Ran {
        let mut command = self.env.command();
        let output = command.args(["loop", "run", "--resume"]).args(options).stdin(Stdio::null()).output();
        let ran = Ran(output.expect("the binary runs"));
        self.nobody_is_left();
        ran
    }

    pub fn history(&self) -> Vec<Value> {
        self.env.json(&["loop", "history"]).as_array().expect("a list").clone()
    }

    /// Nothing works in the project any more.
    pub fn nobody_is_left(&self) {
        let project = self.env.project();
        let gone =
            wait_until("everything to be gone", LIMIT, || running_in(u32::MAX, &project).is_empty().then_some(()));
        gone.unwrap_or_else(|error| panic!("{error}: {:?}", running_in(u32::MAX, &project)));
    }

    pub fn write(&self, path: &str, text: &str) {
        std::fs::write(self.env.project().join(path), text).expect("writes a file");
    }
}

/// How a loop ended, and what it printed.
pub struct Ran(pub Output);

impl Ran {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Its exit code, and that it said why.
    pub fn ended(&self, code: i32, why: &str) -> &Ran {
        let stderr = self.stderr();
        assert_eq!(self.0.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(why), "{why} in {stderr}");
        self
    }
}

/// A context that begins and has read its prompt.
pub fn begins() -> Vec<Act> {
    vec![Act::Start, Act::Say("I look around.", 5_000)]
}

pub fn with(acts: &[&[Act]]) -> Vec<Act> {
    acts.concat()
}

/// A context that works a little and ends well.
pub fn works(command: &'static str) -> Vec<Act> {
    with(&[&begins(), &[Act::Shell(command), Act::Done("One step further."), Act::Leave]])
}

/// The same of a program that only prints.
pub fn prints(command: &'static str) -> Vec<Act> {
    vec![Act::Say("working", 0), Act::Shell(command), Act::Done("done for now")]
}
