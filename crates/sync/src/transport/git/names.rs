//! The names of references.

use super::super::{Place, Question, Stream};

/// What references begin with that are needed to answer a question.
pub fn beginning(question: &Question) -> String {
    match question {
        Question::Heads(place, _) => of_document(place, ""),
        Question::After(range) => of_device(&range.stream),
    }
}

pub fn of_streams(place: &Place) -> String {
    format!("refs/cerberus/{}/{}/streams/", place.space, place.project)
}

pub fn of_device(stream: &Stream) -> String {
    format!("{}{}/", of_streams(&stream.place), stream.device)
}

/// One on each line, as git reads them.
pub fn lines(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"]).flatten().copied().collect()
}

pub fn of_stream(stream: &Stream, generation: u64) -> String {
    format!("{}{generation}", of_device(stream))
}

pub fn of_document(place: &Place, name: &str) -> String {
    format!("refs/cerberus/{}/{}/documents/{name}", place.space, place.project)
}
