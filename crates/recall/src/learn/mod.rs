//! What the user said becomes proposals, and accepted proposals become memories.
//!
//! A proposal and the memory it becomes are one thing with one id, in the user's own words. Pure: texts and times are
//! inputs, decisions are outputs.

pub mod conflict;
pub mod correction;
pub mod exchange;
pub mod guide;
pub mod proposal;
pub mod publish;
pub mod repeated;
mod same;
