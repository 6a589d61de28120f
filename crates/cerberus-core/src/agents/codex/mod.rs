//! Codex: everything it sends, writes and accepts.

mod calls;
pub mod payload;
pub mod rollout;
pub mod stream;
pub mod transcript;
