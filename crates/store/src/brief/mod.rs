//! Collects what a brief is made from: recent sessions, memories that apply, and the input for ranking.
//!
//! Only reads, except for the list for teammates (`open.rs`) and what ended sessions teach (`learn.rs`); `recall` composes
//! the text. `hook` writes the receipt of what was told.

pub mod in_between;
pub mod learn;
pub mod limit;
mod lines;
mod merged;
mod notes;
pub mod question;
pub mod recall;
pub(crate) mod remember;
mod state;
pub mod status_line;
pub mod subject;
pub mod survey;
pub mod usage;
pub mod work;
