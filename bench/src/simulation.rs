//! A thousand seeds of the simulation: after every step, the rebuilt view must equal the one that grew.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use cerberus_testkit::simulation;

use crate::measure::say;
use crate::programs::Programs;

const SEEDS: u64 = 1_000;
const WORKERS: usize = 2;

pub fn run(programs: &Programs) -> Result<()> {
    let binary = &programs.cerberus;
    let next = AtomicU64::new(1);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut failed = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed > SEEDS {
                    return failed;
                }
                failed.extend(simulation::run(seed, binary).err().map(|failure| failure.to_string()));
                if seed.is_multiple_of(SEEDS / 10) {
                    let _ = say(&format!("seed {seed}"));
                }
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    say(&format!("{SEEDS} seeds, {} failed", failures.len()))?;
    match failures.first() {
        None => Ok(()),
        Some(first) => bail!("{first}"),
    }
}
