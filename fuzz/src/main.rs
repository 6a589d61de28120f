//! Gives every reader of foreign bytes what nobody would write, and checks what must hold whatever it is given.
//!
//! `cargo run --profile fuzz -p cerberus-fuzz -- TARGET|all [--seconds N | --iterations N] [--seed S]`
//! `cargo run --profile fuzz -p cerberus-fuzz -- TARGET --replay FILE` gives one input to a target
//! `cargo run --profile fuzz -p cerberus-fuzz -- TARGET --seeds DIR` writes the inputs that others are made of
//! `cargo run --profile fuzz -p cerberus-fuzz -- --list` names the targets
//!
//! Deterministic: the same seed and number of iterations give the same inputs, on any machine. What a target checks is
//! more than that nothing panics; see the files in `targets`. A finding is printed, and kept as a file.

mod mutate;
mod random;

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cerberus_fuzz::corpus;
use cerberus_fuzz::targets::{self, Check, Target};

use crate::random::Random;

/// Deep recursion must show itself: a third of what the main thread of a program has.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// An input that takes longer is a finding, too: somebody could send it.
const SLOW: Duration = Duration::from_secs(5);

#[derive(Clone, Copy)]
enum Limit {
    Iterations(u64),
    Time(Duration),
}

#[derive(Clone)]
enum Task {
    Fuzz { limit: Limit, seed: u64 },
    Replay(PathBuf),
    WriteSeeds(PathBuf),
}

fn main() -> ExitCode {
    let run = || -> anyhow::Result<bool> {
        let (targets, task) = arguments()?;
        // A panic is reported with its input, once.
        panic::set_hook(Box::new(|_| {}));
        let mut is_clean = true;
        for target in targets {
            is_clean &= in_small_stack(target, task.clone())?;
        }
        Ok(is_clean)
    };
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> anyhow::Result<(Vec<Target>, Task)> {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_default();
    let names: Vec<&str> = targets::all().iter().map(|target| target.name).collect();
    if wanted == "--list" {
        println!("{}", names.join("\n"));
        return Ok((Vec::new(), Task::Fuzz { limit: Limit::Iterations(0), seed: 0 }));
    }
    let targets: Vec<Target> =
        targets::all().into_iter().filter(|target| wanted == "all" || target.name == wanted).collect();
    if targets.is_empty() {
        bail!("name a target, or all: {}", names.join(", "));
    }
    let (mut limit, mut seed) = (Limit::Time(Duration::from_secs(10)), 1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{option} needs a value"))?;
        let number = || value.parse::<u64>().with_context(|| format!("{option} needs a number"));
        match option.as_str() {
            "--seconds" => limit = Limit::Time(Duration::from_secs(number()?)),
            "--iterations" => limit = Limit::Iterations(number()?),
            "--seed" => seed = number()?,
            "--replay" => return Ok((targets, Task::Replay(value.into()))),
            "--seeds" => return Ok((targets, Task::WriteSeeds(value.into()))),
            other => bail!("{other} is none of --seconds, --iterations, --seed, --replay, --seeds"),
        }
    }
    Ok((targets, Task::Fuzz { limit, seed }))
}

fn in_small_stack(target: Target, task: Task) -> anyhow::Result<bool> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let run = move || match task {
        Task::Fuzz { limit, seed } => fuzz(&target, limit, seed),
        Task::Replay(file) => replay(&target, &file),
        Task::WriteSeeds(folder) => write_seeds(&target, &folder).map(|()| true),
    };
    let joined = thread.spawn(run)?.join();
    joined.map_err(|_| anyhow::anyhow!("the fuzzer itself panicked"))?
}

