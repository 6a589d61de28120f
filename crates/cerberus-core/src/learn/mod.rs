//! Corrections become clusters, clusters become proposals, accepted proposals become memories.
//!
//! A proposal and the memory it becomes are one thing with one id. Pure: texts and times are inputs, decisions are
//! outputs.

pub mod cluster;
pub mod conflict;
pub mod correction;
pub mod exchange;
pub mod guide;
pub mod proposal;
pub mod publish;
mod reach;
pub mod voice;
mod wording;
