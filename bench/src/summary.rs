//! What summaries cost an agent, which must be nothing, and what they cost beside the model.
//!
//! A session's end is measured with no provider set and with one that never answers; `cerberus summarize` against a
//! server that answers at once. Every session has facts of its own, so that every end begins a summary.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cerberus_testkit::answering::{Answer, Answering};
use serde_json::json;

use crate::measure::{self, Aim, Contender, TIME_COLUMNS, spawn_to_exit, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::Scratch;

const RUNS: usize = 60;

/// Long enough that every summary still hangs when its hook is done, short enough that none outlives the run by much.
const TIMEOUT_SECS: u32 = 2;

const AIM_X_NO_PROVIDER: Aim = Aim::AtMost(1.3);
const AIM_SUMMARIZE_MS: Aim = Aim::AtMost(20.0);

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
    // The last ones may still be on their way; that most were asked for shows that they were begun.
    ensure!(hanging.requests().len() * 2 > RUNS, "only {} of {RUNS} summaries were begun", hanging.requests().len());
    stage.settle(&with);
    if let [without, with, summarize] = measured.as_slice() {
        let ratio = with.median_ms() / without.median_ms();
        let aims = [
            String::new(),
            format!("x end {}", AIM_X_NO_PROVIDER.beside(ratio)),
            format!("ms {}", AIM_SUMMARIZE_MS.beside(summarize.median_ms())),
        ];
        let rows: Vec<Vec<String>> =
            measured.iter().zip(aims).map(|(times, aim)| [times.cells(without), vec![aim]].concat()).collect();
        let columns: Vec<&str> = TIME_COLUMNS[..4].iter().copied().chain(["x end", "aim"]).collect();
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

    /// A session that wrote a file; its name.
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

    /// Waits until every summary that was begun has failed, as it must: their folder is about to be removed.
    fn settle(&self, home: &Path) {
        let failures = home.join("failures.jsonl");
        let noted = || std::fs::read_to_string(&failures).map_or(0, |noted| noted.lines().count());
        let begun = std::fs::read_dir(home.join("summaries")).map_or(0, Iterator::count);
        let given_up = Instant::now() + Duration::from_secs(60);
        while noted() < begun && Instant::now() < given_up {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The end of a session, as its agent waits for it.
    fn ended(&self, home: &Path) -> Result<Duration> {
        let session = self.worked(home)?;
        let said = payload::payload(&self.scratch.repo(), &session, "SessionEnd", json!({"reason": "other"}));
        let input = self.scratch.file("end.json", &said)?;
        spawn_to_exit(&mut self.scratch.hook(self.programs, home), &input)
    }
}
