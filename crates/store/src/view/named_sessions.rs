//! Sessions by row, as queries about many of them need them.

use cerberus_record::id::SessionId;
use cerberus_record::map::FastMap;

use super::SessionRow;

/// Sessions by row, with their names.
pub(super) struct NamedSessions(pub(super) FastMap<i64, SessionId>);

impl NamedSessions {
    pub fn of(sessions: &[SessionRow]) -> NamedSessions {
        NamedSessions(sessions.iter().map(|session| (session.row, session.id.clone())).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn rows(&self) -> impl Iterator<Item = i64> {
        self.0.keys().copied()
    }

    pub fn id(&self, row: i64) -> SessionId {
        self.0.get(&row).cloned().unwrap_or_else(|| SessionId::new(""))
    }

    /// The rows as an SQL list.
    pub fn list(&self) -> String {
        let mut rows: Vec<i64> = self.rows().collect();
        rows.sort_unstable();
        rows.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
    }
}
