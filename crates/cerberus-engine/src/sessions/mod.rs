//! Sessions on record: found, swept, recovered after a crash, completed and archived, their edits named.
//!
//! Nothing here changes a record; whatever becomes of a session is a new one. What is told of a session is the brief's.

pub mod find;
pub mod legacy;
pub mod lifecycle;
pub mod name;
pub mod recover;
pub mod sweep;
