//! What the report is made from, and why that may fail.

use cerberus_agents::install::Surroundings;
use cerberus_agents::meter::price::Prices;
use cerberus_agents::meter::redline::Redline;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;
use cerberus_store::view::{Store, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[cfg(feature = "loop")]
    #[error("{0}")]
    Loops(String),
}

/// What the report is made from.
pub struct ReportSources<'a> {
    pub home: &'a Home,
    pub store: &'a Store,
    pub clock: &'a Clock,
    pub surroundings: &'a Surroundings<'a>,
    pub prices: &'a Prices,
    pub redline: Redline,
    /// The day of a time in the user's zone, counted from 1970-01-01.
    pub day: &'a dyn Fn(Timestamp) -> i64,
}
