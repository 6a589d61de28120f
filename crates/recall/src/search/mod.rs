//! Finding memories: the terms of a text, parsing a query, and scoring.

pub mod entry;
pub mod query;
pub mod rank;
pub mod score;
pub mod when;
