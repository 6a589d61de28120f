//! Records what is open in a project, for teammates: one list that replaces the list before it. It holds what the user
//! recorded or approved for the team, and nothing else: nobody has read that for the team.

use std::collections::HashSet;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::brief::{self, BriefLine};
use cerberus_record::event::{Event, OpenFacts};
use cerberus_record::id::{Agent, SessionId, fnv1a};
use cerberus_record::session::CARRY_OVER;
use cerberus_store::brief::work::worked;
use cerberus_store::journal;
use cerberus_store::journal::own_record;
use cerberus_store::project::identity::Located;
use cerberus_store::same_project::joined::joined;
use cerberus_store::view::fold::{self, FoldError};

use cerberus_store::view::{self, Asks, FactFilter, Store, TEAM_SOURCE};

use crate::share::open_list;

/// What is open in sessions of this device and is of a kind that teammates are told.
pub struct OpenHere {
    /// What the user recorded or approved for the team.
    pub for_team: Vec<BriefLine>,
    pub others: Vec<BriefLine>,
}

/// What any device of the user settled is settled.
pub fn open_here(clock: &Clock, store: &Store, located: &Located) -> view::Result<OpenHere> {
    let now = clock.now;
    let ids = joined(store, located, now)?.ids;
    let mut sessions = store.sessions(&ids, now.minus(CARRY_OVER), now)?;
    sessions.retain(|session| session.state.status.carries_over());
    let carried = store.carried(&sessions, FactFilter::Words, now)?;
    let worked = worked(&store.history(&ids, Asks::Nothing, now)?);
    let mut items = brief::open_items(&carried.facts, &carried.settlements, &worked, &mut Vec::new());
    let for_team = carried.facts.iter().zip(&carried.sources).filter(|(_, source)| **source == TEAM_SOURCE);
    let for_team: HashSet<&str> = for_team.map(|(known, _)| known.fact.code.as_str()).collect();
    items.retain(|item| OpenFacts::KINDS.contains(&item.kind));
    let own: HashSet<&SessionId> =
        sessions.iter().filter(|session| session.device.is_none()).map(|session| &session.id).collect();
    items.retain(|item| item.session.as_ref().is_some_and(|session| own.contains(session)));
    let (for_team, others) = items.into_iter().partition(|item| for_team.contains(item.code.as_str()));
    Ok(OpenHere { for_team, others })
}

/// The list for teammates as it is now.
pub fn open_facts(home: &Home, clock: &Clock, store: &Store, located: &Located) -> view::Result<OpenFacts<'static>> {
    let items = open_here(clock, store, located)?.for_team;
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
