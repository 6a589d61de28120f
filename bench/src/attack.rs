//! The red team: every attack class through every door, each attack in a fresh home.
//!
//! Prints how many attacks were tried and how many passed, per class and door, and which. Fails if one of our own
//! passed. With `--data FILE`, attacks of the user's own are tried too (JSON Lines with `text` and `secrets`); their
//! figure never fails the run.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use cerberus_testkit::attack::{self, Attack, Class, Door};

use crate::measure::{say, table};
use crate::programs::Programs;

const WORKERS: usize = 2;

/// Tried and passed.
type Counts = BTreeMap<(Class, Door), (usize, usize)>;

pub fn run(programs: &Programs) -> Result<()> {
    let mut attacks = attack::all();
    if let Some(file) = programs.data.as_deref().filter(|path| path.is_file()) {
        let lines = cerberus_store::import::files::read(file).with_context(|| file.display().to_string())?;
        attacks.extend(attack::given(&lines));
    }
    let tries: Vec<(Door, &Attack)> = Door::all()
        .into_iter()
        .flat_map(|door| attacks.iter().filter(move |attack| door.takes(attack)).map(move |attack| (door, attack)))
        .collect();
    let (next, results) = (AtomicUsize::new(0), Mutex::new((Counts::new(), Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(&(door, attack)) = tries.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let breach = attack::tried(&programs.cerberus, door, attack).err();
                    let Ok(mut results) = results.lock() else { return };
                    let counts = results.0.entry((attack.class, door)).or_default();
                    counts.0 += 1;
                    counts.1 += usize::from(breach.is_some());
                    results.1.extend(breach);
                }
            });
        }
    });
    let (counts, breaches) = results.into_inner().context("a worker panicked")?;
    shown(&counts)?;
    breaches.iter().try_for_each(|breach| say(&format!("passed: {breach}")))?;
    let own: usize =
        counts.iter().filter(|((class, _), _)| *class != Class::Given).map(|(_, (_, passed))| passed).sum();
    if own > 0 {
        bail!("{own} attacks passed");
    }
    Ok(())
}

/// One row per class, one column per door: `passed/tried`.
fn shown(counts: &Counts) -> Result<()> {
    let doors = Door::all();
    let mut rows = Vec::new();
    for class in Class::ALL.into_iter().chain([Class::Given]) {
        let of_class: Vec<_> = counts.iter().filter(|((of, _), _)| *of == class).collect();
        if of_class.is_empty() {
            continue;
        }
        let (tried, passed) = of_class.iter().fold((0, 0), |sum, (_, (tried, passed))| (sum.0 + tried, sum.1 + passed));
        let cell = |door: &Door| match counts.get(&(class, *door)) {
            Some((tried, passed)) => format!("{passed}/{tried}"),
            None => "-".to_string(),
        };
        rows.push(
            [vec![class.word().to_string(), tried.to_string(), passed.to_string()], doors.iter().map(cell).collect()]
                .concat(),
        );
    }
    let names: Vec<String> = doors.iter().map(|door| door.word()).collect();
    let columns: Vec<&str> = ["class", "tried", "passed"].into_iter().chain(names.iter().map(String::as_str)).collect();
    table(&columns, &rows)
}
