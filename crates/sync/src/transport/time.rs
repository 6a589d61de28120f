//! How long a hub may take.

use std::time::{Duration, Instant};

/// How long one request may take, and when everything must be done.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    pub each: Duration,
    pub until: Instant,
}

impl TimeLimit {
    /// So long for everything from now on.
    pub fn of(each: Duration, all: Duration) -> TimeLimit {
        TimeLimit { each, until: Instant::now() + all }
    }

    /// How long the next request may take.
    pub fn left(&self) -> Duration {
        self.each.min(self.until.saturating_duration_since(Instant::now()))
    }
}
