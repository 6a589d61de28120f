//! A progress bar for anything that takes longer than a second. Drawn on a terminal only, on standard error.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::style::Screen;

/// Shorter work is done before anybody wonders.
const QUIET: Duration = Duration::from_secs(1);

const BAR_COLUMNS_MAX: usize = 30;
/// The room for what stands behind the bar.
const WORDS_COLUMNS: usize = 34;

pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    is_drawn: bool,
}

impl Progress {
    /// `what` is counted: `transcripts`.
    pub fn new(what: &str) -> Progress {
        // On a narrow terminal the words come first.
        let columns = Screen::stderr_columns().unwrap_or(BAR_COLUMNS_MAX + WORDS_COLUMNS);
        let bar = columns.saturating_sub(WORDS_COLUMNS).clamp(1, BAR_COLUMNS_MAX);
        let style = ProgressStyle::with_template(&format!("{{bar:{bar}}} {{pos}}/{{len}} {what}, {{eta}} left"));
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, begun: Instant::now(), is_drawn: false }
    }

    pub fn at(&mut self, done: usize, of: usize) {
        if !self.is_drawn && self.begun.elapsed() > QUIET && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.is_drawn = true;
        }
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
