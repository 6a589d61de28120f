//! What is told of the form of an agent's transcripts.

use cerberus_record::clean::Cleaner;

use super::transcript::Transcript;

/// Reads one agent's transcript.
pub(crate) trait ReadTranscript {
    /// Takes the next line, or the whole of a transcript that is one object. Returns `None` if it is damaged.
    fn line(&mut self, line: &[u8]) -> Option<()>;
    /// Adds what only the end of a transcript says.
    fn finish(&mut self);
    /// What was read so far.
    fn read(&mut self) -> &mut Transcript;
}

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
