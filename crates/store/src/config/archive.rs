//! `[archive]`: what is kept of conversations, for how long, and how much of it.

use cerberus_agents::conversation::reduce::KeepFiles;
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use super::{Age, ByteSize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveConfig {
    pub keep: KeepInArchive,
    /// Conversations that went on for the last time this long ago are removed. Without it, all are kept.
    pub retention: Option<Age>,
    /// The limit for the archive without its index. The oldest conversations are removed.
    pub max_size: Option<ByteSize>,
}

impl ArchiveConfig {
    /// What ended earlier is not kept.
    pub fn oldest(&self, now: Timestamp) -> Timestamp {
        self.retention.map_or(Timestamp::EPOCH, |Age(age)| now.minus(age))
    }
}

/// What is kept of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepInArchive {
    /// The archive is off.
    Nothing,
    #[default]
    Conversation,
    Edits,
    Everything,
}

impl KeepInArchive {
    /// What is kept of the contents of files; `None` if the archive is off.
    pub fn files(self) -> Option<KeepFiles> {
        match self {
            KeepInArchive::Nothing => None,
            KeepInArchive::Conversation => Some(KeepFiles::Conversation),
            KeepInArchive::Edits => Some(KeepFiles::Edits),
            KeepInArchive::Everything => Some(KeepFiles::Everything),
        }
    }
}
