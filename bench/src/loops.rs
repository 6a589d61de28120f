//! A long run of the loop's crash harness: kills its runner and its guards with SIGKILL at labelled points and at
//! random instants, and resumes, for a hundred runs. Then the comparison with a plain loop.
//!
//! Labelled points exist only in development builds: pass one with `--binary`.

use anyhow::{Result, bail};
use cerberus_os::fault::LOOP_POINTS;
use cerberus_testkit::env::TestEnv;
use cerberus_testkit::loops::{ITERATIONS, Rounds};

use crate::compare;
use crate::measure::say;
use crate::programs::Programs;

const ROUNDS: usize = 100;
const SEED: u64 = 20_260_122;

pub fn run(programs: &Programs) -> Result<()> {
    let mut rounds = Rounds::new(TestEnv::new(&programs.cerberus), SEED);
    let mut violations = Vec::new();
    for round in 0..ROUNDS {
        match LOOP_POINTS.get(round) {
            // Each point once first.
            Some(label) => {
                rounds.die_at(label, 2);
            }
            None => rounds.round(&LOOP_POINTS),
        }
        violations.extend(rounds.violations().into_iter().map(|wrong| format!("round {round}: {wrong}")));
    }
    say(&format!(
        "{ROUNDS} runs of {ITERATIONS} iterations (seed {SEED}): {} deaths, {} violations",
        rounds.kills,
        violations.len()
    ))?;
    if !violations.is_empty() {
        bail!("{}", violations.join("\n"));
    }
    compare::run(programs)
}
