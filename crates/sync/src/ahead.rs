//! A hub of which several things are asked in one turn, ahead of their use.
//!
//! Whoever reads asks for one place or stream after another, and verifies each. On a slow line that would be a round trip
//! for every one of them. What will surely be needed is asked for together before, and is taken from here once. What is
//! not here is asked of the hub: guessing wrong costs time and nothing else.

use std::collections::HashMap;

use super::Result;
use super::transport::{self, ALL, Document, Place, Put, Question, Sealed, Stream, Transport, TransportError};

pub struct Ahead<'h> {
    hub: &'h mut dyn Transport,
    documents: HashMap<Place, Vec<Document>>,
    /// With the batch after which they were asked for.
    batches: HashMap<(Stream, u64), (u64, Vec<Sealed>)>,
}

impl<'h> Ahead<'h> {
    pub fn new(hub: &'h mut dyn Transport) -> Ahead<'h> {
        Ahead { hub, documents: HashMap::new(), batches: HashMap::new() }
    }

    /// Asks for everything that is not here yet, in one turn.
    pub fn prepare(&mut self, questions: impl IntoIterator<Item = Question>) -> Result<()> {
        let mut questions: Vec<Question> = questions.into_iter().collect();
        questions.retain(|question| match question {
            Question::Heads(place, _) => !self.documents.contains_key(place),
            Question::After(range) => !self.has(&range.stream, range.generation),
        });
        if questions.is_empty() {
            return Ok(());
        }
        let answers = self.hub.ask(&questions)?;
        for (question, answer) in questions.into_iter().zip(answers) {
            match question {
                // None may mean too many.
                Question::Heads(_, max) if max < ALL && answer.is_empty() => {}
                Question::Heads(place, _) => drop(self.documents.insert(place, answer)),
                Question::After(range) => {
                    let batches = range.batches(answer);
                    self.batches.insert((range.stream, range.generation), (range.sequence, batches));
                }
            }
        }
        Ok(())
    }

    /// The documents of a place, if they were asked for and not yet taken.
    pub fn documents(&self, place: &Place) -> Option<&[Document]> {
        self.documents.get(place).map(Vec::as_slice)
    }

    /// Whether batches of this stream were asked for and not yet taken.
    pub fn has(&self, stream: &Stream, generation: u64) -> bool {
        self.batches.contains_key(&(stream.clone(), generation))
    }
}

impl Transport for Ahead<'_> {
    fn hub(&self) -> String {
        self.hub.hub()
    }

    fn answer(&mut self, questions: &[Question]) -> transport::Result<Vec<Vec<Document>>> {
        self.hub.ask(questions)
    }

    fn heads(&mut self, place: &Place) -> transport::Result<Vec<Document>> {
        self.documents.remove(place).map_or_else(|| self.hub.heads(place), Ok)
    }

    fn after(
        &mut self,
        stream: &Stream,
        generation: u64,
        sequence: u64,
        limit: usize,
    ) -> transport::Result<Vec<Sealed>> {
        let Some((asked, known)) = self.batches.remove(&(stream.clone(), generation)) else {
            return self.hub.after(stream, generation, sequence, limit);
        };
        let following = known.into_iter().skip_while(|batch| batch.sequence <= sequence);
        let following: Vec<Sealed> = following.take(limit).collect();
        match following.first() {
            Some(first) if first.sequence == sequence.saturating_add(1) => Ok(following),
            None if asked == sequence => Ok(following),
            _ => self.hub.after(stream, generation, sequence, limit),
        }
    }

    fn put(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> transport::Result<Vec<Put>> {
        self.batches.remove(&(stream.clone(), generation));
        self.hub.put_if_absent(stream, generation, batches)
    }

    fn write(&mut self, place: &Place, name: &str, bytes: &[u8], generation: Option<u64>) -> transport::Result<()> {
        self.documents.remove(place);
        self.hub.replace(place, name, bytes, generation)
    }

    fn removes(&self) -> bool {
        self.hub.removes()
    }

    fn oddities(&mut self) -> Vec<TransportError> {
        self.hub.oddities()
    }
}
