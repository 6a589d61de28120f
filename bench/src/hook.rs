//! One hook: durably records a written file of 200 lines, compared with the minimum that a durable process can do.
//!
//! Every measured hook must have stored its record; otherwise no figures are printed.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use cerberus_os::home::Home;
use cerberus_store::journal;
use serde_json::json;

use crate::before;
use crate::measure::{self, Contender, TIME_COLUMNS, Target, Times, say, table};
use crate::payload;
use crate::programs::{Programs, interpreter};
use crate::scratch::{Scratch, stored_records};
use crate::trace::{self, COUNT_COLUMNS, Counts};

const RUNS: usize = 300;
const SLOW_RUNS: usize = 30;
const LINES: usize = 200;

const SYNC_ALONE: &str = "write and sync, no process";

const TARGET_X_FLOOR: Target = Target::AtMost(1.5);
const TARGET_NODE_X_HOOK: Target = Target::AtLeast(30.0);
const TARGET_INSTRUCTIONS: Target = Target::AtMost(250_000.0);
const TARGET_SYNCS: Target = Target::Exactly(1.0);

/// An interpreter that does nothing: how to call it, and how to find its path.
struct Interpreter {
    name: &'static str,
    program: &'static str,
    args: [&'static str; 2],
    args_that_print_its_path: [&'static str; 2],
}

const INTERPRETERS: [Interpreter; 2] = [
    Interpreter {
        name: "node -e 0",
        program: "node",
        args: ["-e", "0"],
        args_that_print_its_path: ["-p", "process.execPath"],
    },
    Interpreter {
        name: "python3 -c pass",
        program: "python3",
        args: ["-c", "pass"],
        args_that_print_its_path: ["-c", "import sys; print(sys.executable)"],
    },
];

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let programs = &programs.installed(&scratch.path("programs"))?;
    let home = scratch.home("home");
    let content = payload::rust_code(0, LINES);
    let session = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let said = payload::write(&scratch.repo(), session, "toolu_01", "src/ledger.rs", &content);
    // The first record of a day also creates a file and syncs its folder, so it is not measured.
    scratch.heard(programs, &home, None, &said)?;
    let record = journal_bytes(&home)?;
    say(&format!(
        "a Write of {LINES} lines, {} bytes; payload {} bytes, record {} bytes\n",
        content.len(),
        said.len(),
        record.len()
    ))?;
    let stage = Stage {
        programs,
        payload: scratch.file("payload.json", &said)?,
        record: scratch.file("record.json", &record)?,
        home,
        scratch,
    };
    stage.times()?;
    say("")?;
    stage.counts()?;
    stage.failures()?;
    before::run(programs)
}

fn journal_bytes(home: &Path) -> Result<Vec<u8>> {
    let home = Home::new(home.to_path_buf());
    let mut bytes = Vec::new();
    for segment in journal::segments(&home)? {
        bytes.extend(journal::read(&home, &segment.name, 0)?.bytes);
    }
    Ok(bytes)
}

struct Stage<'a> {
    programs: &'a Programs,
    scratch: Scratch,
    home: PathBuf,
    /// The input of the hook and the floor.
    payload: PathBuf,
    /// The record that the hook makes of it.
    record: PathBuf,
}

