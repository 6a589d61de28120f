//! The crash harness: real hooks, folds and agents, killed with SIGKILL at random instants and at labelled points.
//!
//! One seed drives everything, so that a violation can be reproduced. Every event that a hook acknowledged (it exited
//! with 0 and was not killed) is remembered; at the end it must be recorded exactly once, and the state must be
//! correct.

use std::collections::HashSet;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::env::TestEnv;

/// A small random generator, so that a round can be reproduced.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[derive(Debug)]
pub struct Harness {
    env: TestEnv,
    dice: Dice,
    /// Labelled points at which a process can be made to die. A release build has none.
    points: Vec<&'static str>,
    acknowledged: HashSet<String>,
    rounds: usize,
    pub kills: usize,
}

impl Harness {
    pub fn new(env: TestEnv, seed: u64, points: &[&'static str]) -> Harness {
        Harness { env, dice: Dice(seed), points: points.to_vec(), acknowledged: HashSet::new(), rounds: 0, kills: 0 }
    }

    /// Starts one process and, most of the time, kills it.
    pub fn round(&mut self) {
        self.rounds += 1;
        match self.dice.below(10) {
            0 => self.kill_a_start(),
            1 => self.kill_a_reader(),
            _ => self.kill_a_hook(),
        }
    }

    fn kill_a_hook(&mut self) {
        let id = format!("toolu_{}", self.rounds);
        let file = self.env.project().join(format!("f{}.rs", self.rounds));
        let lines = 1 + self.dice.below(800) as usize;
        let extra = json!({"tool_name": "Write", "tool_use_id": id,
            "tool_input": {"file_path": file, "content": "fn x() {}\n".repeat(lines)}});
        let session = format!("s{}", self.dice.below(4));
        let payload = self.env.payload(&session, "PostToolUse", extra);
        if self.let_die(&["hook", "claude-code"], Some(payload)) {
            self.acknowledged.insert(format!("{session} impl:f{}.rs", self.rounds));
        }
    }

    /// Starts a session, which folds, answers and confirms.
    fn kill_a_start(&mut self) {
        let session = format!("s{}", self.dice.below(4));
        let payload = self.env.payload(&session, "SessionStart", json!({"source": "resume"}));
        self.let_die(&["hook", "claude-code"], Some(payload));
    }

    fn kill_a_reader(&mut self) {
        self.let_die(&["brief"], None);
    }

    /// Runs a command that may be killed. Returns whether it finished.
    fn let_die(&mut self, args: &[&str], input: Option<Vec<u8>>) -> bool {
        let mut command = self.env.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let by_label = !self.points.is_empty() && self.dice.below(3) == 0;
        if by_label {
            let label = self.points[self.dice.below(self.points.len() as u64) as usize];
            command.env("CERBERUS_FAULT", format!("{label}=kill"));
        }
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let _ = stdin.write_all(&input.unwrap_or_default());
        drop(stdin);
        if !by_label {
            // Randomizes the moment of the kill; nothing depends on this delay.
            std::thread::sleep(Duration::from_micros(self.dice.below(8_000)));
            let _ = child.kill();
        }
        self.came_through(child)
    }

    fn came_through(&mut self, mut child: Child) -> bool {
        let is_done = child.wait().expect("a child can be waited for").success();
        self.kills += usize::from(!is_done);
        is_done
    }

    /// Checks all invariants at the end. Returns the violations.
    pub fn violations(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let sessions = self.env.sessions();
        let mut stored: HashSet<String> = HashSet::new();
        for session in &sessions {
            let name = session["agent_session_id"].as_str().unwrap_or_default();
            let facts = session["facts"].as_array().into_iter().flatten();
            let codes: Vec<&str> = facts.filter_map(|fact| fact["code"].as_str()).collect();
            let files = codes.iter().filter(|code| code.ends_with(".rs")).count();
            if session["tools_used"]["Write"].as_u64().unwrap_or(0) as usize != files {
                wrong.push(format!("{name}: {files} files, but tools used: {}", session["tools_used"]));
            }
            stored.extend(codes.iter().map(|code| format!("{name} {code}")));
        }
        wrong.extend(self.acknowledged.difference(&stored).map(|lost| format!("acknowledged and lost: {lost}")));
        let checks = self.env.json(&["doctor"])["checks"].clone();
        let view = checks.as_array().into_iter().flatten().find(|check| check["name"] == "view").cloned();
        if view.as_ref().is_none_or(|view| view["ok"] != true) {
            wrong.push(format!("the view is not sound: {view:?}"));
        }
        let before: Value = self.env.json(&["brief"]);
        self.env.rebuild();
        if self.env.json(&["brief"]) != before || self.env.sessions() != sessions {
            wrong.push("made anew from the journal, the view says something else".to_string());
        }
        wrong
    }

    pub fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }
}
