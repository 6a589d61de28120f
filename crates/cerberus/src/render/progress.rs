//! A progress bar for anything that takes longer than a second. Drawn on a terminal only, on standard error.

use std::io::{IsTerminal, Write as _, stderr};
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthStr;

use super::style::Screen;
use super::time::duration;

/// Shorter work is done before anybody wonders.
const QUIET: Duration = Duration::from_secs(1);
/// Nobody reads faster.
const DRAWN_EVERY: Duration = Duration::from_millis(100);

const BAR_COLUMNS_MAX: usize = 30;
/// The room for what stands behind the bar.
const WORDS_COLUMNS: usize = 48;

pub struct Progress {
    what: String,
    begun: Instant,
    drawn: Option<Instant>,
    /// The columns of what stands there.
    columns: usize,
}

impl Progress {
    /// `what` is counted: `transcripts`.
    pub fn new(what: &str) -> Progress {
        Progress { what: what.to_string(), begun: Instant::now(), drawn: None, columns: 0 }
    }

    pub fn at(&mut self, done: usize, of: usize) {
        let passed = self.begun.elapsed();
        let is_drawn_lately = self.drawn.is_some_and(|drawn| drawn.elapsed() < DRAWN_EVERY);
        if passed < QUIET || is_drawn_lately || !stderr().is_terminal() {
            return;
        }
        // On a narrow terminal the words come first.
        let columns = Screen::stderr_columns().unwrap_or(BAR_COLUMNS_MAX + WORDS_COLUMNS);
        let line = line(done, of, &self.what, passed, columns);
        self.put(&line);
        self.drawn = Some(Instant::now());
    }

    /// Puts a line in place of the last one. Blanks erase the rest of it in every terminal.
    fn put(&mut self, line: &str) {
        let width = line.width();
        let blanks = self.columns.saturating_sub(width);
        let mut stderr = stderr();
        let _ = write!(stderr, "\r{line}{:blanks$}", "");
        let _ = stderr.flush();
        self.columns = width;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            self.put("");
            self.put("");
        }
    }
}

/// The bar, the numbers, and how long the rest takes at the same speed.
fn line(done: usize, of: usize, what: &str, passed: Duration, columns: usize) -> String {
    let of = of.max(1);
    let bar = columns.saturating_sub(WORDS_COLUMNS).clamp(1, BAR_COLUMNS_MAX);
    let filled = bar * done.min(of) / of;
    let left = match done {
        0 => String::new(),
        _ => format!(", {} left", duration(passed.mul_f64(of.saturating_sub(done) as f64 / done as f64))),
    };
    let line = format!("{}{} {done}/{of} {what}{left}", "█".repeat(filled), "░".repeat(bar - filled));
    line.chars().take(columns - 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_for_each_as_what_is_done() {
        let at = |done| line(done, 40, "transcripts", Duration::from_secs(60), 58);
        assert_eq!(at(10), format!("██░░░░░░░░ 10/40 transcripts, {} left", duration(Duration::from_secs(180))));
        assert_eq!(at(0), "░░░░░░░░░░ 0/40 transcripts");
        assert!(at(40).starts_with("██████████ 40/40 transcripts"));
        assert!(
            line(1, 2, "transcripts", Duration::from_secs(1), 40).starts_with("░ 1/2 transcripts, "),
            "a narrow terminal"
        );
    }
}
