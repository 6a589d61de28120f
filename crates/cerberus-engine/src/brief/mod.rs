//! What a brief is made from: recent sessions, memories that apply, and what ranking needs to know.
//!
//! Only reads; core composes the text. The receipt of what was told is written by `hook`.

pub mod recall;
pub(crate) mod remember;
pub mod survey;
