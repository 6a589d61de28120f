//! Records that Cerberus writes about a session itself, as opposed to those an agent's hook or transcript reports.

use cerberus_core::clean::text::{Clean, Keep};
use cerberus_core::model::event::{Event, Place, Record};
use cerberus_core::model::id::Agent;

use crate::os::clock::Clock;

/// A record of our own about a session.
pub fn own_record<'a>(
    clock: &Clock,
    agent: Agent,
    session: &str,
    place: Place<'a>,
    key: String,
    event: Event<'a>,
) -> Record<'a> {
    let (session, key) = (Clean::new(session.to_string(), Keep::NAME), Clean::new(key, Keep::NAME));
    Record { at: clock.now, key, agent, imported: false, heard_by: None, session, place, event }
}
