//! A seeded simulation of everything that can happen to a home, and the check that growing equals rebuilding.
//!
//! One seed drives hooks of several agents over several days, with imports, forgetting, edits of memories, clock
//! changes, crashes, duplicate and late records. After every step the view that grew with the journal is compared with
//! one rebuilt from scratch, row by row and brief by brief; at the end also the output of every command. A seed always
//! does the same, so a failing one can be run again. Seeds that once failed are in `seeds.txt` and are always run.

mod agents;
mod compare;
pub mod random;
mod world;

use std::fmt;
use std::io::Write;
use std::path::Path;

use compare::Difference;
use random::Random;
use world::World;

/// Enough for sessions to start, overlap, crash, be forgotten and come back.
const STEPS: usize = 30;

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/simulation/seeds.txt");

/// A seed that failed, with the steps that led there.
#[derive(Debug)]
pub struct Failure {
    seed: u64,
    steps: Vec<String>,
    difference: Difference,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: the rebuilt view differs after step {}", self.seed, self.steps.len())?;
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {:>2} {step}", number + 1)?;
        }
        write!(f, "{}", self.difference)
    }
}

/// The seeds that failed once.
pub fn kept_seeds() -> Vec<u64> {
    let text = std::fs::read_to_string(SEEDS).expect("the list of seeds is there");
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.trim().parse().expect("a seed")).collect()
}

/// Runs one seed; one that fails is kept. `binary` is the program whose output is compared at the end.
pub fn run(seed: u64, binary: &Path) -> Result<(), Box<Failure>> {
    let mut world = World::new(Random::new(seed));
    let mut steps = Vec::new();
    let result = (0..STEPS).try_for_each(|_| {
        steps.push(world.step());
        compare::views(&mut world)
    });
    result.and_then(|()| compare::outputs(&world, binary)).map_err(|difference| {
        keep(seed);
        Box::new(Failure { seed, steps, difference })
    })
}

fn keep(seed: u64) {
    if !kept_seeds().contains(&seed)
        && let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(SEEDS)
    {
        let _ = writeln!(file, "{seed}");
    }
}
