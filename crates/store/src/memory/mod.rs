//! Memories: made from the user's words, changed by the user, published for others.
//!
//! Every change is a record. `brief` decides which memories a session is told; `erase` removes them for good.

pub mod change;
pub mod distill;
mod guides;
pub mod notes;
pub mod publish;
mod quotation;
pub mod quote;
mod senders;
