//! Answers of hubs that keep every document and every batch as one object.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::at_once;
use super::{Document, Question, Result, TransportError};

/// What was found that is not ours, and was left alone.
#[derive(Debug, Default)]
pub struct Oddities(Mutex<BTreeSet<String>>);

impl Oddities {
    pub fn note(&self, odd: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(odd);
    }

    /// Each is told once.
    pub fn told(&self, hub: &str) -> Vec<TransportError> {
        let odd = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        odd.into_iter().map(|what| TransportError::InTheWay { hub: hub.to_string(), what }).collect()
    }
}

/// Objects that may answer a question, in order: the name of each and where it is.
pub type Named<W> = Vec<(String, W)>;

/// The answers, from the objects of each question and what all of them hold. Where `None` is, there is no such object.
pub fn answers<W>(named: Vec<Named<W>>, contents: Vec<Option<Vec<u8>>>) -> Vec<Vec<Document>> {
    let mut contents = contents.into_iter();
    let answer = |objects: Named<W>| {
        let found = objects.into_iter().zip(contents.by_ref());
        found.filter_map(|((name, _), bytes)| Some(Document { name, bytes: bytes? })).collect()
    };
    named.into_iter().map(answer).collect()
}

/// Finds the objects of all questions first, then reads all of them together.
pub fn read<W: Send + Sync>(
    questions: &[Question],
    find: impl Fn(&Question) -> Result<Named<W>> + Sync,
    get: impl Fn(&W) -> Result<Option<Vec<u8>>> + Sync,
) -> Result<Vec<Vec<Document>>> {
    let named = at_once::each(questions, find)?;
    let contents = at_once::each(&named.iter().flatten().collect::<Vec<_>>(), |(_, place)| get(place))?;
    Ok(answers(named, contents))
}

#[cfg(test)]
mod tests {
    use super::super::{Place, Range, Sealed, Stream};
    use super::*;

    #[test]
    fn a_document_that_is_gone_is_left_out_and_a_batch_that_is_gone_ends_the_answer() {
        let object = |name: &str| (name.to_string(), ());
        let named = vec![vec![object("5"), object("6"), object("7")], vec![object("a"), object("b")]];
        let some = |byte: u8| Some(vec![byte]);
        let mut found = answers(named, vec![some(5), None, some(7), None, some(2)]);
        assert_eq!(found.pop(), Some(vec![Document { name: "b".to_string(), bytes: vec![2] }]));
        let place = Place { space: "s".to_string(), project: "p".to_string() };
        let range = Range { stream: Stream { place, device: "d".to_string() }, generation: 1, sequence: 4, limit: 3 };
        assert_eq!(range.batches(found.remove(0)), [Sealed { sequence: 5, bytes: vec![5] }]);
    }
}
