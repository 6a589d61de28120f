//! A long run of the crash harness: kills real processes with SIGKILL at random instants, ten thousand times.

use anyhow::{Result, bail};
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::harness::Harness;

use crate::measure::say;
use crate::programs::Programs;

const ROUNDS: usize = 10_000;
const SEED: u64 = 20_260_122;

/// Rounds between two checks, so that a violation is found close to its cause.
const CHECK_EVERY: usize = 2_500;

pub fn run(programs: &Programs) -> Result<()> {
    // Labelled points exist only in development builds; the tests cover all of them.
    let mut harness = Harness::new(TestEnv::new(&programs.cerberus), SEED, &[]);
    let mut violations = Vec::new();
    for round in 1..=ROUNDS {
        harness.round();
        if round % CHECK_EVERY == 0 {
            violations.extend(harness.violations());
        }
    }
    say(&format!(
        "{ROUNDS} rounds (seed {SEED}): {} killed, {} hooks acknowledged, {} violations",
        harness.kills,
        harness.acknowledged(),
        violations.len()
    ))?;
    if !violations.is_empty() {
        bail!("{}", violations.join("\n"));
    }
    Ok(())
}
