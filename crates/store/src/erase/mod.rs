//! Removing what is stored: on request, by retention settings, or because it contains a secret.
//!
//! Has to know every place where anything is stored, and therefore uses nearly all other folders. Called only by
//! commands, never by a hook or another folder.

pub mod forget;
pub mod retention;
pub mod scan;
