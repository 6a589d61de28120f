//! A linear model that finds decisions and blockers in the sentences of a prompt.
//!
//! Its features are hashed: the words of a sentence, its concepts in whatever language it is written, its form, what
//! the tables of cues found in it, and how it relates to the agent's last message. `cargo run -p cerberus-bench --
//! train` computes the weights from labelled prompts; a feature has a weight only if several people used it. The first
//! line of `model.bin` says on how many people it was trained and how well it did on people left out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use super::unit::{Unit, Units};
use super::{Before, Statement};
use crate::clean::text::clip_front;
use crate::language::lexicon::{Reading, tokens};
use crate::model::fact::Kind;

/// What it finds, in the order of the weights.
pub const KINDS: [Kind; 2] = [Kind::Decision, Kind::Blocker];
pub const BUCKETS: usize = 1 << 17;
/// A question or an offer is at the end of the agent's message.
const END_BYTES_MAX: usize = 400;
const OPTION_LINES_MAX: usize = 12;

static MODEL: LazyLock<Model> = LazyLock::new(|| Model::parse(include_bytes!("model.bin")).unwrap_or_default());

/// A feature and how much of it there is.
pub type Features = Vec<(u32, f32)>;

/// One weight per kind and bucket, in steps of `scale`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub about: String,
    pub parts: Vec<Part>,
}

/// The weights of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    pub bias: f32,
    pub scale: f32,
    /// From this score on, a sentence is of this kind.
    pub threshold: f32,
    /// Signed bytes. Those of the embedded model stay where they are: a prompt looks up few of them.
    weights: Cow<'static, [u8]>,
}

impl Part {
    pub fn new(bias: f32, scale: f32, threshold: f32, weights: impl Iterator<Item = i8>) -> Part {
        Part { bias, scale, threshold, weights: weights.map(i8::cast_unsigned).collect() }
    }

    pub fn score(&self, features: &Features) -> f32 {
        let weight = |bucket: u32| f32::from(self.weight(bucket));
        self.bias + self.scale * features.iter().map(|(bucket, value)| weight(*bucket) * value).sum::<f32>()
    }

    pub fn weight(&self, bucket: u32) -> i8 {
        self.weights.get(bucket as usize).map_or(0, |weight| weight.cast_signed())
    }
}

impl Model {
    pub fn embedded() -> &'static Model {
        &MODEL
    }

    /// The bytes of `model.bin`: a line of text, then per kind three numbers and the weights.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\n", self.about).into_bytes();
        for part in &self.parts {
            bytes.extend([part.bias, part.scale, part.threshold].iter().flat_map(|number| number.to_le_bytes()));
            bytes.extend(&*part.weights);
        }
        bytes
    }

    pub fn parse(bytes: &'static [u8]) -> Option<Model> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let about = String::from_utf8(bytes[..end].to_vec()).ok()?;
        let mut rest = &bytes[end + 1..];
        let mut parts = Vec::with_capacity(KINDS.len());
        for _ in KINDS {
            let (numbers, tail) = rest.split_at_checked(12)?;
            let (weights, tail) = tail.split_at_checked(BUCKETS)?;
            let number = |at: usize| Some(f32::from_le_bytes(numbers.get(at..at + 4)?.try_into().ok()?));
            let weights = Cow::Borrowed(weights);
            parts.push(Part { bias: number(0)?, scale: number(4)?, threshold: number(8)?, weights });
            rest = tail;
        }
        rest.is_empty().then_some(Model { about, parts })
    }

    /// The score of every unit, by kind.
    pub fn scores(&self, features: &[Features]) -> Vec<Vec<f32>> {
        self.parts.iter().map(|part| features.iter().map(|one| part.score(one)).collect()).collect()
    }
}

/// The features of every unit. `cued` is what the tables found in the prompt.
pub fn features(units: &Units, before: &Before, cued: &[Statement]) -> Vec<Features> {
    let context = Context::new(units, before);
    units.list.iter().enumerate().map(|(at, unit)| context.features(at, unit, cued)).collect()
}

/// What all units of a prompt share.
struct Context<'a> {
    units: &'a Units,
    /// Whether the agent had asked something: `1`, `0` or `-` without a message.
    asked: &'static str,
    has_options: bool,
    said: HashSet<String>,
    is_interruption: bool,
    items: &'static str,
    has_paste: bool,
}

/// A set of features of one sort; together they weigh as much as `weight`.
struct Group {
    weight: f32,
    features: BTreeSet<u32>,
}

