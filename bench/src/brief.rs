//! The time budgets of a session's start, save and clean-up, with ten sessions of facts in the project.
//!
//! The facts are recorded through the hook. Whole processes are measured against the floor.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use cerberus_os::clock::Clock;
use cerberus_record::time::Timestamp;
use serde_json::json;

use crate::continuity::latency;
use crate::measure::{self, Contender, TIME_COLUMNS, Target, Times, say, spawn_to_exit, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::{Scratch, copy_home, stored_records};
use crate::trace::{self, COUNT_COLUMNS, Counts};

const SESSIONS: usize = 10;
const RUNS: usize = 200;
/// The home is copied before each of these runs.
const CLEAN_UP_RUNS: usize = 50;

/// Time between two sessions: ten of them fit into the week that carries over.
const APART: Duration = Duration::from_secs(12 * 60 * 60);
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const SAVE: &str = "save: one hook";
const BRIEF: &str = "load and format: cerberus brief";
const START: &str = "SessionStart hook, told its brief";
const CLEAN_UP: &str = "session-cleanup, 10 expired";

const TARGET_BRIEF_MS: Target = Target::AtMost(6.0);
const TARGET_SAVE_MS: Target = Target::AtMost(5.0);
const TARGET_CLEAN_UP_MS: Target = Target::AtMost(100.0);

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let home = scratch.home("home");
    let now = Clock::new(None).wall;
    let records = make_sessions(&scratch, programs, &home, now)?;
    let brief = scratch.json(programs, &home, &["brief"])?;
    let (told, tokens) = (brief["items"].as_array().map_or(0, Vec::len), &brief["tokens"]);
    ensure!(told > 0, "the brief of {SESSIONS} sessions is empty");
    say(&format!("{SESSIONS} sessions, {records} records; the brief has {told} items in {tokens} tokens\n"))?;
    let stage = Stage::new(&scratch, programs, &home, now)?;
    say("whole processes")?;
    stage.times()?;
    say("")?;
    stage.counts()?;
    match programs.data.as_deref().filter(|data| data.join("sessions.jsonl").is_file()) {
        Some(data) => latency::of_largest_chain(programs, data),
        None => say("\nwith real sessions: --data DIR with sessions.jsonl, transcripts and gitlog.jsonl"),
    }
}

/// Records ten sessions through the hook, the last one hours ago. Returns the number of records.
fn make_sessions(scratch: &Scratch, programs: &Programs, home: &Path, now: Timestamp) -> Result<usize> {
    for number in 0..SESSIONS {
        let begun = now.minus(APART * (SESSIONS - number) as u32);
        for (step, said) in session(scratch, number).iter().enumerate() {
            let at = begun.plus(Duration::from_secs(40 * step as u64));
            scratch.heard(programs, home, Some(&at.to_string()), said)?;
        }
    }
    // Tracked files determine how names are shortened.
    for number in 0..200 {
        let dir = scratch.repo().join(format!("crates/part{}/src", number % 20));
        std::fs::create_dir_all(&dir)?;
        std::fs::write(dir.join(format!("file{}.rs", number / 20)), "\n")?;
    }
    scratch.git(&["add", "."])?;
    stored_records(home)
}

