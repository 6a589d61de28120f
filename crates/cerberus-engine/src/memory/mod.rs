//! Memories: made from corrections, and changed by the user.
//!
//! Every change is a record. Which memories a session hears is decided in `brief`; removing one for good is `erase`.

pub mod distill;
pub mod keep;
