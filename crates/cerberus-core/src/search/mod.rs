//! Finding memories: the terms of a text, what a query asks for, and how well a memory fits it.

pub mod query;
pub mod rank;
pub mod score;
pub mod terms;
pub mod when;
