//! Counts what a process does: instructions with callgrind, system calls with strace.
//!
//! Unlike times, counts hardly vary between machines and runs. A missing tool is reported, never installed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::measure::say;
use crate::programs::on_path;
use crate::scratch::Scratch;

/// Calls that wait for the disk.
const SYNCS: [&str; 5] = ["fdatasync", "fsync", "sync", "syncfs", "sync_file_range"];

/// The counts of one run of a program; `None` if the tool is missing.
#[derive(Debug)]
pub struct Counts {
    /// In user space, from start to exit.
    pub instructions: Option<u64>,
    pub calls: Option<Calls>,
}

pub const COUNT_COLUMNS: [&str; 4] = ["", "instructions", "syncs", "system calls"];

impl Counts {
    /// Runs the program once per tool. It is set up again each time, because a run may change its surroundings.
    pub fn of(scratch: &Scratch, mut program: impl FnMut() -> Result<Command>, input: &Path) -> Result<Counts> {
        let instructions = match on_path("valgrind") {
            Some(valgrind) => Some(instructions(scratch, &valgrind, &program()?, input)?),
            None => None,
        };
        let calls = match on_path("strace") {
            Some(strace) => Some(calls(scratch, &strace, &program()?, input)?),
            None => None,
        };
        Ok(Counts { instructions, calls })
    }

    pub fn syncs(&self) -> Option<u64> {
        self.calls.as_ref().map(|calls| calls.syncs() as u64)
    }

    pub fn cells(&self, name: &str) -> Vec<String> {
        let shown = |count: Option<u64>| count.map_or_else(|| "?".to_string(), |count| count.to_string());
        let calls = self.calls.as_ref().map(|calls| calls.total() as u64);
        vec![name.to_string(), shown(self.instructions), shown(self.syncs()), shown(calls)]
    }
}

/// Reports which tools are missing.
pub fn print_missing() -> Result<()> {
    for (tool, what) in [("valgrind", "instructions"), ("strace", "syncs and system calls")] {
        if on_path(tool).is_none() {
            say(&format!("{tool} is missing (package {tool}): {what} are not counted"))?;
        }
    }
    Ok(())
}

fn instructions(scratch: &Scratch, valgrind: &Path, program: &Command, input: &Path) -> Result<u64> {
    let out = scratch.path("callgrind.out");
    let file_option = format!("--callgrind-out-file={}", out.display());
    run_under(scratch, valgrind, &["--tool=callgrind", &file_option], program, input)?;
    total(&fs::read_to_string(&out)?).context("callgrind gives no total")
}

fn calls(scratch: &Scratch, strace: &Path, program: &Command, input: &Path) -> Result<Calls> {
    let out = scratch.path("strace.out");
    let out_text = out.display().to_string();
    run_under(scratch, strace, &["-f", "-o", &out_text], program, input)?;
    Ok(Calls::parse(&String::from_utf8_lossy(&fs::read(&out)?)))
}

/// Runs `program`, with its arguments and environment, as the child of `tool`.
fn run_under(scratch: &Scratch, tool: &Path, tool_args: &[&str], program: &Command, input: &Path) -> Result<()> {
    let mut command = scratch.silent(tool);
    let set = program.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(set).args(tool_args);
    command.arg(program.get_program()).args(program.get_args());
    command.stdin(File::open(input)?).stderr(Stdio::piped());
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}: {}", output.status, said.trim());
    }
    Ok(())
}

/// The total at the end of callgrind's file.
pub fn total(callgrind: &str) -> Option<u64> {
    let mut lines = callgrind.lines().rev();
    let said = lines.find_map(|line| line.strip_prefix("totals:"))?;
    said.split_whitespace().next()?.parse().ok()
}

/// How often each system call was made.
#[derive(Debug, Default, PartialEq)]
pub struct Calls(BTreeMap<String, usize>);

impl Calls {
    /// Reads the output of strace: `12 read(0, …) = 5`, with the process number first. Signals and exits are not calls;
    /// an interrupted call is counted where it begins.
    fn parse(text: &str) -> Calls {
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let call = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(' ');
            let name = call.split_once('(').map_or("", |(name, _)| name);
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                *counts.entry(name.to_string()).or_insert(0) += 1;
            }
        }
        Calls(counts)
    }

    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    pub fn syncs(&self) -> usize {
        SYNCS.iter().filter_map(|name| self.0.get(*name)).sum()
    }

    /// `9 open, 4 read, …`, most frequent first.
    pub fn list(&self) -> String {
        let mut counts: Vec<_> = self.0.iter().collect();
        counts.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let words: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_strace_writes() {
        let calls = Calls::parse(
            "41 execve(\"/c\", [\"/c\"], 0x7 /* 3 vars */) = 0\n41 read(0, \"(x\", 9) = 2\n41 read(0,  <unfinished ...>\n\
             41 <... read resumed>\"\", 9) = 0\n41 fdatasync(4) = 0\nfsync(5) = 0\n\
             41 --- SIGCHLD {si_signo=SIGCHLD} ---\n41 exit_group(0) = ?\n41 +++ exited with 0 +++\n",
        );
        assert_eq!((calls.total(), calls.syncs()), (6, 2));
        assert_eq!(calls.list(), "2 read, 1 execve, 1 exit_group, 1 fdatasync, 1 fsync");
    }

    #[test]
    fn reads_what_callgrind_writes() {
        assert_eq!(total("events: Ir\nfn=(1)\n5 7\n\ntotals: 191002\n"), Some(191_002));
        assert_eq!(total("events: Ir\n"), None);
    }
}
