//! Records that Cerberus writes about a session itself, as opposed to those an agent's hook or transcript reports.

use cerberus_core::clean::text::Keep;
use cerberus_core::model::event::{Event, Location, Record};
use cerberus_core::model::id::Agent;

use crate::os::clock::Clock;
use crate::os::home::Home;

/// A record of our own about a session.
pub fn own_record<'a>(
    home: &Home,
    clock: &Clock,
    agent: Agent,
    session: &str,
    location: Location<'a>,
    key: String,
    event: Event<'a>,
) -> Record<'a> {
    let cleaner = home.cleaner();
    let (session, key) = (cleaner.clean(session.to_string(), Keep::NAME), cleaner.clean(key, Keep::NAME));
    Record {
        at: clock.now,
        key,
        agent,
        imported: false,
        heard_by: None,
        by_agent: false,
        origin: None,
        session,
        location,
        event,
    }
}
