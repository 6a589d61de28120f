//! Many concurrent hooks: how many records per second 64 workers store, and that none is lost.
//!
//! Each round has its own home. A lost or duplicate record is an error, not a figure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use crate::measure::{Times, ms, say, spawn_to_exit, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::{Scratch, stored_records};

const WORKERS: usize = 64;
const HOOKS_EACH: usize = 50;
const RECORDS: usize = WORKERS * HOOKS_EACH;
const ROUNDS: usize = 3;
const LINES: usize = 40;

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let inputs = inputs(&scratch)?;
    say(&format!(
        "{WORKERS} workers, {HOOKS_EACH} processes each, one after another, each with a Write of {LINES} lines\n"
    ))?;
    let (mut floors, mut hooks) = (Load::new("floor"), Load::new("hook"));
    let mut folds = Vec::new();
    for round in 0..ROUNDS {
        let file = scratch.path(&format!("floor-{round}.jsonl"));
        floors.add(&inputs, || scratch.floor(programs, &file))?;
        check_floor(&inputs, &file)?;
        let home = scratch.home(&format!("home-{round}"));
        hooks.add(&inputs, || scratch.hook(programs, &home))?;
        folds.push(check_hooks(&scratch, programs, &home)?);
    }
    let rows = [floors.cells(&floors), hooks.cells(&floors)];
    table(&["", "records/s", "x floor", "median ms", "p95 ms", "worst ms"], &rows)?;
    let fold = Times::new("fold", folds);
    say(&format!(
        "\n{ROUNDS} rounds of {RECORDS} records, all of them stored, once each; the first `session-status` after a \
         round, which folds them: {:.0} ms",
        fold.median_ms()
    ))?;
    Ok(())
}

/// One input file per process, each with a different event in the session of its worker.
fn inputs(scratch: &Scratch) -> Result<Vec<Vec<PathBuf>>> {
    std::fs::create_dir(scratch.path("inputs"))?;
    let repo = scratch.repo();
    let input = |worker: usize, number: usize| {
        let (session, id) = (format!("session-{worker}"), format!("toolu_{worker}_{number}"));
        let path = format!("src/worker{worker}/part{number}.rs");
        let said = payload::write(&repo, &session, &id, &path, &payload::rust_code(number, LINES));
        scratch.file(&format!("inputs/{worker}-{number}.json"), &said)
    };
    (0..WORKERS).map(|worker| (0..HOOKS_EACH).map(|number| input(worker, number)).collect()).collect()
}

/// The results of one contender in all rounds.
struct Load {
    name: &'static str,
    walls: Vec<Duration>,
    processes: Vec<Duration>,
}

impl Load {
    fn new(name: &'static str) -> Load {
        Load { name, walls: Vec::new(), processes: Vec::new() }
    }

    /// Runs all workers at once, each with its own command.
    fn add(&mut self, inputs: &[Vec<PathBuf>], command: impl Fn() -> Command) -> Result<()> {
        let work = |mut command: Command, inputs: &[PathBuf]| -> Result<Vec<Duration>> {
            inputs.iter().map(|input| spawn_to_exit(&mut command, input)).collect()
        };
        let begun = Instant::now();
        let results: Vec<Result<Vec<Duration>>> = std::thread::scope(|scope| {
            let workers: Vec<_> = inputs
                .iter()
                .map(|inputs| {
                    let command = command();
                    scope.spawn(move || work(command, inputs))
                })
                .collect();
            let joined = workers.into_iter().map(|worker| worker.join());
            joined.map(|result| result.unwrap_or_else(|_| Err(anyhow!("a worker died")))).collect()
        });
        self.walls.push(begun.elapsed());
        for times in results {
            self.processes.extend(times?);
        }
        Ok(())
    }

    fn per_second(&self) -> f64 {
        RECORDS as f64 / (Times::new(self.name, self.walls.clone()).median_ms() / 1e3)
    }

    fn cells(&self, floor: &Load) -> Vec<String> {
        let processes = Times::new(self.name, self.processes.clone());
        vec![
            self.name.to_string(),
            format!("{:.0}", self.per_second()),
            format!("{:.2}", self.per_second() / floor.per_second()),
            format!("{:.2}", processes.median_ms()),
            format!("{:.2}", processes.percentile_ms(95)),
            format!("{:.2}", processes.percentile_ms(100)),
        ]
    }
}

/// Checks that the baseline did its work too.
fn check_floor(inputs: &[Vec<PathBuf>], file: &Path) -> Result<()> {
    let mut expected = 0;
    for input in inputs.iter().flatten() {
        expected += std::fs::metadata(input)?.len();
    }
    let found = std::fs::metadata(file)?.len();
    ensure!(found == expected, "floor stored {found} of {expected} bytes");
    Ok(())
}

/// Checks that every event is in the journal and counted once in the view. Returns the time of the first query.
fn check_hooks(scratch: &Scratch, programs: &Programs, home: &Path) -> Result<Duration> {
    let stored = stored_records(home)?;
    ensure!(stored == RECORDS, "{stored} of {RECORDS} records are in the journal");
    let begun = Instant::now();
    let status = scratch.json(programs, home, &["memory", "session-status", "--all"])?;
    let took = begun.elapsed();
    let sessions = status["sessions"].as_array().map_or(&[][..], Vec::as_slice);
    let used: u64 = sessions.iter().filter_map(|session| session["tools_used"]["Write"].as_u64()).sum();
    ensure!(
        sessions.len() == WORKERS && used == RECORDS as u64,
        "session-status counts {used} events in {} sessions after {:.0} ms, not {RECORDS} in {WORKERS}",
        sessions.len(),
        ms(took)
    );
    Ok(took)
}