impl Stage<'_> {
    fn hook(&self) -> Command {
        self.scratch.hook(self.programs, &self.home)
    }

    fn floor(&self, file: &str) -> Command {
        self.scratch.floor(self.programs, &self.scratch.path(file))
    }

    fn times(&self) -> Result<()> {
        let before = stored_records(&self.home)?;
        let mut contenders = vec![
            Contender::program("floor", RUNS, self.floor("payloads"), &self.payload),
            Contender::program("hook", RUNS, self.hook(), &self.payload),
            Contender::program("floor, given the record", RUNS, self.floor("records"), &self.record),
            self.sync_alone()?,
        ];
        let mut missing = Vec::new();
        for known in INTERPRETERS {
            match interpreter(known.program, &known.args_that_print_its_path) {
                Some(path) => {
                    let mut command = self.scratch.silent(&path);
                    command.args(known.args);
                    contenders.push(Contender::program(known.name, SLOW_RUNS, command, &self.payload));
                }
                None => missing.push(known.program),
            }
        }
        let measured = measure::interleave(contenders)?;
        let stored = stored_records(&self.home)? - before;
        ensure!(stored >= RUNS, "{RUNS} hooks and more stored only {stored} records");
        if let [floor, hook, others @ ..] = measured.as_slice() {
            print_times(floor, hook, others)?;
        }
        for program in missing {
            say(&format!("{program} is not installed and not compared"))?;
        }
        Ok(())
    }

    /// The share of the disk: writes and syncs the record without starting a process.
    fn sync_alone(&self) -> Result<Contender<'static>> {
        let record = std::fs::read(&self.record)?;
        let path = self.scratch.path("synced");
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Contender::new(SYNC_ALONE, RUNS, move || {
            let begun = Instant::now();
            file.write_all(&record)?;
            file.sync_data()?;
            Ok(begun.elapsed())
        }))
    }

    fn counts(&self) -> Result<()> {
        let floor = Counts::of(&self.scratch, || Ok(self.floor("payloads")), &self.payload)?;
        let hook = Counts::of(&self.scratch, || Ok(self.hook()), &self.payload)?;
        let beside =
            |target: Target, count: Option<u64>| count.map_or_else(String::new, |count| target.beside(count as f64));
        let targets = vec![
            "target".to_string(),
            beside(TARGET_INSTRUCTIONS, hook.instructions),
            beside(TARGET_SYNCS, hook.syncs()),
        ];
        table(&COUNT_COLUMNS, &[floor.cells("floor"), hook.cells("hook"), targets])?;
        if let (Some(floor), Some(hook)) = (&floor.calls, &hook.calls) {
            say(&format!("floor calls: {}\nhook calls:  {}", floor.list(), hook.list()))?;
        }
        trace::print_missing()
    }

    /// A command that fails in a new way, and in one that another session has solved.
    fn failures(&self) -> Result<()> {
        let failed = |session: &str, name: &str| {
            let extra = json!({"tool_name": "Bash", "tool_use_id": format!("toolu_{session}{name}"), "is_interrupt": false,
                "tool_input": {"command": "frob --all"}, "error": format!("Exit code 1\nerror: cannot find the {name}")});
            payload::payload(&self.scratch.repo(), session, "PostToolUseFailure", extra)
        };
        let ran = |id: &str, line: &str| {
            let response = json!({"stdout": "fine", "stderr": "", "interrupted": false});
            payload::tool(&self.scratch.repo(), "solved", id, "Bash", json!({ "command": line }), response)
        };
        for said in [failed("solved", "lamp"), ran("toolu_2", "frob init"), ran("toolu_3", "frob --all")] {
            self.scratch.heard(self.programs, &self.home, None, &said)?;
        }
        // It folds.
        self.scratch.json(self.programs, &self.home, &["stats"])?;
        let mut rows = Vec::new();
        for (name, word) in [("a failure that is new", "kettle"), ("a failure that was solved", "lamp")] {
            let input = self.scratch.file("failed.json", &failed("asking", word))?;
            rows.push(Counts::of(&self.scratch, || Ok(self.hook()), &input)?.cells(name));
        }
        say("")?;
        table(&COUNT_COLUMNS, &rows)
    }
}

fn print_times(floor: &Times, hook: &Times, others: &[Times]) -> Result<()> {
    let row = |times: &Times, target: String| {
        let x_hook = format!("{:.2}", times.median_ms() / hook.median_ms());
        times.cells(floor).into_iter().chain([x_hook, target]).collect::<Vec<_>>()
    };
    let x_floor = TARGET_X_FLOOR.beside(hook.median_ms() / floor.median_ms());
    let mut rows = vec![row(floor, String::new()), row(hook, format!("x floor {x_floor}"))];
    for other in others {
        let x_hook = TARGET_NODE_X_HOOK.beside(other.median_ms() / hook.median_ms());
        let target = match other.name.starts_with("node") {
            true => format!("x hook {x_hook}"),
            false => String::new(),
        };
        rows.push(row(other, target));
    }
    let columns: Vec<&str> = TIME_COLUMNS.into_iter().chain(["x hook", "target"]).collect();
    table(&columns, &rows)?;
    let sync = others.iter().find(|times| times.name == SYNC_ALONE);
    if sync.is_some_and(|sync| sync.median_ms() > floor.median_ms() / 2.0) {
        say("more than half of the floor is the sync: the disk is slow or busy, and the ratios say little")?;
    }
    Ok(())
}
