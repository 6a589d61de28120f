//! Cursor: everything it sends, writes and accepts.

pub mod payload;
