//! Records what is open in a project, for teammates: one list that replaces the list before it.

use std::collections::HashSet;

use cerberus_core::brief;
use cerberus_core::model::event::{Event, OpenFacts};
use cerberus_core::model::id::{Agent, SessionId, fnv1a};
use cerberus_core::model::session::CARRY_OVER;
use cerberus_core::share::open_list;

use crate::brief::recall::worked;
use crate::journal::{self, own_record};
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::project::identity::Located;
use crate::same_project::joined::joined;
use crate::store::fold::{self, FoldError};
use crate::store::{self, Asks, FactFilter, Store};

/// What the sessions of this device left open. What any device of the user settled is settled.
pub fn open_facts(home: &Home, clock: &Clock, store: &Store, located: &Located) -> store::Result<OpenFacts<'static>> {
    let now = clock.now;
    let ids = joined(store, located, now)?.ids;
    let mut sessions = store.sessions(&ids, now.minus(CARRY_OVER), now)?;
    sessions.retain(|session| session.state.status.carries_over());
    let carried = store.carried(&sessions, FactFilter::Words, now)?;
    let worked = worked(&store.history(&ids, Asks::Nothing, now)?);
    let mut items = brief::open_items(&carried.facts, &carried.settlements, &worked, &mut Vec::new());
    let own: HashSet<&SessionId> =
        sessions.iter().filter(|session| session.device.is_none()).map(|session| &session.id).collect();
    items.retain(|item| item.session.as_ref().is_some_and(|session| own.contains(session)));
    Ok(open_list(&items, &located.root.to_string_lossy(), home.cleaner()))
}

/// Records the list, if it changed since it was last recorded. Returns whether it did.
pub fn record(home: &Home, clock: &Clock, store: &mut Store, located: &Located) -> Result<bool, FoldError> {
    let facts = open_facts(home, clock, store, located)?;
    let ids = joined(store, located, clock.now)?.ids;
    let last = store.own_open_list(&ids, clock.now)?.unwrap_or_default();
    if facts == last {
        return Ok(false);
    }
    let hash = fnv1a(serde_json::to_string(&facts).unwrap_or_default().as_bytes());
    let key = format!("open-{}-{hash:016x}", clock.now.millis());
    let location = located.location(home.cleaner());
    let record = own_record(home, clock, Agent::MANUAL, "", location, key, Event::Open(facts));
    journal::append(home, clock.wall, &record)?;
    fold::fold(home, store)?;
    Ok(true)
}
