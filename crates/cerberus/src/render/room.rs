//! The room that checkpoints take, for people.

use cerberus_checkpoint::room::RoomTaken;
use cerberus_record::time::Timestamp;

use super::time::LocalTime;
use super::{bytes, count};

/// How much room the checkpoints of a repository take, and what had to go for it.
pub fn room(taken: &RoomTaken, now: Timestamp) -> String {
    let is_taken = taken.bytes.map_or("an unknown part".to_string(), bytes);
    let most = bytes(taken.bytes_max);
    let removed = taken.removed.as_ref().map_or(String::new(), |removed| {
        let (oldest, ago) = (count(removed.checkpoints, "checkpoint"), LocalTime::new(now).ago(removed.at));
        format!("; the limit was reached {ago}, and {oldest} went, oldest first")
    });
    format!("{is_taken} of at most {most}{removed}")
}