impl Group {
    fn new(weight: f32) -> Group {
        Group { weight, features: BTreeSet::new() }
    }

    fn add(&mut self, name: &str, parts: &[&str]) {
        self.features.insert(bucket(name, parts));
    }
}

/// FNV-1a, finished like splitmix64: the same on every machine.
fn bucket(name: &str, parts: &[&str]) -> u32 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in [name].iter().chain(parts) {
        for byte in part.bytes().chain([0x1f]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
    hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((hash ^ (hash >> 32)) % BUCKETS as u64) as u32
}

/// A number as one of a few sizes.
fn size(number: usize) -> String {
    const STEPS: [usize; 13] = [0, 1, 2, 3, 5, 8, 12, 18, 30, 60, 120, 400, 1500];
    STEPS.iter().filter(|step| number >= **step).count().to_string()
}

fn flag(is_set: bool) -> &'static str {
    if is_set { "1" } else { "0" }
}

fn asks(text: &str) -> bool {
    text.contains(['?', '？'])
}

impl<'a> Context<'a> {
    fn new(units: &'a Units, before: &Before) -> Context<'a> {
        let message = before.message.trim_end();
        let asked = match message {
            "" => "-",
            message => flag(asks(clip_front(message, END_BYTES_MAX))),
        };
        let is_option = |line: &&str| {
            let line = line.trim_start_matches(['*', ' ', '-', '#']);
            line.starts_with(|c: char| c.is_ascii_digit()) && line.contains('.') && line.contains('?')
        };
        let items = units.list.iter().filter(|unit| unit.is_item).count();
        let items = match items {
            0 => "0",
            some if some * 2 > units.list.len() => "2",
            _ => "1",
        };
        Context {
            units,
            asked,
            has_options: message.lines().rev().take(OPTION_LINES_MAX).filter(is_option).count() >= 2,
            said: tokens(message).into_iter().collect(),
            is_interruption: before.is_interruption,
            items,
            has_paste: units.list.iter().any(|unit| unit.is_pasted),
        }
    }

    fn features(&self, at: usize, unit: &Unit, cued: &[Statement]) -> Features {
        let reading = &unit.reading;
        let words: Vec<&str> = reading.words.iter().map(String::as_str).collect();
        let mut groups = vec![word_group(&words), self.form_group(at, unit, &words)];
        if !unit.is_pasted {
            groups.extend([concept_group(reading), self.relation_group(reading, &words)]);
        }
        let mut features: BTreeMap<u32, f32> = BTreeMap::new();
        for group in groups {
            let share = group.weight / (group.features.len().max(1) as f32).sqrt();
            group.features.into_iter().for_each(|feature| *features.entry(feature).or_default() += share);
        }
        for kind in cued.iter().filter(|one| !unit.is_pasted && is_about(&one.text, &unit.text)).map(|one| one.kind) {
            features.insert(bucket("cue", &[kind.word()]), CUE_WEIGHT);
        }
        features.into_iter().collect()
    }

    fn form_group(&self, at: usize, unit: &Unit, words: &[&str]) -> Group {
        let count = self.units.list.len();
        let place = match at {
            _ if count == 1 => "only",
            0 => "first",
            at if at + 1 == count => "last",
            _ => "middle",
        };
        let mut group = Group::new(FORM_WEIGHT);
        for (name, value) in [
            ("length", size(words.len()).as_str()),
            ("prompt length", &size(self.units.prompt_len)),
            ("count", &size(count)),
            ("place", place),
            ("question", flag(asks(&unit.text))),
            ("pasted", flag(unit.is_pasted)),
            ("has paste", flag(self.has_paste)),
            ("interruption", flag(self.is_interruption)),
            ("asked", self.asked),
            ("options", flag(self.has_options)),
            ("item", flag(unit.is_item)),
        ] {
            group.add(name, &[value]);
        }
        if let [first, rest @ ..] = words {
            group.add("begins", &[first]);
            rest.first().iter().for_each(|second| group.add("begins", &[first, second]));
            group.add("ends", &[words[words.len() - 1]]);
        }
        group
    }

    /// How the sentence relates to what the agent said.
    fn relation_group(&self, reading: &Reading, words: &[&str]) -> Group {
        const CONTENT_CHARS_MIN: usize = 4;
        let length = size(words.len());
        let mut group = Group::new(RELATION_WEIGHT);
        for hit in &reading.hits {
            group.add("asked concept", &[self.asked, hit.concept]);
            group.add("length concept", &[&length, hit.concept]);
        }
        let is_content = |word: &&&str| word.chars().count() >= CONTENT_CHARS_MIN && !reading.lexicon.is_frequent(word);
        let content: Vec<&&str> = words.iter().filter(is_content).collect();
        let repeated = content.iter().filter(|word| self.said.contains(***word)).count();
        let share = match (content.len(), repeated) {
            (0, _) => "none",
            (_, 0) => "0",
            (all, some) if some * 3 < all => "1",
            (all, some) if some * 3 < all * 2 => "2",
            _ => "3",
        };
        group.add("repeats", &[share]);
        group.add("repeats", &[share, self.asked]);
        group.add("items", &[self.items, self.asked]);
        group.add("length asked", &[&length, self.asked]);
        group
    }
}

const WORD_WEIGHT: f32 = 1.4;
const FORM_WEIGHT: f32 = 0.7;
const CONCEPT_WEIGHT: f32 = 0.7;
const RELATION_WEIGHT: f32 = 0.5;
const CUE_WEIGHT: f32 = 0.5;

/// Sequences of up to three words, and two words with one between them.
fn word_group(words: &[&str]) -> Group {
    let mut group = Group::new(WORD_WEIGHT);
    for at in 0..words.len() {
        for len in 1..=3.min(words.len() - at) {
            group.add("words", &words[at..at + len]);
        }
        if let [first, _, third] = words[at..words.len().min(at + 3)] {
            group.add("around", &[first, third]);
        }
    }
    group
}

/// Concepts, pairs of them, those at the beginning, and those that follow each other.
fn concept_group(reading: &Reading) -> Group {
    const NEAR_WORDS_MAX: usize = 2;
    let mut group = Group::new(CONCEPT_WEIGHT);
    let names: BTreeSet<&str> = reading.hits.iter().map(|hit| hit.concept).collect();
    for (at, first) in names.iter().enumerate() {
        group.add("concept", &[first]);
        names.iter().skip(at + 1).for_each(|second| group.add("concepts", &[first, second]));
    }
    for hit in &reading.hits {
        if hit.start <= 1 {
            group.add("begins with", &[hit.concept]);
        }
        let end = hit.start + hit.len;
        let follows = |next: &&crate::language::lexicon::Hit| {
            (end..=end + NEAR_WORDS_MAX).contains(&next.start) && next.concept != hit.concept
        };
        reading.hits.iter().filter(follows).for_each(|next| group.add("follows", &[hit.concept, next.concept]));
    }
    group
}

/// Whether a statement that the tables found is in this sentence, or the other way round.
pub(super) fn is_about(statement: &str, unit: &str) -> bool {
    const UNIT_BYTES_MIN: usize = 8;
    let plain = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        text.trim_end_matches(['.', '!', '?']).to_string()
    };
    let (statement, unit) = (plain(statement), plain(unit));
    unit.contains(&statement) || (unit.len() > UNIT_BYTES_MIN && statement.contains(&unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_survives_its_bytes() {
        let part = |bias| Part::new(bias, 0.5, -0.25, std::iter::repeat_n(-3, BUCKETS));
        let model = Model { about: "two people".to_string(), parts: vec![part(0.1), part(0.2)] };
        let bytes: &'static [u8] = model.bytes().leak();
        assert_eq!(model.parts[0].weight(7), -3);
        assert_eq!(Model::parse(bytes), Some(model));
        assert_eq!(Model::parse(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Model::parse(b"no model"), None);
    }

    #[test]
    fn the_embedded_model_is_whole_and_says_how_good_it_is() {
        let model = Model::embedded();
        assert_eq!(model.parts.len(), KINDS.len());
        assert!(model.about.contains("people left out"), "{}", model.about);
        assert!(model.parts.iter().all(|part| part.weights.iter().any(|weight| *weight != 0)));
    }

    #[test]
    fn concepts_make_the_same_features_in_every_language() {
        let concepts = |text: &str| {
            let units = Units::new(text);
            concept_group(&units.list[0].reading).features
        };
        assert!(concepts("non funziona").is_subset(&concepts("no funciona")));
    }

    #[test]
    fn features_depend_on_the_agents_message() {
        let units = Units::new("the second one");
        let of = |message| features(&units, &Before { message, is_interruption: false }, &[]);
        assert_ne!(of(""), of("Which one?"));
        assert_eq!(of("Which one?"), of("Which one?"));
    }
}
