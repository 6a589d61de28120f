//! What a session is told at a moment that calls for it, besides its brief. Silence is the default.
//!
//! - `seen`: a command fails with an error that was solved before.
//! - `past`: a prompt is about what an earlier session worked on.
//! - `edit`: a file is about to be edited that a rule, a decision or an abandoned change is about.
//! - `live`: somebody else is at work on the same files.
//! - `rules`: the context was compacted, so the rules of the project are told again.
//! - `told`: what receipts say of it.
//!
//! Pure: what happened before is an argument. Nothing that other programs printed is ever told as advice.

pub mod edit;
pub mod live;
pub mod past;
pub mod rules;
pub mod seen;
pub mod told;
