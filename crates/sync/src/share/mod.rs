//! Which part of a record other devices may see, and what becomes of a record that arrives from one.
//!
//! The user's own devices get sessions and memories, without processes, receipts and anything that names a place on this
//! machine. A team gets approved project memories and the list of what is open; never a prompt, an agent's words, a
//! command or its output. A new kind of event does not compile before `event.rs` decides about it; a team gets
//! what `team.rs` names.
//!
//! What arrives is not trusted: it goes through the same rules again, and says nothing about where it comes from. The
//! device and the teammate are those whose signature was verified.

mod container;
mod event;
mod names;
mod open;
mod outgoing;
mod paths;
mod replaced;
mod team;
mod windows;

use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Location, Record, RecordOrigin};
use cerberus_record::id::{Agent, ProjectId};

pub use self::open::open_list;
pub use self::outgoing::{Arrival, ShareAudience, Sharing};
use self::outgoing::{HERE, OutgoingText};
pub use self::team::{AUTHOR_CHARS_MAX, plain_name};

/// The part of a record that this space may see; `None` if there is none. A record of another device is never passed
/// on: its owner shares it. Sharing what was shared changes nothing.
pub fn shared(record: &Record, sharing: &Sharing) -> Option<Record<'static>> {
    if record.origin.is_some() {
        return None;
    }
    let words = OutgoingText { root: &record.location.root, sharing };
    let (event, agent, session) = match sharing.space {
        ShareAudience::Me => (event::for_me(&record.event, &words)?, record.agent, words.name(&record.session)),
        ShareAudience::Team => (team::event(&record.event, &words)?, Agent::MANUAL, Clean::word("")),
    };
    Some(Record {
        at: record.at,
        key: words.name(&record.key),
        agent,
        imported: record.imported,
        heard_by: None,
        by_agent: record.by_agent,
        origin: None,
        session,
        location: location(&record.location, &words),
        event,
    })
}

/// The place of a record, without saying where on this machine it is.
fn location(location: &Location, words: &OutgoingText) -> Location<'static> {
    let is_mine = words.sharing.space == ShareAudience::Me;
    let cwd = words.path(&location.cwd).filter(|_| is_mine);
    Location {
        project: ProjectId::from_stored(HERE.to_string()),
        name: Clean::word(""),
        root: Clean::word(""),
        cwd: cwd.unwrap_or_default(),
        branch: location.branch.as_ref().filter(|_| is_mine).map(|branch| words.name(branch)),
    }
}

/// The record as it is kept here; `None` if it is of a kind that does not belong in its space.
pub fn arrived(record: &Record, arrival: &Arrival) -> Option<Record<'static>> {
    let own = Record { origin: None, ..record.clone() };
    let shared = shared(&own, &Sharing { space: arrival.space, ids: &[], names: &[], cleaner: arrival.cleaner })?;
    let at = if shared.imported { shared.at.min(arrival.received) } else { arrival.time(shared.at) };
    let here = arrival.location;
    let clean = |text: String| arrival.cleaner.clean(text, Keep::NAME);
    let location = Location {
        project: here.project.clone(),
        name: clean(here.name.to_string()),
        root: clean(here.root.to_string()),
        cwd: clean(match &*shared.location.cwd {
            "" => here.root.to_string(),
            cwd => format!("{}/{cwd}", &*here.root),
        }),
        branch: shared.location.branch.clone(),
    };
    let origin = |author| Some(RecordOrigin { device: clean(arrival.device.to_string()), author });
    match arrival.space {
        ShareAudience::Me if arrival.is_container => {
            let (key, event) = container::arrived(&shared, &location, arrival)?;
            Some(Record { at, key, location, event, origin: origin(None), ..shared })
        }
        ShareAudience::Me => {
            let event = event::here(shared.event, &location, arrival);
            Some(Record { at, location, event, origin: origin(None), ..shared })
        }
        ShareAudience::Team => {
            let author = team::author(arrival.author, arrival.cleaner);
            let (key, event) = team::arrived(&shared, &location, &author, arrival)?;
            Some(Record { at, key, location, event, origin: origin(Some(author)), by_agent: true, ..shared })
        }
    }
}

#[cfg(test)]
mod tests;
