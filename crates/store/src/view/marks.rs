//! What was reported about a session, or decided about it, as it is stored.

use cerberus_record::session::{Mark, MarkKind};
use cerberus_record::time::Timestamp;
use rusqlite::Row;

/// From a row of time, kind and detail.
pub(super) fn mark_row(row: &Row) -> rusqlite::Result<Mark> {
    let detail = || row.get::<_, Option<String>>(2).map(Option::unwrap_or_default);
    let what = match row.get_ref(1)?.as_str()? {
        "ended" => MarkKind::Ended { trigger: detail()? },
        "crashed" => MarkKind::Crashed { evidence: detail()? },
        "recovered" => MarkKind::Recovered,
        "completed" => MarkKind::Completed,
        "reopened" => MarkKind::Reopened,
        "archived" => MarkKind::Archived,
        _ => MarkKind::Alive,
    };
    Ok(Mark { at: Timestamp::from_millis(row.get(0)?), what })
}
