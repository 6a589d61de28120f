//! Memories: made from corrections, changed by the user, published for others.
//!
//! Every change is a record. `brief` decides which memories a session is told; `erase` removes them for good.

pub mod change;
pub mod distill;
pub mod publish;
mod senders;
