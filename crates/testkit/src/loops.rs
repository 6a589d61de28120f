//! The crash harness of the loop: kills its runner and its guard with SIGKILL at labelled points and at random
//! instants, then resumes, until the run is over. One seed drives everything.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::env::TestEnv;
use crate::fake_agent::{Act, FakeAgent, Tongue};
use crate::harness::Dice;
use crate::process::{LIMIT, running_in, wait_until};

/// The number of iterations of a run.
pub const ITERATIONS: usize = 3;
/// A run that dies more often than this makes no progress.
const RESUMES_MAX: usize = 12;

#[derive(Debug)]
pub struct Rounds {
    env: TestEnv,
    agent: FakeAgent,
    dice: Dice,
    runs: usize,
    pub kills: usize,
}

impl Rounds {
    pub fn new(mut env: TestEnv, seed: u64) -> Rounds {
        env.set_now(None);
        env.git(&env.project(), &["commit", "--quiet", "--allow-empty", "--message=start"]);
        // Each context records its name before it prints anything, and leaves hidden children.
        let acts = vec![
            Act::Shell("echo \"$s $CERBERUS_LOOP\" >> launched.txt"),
            Act::Say("working", 0),
            Act::IgnoreTerm,
            Act::Fork,
            Act::ForkAway,
            Act::Say("done", 0),
        ];
        let agent = FakeAgent::new(&env.root().join("agent"), Tongue::Plain, &[acts]);
        Rounds { env, agent, dice: Dice(seed), runs: 0, kills: 0 }
    }

    fn command(&self, is_resumed: bool) -> Command {
        let mut command = self.env.command();
        command.args(["loop", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if is_resumed {
            command.arg("--resume");
            return command;
        }
        command.args(["--agent", "command", "--program", self.agent.program(), "--prompt", "work"]);
        command.args(["--min-interval", "0", "--backoff", "0", "--linger", "1s", "--max-reboots-per-hour", "100000"]);
        command.args(["--no-progress", "1000", "--max-iterations", &ITERATIONS.to_string()]);
        command
    }

    /// Kills a run at this point, at the `times`th passage or the first, then resumes it. Returns whether it died.
    pub fn die_at(&mut self, label: &str, times: u32) -> bool {
        let before = self.kills;
        for times in [times, 1] {
            self.runs += 1;
            self.let_die(false, Threat::Point(label, times));
            self.finish();
            if self.kills > before {
                return true;
            }
        }
        false
    }

    /// Kills a run at random points, possibly several times, and resumes it until it is over.
    pub fn round(&mut self, points: &[&'static str]) {
        self.runs += 1;
        let mut is_resumed = false;
        for _ in 0..1 + self.dice.below(3) {
            let label = points.get(self.dice.below(points.len().max(1) as u64) as usize).copied();
            let threat = match (self.dice.below(2), label) {
                (0, Some(label)) => Threat::Point(label, 1 + self.dice.below(3) as u32),
                _ => Threat::After(Duration::from_millis(self.dice.below(600))),
            };
            self.let_die(is_resumed, threat);
            is_resumed = self.has_begun();
        }
        if !is_resumed {
            self.let_die(false, Threat::None);
        }
        self.finish();
    }

    /// Was anything of this run recorded?
    fn has_begun(&self) -> bool {
        self.env.json(&["loop", "status"])["run"].as_u64().is_some_and(|run| run as usize == self.runs)
    }

    fn finish(&mut self) {
        if !self.has_begun() {
            self.let_die(false, Threat::None);
        }
        for _ in 0..RESUMES_MAX {
            // A run whose guards died too often has failed; it is resumed as well.
            if self.env.json(&["loop", "status"])["stop"]["class"] == "limit" {
                return;
            }
            self.let_die(true, Threat::None);
        }
    }

    fn let_die(&mut self, is_resumed: bool, threat: Threat) {
        let mut command = self.command(is_resumed);
        if let Threat::Point(label, times) = threat {
            command.env("CERBERUS_FAULT", format!("{label}=kill@{times}"));
        }
        let mut child = command.spawn().expect("the binary runs");
        if let Threat::After(span) = threat {
            // Randomizes the moment of the kill; nothing depends on this delay.
            std::thread::sleep(span);
            let _ = child.kill();
        }
        let status = child.wait().expect("a child can be waited for");
        // The runner survives the death of a guard and treats it as a crash of the agent.
        let is_crash = |row: &Value| !row["failure"].is_null() || row["attempts"].as_u64() > Some(1);
        self.kills += usize::from(status.code().is_none() || self.history().iter().any(is_crash));
    }

    fn history(&self) -> Vec<Value> {
        self.env.json(&["loop", "history"]).as_array().cloned().unwrap_or_default()
    }

    /// Checks all invariants after a run. Returns the violations.
    pub fn violations(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let project = self.env.project();
        let gone = wait_until("nothing to be left", LIMIT, || running_in(u32::MAX, &project).is_empty().then_some(()));
        if gone.is_err() {
            wrong.push(format!("still running: {:?}", running_in(u32::MAX, &project)));
        }
        let history = self.history();
        let numbers: Vec<u64> = history.iter().filter_map(|row| row["iteration"].as_u64()).collect();
        if numbers != (1..=ITERATIONS as u64).collect::<Vec<_>>() {
            wrong.push(format!("lost or double iterations: {numbers:?}"));
        }
        for row in &history {
            if row["ended_at"].is_null() || row["session_id"].is_null() {
                wrong.push(format!("not settled: {row}"));
            }
        }
        if history.last().is_none_or(|row| row["stop_reason"] != "limit: the limit of iterations is reached") {
            wrong.push(format!("it did not come to its end: {:?}", history.last()));
        }
        wrong
    }
}

#[derive(Clone, Copy)]
enum Threat<'a> {
    None,
    Point(&'a str, u32),
    After(Duration),
}
