//! The loops of all projects, running and past, for people to look at. Changes nothing and takes no lock.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use cerberus_agents::meter::price::PricedBy;
use cerberus_agents::meter::{Certainty, Measure, Meter, windows};
use cerberus_agents::stream::StreamEvent;
use cerberus_os::home::{Access, Home};
use cerberus_os::process;
use cerberus_record::clean::text;
use cerberus_record::id::ProjectId;
use cerberus_record::session::Process;
use cerberus_record::time::Timestamp;

use super::ledger::{AttemptNumber, LedgerError, LoopLedger, WorktreeId};
use crate::entry::LedgerEntry;
use crate::history::{self, Iteration, RunState};

/// How much of the output of an attempt is read, from its beginning and from its end.
const HEAD_BYTES_MAX: u64 = 64 * 1024;
const TAIL_BYTES_MAX: u64 = 256 * 1024;
/// How many lines of it are kept, and how long each may be.
const LINES_MAX: usize = 20;
const LINE_CHARS_MAX: usize = 400;

/// One run of a loop.
#[derive(Clone, Debug)]
pub struct LoopRun {
    pub project: ProjectId,
    /// The linked worktree that it works in.
    pub worktree: Option<WorktreeId>,
    pub is_running: bool,
    pub state: RunState,
    pub iterations: Vec<Iteration>,
    pub started_at: Timestamp,
}

/// What the output of the last attempt says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastOutput {
    /// How full its context is; `None` if its output does not say.
    pub fill_percent: Option<f64>,
    pub certainty: Option<Certainty>,
    /// What it has spent, as far as its output says.
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    pub priced_by: Option<PricedBy>,
    /// The last lines that the agent wrote and the tools that it used, oldest first.
    pub lines: Vec<String>,
}

/// All runs of all projects: running ones first, then the newest first.
pub fn runs(home: &Home, now: Timestamp) -> Result<Vec<LoopRun>, LedgerError> {
    let mut found = Vec::new();
    for ledger in LoopLedger::all(home).unwrap_or_default() {
        let entries = ledger.read(now)?;
        let mut numbers: Vec<u32> = entries.iter().map(|entry| entry.run).collect();
        numbers.dedup();
        found.extend(numbers.into_iter().filter_map(|run| of_run(&ledger, &entries, run)));
    }
    found.sort_by_key(|run| (!run.is_running, std::cmp::Reverse(run.started_at)));
    Ok(found)
}

pub fn of_run(ledger: &LoopLedger, entries: &[LedgerEntry], run: u32) -> Option<LoopRun> {
    let entries: Vec<LedgerEntry> = entries.iter().filter(|entry| entry.run == run).cloned().collect();
    let state = history::latest_run(&entries)?;
    let is_alive = || state.runner.as_ref().is_some_and(|runner| process::probe(runner) == Process::Running);
    Some(LoopRun {
        project: ledger.project().clone(),
        worktree: ledger.worktree().cloned(),
        is_running: state.stopped.is_none() && is_alive(),
        iterations: history::iterations(&entries),
        started_at: entries.first()?.at,
        state,
    })
}

impl LoopRun {
    pub fn ledger(&self, home: &Home) -> LoopLedger {
        LoopLedger::with(home, self.project.clone(), self.worktree.clone())
    }
}

pub fn last_output(home: &Home, run: &LoopRun) -> LastOutput {
    let Some(last) = run.iterations.last() else { return LastOutput::default() };
    let number = AttemptNumber { run: run.state.run, iteration: last.iteration, attempt: last.attempts };
    let worker = run.state.worker;
    let measure = if worker.headless().is_some() { Measure::Usage } else { Measure::Output };
    let mut meter = Meter::new(measure, windows::load(home), run.state.layer.context_window);
    let mut lines = Vec::new();
    let bytes = ends_of(home, &run.ledger(home).output_path(number)).unwrap_or_default();
    for said in bytes.split(|byte| *byte == b'\n').flat_map(|line| worker.read(line)) {
        meter.observe(&said);
        match &said {
            StreamEvent::Text(text) => lines.extend(text.lines().map(|line| text::line(line, LINE_CHARS_MAX))),
            StreamEvent::Tool { name, what } => {
                lines.push(format!("· {}", text::line(&format!("{name} {what}"), LINE_CHARS_MAX)));
            }
            _ => {}
        }
    }
    lines.retain(|line| !line.is_empty());
    let lines = lines.split_off(lines.len().saturating_sub(LINES_MAX));
    let (tokens, cost_usd) = meter.spent();
    let reading = meter.reading();
    let (fill_percent, certainty) = match last.fill_percent {
        None => (reading.percent, Some(reading.certainty)),
        known => (known, last.certainty),
    };
    LastOutput { fill_percent, certainty, tokens, cost_usd, priced_by: meter.priced_by(), lines }
}

/// The beginning of a file, which names the model, and its end.
fn ends_of(home: &Home, path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = home.open(path, Access::Read)?;
    let length = file.metadata()?.len();
    (&mut file).take(HEAD_BYTES_MAX).read_to_end(&mut bytes)?;
    if length > HEAD_BYTES_MAX + TAIL_BYTES_MAX {
        file.seek(SeekFrom::Start(length - TAIL_BYTES_MAX))?;
        bytes.push(b'\n');
    }
    file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_long_file_is_read_from_both_ends() {
        let dir = tempfile::tempdir().unwrap();
        let (home, path) = (Home::new(dir.path().to_path_buf()), dir.path().join("output.log"));
        let text = |lines: usize| (0..lines).map(|line| format!("line {line}\n")).collect::<String>();
        fs::write(&path, text(9)).unwrap();
        assert_eq!(ends_of(&home, &path).unwrap(), text(9).into_bytes());
        fs::write(&path, text(100_000)).unwrap();
        let read = String::from_utf8(ends_of(&home, &path).unwrap()).unwrap();
        assert!(read.starts_with("line 0\n") && read.ends_with("line 99999\n"), "{}", read.len());
        assert_eq!(read.len() as u64, HEAD_BYTES_MAX + TAIL_BYTES_MAX + 1);
    }
}
