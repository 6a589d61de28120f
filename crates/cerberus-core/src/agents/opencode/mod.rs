//! opencode: everything it sends, writes and accepts.

pub mod payload;
pub mod transcript;