/// The payloads of a working session: files read, written and edited, a todo list, commands, words.
fn session(scratch: &Scratch, number: usize) -> Vec<Vec<u8>> {
    let repo = scratch.repo();
    let name = format!("5c1e0f6a-0000-4000-8000-{number:012}");
    let mut ids = 0..;
    let mut id = || format!("toolu_{number}_{}", ids.next().unwrap_or(0));
    let part = |file: usize| format!("crates/part{}/src/file{file}.rs", (number * 3 + file) % 20);
    let event = |event: &str, extra| payload::payload(&repo, &name, event, extra);
    let prompt = "Split the ledger into segments. We decided to use one file a day because rotation is free then.";
    let mut said =
        vec![event("SessionStart", json!({"source": "startup"})), event("UserPromptSubmit", json!({"prompt": prompt}))];
    for file in 0..4 {
        said.push(payload::read(&repo, &name, &id(), &part(file)));
        let code = payload::rust_code(number * 7 + file, 40);
        said.push(payload::write(&repo, &name, &id(), &part(file), &code));
        let change = payload::rust_code(number * 7 + file + 4, 18);
        said.push(payload::edit(&repo, &name, &id(), &part(file + 1), &change));
        let command = json!({"command": format!("cargo test -p part{file}"), "description": "Run the tests"});
        let output = json!({"stdout": "test result: ok. 31 passed; 0 failed", "stderr": "", "interrupted": false});
        said.push(payload::tool(&repo, &name, &id(), "Bash", command, output));
    }
    let todo = |content: &str, status: &str| json!({"content": format!("{content} {number}"), "status": status});
    let todos = json!({"todos": [
        todo("Write the segment reader", "completed"), todo("Count torn records", "in_progress"),
        todo("Rotate the ledger at midnight", "pending"), todo("Describe the format in the manual", "pending"),
    ]});
    said.push(payload::tool(&repo, &name, &id(), "TodoWrite", todos, json!({})));
    let message = "The segments are split and read back. Next: rotate at midnight. Blocked by the missing clock trait.";
    said.push(event("Stop", json!({"last_assistant_message": message})));
    said.push(event("SessionEnd", json!({"reason": "prompt_input_exit"})));
    said
}

/// Each measurement has its own home, so that it cannot affect the others.
struct Stage<'a> {
    scratch: &'a Scratch,
    programs: &'a Programs,
    briefing: PathBuf,
    starting: PathBuf,
    saving: PathBuf,
    /// The payload that saves a record.
    write: PathBuf,
    /// The payload that starts a session.
    start: PathBuf,
    clean_up: CleanUp<'a>,
}

