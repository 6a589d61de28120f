//! Records that Cerberus writes about a session itself, as opposed to those an agent's hook or transcript reports.

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, Location, Record};
use cerberus_record::id::Agent;

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
