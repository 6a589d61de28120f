//! Where sealed bytes are kept for other devices. A transport never sees words: names are hexadecimal, contents are
//! sealed or signed before they arrive here.
//!
//! There are two kinds of content. *Batches* never change: a name is written once. *Documents* (heads, the list of
//! members, wrapped keys) are replaced, each by the one device that owns it.

pub mod address;
pub mod at_once;
pub mod folder;
pub mod git;
mod hash;
mod object;
mod open;
pub mod postgres;
mod reason;
mod roots;
pub mod s3;
mod time;

use address::AddressError;
pub use open::{LocalMachine, handed_on, open, redacted};
pub use time::TimeLimit;

/// The length of a name.
pub const NAME_CHARS_MAX: usize = 64;

/// The place of the documents of the space itself.
pub const SPACE_PLACE: &str = "space";
/// The name of the document with all links of the chain, and of the stream in which links are written one by one.
pub const CHAIN: &str = "chain";
/// Begins the name of a request to be let in.
pub const REQUEST: &str = "request-";

/// Whether a text may be the name of a space, project, device or document.
pub fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Documents and streams of one project in one space. The documents of the space itself have a place too, whose
/// project is `space`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub space: String,
    pub project: String,
}

/// What one device writes in a place. Only that device writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream {
    pub place: Place,
    pub device: String,
}

/// A document as it was found, or a batch under its sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// A batch as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub sequence: u64,
    pub bytes: Vec<u8>,
}

/// How many batches of a stream are asked for at once.
pub const BATCHES_AT_ONCE_MAX: usize = 32;

/// Some batches of a stream: those of one generation after a sequence number, at most `limit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub stream: Stream,
    pub generation: u64,
    pub sequence: u64,
    pub limit: usize,
}

impl Range {
    /// The sequence numbers that are asked for.
    fn sequences(&self) -> impl Iterator<Item = u64> + use<> {
        (self.sequence.saturating_add(1)..=u64::MAX).take(self.limit.min(BATCHES_AT_ONCE_MAX))
    }

    /// The batches in an answer, up to the first gap.
    pub fn batches(&self, answer: Vec<Document>) -> Vec<Sealed> {
        let named = self.sequences().zip(answer);
        let found = named.map_while(|(sequence, Document { name, bytes })| {
            (name == sequence.to_string()).then_some(Sealed { sequence, bytes })
        });
        found.collect()
    }
}

/// However many there are.
pub const ALL: usize = usize::MAX;

/// One of several things that are asked together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The documents of a place; none of them if there are more than so many.
    Heads(Place, usize),
    /// Batches. In the answer, the name of each is its sequence number.
    After(Range),
}

/// The result of writing a name that must be new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// These bytes are there now, perhaps by an earlier attempt.
    Stored,
    /// Other bytes are there: somebody else writes this stream.
    Other,
}

impl Put {
    fn of(is_there: bool) -> Put {
        if is_there { Put::Stored } else { Put::Other }
    }
}

pub type Result<T, E = TransportError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Nothing is wrong here; later it may work.
    #[error("cannot reach {hub}: {reason}")]
    Unreachable { hub: String, reason: String },
    #[error("{hub} refused: {reason}")]
    Refused { hub: String, reason: String },
    #[error("{hub} is full: {reason}")]
    Full { hub: String, reason: String },
    #[error("{hub} answered something unexpected: {reason}")]
    Unexpected { hub: String, reason: String },
    /// Something that we never make stands where we read or write. It was left alone.
    #[error("{what} in {hub}; nothing was read or written there")]
    InTheWay { hub: String, what: String },
    #[error(transparent)]
    Address(#[from] AddressError),
}

/// The four verbs: `heads`, `after`, `put_if_absent`, `replace`. The first two are questions, and several questions can
/// be asked together. A name (space, project, device, document) consists of 1 to 64 lower-case letters, digits and `-`;
/// a hub is asked and told nothing with any other. What a hub itself does is `answer`, `put` and `write`.
pub trait Transport {
    /// The hub, as it may be shown.
    fn hub(&self) -> String;

    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Vec<Document>>>;

    /// Stores batches of which no two have the same sequence number.
    fn put(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>>;

    fn write(&mut self, place: &Place, name: &str, bytes: &[u8], generation: Option<u64>) -> Result<()>;

    /// Answers several questions in as few round trips as the hub allows. There is one answer for each question, in its
    /// place.
    fn ask(&mut self, questions: &[Question]) -> Result<Vec<Vec<Document>>> {
        for question in questions {
            match question {
                Question::Heads(place, _) => check_names(self, place, &[])?,
                Question::After(range) => check_names(self, &range.stream.place, &[&range.stream.device])?,
            }
        }
        self.answer(questions)
    }

    /// All documents of a place. The cost depends on this place alone.
    fn heads(&mut self, place: &Place) -> Result<Vec<Document>> {
        Ok(self.ask(&[Question::Heads(place.clone(), ALL)])?.into_iter().flatten().collect())
    }

    /// The batches of one generation after a sequence number, in order, at most `limit`, perhaps fewer. A gap ends the
    /// answer.
    fn after(&mut self, stream: &Stream, generation: u64, sequence: u64, limit: usize) -> Result<Vec<Sealed>> {
        let range = Range { stream: stream.clone(), generation, sequence, limit };
        let answer = self.ask(&[Question::After(range.clone())])?;
        Ok(range.batches(answer.into_iter().flatten().collect()))
    }

    /// Stores batches under names that are new, in order. Returns one result for each; after `Put::Other` none follow.
    fn put_if_absent(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>> {
        check_names(self, &stream.place, &[&stream.device])?;
        if batches.is_empty() { Ok(Vec::new()) } else { self.put(stream, generation, batches) }
    }

    /// Replaces a document. The head of a device has the device's name: with `generation`, batches of that device in
    /// earlier generations are removed, where the transport can remove anything.
    fn replace(&mut self, place: &Place, name: &str, bytes: &[u8], generation: Option<u64>) -> Result<()> {
        check_names(self, place, &[name])?;
        self.write(place, name, bytes, generation)
    }

    /// Whether batches of earlier generations are gone from the hub after [`Transport::replace`]. If not, their sealed
    /// bytes stay until the hub collects its garbage.
    fn removes(&self) -> bool {
        true
    }

    /// What was found on the hub that is not ours, and was left alone. Each is told once.
    fn oddities(&mut self) -> Vec<TransportError> {
        Vec::new()
    }
}

/// The results of storing batches one after another, up to the first in whose place others stand.
fn until_other<E>(puts: impl Iterator<Item = Result<Put, E>>) -> Result<Vec<Put>, E> {
    let mut results = Vec::new();
    for put in puts {
        results.push(put?);
        if results.last() == Some(&Put::Other) {
            break;
        }
    }
    Ok(results)
}

/// Refuses names that could lead elsewhere.
fn check_names(hub: &(impl Transport + ?Sized), place: &Place, names: &[&str]) -> Result<()> {
    match [place.space.as_str(), &place.project].iter().chain(names).find(|name| !is_name(name)) {
        None => Ok(()),
        Some(name) => Err(TransportError::Refused { hub: hub.hub(), reason: format!("{name:?} cannot be a name") }),
    }
}
