//! Memories: made from corrections, and changed by the user.
//!
//! Every change is a record. `brief` decides which memories a session is told; `erase` removes them for good.

pub mod change;
pub mod distill;
