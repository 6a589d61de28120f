//! Parses the transcripts that agents write themselves into the events that their hooks report.
//!
//! A reader never fails: damaged lines are counted, unknown ones skipped. Text that the client
//! wrote in the user's name is not a prompt. A subagent's tool uses belong to the session that started it; its
//! prompts and answers are dropped. This module does no I/O.

mod format;
mod pending;
#[cfg(test)]
mod tests;
pub mod tools;
mod transcript;

use cerberus_record::clean::Cleaner;
use cerberus_record::id::Agent;

pub use format::TranscriptForm;
pub(crate) use format::{ReadTranscript, TranscriptFormat, WholeReader};
pub(crate) use pending::Pending;
pub(crate) use transcript::{
    MESSAGES_MAX, TranscriptBuilder, UseKey, edit_in_flight, in_flight_key, is_from_client, titled, use_key,
};
pub use transcript::{SeenPrompt, Sender, Transcript, TranscriptEvent, UnfinishedCall, senders, shared_part, undone};

/// Reads a transcript line by line.
pub struct TranscriptReader<'c> {
    reader: Box<dyn ReadTranscript + 'c>,
    pub form: TranscriptForm,
}

impl<'c> TranscriptReader<'c> {
    /// `None` if we know no transcript format of the agent.
    pub fn new(cleaner: &'c Cleaner, agent: Agent) -> Option<TranscriptReader<'c>> {
        let TranscriptFormat { form, begin } = crate::profile(agent)?.transcript.as_ref()?;
        Some(TranscriptReader { reader: begin(cleaner), form: *form })
    }

    /// Takes the next line, or the whole of a transcript that is one object.
    pub fn line(&mut self, line: &[u8]) {
        if !line.trim_ascii().is_empty() && self.reader.line(line).is_none() {
            self.damaged();
        }
    }

    /// Counts a line that cannot be passed on.
    pub fn damaged(&mut self) {
        self.reader.read().damaged_lines += 1;
    }

    /// What was read so far, without the events that were taken out of it.
    pub fn read(&mut self) -> &mut Transcript {
        self.reader.read()
    }

    /// Everything else.
    pub fn finish(mut self) -> Transcript {
        self.reader.finish();
        std::mem::take(self.reader.read())
    }

    fn lines(&mut self, bytes: &[u8]) {
        bytes.split(|byte| *byte == b'\n').for_each(|line| self.line(line));
    }
}

/// Parses a transcript of `agent`; `None` if we know no transcript format for it.
pub fn read(cleaner: &Cleaner, agent: Agent, bytes: &[u8]) -> Option<Transcript> {
    let mut reader = TranscriptReader::new(cleaner, agent)?;
    match reader.form {
        TranscriptForm::Lines => reader.lines(bytes),
        TranscriptForm::Whole => reader.line(bytes),
        TranscriptForm::Both if reader.reader.line(bytes).is_none() => reader.lines(bytes),
        TranscriptForm::Both => {}
    }
    Some(reader.finish())
}
