//! What a start and a prompt cost in a fresh process, with a whole chain recorded.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::replay::Replay;
use super::session::Session;
use super::{Commit, Row, lines};
use crate::measure::{Contender, TIME_COLUMNS, Target, interleave, say, spawn_to_exit, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::{Scratch, copy_home};

const RUNS: usize = 60;
/// With many new records, most of the time is spent folding them.
const FOLDING_RUNS: usize = 15;

const TARGET_BRIEF_MS: Target = Target::AtMost(10.0);
const TARGET_START_MS: Target = Target::AtMost(15.0);
const TARGET_PROMPT_MS: Target = Target::AtMost(8.0);

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
    for row in &own {
        let path = data.join(&row.file);
        replay.learn(&path, &Session::read(&path)?)?;
    }
    let prompt = Session::read(&data.join(&last.file))?.first_prompt();
    replay.briefs(&last.start, &prompt)?;
    say(&format!("\nin a fresh process, with the {} sessions of the largest chain\n", own.len()))?;
    print(programs, &scratch, &replay)
}

/// Every run of a hook begins with the same home.
pub fn print(programs: &Programs, scratch: &Scratch, replay: &Replay) -> Result<()> {
    let stage = Stage { programs, scratch, replay, before: scratch.home("before"), home: scratch.home("measured") };
    // A start has asked git, and a session has ended.
    stage.hook("SessionStart", "warm-up", json!({"source": "startup"}))?;
    stage.hook("SessionEnd", "warm-up", json!({"reason": "other"}))?;
    copy_home(&replay.home, &stage.before)?;
    copy_home(&replay.home, &stage.home)?;
    let nothing = scratch.file("nothing", b"")?;
    let floor = scratch.floor(programs, &scratch.path("floor.bin"));
    let brief = scratch.cerberus(programs, &stage.before, &["brief", "--now", &replay.now()]);
    let times = interleave(vec![
        Contender::program("floor", RUNS, floor, &nothing),
        Contender::program("cerberus brief", RUNS, brief, &nothing),
        Contender::new("SessionStart", RUNS, || stage.start()),
        Contender::new("UserPromptSubmit, first", RUNS, || stage.prompt(0)),
        Contender::new("UserPromptSubmit, 50 new records", FOLDING_RUNS, || stage.prompt(50)),
        Contender::new("UserPromptSubmit, 500 new records", FOLDING_RUNS, || stage.prompt(500)),
    ])?;
    let targets = [None, Some(TARGET_BRIEF_MS), Some(TARGET_START_MS), Some(TARGET_PROMPT_MS), None, None];
    let rows = times.iter().zip(targets).map(|(one, target)| {
        let target = target.map(|target| target.beside(one.median_ms())).unwrap_or_default();
        one.cells(&times[0]).into_iter().chain([target]).collect()
    });
    table(&[TIME_COLUMNS.as_slice(), &["target ms"]].concat(), &rows.collect::<Vec<_>>())
}

struct Stage<'a> {
    programs: &'a Programs,
    scratch: &'a Scratch,
    replay: &'a Replay<'a>,
    before: PathBuf,
    home: PathBuf,
}

impl Stage<'_> {
    /// One hook in the replayed home, unmeasured.
    fn hook(&self, event: &str, session: &str, extra: serde_json::Value) -> Result<()> {
        let said = payload::payload(&self.scratch.repo(), session, event, extra);
        self.scratch.heard(self.programs, &self.replay.home, Some(&self.replay.now()), &said)
    }

    /// The copy is written to disk first: otherwise the hook's own sync would wait for all of it.
    fn start(&self) -> Result<Duration> {
        copy_home(&self.before, &self.home)?;
        rustix::fs::sync();
        self.timed("SessionStart", json!({"source": "startup"}))
    }

    /// The prompt after this many uses of a tool.
    fn prompt(&self, records: usize) -> Result<Duration> {
        self.start()?;
        for number in 0..records {
            let (repo, id) = (self.scratch.repo(), format!("toolu_{number}"));
            let used = payload::read(&repo, "measured", &id, &format!("src/part{}/file{number}.rs", number % 9));
            self.scratch.heard(self.programs, &self.home, Some(&self.replay.now()), &used)?;
        }
        self.timed("UserPromptSubmit", json!({"prompt": self.replay.prompt()}))
    }

    fn timed(&self, event: &str, extra: serde_json::Value) -> Result<Duration> {
        let said = payload::payload(&self.scratch.repo(), "measured", event, extra);
        let input = self.scratch.file("measured.json", &said)?;
        let mut hook = self.scratch.hook(self.programs, &self.home);
        spawn_to_exit(hook.env("CERBERUS_NOW", self.replay.now()), &input)
    }
}
