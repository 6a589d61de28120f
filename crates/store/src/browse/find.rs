//! Finds the session that a user means: by the beginning of its id, or by words of its title.

use std::collections::HashMap;

use cerberus_os::clock::Clock;
use cerberus_record::session::IDLE_AFTER;
use cerberus_record::time::Timestamp;

use crate::sessions::sweep::derive_state;
use crate::view::{self, SessionRow, Store};

/// Shorter beginnings would soon mean another session.
pub const START_CHARS_MIN: usize = 4;

/// The sessions that `text` may mean, newest first. One is certain, none is unknown, several are ambiguous.
pub fn by_id(store: &Store, clock: &Clock, text: &str) -> view::Result<Vec<SessionRow>> {
    let mut found = store.sessions_named(text, clock.now)?;
    let is_exact = found.len() == 1 && found[0].id.as_str() == text;
    if !is_exact && text.chars().count() < START_CHARS_MIN {
        found.clear();
    }
    Ok(found.into_iter().map(|session| derive_state(session, clock, IDLE_AFTER).0).collect())
}

/// How many characters of the id of each session name it alone, by row.
pub type Lengths = HashMap<i64, usize>;

pub fn id_lengths(store: &Store, now: Timestamp) -> view::Result<Lengths> {
    Ok(unique_lengths(&store.session_names(now)?))
}

/// `names` has the id of each session and its agent's own, because a beginning may mean both.
fn unique_lengths(names: &[(i64, String, String)]) -> Lengths {
    let both = |(row, id, own): &'_ (i64, String, String)| [(id.clone(), *row), (own.clone(), *row)];
    let mut sorted: Vec<(String, i64)> = names.iter().flat_map(both).collect();
    sorted.sort_unstable();
    let shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let length = |(row, id, _): &(i64, String, String)| {
        let at = sorted.partition_point(|(name, of)| (name, of) < (id, row));
        let before = sorted[..at].iter().rev().find(|(_, of)| of != row);
        let after = sorted[at..].iter().find(|(_, of)| of != row);
        let longest = before.into_iter().chain(after).map(|(name, _)| shared(name, id)).max().unwrap_or(0);
        // Nobody reads a hyphen at the end as a part of it.
        let ends_with_hyphen = id.chars().nth(longest) == Some('-');
        (*row, (longest + 1 + usize::from(ends_with_hyphen)).max(START_CHARS_MIN).min(id.chars().count()))
    };
    names.iter().map(length).collect()
}

/// Like [`by_id`], but words of a title are accepted too.
pub fn by_id_or_title(store: &mut Store, clock: &Clock, text: &str) -> view::Result<Vec<SessionRow>> {
    let found = by_id(store, clock, text)?;
    if !found.is_empty() {
        return Ok(found);
    }
    store.index_entries(|_, _| {})?;
    let rows = store.sessions_with(text, Some("title"), clock.now)?;
    let found = store.sessions_at(&rows, clock.now)?;
    Ok(found.into_iter().map(|session| derive_state(session, clock, IDLE_AFTER).0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_as_short_as_it_can_be() {
        let named = |names: &[(&str, &str)]| {
            let rows = names.iter().enumerate();
            let names: Vec<_> = rows.map(|(row, (id, own))| (row as i64, id.to_string(), own.to_string())).collect();
            let lengths = unique_lengths(&names);
            names.iter().map(|(row, id, _)| id[..lengths[row]].to_string()).collect::<Vec<_>>()
        };
        assert_eq!(named(&[("20260120-100001", "a")]), ["2026"], "never shorter than what a command accepts");
        let ids = [("20260120-100001", "a"), ("20260120-113000", "b"), ("20260121-090000", "c")];
        assert_eq!(named(&ids), ["20260120-10", "20260120-11", "20260121"]);
        let ids = [("20260120-100001", "20260120-100001"), ("20260120-100001-2", "b")];
        assert_eq!(named(&ids), ["20260120-100001", "20260120-100001-2"], "an exact id is the only one");
        assert_eq!(named(&[("abcdef", "1"), ("xyz123", "abcd99")]), ["abcde", "xyz1"], "an agent's own id counts");
    }
}
