//! The archive: every conversation as its agent's transcript has it, cleaned of secrets and private passages, without
//! the contents of files unless the user wants them, compressed.
//!
//! It outlives the transcripts, which agents delete. The segments are the truth; the index can be made anew from them.
//! A process of its own writes it, never a hook. The store knows nothing of it.

pub mod capability;
mod clean;
mod conversation;
mod elsewhere;
pub mod erase;
mod error;
mod escapes;
pub mod index;
mod lines;
mod reached;
mod read;
mod reading;
mod recorded;
pub mod search;
mod secrets;
pub mod segment;
mod terms;
pub mod update;
mod words;
pub mod write;

pub use self::conversation::Conversation;
pub use self::error::ArchiveError;
pub use self::read::{conversations, faults, find, lines, lines_of};
