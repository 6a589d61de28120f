//! Rebuilding equals growing, whatever happens to a home: a few dozen seeds of the simulation, and those that once failed.

use std::path::Path;

use cerberus_testkit::simulation;

/// More are run by `cargo run --release -p cerberus-bench -- simulation`.
const SEEDS: u64 = 24;

#[test]
fn growing_equals_rebuilding() {
    let binary = Path::new(env!("CARGO_BIN_EXE_cerberus"));
    let seeds: Vec<u64> = simulation::kept_seeds().into_iter().chain(1..=SEEDS).collect();
    std::thread::scope(|scope| {
        for seeds in [&seeds[..seeds.len() / 2], &seeds[seeds.len() / 2..]] {
            scope.spawn(move || {
                for seed in seeds {
                    if let Err(failure) = simulation::run(*seed, binary) {
                        panic!("{failure}");
                    }
                }
            });
        }
    });
}
