//! Why the view cannot be used.

use super::content::ViewProblem;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the view {path}: {source}; `cerberus doctor --rebuild` rebuilds it without loss")]
    Sqlite { path: String, source: rusqlite::Error },
    #[error("the view {path}: {problem}")]
    ViewProblem { path: String, problem: ViewProblem },
}

impl StoreError {
    /// The file itself is damaged, or is not the view.
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match self {
            StoreError::Sqlite { source, .. } => {
                matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
            }
            StoreError::ViewProblem { .. } => true,
        }
    }

    pub fn is_busy(&self) -> bool {
        let StoreError::Sqlite { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}

pub type Result<T> = std::result::Result<T, StoreError>;
