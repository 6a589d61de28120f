//! Finds the session that a user means: by the beginning of its id, or by words of its title.

use cerberus_core::model::session::IDLE_AFTER;

use crate::os::clock::Clock;
use crate::sessions::sweep::derive_state;
use crate::store::{self, SessionRow, Store};

/// Shorter beginnings would soon mean another session.
pub const START_CHARS_MIN: usize = 4;

/// The sessions that `text` may mean, newest first. One is certain, none is unknown, several are ambiguous.
pub fn by_id(store: &Store, clock: &Clock, text: &str) -> store::Result<Vec<SessionRow>> {
    let mut found = store.sessions_named(text, clock.now)?;
    let is_exact = found.len() == 1 && found[0].id.as_str() == text;
    if !is_exact && text.chars().count() < START_CHARS_MIN {
        found.clear();
    }
    Ok(found.into_iter().map(|session| derive_state(session, clock, IDLE_AFTER).0).collect())
}

/// Like [`by_id`], but words of a title are accepted too.
pub fn by_id_or_title(store: &mut Store, clock: &Clock, text: &str) -> store::Result<Vec<SessionRow>> {
    let found = by_id(store, clock, text)?;
    if !found.is_empty() {
        return Ok(found);
    }
    store.index_entries(|_, _| {})?;
    let rows = store.sessions_with(text, Some("title"), clock.now)?;
    let found = store.sessions_at(&rows, clock.now)?;
    Ok(found.into_iter().map(|session| derive_state(session, clock, IDLE_AFTER).0).collect())
}
