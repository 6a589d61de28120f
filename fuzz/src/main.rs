//! Gives every reader of foreign bytes what nobody would write, and checks what must hold whatever it is given.
//!
//! `cargo run --profile fuzz -p cerberus-fuzz -- TARGET|all [--seconds N | --iterations N] [--seed S]`
//!
//! Deterministic: the same seed and number of iterations give the same inputs, on any machine. What a target checks is
//! more than that nothing panics; see the files in `targets`. A finding is printed, and kept as a file.

mod corpus;
mod mutate;
mod random;
mod targets;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::random::Random;
use crate::targets::Target;

/// Deep recursion must show itself: a third of what the main thread of a program has.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// An input that takes longer is a finding, too: somebody could send it.
const SLOW: Duration = Duration::from_secs(5);

#[derive(Clone, Copy)]
enum Limit {
    Iterations(u64),
    Time(Duration),
}

fn main() -> ExitCode {
    let run = || -> anyhow::Result<bool> {
        let (wanted, limit, seed) = arguments()?;
        // A panic is reported with its input, once.
        panic::set_hook(Box::new(|_| {}));
        let mut is_clean = true;
        for target in targets::all().into_iter().filter(|target| wanted == "all" || target.name == wanted) {
            is_clean &= in_small_stack(target, limit, seed)?;
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

fn arguments() -> anyhow::Result<(String, Limit, u64)> {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_default();
    let names: Vec<&str> = targets::all().iter().map(|target| target.name).collect();
    if wanted != "all" && !names.contains(&wanted.as_str()) {
        bail!("name a target, or all: {}", names.join(", "));
    }
    let (mut limit, mut seed) = (Limit::Time(Duration::from_secs(10)), 1);
    while let Some(option) = arguments.next() {
        let value: u64 = arguments.next().and_then(|value| value.parse().ok()).context("every option has a number")?;
        match option.as_str() {
            "--seconds" => limit = Limit::Time(Duration::from_secs(value)),
            "--iterations" => limit = Limit::Iterations(value),
            "--seed" => seed = value,
            other => bail!("{other} is none of --seconds, --iterations, --seed"),
        }
    }
    Ok((wanted, limit, seed))
}

fn in_small_stack(target: Target, limit: Limit, seed: u64) -> anyhow::Result<bool> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let joined = thread.spawn(move || fuzz(&target, limit, seed))?.join();
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
        let started = Instant::now();
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| check(&input)));
        let found = match outcome {
            Err(panic) => Some(format!("it panicked: {}", words_of(panic.as_ref()))),
            Ok(Err(broken)) => Some(broken),
            Ok(Ok(())) if started.elapsed() > SLOW => Some(format!("it took {:?}", started.elapsed())),
            Ok(Ok(())) => None,
        };
        if let Some(found) = found {
            let file = std::env::temp_dir().join(format!("cerberus-fuzz-{}-{seed}-{iteration}", target.name));
            std::fs::write(&file, &input)?;
            println!("{:24} FOUND after {iteration} inputs, seed {seed}: {found}", target.name);
            println!("{:24} the input, {} bytes, is in {}", "", input.len(), file.display());
            return Ok(false);
        }
        iteration += 1;
    }
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
            assert!(in_small_stack(target, Limit::Iterations(120), 7).unwrap(), "{name}");
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
    }
}
