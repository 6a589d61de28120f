//! The life of recorded sessions: finding, sweeping, crash recovery, completing, archiving.
//!
//! Nothing here changes a record; a new state is a new record. What a session is told is the job of `brief`.

pub mod caller;
pub mod find;
pub mod legacy;
pub mod lifecycle;
pub mod recover;
pub mod shell_edits;
pub mod sweep;
pub mod title;
pub mod unreported;
pub mod upkeep;
