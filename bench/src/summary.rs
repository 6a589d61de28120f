//! How long summaries delay an agent, which must be not at all, and their overhead besides the model.
//!
//! The end of a session is measured without a provider and with one that never answers; `cerberus summarize` with a
//! server that answers at once. Every session has its own facts, so that every end starts a summary.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cerberus_testkit::answering::{Answer, Answering};
use serde_json::json;

use crate::measure::{self, Contender, TIME_COLUMNS, Target, spawn_to_exit, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::Scratch;

const RUNS: usize = 60;

/// Long enough that every summary is still waiting when its hook is done, short enough that none outlives the run by
/// much.
const TIMEOUT_SECS: u32 = 2;

const TARGET_X_NO_PROVIDER: Target = Target::AtMost(1.3);
const TARGET_SUMMARIZE_MS: Target = Target::AtMost(20.0);

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let hanging = Answering::start([Answer::Hang]);
    let instant = Answering::start([Answer::json(&json!({"response": "Split ledger.rs. Fix the race next."}))]);
    let stage = Stage { programs, scratch, sessions: Cell::new(0) };
    let without = stage.home("without", None)?;
    let with = stage.home("with", Some(&hanging))?;
    let asked = stage.home("asked", Some(&instant))?;
    stage.worked(&asked)?;
    let empty = stage.scratch.file("empty", b"")?;
    let measured = measure::interleave(vec![
        Contender::new("session end, no provider", RUNS, || stage.ended(&without)),
        Contender::new("session end, one that hangs", RUNS, || stage.ended(&with)),
        Contender::new("summarize, answered at once", RUNS, || {
            spawn_to_exit(&mut stage.scratch.cerberus(stage.programs, &asked, &["summarize"]), &empty)
        }),
    ])?;
    ensure!(instant.answered() >= RUNS, "only {} of {RUNS} summaries were asked for", instant.answered());
    // The last requests may still be on their way; most of them must have arrived.
    ensure!(hanging.requests().len() * 2 > RUNS, "only {} of {RUNS} summaries were begun", hanging.requests().len());
    stage.settle(&with);
    if let [without, with, summarize] = measured.as_slice() {
        let ratio = with.median_ms() / without.median_ms();
        let targets = [
            String::new(),
            format!("x end {}", TARGET_X_NO_PROVIDER.beside(ratio)),
            format!("ms {}", TARGET_SUMMARIZE_MS.beside(summarize.median_ms())),
        ];
        let rows: Vec<Vec<String>> =
            measured.iter().zip(targets).map(|(times, target)| [times.cells(without), vec![target]].concat()).collect();
        let columns: Vec<&str> = TIME_COLUMNS[..4].iter().copied().chain(["x end", "target"]).collect();
        table(&columns, &rows)?;
    }
    Ok(())
}

struct Stage<'a> {
    programs: &'a Programs,
    scratch: Scratch,
    sessions: Cell<usize>,
}

impl Stage<'_> {
    fn home(&self, name: &str, provider: Option<&Answering>) -> Result<PathBuf> {
        let home = self.scratch.home(name);
        std::fs::create_dir_all(&home)?;
        if let Some(server) = provider {
            let url = server.url();
            let set = format!("provider = 'ollama'\nmodel = 'm'\nbase_url = '{url}'\ntimeout_secs = {TIMEOUT_SECS}\n");
            std::fs::write(home.join("config.toml"), format!("[summary]\n{set}"))?;
        }
        Ok(home)
    }

    /// Records a session that wrote a file. Returns its name.
    fn worked(&self, home: &Path) -> Result<String> {
        let number = self.sessions.get();
        self.sessions.set(number + 1);
        let session = format!("session-{number}");
        let content = payload::rust_code(0, 50);
        let said =
            payload::write(&self.scratch.repo(), &session, &format!("toolu_{number}"), "src/ledger.rs", &content);
        self.scratch.heard(self.programs, home, None, &said)?;
        Ok(session)
    }

    /// Waits until every started summary has failed, as it must: their folder is about to be removed.
    fn settle(&self, home: &Path) {
        let failures = home.join("failures.jsonl");
        let noted = || std::fs::read_to_string(&failures).map_or(0, |noted| noted.lines().count());
        let begun = std::fs::read_dir(home.join("summaries")).map_or(0, Iterator::count);
        let given_up = Instant::now() + Duration::from_secs(60);
        while noted() < begun && Instant::now() < given_up {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The end of a session, timed from the agent's side.
    fn ended(&self, home: &Path) -> Result<Duration> {
        let session = self.worked(home)?;
        let said = payload::payload(&self.scratch.repo(), &session, "SessionEnd", json!({"reason": "other"}));
        let input = self.scratch.file("end.json", &said)?;
        spawn_to_exit(&mut self.scratch.hook(self.programs, home), &input)
    }
}
