//! Interleaved timing, medians, tables. Contenders take turns, so that a busy machine affects them all.
//!
//! It measures and prints a target next to each figure, and whether it was met. A missed target is not an error.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cerberus_record::id::fnv1a;

/// Warm-up runs of each contender, which are discarded.
const WARM_UP_RUNS: usize = 3;

/// Something that is timed repeatedly. It times itself, so that its setup does not count.
pub struct Contender<'a> {
    pub name: &'static str,
    runs: usize,
    run: Box<dyn FnMut() -> Result<Duration> + 'a>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &'static str, runs: usize, run: impl FnMut() -> Result<Duration> + 'a) -> Contender<'a> {
        Contender { name, runs, run: Box::new(run) }
    }

    /// A program, from spawn to exit, with a file as its input.
    pub fn program(name: &'static str, runs: usize, mut command: Command, input: &'a Path) -> Contender<'a> {
        Contender::new(name, runs, move || spawn_to_exit(&mut command, input))
    }
}

/// The times of one contender, sorted.
#[derive(Debug, Default)]
pub struct Times {
    pub name: &'static str,
    sorted: Vec<Duration>,
}

impl Times {
    pub fn new(name: &'static str, mut times: Vec<Duration>) -> Times {
        times.sort();
        Times { name, sorted: times }
    }

    pub fn runs(&self) -> usize {
        self.sorted.len()
    }

    pub fn median_ms(&self) -> f64 {
        self.percentile_ms(50)
    }

    /// The time that this share of the runs did not exceed; zero without runs.
    pub fn percentile_ms(&self, percent: usize) -> f64 {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted.get(rank - 1).map_or(0.0, |time| ms(*time))
    }

    /// `n`, median, 95th percentile, and the median as a multiple of the baseline's.
    pub fn cells(&self, baseline: &Times) -> Vec<String> {
        vec![
            self.name.to_string(),
            self.runs().to_string(),
            format!("{:.3}", self.median_ms()),
            format!("{:.3}", self.percentile_ms(95)),
            format!("{:.2}", self.median_ms() / baseline.median_ms()),
        ]
    }
}

pub const TIME_COLUMNS: [&str; 5] = ["", "runs", "median ms", "p95 ms", "x floor"];

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs all contenders in turn, those with fewer runs spread evenly over the rounds.
pub fn interleave(mut contenders: Vec<Contender>) -> Result<Vec<Times>> {
    let rounds = contenders.iter().map(|contender| contender.runs).max().unwrap_or(0);
    let mut times: Vec<Vec<Duration>> = contenders.iter().map(|_| Vec::new()).collect();
    for contender in &mut contenders {
        for _ in 0..WARM_UP_RUNS.min(contender.runs) {
            (contender.run)().context(contender.name)?;
        }
    }
    for round in 0..rounds {
        for index in order(round, contenders.len()) {
            let contender = &mut contenders[index];
            if has_turn(round, contender.runs, rounds) {
                times[index].push((contender.run)().context(contender.name)?);
            }
        }
    }
    let names = contenders.iter().map(|contender| contender.name);
    Ok(names.zip(times).map(|(name, times)| Times::new(name, times)).collect())
}

/// A different order each round, but the same in every run, so that no contender always follows one that empties the
/// caches.
fn order(round: usize, contenders: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contenders).collect();
    order.sort_by_key(|index| fnv1a(&[index.to_le_bytes(), round.to_le_bytes()].concat()));
    order
}

fn has_turn(round: usize, runs: usize, rounds: usize) -> bool {
    round * runs / rounds != (round + 1) * runs / rounds
}

/// Times a program from before the spawn to after the exit. The input is opened before; a failing program is an error.
pub fn spawn_to_exit(command: &mut Command, input: &Path) -> Result<Duration> {
    command.stdin(File::open(input)?);
    let begun = Instant::now();
    let status = command.status();
    let took = begun.elapsed();
    match status {
        Ok(status) if status.success() => Ok(took),
        Ok(status) => bail!("{command:?}: {status}"),
        Err(error) => bail!("{command:?} does not start: {error}"),
    }
}

/// Runs it, and adds the time that this thread was on a processor for it; without Linux, the time that passed.
pub fn timed<T>(times: &mut Vec<Duration>, run: impl FnOnce() -> T) -> T {
    let on_processor = || {
        let printed = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        printed.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    let (begun, before) = (Instant::now(), on_processor());
    let result = run();
    let passed = before.and_then(|before| Some(on_processor()? - before));
    times.push(passed.unwrap_or_else(|| begun.elapsed()));
    result
}

/// A target, in the unit of its figure.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
}

impl Target {
    /// The target, and whether `figure` meets it.
    pub fn beside(self, figure: f64) -> String {
        let (text, is_met) = match self {
            Target::AtMost(limit) => (format!("<= {limit}"), figure <= limit),
            Target::AtLeast(limit) => (format!(">= {limit}"), figure >= limit),
            Target::Exactly(wanted) => (format!("= {wanted}"), figure == wanted),
        };
        format!("{text} {}", if is_met { "met" } else { "MISSED" })
    }
}

/// Prints a line. A closed pipe is a normal error: `println!` would panic and leave the scratch folder behind.
pub fn say(text: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Prints a table: names left-aligned, figures right-aligned.
pub fn table(columns: &[&str], rows: &[Vec<String>]) -> Result<()> {
    say(table_text(columns, rows).trim_end())
}

fn table_text(columns: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = columns.iter().map(|column| column.to_string()).collect();
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| {
            let cells = std::iter::once(&header).chain(rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            match column {
                0 => line.push_str(&format!("{cell:width$}")),
                _ => line.push_str(&format!("  {cell:>width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = |millis: &[u64]| Times::new("x", millis.iter().copied().map(Duration::from_millis).collect());
        let hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(times(&hundred).median_ms(), 50.0);
        assert_eq!(times(&hundred).percentile_ms(95), 95.0);
        assert_eq!(times(&[7]).percentile_ms(95), 7.0);
        assert_eq!(times(&[]).median_ms(), 0.0);
    }

    #[test]
    fn every_contender_has_its_runs_and_none_always_follows_the_same() {
        let seen = std::cell::RefCell::new(Vec::new());
        let contender = |name, runs| {
            let seen = &seen;
            Contender::new(name, runs, move || {
                seen.borrow_mut().push(name);
                Ok(Duration::ZERO)
            })
        };
        let times =
            interleave(vec![contender("a", 400), contender("b", 400), contender("c", 400), contender("slow", 40)]);
        let runs: Vec<_> = times.unwrap().iter().map(Times::runs).collect();
        assert_eq!(runs, [400, 400, 400, 40]);
        let seen = seen.into_inner();
        for name in ["a", "b", "c"] {
            let after_slow = seen.windows(2).filter(|pair| *pair == ["slow", name]).count();
            assert!((5..25).contains(&after_slow), "{name} follows slow {after_slow} times");
        }
    }

    #[test]
    fn tables_are_aligned_and_targets_say_whether_they_were_met() {
        let rows = [
            vec!["floor".to_string(), "1.00".to_string(), String::new()],
            vec!["hook".to_string(), "10.00".to_string(), Target::AtMost(2.0).beside(10.0)],
        ];
        assert_eq!(
            table_text(&["", "x floor", "target"], &rows),
            "       x floor       target\nfloor     1.00\nhook     10.00  <= 2 MISSED\n"
        );
        assert_eq!(Target::AtLeast(30.0).beside(31.0), ">= 30 met");
        assert_eq!(Target::Exactly(1.0).beside(1.0), "= 1 met");
    }
}
