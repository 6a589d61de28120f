//! The lines that the user sees when a session starts.

use cerberus_os::clock::Clock;
use cerberus_recall::brief::notice::{self, PickedUp};
use cerberus_recall::brief::{Brief, GuideRule};
use cerberus_recall::moments::rules;

use crate::brief::recall::Briefing;
use crate::capability::Capabilities;
use crate::view::{self, SessionRow, Store};

/// The offer to enforce what a session whose context was compacted was told again. Made once per session.
pub fn offered(
    store: &Store,
    brief: &Brief,
    session: Option<&SessionRow>,
    capabilities: Capabilities,
    clock: &Clock,
) -> view::Result<Option<String>> {
    let can = |rule: &&GuideRule| capabilities.iter().any(|capability| capability.can_enforce(&rule.sentence));
    let count = brief.rules.iter().filter(can).count();
    let known = session.map_or(Ok(Vec::new()), |session| store.told_codes(session, clock.now))?;
    let is_offered = rules::codes(&brief.rules).iter().any(|code| known.contains(code));
    Ok(notice::enforceable(count).filter(|_| !is_offered))
}

/// The line that the user sees, with the session whose work goes on.
pub fn shown(store: &Store, briefing: &Briefing, clock: &Clock) -> view::Result<Option<String>> {
    let session = match &briefing.session_id {
        Some(id) => store.session(id, clock.now)?,
        None => None,
    };
    let picked_up = match session {
        Some(session) => Some(PickedUp {
            title: store.title(&session, clock.now)?,
            last_activity: session.last_activity,
            status: session.state.status,
        }),
        None => None,
    };
    let notice = notice::notice(&briefing.brief, picked_up.as_ref(), store.count_proposals(clock.now)?, clock.now);
    let learned: Vec<String> = learned(store, briefing, clock)?;
    Ok(notice.map(|notice| [vec![notice], learned].concat().join("\n")))
}

/// What became a memory without asking the user, the first time that it is told.
fn learned(store: &Store, briefing: &Briefing, clock: &Clock) -> view::Result<Vec<String>> {
    let mut lines = Vec::new();
    for item in &briefing.brief.memories {
        let row = store.memory(item.id.as_str(), clock.now)?;
        if row.is_some_and(|row| row.memory.background.is_automatic && row.uses.count == 0) {
            lines.push(notice::learned(&item.text, &item.id));
        }
    }
    Ok(lines)
}
