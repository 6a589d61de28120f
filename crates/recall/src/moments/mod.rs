//! What a session is told at a moment that calls for it, besides its brief. Silence is the default.
//!
//! - `seen`: a command fails with an error that was solved before.
//! - `live`: somebody else is at work on the same files.
//! - `rules`: the context was compacted, so the rules of the project are told again.
//! - `told`: what receipts say of it.
//!
//! Pure: what happened before is an argument. Nothing that other programs printed is ever told as advice.

pub mod live;
pub mod rules;
pub mod seen;
pub mod told;
