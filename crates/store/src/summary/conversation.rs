//! Reads a session's own words from the journal, for a model that may read them.
//!
//! Only events that the view knows are read, so nothing that was forgotten is sent. What the user declared private since
//! it was recorded is hidden here again.

use cerberus_os::home::Home;
use cerberus_recall::summary::digest::{Digest, entries};
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;

use crate::journal;
use crate::project::opted_out::OptedOut;
use crate::view::fold::FoldError;
use crate::view::{SessionRow, Store};

/// The digest of a session up to `now`.
pub fn digest(home: &Home, store: &Store, session: &SessionRow, now: Timestamp) -> Result<Digest, FoldError> {
    let Some(agent) = Agent::from_name(&session.agent) else { return Ok(Digest::default()) };
    let mut known = store.event_keys(agent, &session.agent_session_id)?;
    let mut found = Vec::new();
    let opted_out = OptedOut::new(home);
    for segment in journal::segments(home)? {
        for stretch in journal::stretches(home, &segment.name) {
            for (rank, record) in stretch?.records() {
                let is_own = record.agent == agent && *record.session == *session.agent_session_id;
                if !is_own || record.at > now || known.remove(&*record.key).is_none() {
                    continue;
                }
                let hidden = opted_out.hidden(&record);
                found.push((rank, entries(hidden.as_ref().unwrap_or(&record.event))));
            }
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    Ok(Digest::of(found.into_iter().flat_map(|(_, entries)| entries)))
}
