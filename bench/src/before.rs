//! The hook before a tool use, against a minimal process that records and one that only reads its input.
//!
//! A call that is refused is recorded and synced, like the floor; the others record nothing. Every hook must have
//! answered as expected; otherwise no figures are printed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::measure::{self, Contender, TIME_COLUMNS, Target, Times, say, table};
use crate::payload;
use crate::programs::Programs;
use crate::scratch::{Scratch, stored_records};
use crate::trace::{COUNT_COLUMNS, Counts};

const RUNS: usize = 300;
const TARGET_X_FLOOR: Target = Target::AtMost(2.0);
const SESSION: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";
/// Records of a working day before the call.
const EARLIER: usize = 200;

pub fn run(programs: &Programs) -> Result<()> {
    let scratch = Scratch::new()?;
    let stage = Stage::new(programs, &scratch)?;
    stage.answers_as_expected()?;
    say(&format!("\nbefore a tool use, after {EARLIER} records of the same day and session\n"))?;
    stage.times()?;
    stage.counts()
}

struct Stage<'a> {
    programs: &'a Programs,
    scratch: &'a Scratch,
    /// A home with a check, and one without.
    checked: PathBuf,
    unchecked: PathBuf,
    passes: PathBuf,
}

fn call(scratch: &Scratch, id: usize, line: &str) -> Vec<u8> {
    let extra = json!({"tool_name": "Bash", "tool_use_id": format!("toolu_{id:04}"), "tool_input": {"command": line}});
    payload::payload(&scratch.repo(), SESSION, "PreToolUse", extra)
}

impl<'a> Stage<'a> {
    fn new(programs: &'a Programs, scratch: &'a Scratch) -> Result<Stage<'a>> {
        let (checked, unchecked) = (scratch.home("checked"), scratch.home("unchecked"));
        for home in [&checked, &unchecked] {
            for at in 0..EARLIER {
                let id = format!("toolu_a{at}");
                let said = payload::edit(&scratch.repo(), SESSION, &id, &format!("src/f{at}.rs"), "    done()");
                scratch.heard(programs, home, None, &said)?;
            }
        }
        let learned = scratch.json(programs, &checked, &["learn", "Use pnpm, not npm.", "--scope", "project"])?;
        let id = learned["id"].as_str().context("no memory was learned")?;
        scratch.json(programs, &checked, &["check", "add", id, "--level", "block"])?;
        let passes = scratch.file("passes.json", &call(scratch, 0, "cargo test --workspace && git status"))?;
        Ok(Stage { programs, scratch, checked, unchecked, passes })
    }

    /// Another call that is refused.
    fn refused(&self, number: usize) -> Result<PathBuf> {
        self.scratch.file("refused.json", &call(self.scratch, number, "npm install left-pad"))
    }

    fn answer(&self, home: &Path, input: &Path) -> Result<String> {
        let mut hook = self.scratch.hook(self.programs, home);
        let output = hook.stdin(fs::File::open(input)?).stdout(Stdio::piped()).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn answers_as_expected(&self) -> Result<()> {
        let before = stored_records(&self.checked)?;
        let refused = self.refused(0)?;
        ensure!(self.answer(&self.checked, &refused)?.contains("deny"), "the call is not refused");
        ensure!(stored_records(&self.checked)? == before + 1, "the refusal is not recorded");
        ensure!(self.answer(&self.checked, &self.passes)?.is_empty(), "the other call does not pass");
        ensure!(self.answer(&self.unchecked, &refused)?.is_empty(), "without a check, the call does not pass");
        Ok(())
    }

    fn times(&self) -> Result<()> {
        let (programs, scratch) = (self.programs, self.scratch);
        let program = |name, command| Contender::program(name, RUNS, command, &self.passes);
        let mut number = 0;
        let mut refusing = scratch.hook(programs, &self.checked);
        let refused = Contender::new("refused", RUNS, move || {
            number += 1;
            let input = self.refused(number)?;
            measure::spawn_to_exit(&mut refusing, &input)
        });
        let measured = measure::interleave(vec![
            program("floor: records and syncs", scratch.floor(programs, &scratch.path("floor"))),
            program("floor: only reads", scratch.silent(&programs.floor)),
            program("no check is on", scratch.hook(programs, &self.unchecked)),
            program("passes", scratch.hook(programs, &self.checked)),
            refused,
        ])?;
        let [floor, reads, hooks @ ..] = measured.as_slice() else { return Ok(()) };
        let row = |times: &Times, target: String| {
            let x_reads = format!("{:.2}", times.median_ms() / reads.median_ms());
            times.cells(floor).into_iter().chain([x_reads, target]).collect::<Vec<_>>()
        };
        let mut rows = vec![row(floor, String::new()), row(reads, String::new())];
        for hook in hooks {
            let x_floor = hook.median_ms() / floor.median_ms();
            rows.push(row(hook, format!("x floor {}", TARGET_X_FLOOR.beside(x_floor))));
        }
        let columns: Vec<&str> = TIME_COLUMNS.into_iter().chain(["x only reads", "target"]).collect();
        table(&columns, &rows)
    }

    fn counts(&self) -> Result<()> {
        let (programs, scratch) = (self.programs, self.scratch);
        let passes = Counts::of(scratch, || Ok(scratch.hook(programs, &self.checked)), &self.passes)?;
        let (mut number, refused) = (RUNS, self.refused(RUNS)?);
        let next = || {
            number += 1;
            self.refused(number)?;
            Ok(scratch.hook(programs, &self.checked))
        };
        let refused = Counts::of(scratch, next, &refused)?;
        say("")?;
        table(&COUNT_COLUMNS, &[passes.cells("passes"), refused.cells("refused")])
    }
}
