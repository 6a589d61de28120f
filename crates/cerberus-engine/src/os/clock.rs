//! The two times a command knows: the moment it speaks of, and the moment it runs.

use std::time::{SystemTime, UNIX_EPOCH};

use cerberus_core::model::time::Timestamp;

/// `now` may be given by the user, to reproduce any moment; `wall` never is, since files are named after it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub now: Timestamp,
    pub wall: Timestamp,
    /// The user asked for a moment: what is read must not change what is stored.
    pub is_given: bool,
}

impl Clock {
    pub fn new(given: Option<Timestamp>) -> Clock {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = Timestamp::from_millis(since_epoch.as_millis().min(i64::MAX as u128) as i64);
        Clock { now: given.unwrap_or(wall), wall, is_given: given.is_some() }
    }
}
