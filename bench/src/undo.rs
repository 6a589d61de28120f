//! Keeping a turn in a tree of 50,000 files with 20 changes, against `git stash create` of the same run: time, and room in
//! the repository. Nobody waits for it, so processor time counts, with that of the processes it starts.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::measure::{Target, say, table};
use crate::programs::Programs;
use crate::scratch::Scratch;

const FOLDERS: usize = 500;
const FILES: usize = 100;
const CHANGES: usize = 20;
const ROUNDS: usize = 10;

/// Files that were changed more recently are read again.
const SETTLED_AFTER: Duration = Duration::from_secs(61);

const TARGET_CPU_MS: Target = Target::AtMost(300.0);

/// What one call took, in milliseconds, and added to the repository, in KiB.
#[derive(Clone, Copy, Default)]
struct Cost {
    cpu_ms: f64,
    wall_ms: f64,
    room_kib: f64,
}

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let home = scratch.home("home");
    for folder in 0..FOLDERS {
        let path = scratch.repo().join(format!("d{}/s{folder}", folder / 25));
        fs::create_dir_all(&path)?;
        for file in 0..FILES {
            let text = format!("// {folder} {file}\n{}", "fn f() { let x = 1; }\n".repeat(60));
            fs::write(path.join(format!("file_{file}.rs")), text)?;
        }
    }
    scratch.git(&["add", "."])?;
    scratch.git(&["commit", "--quiet", "--message=files"])?;
    let keep = || scratch.cerberus(programs, &home, &["undo", "--keep", "turn"]);
    let on = cost(&scratch, &scratch.cerberus(programs, &home, &["undo", "--on", "--here"]))?;
    thread::sleep(SETTLED_AFTER);
    let again = cost(&scratch, &keep())?;
    let stash = || {
        let mut git = scratch.silent(Path::new("git"));
        git.args(["-c", "user.name=Bench", "-c", "user.email=bench@localhost", "stash", "create"]);
        git
    };
    let (mut kept, mut stashed, mut same) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        change(&scratch, 2 * round)?;
        kept.push(cost(&scratch, &keep())?);
        same.push(cost(&scratch, &keep())?);
        change(&scratch, 2 * round + 1)?;
        stashed.push(cost(&scratch, &stash())?);
    }
    let stashed = median(&stashed);
    let rows: Vec<Vec<String>> = [
        ("git stash create", stashed, String::new()),
        ("a turn with 20 changes", median(&kept), TARGET_CPU_MS.beside(median(&kept).cpu_ms)),
        ("a turn without changes", median(&same), String::new()),
        ("the first turn", on, String::new()),
        ("the first a minute later", again, String::new()),
    ]
    .into_iter()
    .map(|(name, Cost { cpu_ms, wall_ms, room_kib }, target)| {
        let times = format!("{:.2}", cpu_ms / stashed.cpu_ms);
        vec![name.to_string(), format!("{cpu_ms:.0}"), times, format!("{wall_ms:.0}"), format!("{room_kib:.0}"), target]
    })
    .collect();
    say(&format!("{} files", FOLDERS * FILES))?;
    table(&["", "CPU ms", "x stash", "ms", "KiB", "target"], &rows)?;
    let status = scratch.json(programs, &home, &["status"])?;
    ensure!(status["failures"] == json!([]), "{}", status["failures"]);
    say(&format!("undo: {}", status["undo"]))
}

/// Changes files in as many folders.
fn change(scratch: &Scratch, round: usize) -> Result<()> {
    for at in 0..CHANGES {
        let folder = at * FOLDERS / CHANGES;
        let path = scratch.repo().join(format!("d{}/s{folder}/file_{}.rs", folder / 25, round % FILES));
        writeln!(OpenOptions::new().append(true).open(path)?, "// round {round}, change {at}")?;
    }
    Ok(())
}

/// Runs a command to its end; the shell says what it and what it started took.
fn cost(scratch: &Scratch, command: &Command) -> Result<Cost> {
    let before = loose_kib(scratch)?;
    let mut shell = scratch.silent(Path::new("bash"));
    shell.args(["-c", "TIMEFORMAT='%U %S %R'; time \"$@\" >/dev/null 2>&1", "bash"]).arg(command.get_program());
    shell.args(command.get_args()).stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        value.map(|value| shell.env(name, value));
    }
    let output = shell.output()?;
    ensure!(output.status.success(), "{command:?} failed");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds: Vec<f64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [user, system, wall] = seconds[..] else { anyhow::bail!("bash printed {printed:?}") };
    let room_kib = loose_kib(scratch)? - before;
    Ok(Cost { cpu_ms: 1_000.0 * (user + system), wall_ms: 1_000.0 * wall, room_kib })
}

/// The room of objects that are not packed.
fn loose_kib(scratch: &Scratch) -> Result<f64> {
    let mut git = scratch.silent(Path::new("git"));
    let output = git.args(["count-objects", "-v"]).stdout(Stdio::piped()).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let size = printed.lines().find_map(|line| line.strip_prefix("size: ")).context("git counts its objects")?;
    Ok(size.parse()?)
}

/// The median of each figure.
fn median(costs: &[Cost]) -> Cost {
    let of = |figure: fn(&Cost) -> f64| {
        let mut figures: Vec<f64> = costs.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Cost { cpu_ms: of(|cost| cost.cpu_ms), wall_ms: of(|cost| cost.wall_ms), room_kib: of(|cost| cost.room_kib) }
}
