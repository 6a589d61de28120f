//! Exchanges everything of one space with its hub.

use cerberus_sync::SyncError;
use cerberus_sync::exchange::{Exchange, ExchangeReport, note_refusal};
use cerberus_sync::local::Space;
use cerberus_sync::transport::TimeLimit;

use super::conversations;
use super::hub::{COMMAND_MAX, REQUEST_MAX, open_within};
use crate::capabilities;
use crate::context::Context;

/// Exchanges everything of one space. The caller holds the lock.
pub(super) fn exchange(
    context: &Context,
    space: &Space,
    records_max: Option<usize>,
) -> std::result::Result<ExchangeReport, SyncError> {
    exchange_within(context, space, records_max, TimeLimit::of(REQUEST_MAX, COMMAND_MAX))
}

pub(super) fn exchange_within(
    context: &Context,
    space: &Space,
    records_max: Option<usize>,
    time: TimeLimit,
) -> std::result::Result<ExchangeReport, SyncError> {
    let opened = open_within(context, &space.hub, time);
    let mut hub = opened.inspect_err(|error| note_refusal(&context.home, space.number, error))?;
    let mut store = context.view().map_err(|failure| SyncError::Unreadable(format!("{:#}", failure.error)))?;
    let (home, clock) = (&context.home, &context.clock);
    let mut exchange = Exchange { home, clock, store: &mut store, only: None, records_max };
    let mut report = exchange.run(hub.as_mut(), space.number)?;
    for capability in capabilities::ALL {
        if let Err(error) = capability.forgotten_elsewhere(home, &store) {
            report.problems.push(format!("some of what another device has forgotten is still here: {error}"));
        }
    }
    // What was exchanged counts, whatever becomes of the conversations.
    let sent = conversations::send(context, hub.as_mut(), space.number, &store);
    report.problems.extend(sent.unwrap_or_else(|error| vec![format!("conversations: {error}")]));
    Ok(report)
}
