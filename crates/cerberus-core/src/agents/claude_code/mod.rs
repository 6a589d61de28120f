//! Claude Code: everything it sends, writes and accepts.

pub mod payload;
pub mod stream;
pub mod tool;
pub mod transcript;
