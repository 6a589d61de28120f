//! Reads the titles that agents give their sessions from their transcripts: hooks do not report them.
//!
//! A title is recorded, so a rebuilt view says the same. Each transcript is looked at once after the last activity of
//! its session; a few per command, so that none waits long.

use std::path::Path;

use cerberus_agents::install::Surroundings;
use cerberus_agents::transcripts;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::event::{Event, Record};
use cerberus_record::session::CARRY_OVER;

use crate::import::ending;
use crate::import::ending::transcripts_of;
use crate::journal;
use crate::journal::own_record;
use crate::project::{identity, privacy};
use crate::view::fold::{self, FoldError};
use crate::view::{SessionRow, Store};

/// How many transcripts are looked at by one command.
const TRANSCRIPTS_MAX: usize = 5;

/// Records the titles of recent sessions that have none of their own yet.
pub fn read_titles(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    surroundings: &Surroundings,
) -> Result<(), FoldError> {
    let untitled = store.untitled(clock.now.minus(CARRY_OVER), clock.now, TRANSCRIPTS_MAX)?;
    let records: Vec<Record> =
        untitled.iter().filter_map(|session| title(home, clock, surroundings, session)).collect();
    untitled.iter().for_each(|session| store.set_title_asked(session));
    if records.is_empty() {
        return Ok(());
    }
    journal::append_all(home, clock.wall, &records)?;
    fold::fold(home, store)
}

fn title(home: &Home, clock: &Clock, surroundings: &Surroundings, session: &SessionRow) -> Option<Record<'static>> {
    let (agent, kept) = transcripts_of(session)?;
    if privacy::permanent_block(home, &identity::locate(Path::new(&session.root))).is_some() {
        return None;
    }
    let ending = ending::ending(surroundings, kept, session)?;
    let read = transcripts::read(home.cleaner(), agent, &ending.bytes)?;
    let own = read.events.into_iter().rev().filter(|told| *told.session == *session.agent_session_id);
    let (key, event) = own.filter(|told| told.at <= clock.now).find_map(|told| match told.event {
        Event::Title { text, is_users } => Some((told.key, Event::Title { text: text.into_owned(), is_users })),
        _ => None,
    })?;
    let (id, location) = (&session.agent_session_id, session.location());
    let record = own_record(home, clock, agent, id, location, key.to_string(), event);
    Some(Record { at: session.last_activity, ..record })
}
