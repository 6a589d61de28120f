//! The two times of a command: the time it answers for, and the time it runs at.

use std::time::{SystemTime, UNIX_EPOCH};

use cerberus_record::time::Timestamp;

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
}
