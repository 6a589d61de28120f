//! Parses the transcripts that agents write themselves into the events that their hooks report.
//!
//! Each agent has a `read` that never fails: damaged lines are counted, unknown ones skipped. Text that the client
//! wrote in the user's name is not a prompt. A subagent's tool uses belong to the session that started it; its
//! prompts and answers are dropped. This module does no I/O.

#[cfg(test)]
mod tests;
pub mod tools;
mod transcript;

use cerberus_record::clean::Cleaner;
use cerberus_record::id::Agent;

pub(crate) use transcript::{
    MESSAGES_MAX, TranscriptBuilder, UseKey, each_line, edit_in_flight, in_flight_key, is_from_client, titled, use_key,
};
pub use transcript::{SeenPrompt, Sender, Transcript, TranscriptEvent, UnfinishedCall, senders, shared_part, undone};

/// Parses a transcript of `agent`; `None` if we know no transcript format for it.
pub fn read<'a>(cleaner: &'a Cleaner, agent: Agent, bytes: &'a [u8]) -> Option<Transcript<'a>> {
    crate::profile(agent)?.transcript.map(|read| read(cleaner, bytes))
}
