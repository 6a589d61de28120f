//! What a start and a prompt cost in a fresh process, with a whole chain recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::replay::Replay;
use super::session::Session;
use super::{Commit, Row, lines};
use crate::measure::{Contender, TIME_COLUMNS, Target, interleave, say, spawn_to_exit, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::{Scratch, copy_home};
use crate::trace::{self, COUNT_COLUMNS, Counts};

const RUNS: usize = 60;
/// With many new records, most of the time is spent folding them.
const FOLDING_RUNS: usize = 15;
const CPU_RUNS: usize = 30;

const TARGET_BRIEF_MS: Target = Target::AtMost(10.0);
const TARGET_START_MS: Target = Target::AtMost(15.0);
const TARGET_PROMPT_MS: Target = Target::AtMost(8.0);
const TARGET_START_CPU_MS: Target = Target::AtMost(12.0);
const TARGET_PROMPT_CPU_MS: Target = Target::AtMost(10.0);
/// Beyond a command that passes.
const TARGET_FAILURE_MORE_MS: Target = Target::AtMost(3.0);

/// Imports all sessions of the largest chain except the last one, and measures what that one would wait for.
pub fn of_largest_chain(programs: &Programs, data: &Path) -> Result<()> {
    let rows: Vec<Row> = lines(&data.join("sessions.jsonl"))?;
    let length = |chain: &str| rows.iter().filter(|row| row.chain == chain).count();
    let largest = rows.iter().map(|row| row.chain.as_str()).max_by_key(|chain| (length(chain), *chain));
    let largest = largest.context("no sessions")?.to_string();
    let mut own: Vec<Row> = rows.into_iter().filter(|row| row.chain == largest).collect();
    own.sort_by(|a, b| a.start.cmp(&b.start));
    let last = own.pop().context("no sessions")?;
    let scratch = Scratch::new()?;
    let commits: Vec<Commit> = lines(&data.join(&largest).join("gitlog.jsonl"))?;
    let mut replay = Replay::new(programs, &scratch, commits)?;
    replay.check_out(&last.start)?;
    let mut edited: BTreeMap<String, usize> = BTreeMap::new();
    for row in &own {
        let path = data.join(&row.file);
        let session = Session::read(&path)?;
        session.edited().into_iter().for_each(|path| *edited.entry(path.to_string()).or_default() += 1);
        replay.learn(&path, &session)?;
    }
    let file = edited.into_iter().max_by_key(|(_, count)| *count).map(|(path, _)| path).unwrap_or_default();
    let prompt = Session::read(&data.join(&last.file))?.first_prompt();
    replay.briefs(&last.start, &prompt)?;
    say(&format!("\nin a fresh process, with the {} sessions of the largest chain\n", own.len()))?;
    print(programs, &scratch, &replay, file)
}

/// Every run of a hook begins with the same home.
fn print(programs: &Programs, scratch: &Scratch, replay: &Replay, file: String) -> Result<()> {
    let (before, home) = (scratch.home("before"), scratch.home("measured"));
    let stage = Stage { programs, scratch, replay, file, before, home };
    stage.make_home()?;
    stage.times()?;
    stage.costs()
}

/// A hook of the session that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured {
    Start,
    Prompt,
    /// The same, and it names a file and a function.
    NamingPrompt,
    /// A command that passes.
    Passes,
    /// A command that fails in a new way.
    Fails,
    /// A command that fails as it did before it was solved.
    FailsAgain,
}

impl Measured {
    const ALL: [Measured; 6] = [
        Measured::Start,
        Measured::Prompt,
        Measured::NamingPrompt,
        Measured::Passes,
        Measured::Fails,
        Measured::FailsAgain,
    ];

    fn name(self) -> &'static str {
        match self {
            Measured::Start => "SessionStart",
            Measured::Prompt => "UserPromptSubmit, first",
            Measured::NamingPrompt => "UserPromptSubmit, naming a file and a function",
            Measured::Passes => "a command passes",
            Measured::Fails => "a command fails in a new way",
            Measured::FailsAgain => "a command fails as one did that was solved",
        }
    }

    fn target_cpu_ms(self) -> Option<Target> {
        match self {
            Measured::Start => Some(TARGET_START_CPU_MS),
            Measured::Prompt | Measured::NamingPrompt => Some(TARGET_PROMPT_CPU_MS),
            Measured::Passes | Measured::Fails | Measured::FailsAgain => None,
        }
    }
}

struct Stage<'a> {
    programs: &'a Programs,
    scratch: &'a Scratch,
    replay: &'a Replay<'a>,
    /// The file that most sessions edited.
    file: String,
    before: PathBuf,
    home: PathBuf,
}