impl<'a> Stage<'a> {
    fn new(scratch: &'a Scratch, programs: &'a Programs, home: &'a Path, now: Timestamp) -> Result<Stage<'a>> {
        let repo = scratch.repo();
        let code = payload::rust_code(1, 200);
        let write = payload::write(&repo, "saving", "toolu_save", "src/new.rs", &code);
        let start = payload::payload(&repo, "starting", "SessionStart", json!({"source": "startup"}));
        let own = |name: &str| -> Result<PathBuf> {
            copy_home(home, &scratch.home(name))?;
            Ok(scratch.home(name))
        };
        Ok(Stage {
            scratch,
            programs,
            briefing: own("briefing")?,
            starting: own("starting")?,
            saving: own("saving")?,
            write: scratch.file("write.json", &write)?,
            start: scratch.file("start.json", &start)?,
            clean_up: CleanUp::new(scratch, programs, home, now)?,
        })
    }

    fn floor(&self) -> Command {
        self.scratch.floor(self.programs, &self.scratch.path("floor.jsonl"))
    }

    fn brief(&self) -> Command {
        self.scratch.cerberus(self.programs, &self.briefing, &["brief"])
    }

    /// Each start is a new session: the same one again would count as the echo of a second hook. It ends before the next
    /// one starts.
    fn start_another(&self, starts: &Cell<usize>) -> Result<Duration> {
        let name = format!("starting-{}", starts.replace(starts.get() + 1));
        let sent = |event: &str, extra| payload::payload(&self.scratch.repo(), &name, event, extra);
        let start = self.scratch.file("start-another.json", &sent("SessionStart", json!({"source": "startup"})))?;
        let took = spawn_to_exit(&mut self.scratch.hook(self.programs, &self.starting), &start)?;
        let end = sent("SessionEnd", json!({"reason": "prompt_input_exit"}));
        self.scratch.heard(self.programs, &self.starting, None, &end)?;
        Ok(took)
    }

    fn times(&self) -> Result<()> {
        let before = stored_records(&self.starting)?;
        let starts = Cell::new(0);
        let hook = |home: &Path| self.scratch.hook(self.programs, home);
        let measured = measure::interleave(vec![
            Contender::program("floor", RUNS, self.floor(), &self.write),
            Contender::program(SAVE, RUNS, hook(&self.saving), &self.write),
            Contender::program(BRIEF, RUNS, self.brief(), &self.write),
            Contender::new(START, RUNS, || self.start_another(&starts)),
            Contender::new(CLEAN_UP, CLEAN_UP_RUNS, || self.clean_up.run()),
        ])?;
        let told = stored_records(&self.starting)? - before;
        // One record for the start, one for the receipt.
        ensure!(told >= 2 * RUNS, "{RUNS} starts left only {told} records");
        let targets = [TARGET_SAVE_MS, TARGET_BRIEF_MS, TARGET_BRIEF_MS, TARGET_CLEAN_UP_MS].map(Some);
        print_with_targets(&measured, std::iter::once(None).chain(targets))
    }

    /// Counts that explain the times: on a slow disk mainly the syncs.
    fn counts(&self) -> Result<()> {
        let hook = |home: &Path| Ok(self.scratch.hook(self.programs, home));
        let floor = Counts::of(self.scratch, || Ok(self.floor()), &self.write)?;
        let save = Counts::of(self.scratch, || hook(&self.saving), &self.write)?;
        let brief = Counts::of(self.scratch, || Ok(self.brief()), &self.write)?;
        let start = Counts::of(self.scratch, || hook(&self.starting), &self.start)?;
        let clean_up = Counts::of(self.scratch, || self.clean_up.command(), &self.write)?;
        let rows =
            [floor.cells("floor"), save.cells(SAVE), brief.cells(BRIEF), start.cells(START), clean_up.cells(CLEAN_UP)];
        table(&COUNT_COLUMNS, &rows)?;
        trace::print_missing()
    }
}

fn print_with_targets(measured: &[Times], targets: impl Iterator<Item = Option<Target>>) -> Result<()> {
    let rows: Vec<Vec<String>> = measured
        .iter()
        .zip(targets)
        .map(|(times, target)| {
            let target = target.map(|target| target.beside(times.median_ms())).unwrap_or_default();
            times.cells(&measured[0]).into_iter().chain([target]).collect()
        })
        .collect();
    let columns: Vec<&str> = TIME_COLUMNS.into_iter().chain(["target ms"]).collect();
    table(&columns, &rows)
}

/// Archiving changes the home, so each run gets a fresh copy.
struct CleanUp<'a> {
    scratch: &'a Scratch,
    programs: &'a Programs,
    home: &'a Path,
    now: String,
    no_input: PathBuf,
}

impl<'a> CleanUp<'a> {
    fn new(scratch: &'a Scratch, programs: &'a Programs, home: &'a Path, now: Timestamp) -> Result<CleanUp<'a>> {
        let clean_up = CleanUp {
            scratch,
            programs,
            home,
            now: now.plus(MONTH).to_string(),
            no_input: scratch.file("nothing", b"")?,
        };
        let copied = clean_up.fresh_home()?;
        let said = scratch.json(programs, &copied, &clean_up.args())?;
        ensure!(said["archived"] == SESSIONS, "session-cleanup archived {}", said["archived"]);
        Ok(clean_up)
    }

    fn args(&self) -> [&str; 4] {
        ["memory", "session-cleanup", "--now", &self.now]
    }

    fn fresh_home(&self) -> Result<PathBuf> {
        let copied = self.scratch.home("cleaning");
        copy_home(self.home, &copied)?;
        Ok(copied)
    }

    fn command(&self) -> Result<Command> {
        let copied = self.fresh_home()?;
        Ok(self.scratch.cerberus(self.programs, &copied, &self.args()))
    }

    fn run(&self) -> Result<Duration> {
        spawn_to_exit(&mut self.command()?, &self.no_input)
    }
}
