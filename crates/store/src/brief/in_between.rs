//! What a session was told in between, and whether it did afterwards what it was told for.

use cerberus_recall::moments::live;
use cerberus_recall::moments::told::{self, ToldMoment};
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;

use crate::view::{self, ReceiptRow, SessionRow, Store};

/// Something that a session was told in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MomentTold {
    pub session: SessionId,
    pub at: Timestamp,
    pub code: String,
    /// The remedy was done, the file read again, the earlier session looked up, no other such command run.
    pub is_followed: bool,
}

/// All that a session was told in between, oldest first.
pub fn moments_of(store: &Store, session: &SessionRow, now: Timestamp) -> view::Result<Vec<MomentTold>> {
    let mut found = Vec::new();
    for ReceiptRow { at, codes, .. } in store.receipts(session, now)? {
        for code in codes {
            if let Some(is_followed) = is_followed(store, session, &code, at, now)? {
                found.push(MomentTold { session: session.id.clone(), at, code, is_followed });
            }
        }
    }
    Ok(found)
}

/// `None` if the code is for a line of a brief.
fn is_followed(
    store: &Store,
    session: &SessionRow,
    code: &str,
    at: Timestamp,
    now: Timestamp,
) -> view::Result<Option<bool>> {
    let Some(moment) = told::read(code) else { return Ok(None) };
    Ok(Some(match moment {
        ToldMoment::Seen { remedy } => store.has_done(session, remedy.trim_end_matches('…'), at, now)?,
        ToldMoment::Past { session: earlier } => store.has_done(session, earlier, at, now)?,
        ToldMoment::Changed { file } => {
            store.last_touch(session, file, &[FactKind::Read], now)?.is_some_and(|read| read >= at)
        }
        ToldMoment::Held => !store.commands_since(session, at, now)?.iter().any(|line| !live::sweeps(line).is_empty()),
        // The edit goes on.
        ToldMoment::Edit { .. } => false,
    }))
}
