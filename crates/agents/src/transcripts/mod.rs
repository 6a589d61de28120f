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
    MESSAGES_MAX, Pending, ReadTranscript, TranscriptBuilder, UseKey, edit_in_flight, in_flight_key, is_from_client,
    titled, use_key,
};
pub use transcript::{SeenPrompt, Sender, Transcript, TranscriptEvent, UnfinishedCall, senders, shared_part, undone};

/// What a transcript is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptForm {
    /// One JSON object a line.
    Lines,
    /// One JSON object, or several.
    Whole,
    /// An older version of the agent wrote one object, in a file that ends in `.json`.
    Both,
}

/// How an agent's transcripts are read.
#[derive(Debug)]
pub(crate) struct TranscriptFormat {
    pub(crate) form: TranscriptForm,
    pub(crate) begin: for<'c> fn(&'c Cleaner) -> Box<dyn ReadTranscript + 'c>,
}

/// Reads a transcript that is one object.
pub(crate) struct WholeReader<'c> {
    cleaner: &'c Cleaner,
    parse: ParseWhole,
    read: Transcript,
}

/// Returns `None` if it is damaged.
type ParseWhole = fn(&Cleaner, &[u8]) -> Option<Transcript>;

impl WholeReader<'_> {
    pub(crate) fn begin(cleaner: &Cleaner, parse: ParseWhole) -> Box<dyn ReadTranscript + '_> {
        Box::new(WholeReader { cleaner, parse, read: Transcript::default() })
    }
}

impl ReadTranscript for WholeReader<'_> {
    fn line(&mut self, line: &[u8]) -> Option<()> {
        self.read = (self.parse)(self.cleaner, line)?;
        Some(())
    }

    fn finish(&mut self) {}

    fn read(&mut self) -> &mut Transcript {
        &mut self.read
    }
}

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
