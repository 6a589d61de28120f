//! Answers of hubs that keep every document and every batch as one object.

use super::{Answer, Document, Question, Sealed};

/// An object that may answer a question: its name, if it is a document, and where it is.
pub struct HubObject<W> {
    pub name: String,
    pub at: W,
}

impl<W> HubObject<W> {
    pub fn document(name: &str, at: W) -> HubObject<W> {
        HubObject { name: name.to_string(), at }
    }

    pub fn batch(at: W) -> HubObject<W> {
        HubObject { name: String::new(), at }
    }
}

/// The answers, from the objects of each question, in order, and what all of them hold: `None` if there is no such
/// object.
pub fn answers<W>(
    questions: &[Question],
    named: Vec<Vec<HubObject<W>>>,
    contents: Vec<Option<Vec<u8>>>,
) -> Vec<Answer> {
    let mut contents = contents.into_iter();
    let answer = |(question, objects): (&Question, Vec<HubObject<W>>)| {
        let contents = contents.by_ref().take(objects.len()).collect::<Vec<_>>().into_iter();
        match question {
            Question::Heads(_) | Question::Few(..) => {
                let found = objects.into_iter().zip(contents);
                Answer::Heads(
                    found.filter_map(|(one, bytes)| Some(Document { name: one.name, bytes: bytes? })).collect(),
                )
            }
            Question::After(range) => {
                let found = range.sequences().zip(contents);
                Answer::After(found.map_while(|(sequence, bytes)| Some(Sealed { sequence, bytes: bytes? })).collect())
            }
        }
    };
    questions.iter().zip(named).map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Place, Range, Stream};
    use super::*;

    #[test]
    fn a_document_that_is_gone_is_left_out_and_a_batch_that_is_gone_ends_the_answer() {
        let place = Place { space: "s".to_string(), project: "p".to_string() };
        let stream = Stream { place: place.clone(), device: "d".to_string() };
        let questions =
            [Question::After(Range { stream, generation: 1, sequence: 4, limit: 3 }), Question::Heads(place)];
        let named = vec![
            vec![HubObject::batch(5), HubObject::batch(6), HubObject::batch(7)],
            vec![HubObject::document("a", 1), HubObject::document("b", 2)],
        ];
        let some = |byte: u8| Some(vec![byte]);
        let found = answers(&questions, named, vec![some(5), None, some(7), None, some(2)]);
        let batches = vec![Sealed { sequence: 5, bytes: vec![5] }];
        let documents = vec![Document { name: "b".to_string(), bytes: vec![2] }];
        assert_eq!(found, [Answer::After(batches), Answer::Heads(documents)]);
    }
}
