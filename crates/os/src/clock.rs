//! The two times of a command: the time it answers for, and the time it runs at. And a clock that nobody can set.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cerberus_record::time::Timestamp;

use crate::platform::processes;

/// The user may set `now`, to reproduce any point in time. `wall` is always the real time, because files are named
/// after it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub now: Timestamp,
    pub wall: Timestamp,
    /// The user set `now`: reading must not change what is stored.
    pub is_given: bool,
}

impl Clock {
    pub fn new(given: Option<Timestamp>) -> Clock {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = Timestamp::from_millis(since_epoch.as_millis().min(i64::MAX as u128) as i64);
        Clock { now: given.unwrap_or(wall), wall, is_given: given.is_some() }
    }

    /// What is old by this time may be deleted. None if `now` was set: whoever sets it must not choose what is old.
    pub fn of_deletion(&self) -> Option<Timestamp> {
        (!self.is_given).then_some(self.wall)
    }

    /// Up to when what is written down counts. Unless the user set `now`, that is everything: what was written before the
    /// system's clock was set back is not in the future.
    pub fn until(&self) -> Timestamp {
        if self.is_given { self.now } else { Timestamp::LAST }
    }
}

/// The time of the system when this process first asked, and what has really passed since: nobody can set this clock. On
/// Linux it counts while the system sleeps.
pub fn steady() -> Timestamp {
    static BEGUN: OnceLock<(Timestamp, Option<Duration>, Instant)> = OnceLock::new();
    let (wall, booted, begun) = BEGUN.get_or_init(|| (Clock::new(None).wall, processes::since_boot(), Instant::now()));
    let passed = booted.and_then(|booted| Some(processes::since_boot()?.saturating_sub(booted)));
    wall.plus(passed.unwrap_or_else(|| begun.elapsed()))
}