/// Runs a target to its limit, or to the first finding. Says whether there was none.
fn fuzz(target: &Target, limit: Limit, seed: u64) -> anyhow::Result<bool> {
    let begun = Instant::now();
    let corpus = corpus::of(target.corpus)?;
    let check = (target.make)()?;
    let mut random = Random::new(seed);
    let mut iteration = 0;
    loop {
        let is_done = match limit {
            Limit::Iterations(count) => iteration >= if target.is_slow { count / 10 } else { count },
            Limit::Time(time) => begun.elapsed() >= time,
        };
        if is_done {
            let secs = begun.elapsed().as_secs_f64();
            println!("{:24} {iteration:>9} inputs in {secs:6.1} s, seed {seed}: nothing found", target.name);
            return Ok(true);
        }
        // What was recorded is tried as it is, too.
        let recorded = corpus.get(iteration as usize / 2).filter(|_| iteration % 2 == 0);
        let input = recorded.cloned().unwrap_or_else(|| mutate::mutated(&corpus, &mut random));
        if let Some(found) = finding(&check, &input) {
            let file = std::env::temp_dir().join(format!("cerberus-fuzz-{}-{seed}-{iteration}", target.name));
            std::fs::write(&file, &input)?;
            println!("{:24} FOUND after {iteration} inputs, seed {seed}: {found}", target.name);
            println!("{:24} the input, {} bytes, is in {}", "", input.len(), file.display());
            return Ok(false);
        }
        iteration += 1;
    }
}

/// What is wrong with how a target takes an input, if anything is.
fn finding(check: &Check, input: &[u8]) -> Option<String> {
    let started = Instant::now();
    match panic::catch_unwind(AssertUnwindSafe(|| check(input))) {
        Err(panic) => Some(format!("it panicked: {}", words_of(panic.as_ref()))),
        Ok(Err(broken)) => Some(broken),
        Ok(Ok(())) if started.elapsed() > SLOW => Some(format!("it took {:?}", started.elapsed())),
        Ok(Ok(())) => None,
    }
}

/// Gives one input to a target. Says whether nothing was wrong.
fn replay(target: &Target, file: &Path) -> anyhow::Result<bool> {
    let input = std::fs::read(file).with_context(|| file.display().to_string())?;
    let found = finding(&(target.make)()?, &input);
    println!("{:24} {}", target.name, found.as_deref().unwrap_or("nothing found"));
    Ok(found.is_none())
}

fn write_seeds(target: &Target, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (number, input) in corpus::of(target.corpus)?.iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number:05}")), input)?;
    }
    Ok(())
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_of_every_target_finds_nothing() {
        for target in targets::all() {
            let name = target.name;
            assert!(in_small_stack(target, Task::Fuzz { limit: Limit::Iterations(120), seed: 7 }).unwrap(), "{name}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let corpus = vec![b"{\"a\": [1, 2]}".to_vec(), b"line\nline".to_vec()];
        let inputs = |seed| {
            let mut random = Random::new(seed);
            (0..50).map(|_| mutate::mutated(&corpus, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(3), inputs(3));
        assert_ne!(inputs(3), inputs(4));
    }

    #[test]
    fn what_breaks_is_found() {
        let check =
            || Ok(Box::new(|input: &[u8]| if input.contains(&0xff) { Err("0xff".to_string()) } else { Ok(()) }) as _);
        let target = Target { name: "broken", corpus: corpus::Kind::Text, make: check, is_slow: false };
        assert!(!fuzz(&target, Limit::Iterations(100_000), 1).unwrap());
        let dir = tempfile::tempdir().unwrap();
        for (input, is_clean) in [(b"fine".as_slice(), true), (b"not \xff fine", false)] {
            let file = dir.path().join("input");
            std::fs::write(&file, input).unwrap();
            assert_eq!(replay(&target, &file).unwrap(), is_clean, "{input:?}");
        }
    }

    #[test]
    fn seeds_are_what_inputs_are_made_of() {
        let dir = tempfile::tempdir().unwrap();
        let target = targets::all().into_iter().find(|target| target.name == "query").unwrap();
        let seeds = corpus::of(target.corpus).unwrap();
        write_seeds(&target, dir.path()).unwrap();
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let written: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
        assert!(!seeds.is_empty() && written == seeds);
    }
}
