//! The data behind a brief: recent sessions, memories that apply, and what ranking needs to know.

pub mod recall;
pub mod remember;
pub mod survey;
