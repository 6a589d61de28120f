//! What sessions said, as a brief reads it.

use cerberus_record::fact::{Closing, Fact};
use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;

/// A fact from a session.
#[derive(Clone, Debug)]
pub struct KnownFact {
    pub fact: Fact,
    pub session: SessionId,
    pub at: Timestamp,
    /// Its position in the journal, to order events with the same time.
    pub event: i64,
}

/// A settlement from a session.
#[derive(Clone, Debug)]
pub struct Settlement {
    pub closing: Closing,
    pub session: SessionId,
    pub at: Timestamp,
    pub event: i64,
}