impl Stage<'_> {
    /// A start has asked git, a failure was solved, and a session has ended.
    fn make_home(&self) -> Result<()> {
        let hook = |event: &str, extra| {
            let said = payload::payload(&self.scratch.repo(), "warm-up", event, extra);
            self.scratch.heard(self.programs, &self.replay.home, Some(&self.replay.now()), &said)
        };
        hook("SessionStart", json!({"source": "startup"}))?;
        hook("PostToolUseFailure", command_failed("w1", "lamp"))?;
        hook("PostToolUse", command_passed("w2", "frob init"))?;
        hook("PostToolUse", command_passed("w3", "frob --all"))?;
        hook("SessionEnd", json!({"reason": "other"}))?;
        copy_home(&self.replay.home, &self.before)
    }

    fn times(&self) -> Result<()> {
        let nothing = self.scratch.file("nothing", b"")?;
        let floor = self.scratch.floor(self.programs, &self.scratch.path("floor.bin"));
        let brief = self.scratch.cerberus(self.programs, &self.before, &["brief", "--now", &self.replay.now()]);
        let mut contenders = vec![
            Contender::program("floor", RUNS, floor, &nothing),
            Contender::program("cerberus brief", RUNS, brief, &nothing),
        ];
        let timed = |measured, records| {
            let (mut hook, input) = self.ready(measured, records)?;
            spawn_to_exit(&mut hook, &input)
        };
        contenders.extend(Measured::ALL.map(|one| Contender::new(one.name(), RUNS, move || timed(one, 0))));
        for (name, records) in [("UserPromptSubmit, 50 new records", 50), ("UserPromptSubmit, 500 new records", 500)] {
            contenders.push(Contender::new(name, FOLDING_RUNS, move || timed(Measured::Prompt, records)));
        }
        let times = interleave(contenders)?;
        let targets = [None, Some(TARGET_BRIEF_MS), Some(TARGET_START_MS), Some(TARGET_PROMPT_MS)];
        let rows = times.iter().zip(targets.into_iter().chain(std::iter::repeat(None))).map(|(one, target)| {
            let target = target.map(|target| target.beside(one.median_ms())).unwrap_or_default();
            one.cells(&times[0]).into_iter().chain([target]).collect()
        });
        table(&[TIME_COLUMNS.as_slice(), &["target ms"]].concat(), &rows.collect::<Vec<_>>())
    }

    /// What does not depend on the disk: CPU time and instructions.
    fn costs(&self) -> Result<()> {
        let cpu = |measured| {
            let (hook, input) = self.ready(measured, 0)?;
            Ok(trace::cpu(self.scratch, &hook, &input)?.unwrap_or_default())
        };
        let measured = Measured::ALL.map(|one| Contender::new(one.name(), CPU_RUNS, move || cpu(one)));
        let times = interleave(measured.into())?;
        let passes = times.iter().zip(Measured::ALL).find(|(_, one)| *one == Measured::Passes);
        let passes = passes.map_or(0.0, |(times, _)| times.median_ms());
        let mut rows = Vec::new();
        for (times, one) in times.iter().zip(Measured::ALL) {
            let over = times.median_ms() - passes;
            let target = match one.target_cpu_ms() {
                Some(target) => target.beside(times.median_ms()),
                None if one == Measured::Passes => String::new(),
                None => format!("{over:.3} more, {}", TARGET_FAILURE_MORE_MS.beside(over)),
            };
            let counts = Counts::of(self.scratch, || Ok(self.ready(one, 0)?.0), &self.input(one)?)?;
            let cpu = [times.runs().to_string(), format!("{:.3}", times.median_ms()), target];
            rows.push(counts.cells(one.name()).into_iter().chain(cpu).collect());
        }
        say("")?;
        table(&[COUNT_COLUMNS.as_slice(), &["runs", "CPU ms", "target CPU ms"]].concat(), &rows)?;
        trace::print_missing()
    }

    /// The hook in a home of its own, after the start of its session and this many uses of a tool. The copy is written to
    /// disk first: otherwise the hook's own sync would wait for all of it.
    fn ready(&self, measured: Measured, records: usize) -> Result<(Command, PathBuf)> {
        copy_home(&self.before, &self.home)?;
        rustix::fs::sync();
        let now = self.replay.now();
        let heard = |said: &[u8]| self.scratch.heard(self.programs, &self.home, Some(&now), said);
        if measured != Measured::Start {
            heard(&self.said(Measured::Start))?;
        }
        for number in 0..records {
            let (repo, id) = (self.scratch.repo(), format!("toolu_{number}"));
            heard(&payload::read(&repo, "measured", &id, &format!("src/part{}/file{number}.rs", number % 9)))?;
        }
        let mut hook = self.scratch.hook(self.programs, &self.home);
        hook.env("CERBERUS_NOW", now);
        Ok((hook, self.input(measured)?))
    }

    fn input(&self, measured: Measured) -> Result<PathBuf> {
        self.scratch.file("measured.json", &self.said(measured))
    }

    fn said(&self, measured: Measured) -> Vec<u8> {
        let (event, extra) = match measured {
            Measured::Start => ("SessionStart", json!({"source": "startup"})),
            Measured::Prompt => ("UserPromptSubmit", json!({"prompt": self.replay.prompt()})),
            Measured::NamingPrompt => {
                let prompt = format!("{} It is about parse_header in {}.", self.replay.prompt(), self.file);
                ("UserPromptSubmit", json!({ "prompt": prompt }))
            }
            Measured::Passes => ("PostToolUse", command_passed("m1", "frob --all")),
            Measured::Fails => ("PostToolUseFailure", command_failed("m1", "kettle")),
            Measured::FailsAgain => ("PostToolUseFailure", command_failed("m1", "lamp")),
        };
        payload::payload(&self.scratch.repo(), "measured", event, extra)
    }
}

fn command_failed(id: &str, missing: &str) -> Value {
    json!({"tool_name": "Bash", "tool_use_id": id, "is_interrupt": false, "tool_input": {"command": "frob --all"},
        "error": format!("Exit code 1\nerror: cannot find the {missing}")})
}

fn command_passed(id: &str, line: &str) -> Value {
    let response = json!({"stdout": "fine", "stderr": "", "interrupted": false});
    json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": line}, "tool_response": response})
}
