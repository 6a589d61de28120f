//! Answers of hubs that keep every document and every batch as one object.

use super::{Answer, Document, Question, Sealed};

/// Objects that may answer a question, in order: the name of each and where it is.
pub type Named<W> = Vec<(String, W)>;

/// The answers, from the objects of each question and what all of them hold: `None` if there is no such object.
pub fn answers<W>(questions: &[Question], named: Vec<Named<W>>, contents: Vec<Option<Vec<u8>>>) -> Vec<Answer> {
    let mut contents = contents.into_iter();
    let answer = |(question, objects): (&Question, Named<W>)| {
        let contents = contents.by_ref().take(objects.len()).collect::<Vec<_>>().into_iter();
        match question {
            Question::Heads(..) => {
                let found = objects.into_iter().zip(contents);
                let document = |((name, _), bytes): (_, Option<_>)| Some(Document { name, bytes: bytes? });
                Answer::Heads(found.filter_map(document).collect())
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
    use super::super::{ALL, Place, Range, Stream};
    use super::*;

    #[test]
    fn a_document_that_is_gone_is_left_out_and_a_batch_that_is_gone_ends_the_answer() {
        let place = Place { space: "s".to_string(), project: "p".to_string() };
        let stream = Stream { place: place.clone(), device: "d".to_string() };
        let questions =
            [Question::After(Range { stream, generation: 1, sequence: 4, limit: 3 }), Question::Heads(place, ALL)];
        let object = |name: &str| (name.to_string(), ());
        let named = vec![vec![object("5"), object("6"), object("7")], vec![object("a"), object("b")]];
        let some = |byte: u8| Some(vec![byte]);
        let found = answers(&questions, named, vec![some(5), None, some(7), None, some(2)]);
        let batches = vec![Sealed { sequence: 5, bytes: vec![5] }];
        let documents = vec![Document { name: "b".to_string(), bytes: vec![2] }];
        assert_eq!(found, [Answer::After(batches), Answer::Heads(documents)]);
    }
}
