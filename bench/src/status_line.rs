//! The status line, which an agent runs after every message: one process, compared with the minimum of a durable one.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::measure::{self, Contender, TIME_COLUMNS, Target, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::Scratch;

const RUNS: usize = 300;
const FILES: usize = 200;
const SESSION: &str = "running";

const TARGET_MS: Target = Target::AtMost(10.0);

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let home = scratch.home("home");
    for number in 0..FILES {
        let path = format!("src/file_{number}.rs");
        let written = payload::write(&scratch.repo(), "old", &format!("t{number}"), &path, "fn f() {}\n");
        scratch.heard(programs, &home, None, &written)?;
    }
    let start = payload::payload(&scratch.repo(), SESSION, "SessionStart", json!({"source": "startup"}));
    scratch.heard(programs, &home, None, &start)?;
    scratch.json(programs, &home, &["status"])?;
    let status = json!({"session_id": SESSION, "workspace": {"project_dir": scratch.repo()},
        "context_window": {"used_percentage": 38.4, "context_window_size": 200_000}, "cost": {"total_cost_usd": 0.42}});
    let input = scratch.file("status.json", status.to_string().as_bytes())?;

    let mut command = scratch.cerberus(programs, &home, &["statusline"]);
    let printed = command.stdin(std::fs::File::open(&input)?).stdout(std::process::Stdio::piped()).output()?;
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    ensure!(printed.contains("ctx 38%") && !printed.contains("told nothing"), "it printed {printed:?}");
    let measured = measure::interleave(vec![
        Contender::program("floor", RUNS, scratch.floor(programs, &scratch.path("floor.jsonl")), &input),
        Contender::program("status line", RUNS, scratch.cerberus(programs, &home, &["statusline"]), &input),
    ])?;
    let [floor, line] = measured.as_slice() else { return Ok(()) };
    let row =
        |times: &measure::Times, target: String| times.cells(floor).into_iter().chain([target]).collect::<Vec<_>>();
    let columns: Vec<&str> = TIME_COLUMNS.into_iter().chain(["target"]).collect();
    let target = format!("ms {}", TARGET_MS.beside(line.median_ms()));
    table(&columns, &[row(floor, String::new()), row(line, target)])
}
