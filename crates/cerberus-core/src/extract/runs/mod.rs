//! Stand-in.
use serde::{Deserialize, Serialize};
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    Test,
    Build,
    Lint,
}
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub kind: Kind,
    pub runner: Runner,
    pub key: String,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    Green,
    Red,
    Empty,
    Unknown,
}
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub verdict: Verdict,
    pub passed: Vec<String>,
    pub failed: Vec<String>,
    pub passed_count: Option<u32>,
    pub failed_count: Option<u32>,
    pub problems: Vec<String>,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Runner {
    CargoTest,
}
impl Runner {
    pub fn name(self) -> &'static str {
        "cargo test"
    }
}
pub fn may_be_run(command: &str) -> bool {
    command.contains("cargo test")
}
pub fn recognise(command: &str) -> Option<Command> {
    may_be_run(command).then(|| Command { kind: Kind::Test, runner: Runner::CargoTest, key: command.to_string() })
}
pub fn read(_: &Command, _: &str, outcome: crate::event::Outcome) -> Run {
    Run {
        verdict: if outcome == crate::event::Outcome::Done { Verdict::Green } else { Verdict::Red },
        passed: vec![],
        failed: vec![],
        passed_count: None,
        failed_count: None,
        problems: vec![],
    }
}
#[derive(Debug, Default)]
pub struct Ledger {
    red: Vec<String>,
}
impl Ledger {
    pub fn add(&mut self, command: &Command, run: &Run) {
        self.red.retain(|key| *key != command.key);
        if run.verdict == Verdict::Red {
            self.red.push(command.key.clone());
        }
    }
    pub fn failing(&self) -> Vec<String> {
        vec![]
    }
    pub fn passing(&self) -> Vec<String> {
        vec![]
    }
    pub fn fixed(&self) -> Vec<String> {
        vec![]
    }
    pub fn regressed(&self) -> Vec<String> {
        vec![]
    }
    pub fn red_commands(&self) -> Vec<String> {
        self.red.clone()
    }
}
