//! What a sentence says, so that two of them can be compared: "keep it short" and "be concise" say the same, "run the
//! tests" and "never run the tests" the opposite.
//!
//! A text is read clause by clause into weighted concepts. A concept is negative when the clause says it is not wanted
//! ("no emojis", "tabs, not spaces", "don't be verbose" turns round twice), and a condition is a concept of its own:
//! committing is something else in "never commit" than in "ask before you commit". Nothing is stored, and nothing is
//! looked up outside the tables of `concepts.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::concepts::{self, Choice, Entry, Field, REMOVE, TYPO_LIKENESS_MIN};
use super::stem::{Shape, stem};

/// From here on two texts say the same.
pub const SAME_MIN: f64 = 0.72;
/// What is left of the likeness of two texts that differ in what is done, in a number or in the thing chosen.
const APART_FACTOR: f64 = 0.6;
/// A condition tells less than what is to be done.
const CONDITION_WEIGHT: f64 = 0.7;
/// Marks the concept of a condition; no word begins with it.
const CONDITION: char = '?';
/// Words of an instruction that are read; who says more tells a story.
const WORDS_MAX: usize = 400;
/// Unknown words are compared by their looks from this length.
const LOOKS_CHARS_MIN: usize = 6;

/// What a text says.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    whole: Clause,
    clauses: Vec<Clause>,
}

/// Concepts, each from -1 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clause {
    pub concepts: BTreeMap<String, f64>,
    actions: BTreeSet<&'static str>,
    numbers: BTreeSet<String>,
    /// Its condition is what it comes before.
    is_before: bool,
}

impl Meaning {
    pub fn of(text: &str) -> Meaning {
        let mut clauses = Reader::default().read(&tokens(text));
        clauses.retain(|clause| !clause.concepts.is_empty());
        let mut whole = Clause::default();
        for clause in &clauses {
            for (concept, weight) in &clause.concepts {
                whole.concepts.entry(concept.clone()).or_insert(*weight);
            }
            whole.actions.extend(&clause.actions);
            whole.numbers.extend(clause.numbers.iter().cloned());
        }
        if whole.concepts.is_empty() && !text.trim().is_empty() {
            // Nothing but small words: they are alike when they are the same.
            whole.concepts.insert(text.trim().to_lowercase(), 1.0);
        }
        Meaning { whole, clauses }
    }

    /// From 0, nothing in common or the opposite, to 1, the same.
    pub fn similarity(&self, other: &Meaning) -> f64 {
        self.whole.agreement(&other.whole).max(0.0)
    }

    /// How much of what this says is spoken of by `other`, from 0 to 1, whether for or against.
    pub fn share_in(&self, other: &Meaning) -> f64 {
        let bare = |concept: &str| concept.trim_start_matches(CONDITION).to_string();
        let there: BTreeSet<String> = other.whole.concepts.keys().map(|concept| bare(concept)).collect();
        let weight = |(_, weight): (&String, &f64)| weight.abs();
        let all: f64 = self.whole.concepts.iter().map(weight).sum();
        let shared = self.whole.concepts.iter().filter(|(concept, _)| there.contains(&bare(concept))).map(weight);
        if all > 0.0 { shared.sum::<f64>() / all } else { 0.0 }
    }

    /// The share of `fields` in what is said, conditions left out; what is in no table belongs to no field.
    pub(super) fn share_of(&self, fields: &[Field]) -> f64 {
        let wanted = self.whole.concepts.iter().filter(|(concept, _)| !concept.starts_with(CONDITION));
        let (mut all, mut within) = (0.0, 0.0);
        for (concept, weight) in wanted {
            all += weight.abs();
            if concepts::named(concept).is_some_and(|known| fields.contains(&known.field)) {
                within += weight.abs();
            }
        }
        if all > 0.0 { within / all } else { 0.0 }
    }

    /// What two texts that say the same share at least one of.
    pub(super) fn telling(&self) -> impl Iterator<Item = &str> {
        let heaviest = self.whole.concepts.values().fold(0.0_f64, |most, weight| most.max(weight.abs()));
        let concepts = self.whole.concepts.iter().filter(move |(_, weight)| weight.abs() >= heaviest.min(0.5));
        concepts.map(|(concept, _)| concept.as_str())
    }

    pub(super) fn clauses(&self) -> &[Clause] {
        &self.clauses
    }
}

impl Clause {
    /// From -1, the opposite, to 1, the same.
    pub(super) fn agreement(&self, other: &Clause) -> f64 {
        self.cosine(other, |a, b| a * b) * self.apartness(other)
    }

    /// From 0 to 1: whether they speak of the same, for or against.
    pub(super) fn closeness(&self, other: &Clause) -> f64 {
        self.cosine(other, |a, b| (a * b).abs()) * self.apartness(other)
    }

    fn cosine(&self, other: &Clause, product: impl Fn(f64, f64) -> f64) -> f64 {
        let length = |clause: &Clause| clause.concepts.values().map(|weight| weight * weight).sum::<f64>().sqrt();
        // Which of several lookalikes is taken must not depend on who is compared with whom.
        let is_first = self.concepts.keys().le(other.concepts.keys());
        let (one, two) = if is_first { (self, other) } else { (other, self) };
        let mut shared = 0.0;
        for (concept, weight) in &one.concepts {
            if let Some(there) = two.concepts.get(concept) {
                shared += product(*weight, *there);
            } else if let Some((like, there)) = two.lookalike(concept, one) {
                shared += like * product(*weight, there);
            }
        }
        (shared / (length(one) * length(two)).max(f64::EPSILON)).clamp(-1.0, 1.0)
    }

    /// A word of this clause that is the same word mistyped or bent, unless `other` has it too.
    fn lookalike(&self, concept: &str, other: &Clause) -> Option<(f64, f64)> {
        let is_comparable = |word: &str| {
            word.chars().count() >= LOOKS_CHARS_MIN && !word.contains(' ') && concepts::named(word).is_none()
        };
        if !is_comparable(concept) {
            return None;
        }
        let candidates =
            self.concepts.iter().filter(|(word, _)| is_comparable(word) && !other.concepts.contains_key(*word));
        let shape = Shape::of(concept);
        let likes = candidates.map(|(word, weight)| (shape.likeness(&Shape::of(word)), *weight));
        likes.filter(|(like, _)| *like >= TYPO_LIKENESS_MIN).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn apartness(&self, other: &Clause) -> f64 {
        fn differ<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> bool {
            !a.is_empty() && !b.is_empty() && a.is_disjoint(b)
        }
        let is_apart = differ(&self.actions, &other.actions)
            || differ(&self.numbers, &other.numbers)
            || concepts::choices().iter().any(|choice| differ(&self.chosen(choice), &other.chosen(choice)));
        if is_apart { APART_FACTOR } else { 1.0 }
    }

    /// Which of the things to choose from are wanted here.
    pub(super) fn chosen<'a>(&self, choice: &'a Choice) -> BTreeSet<&'a str> {
        let is_wanted = |member: &&String| self.concepts.get(*member).is_some_and(|weight| *weight > 0.0);
        choice.members.iter().filter(is_wanted).map(String::as_str).collect()
    }

    /// What comes first and what comes after it, the other way round; `None` when nothing is said about that.
    pub(super) fn reversed(&self) -> Option<Clause> {
        let turn = |(concept, weight): (&String, &f64)| match concept.strip_prefix(CONDITION) {
            Some(bare) => (bare.to_string(), weight / CONDITION_WEIGHT),
            None => (format!("{CONDITION}{concept}"), weight * CONDITION_WEIGHT),
        };
        let concepts: BTreeMap<String, f64> = self.concepts.iter().map(turn).collect();
        let has_both = concepts.keys().any(|concept| concept.starts_with(CONDITION))
            && !concepts.keys().all(|concept| concept.starts_with(CONDITION));
        (self.is_before && has_both).then(|| Clause { concepts, is_before: true, ..Clause::default() })
    }

    pub(super) fn numbers(&self) -> &BTreeSet<String> {
        &self.numbers
    }

    /// The same without some concepts and without its numbers.
    pub(super) fn without(&self, left_out: impl Fn(&str) -> bool) -> Clause {
        let mut rest = self.clone();
        rest.concepts.retain(|concept, _| !left_out(concept) && !self.numbers.contains(concept));
        rest.numbers.clear();
        rest
    }
}

#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Comma,
    /// A full stop, a bracket, a new line.
    Stop,
}

/// The words of a text in lower case. Names of code and of files stay whole, other words are cut at hyphens.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for chunk in text.split_whitespace().take(WORDS_MAX) {
        let chunk = chunk.replace('’', "'").to_lowercase();
        let body = chunk.trim_start_matches(|c: char| !is_word_start(c));
        let core = body.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#'));
        if chunk.starts_with('(') || core.is_empty() {
            tokens.push(Token::Stop);
        }
        let is_name = core.contains(['/', '_', '.', '\\']);
        let parts: Vec<&str> =
            if is_name { vec![core] } else { core.split(|c: char| c == '-' || c == '—').collect() };
        tokens.extend(parts.into_iter().filter(|part| !part.is_empty()).map(|part| Token::Word(part.to_string())));
        match &body[core.len()..] {
            "" => {}
            tail if tail.starts_with([',']) => tokens.push(Token::Comma),
            tail if tail.contains(['.', ';', ':', '!', '?', ')', '—']) => tokens.push(Token::Stop),
            _ => {}
        }
    }
    tokens
}

fn is_word_start(c: char) -> bool {
    c.is_alphanumeric() || c == '.' || c == '/'
}

/// A clause while it is read.
#[derive(Default)]
struct Draft {
    said: Vec<(String, f64)>,
    conditions: Vec<(String, f64)>,
    negations: usize,
    has_opposite: bool,
    has_excess: bool,
    /// What is read now belongs to a condition.
    is_condition: bool,
    /// The clause is about what is not wanted: "instead of …".
    is_against: bool,
    /// The last word said something.
    is_telling: bool,
    is_before: bool,
    actions: BTreeSet<&'static str>,
}

impl Draft {
    fn add(&mut self, concept: &str, weight: f64) {
        self.is_telling = true;
        if self.is_condition {
            self.conditions.push((format!("{CONDITION}{concept}"), weight * CONDITION_WEIGHT));
        } else {
            self.said.push((concept.to_string(), weight));
        }
    }

    /// What was said so far is the condition of what comes.
    fn turn_into_condition(&mut self) {
        let said = std::mem::take(&mut self.said);
        self.conditions
            .extend(said.into_iter().map(|(word, weight)| (format!("{CONDITION}{word}"), weight * CONDITION_WEIGHT)));
    }

    fn finish(self) -> Clause {
        let excess = usize::from(self.has_excess && self.negations == 0);
        let turns = self.negations + usize::from(self.has_opposite) + excess;
        let sign = if turns % 2 == 0 { 1.0 } else { -1.0 };
        let mut clause = Clause { actions: self.actions, is_before: self.is_before, ..Clause::default() };
        for (word, weight) in self.said.into_iter().map(|(word, weight)| (word, sign * weight)).chain(self.conditions) {
            if word.trim_start_matches(CONDITION).starts_with(|c: char| c.is_ascii_digit()) {
                clause.numbers.insert(word.clone());
            }
            clause.concepts.entry(word).or_insert(weight);
        }
        clause
    }
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    clauses: Vec<Clause>,
}

impl Reader {
    fn read(mut self, tokens: &[Token]) -> Vec<Clause> {
        for sentence in tokens.split(|token| *token == Token::Stop) {
            self.read_sentence(sentence);
            self.close();
        }
        self.clauses
    }

    fn read_sentence(&mut self, sentence: &[Token]) {
        let has_number = sentence.iter().any(|token| matches!(token, Token::Word(word) if is_number(word)));
        let mut at = 0;
        let mut is_joint = false;
        while let Some(token) = sentence.get(at) {
            let Token::Word(word) = token else {
                is_joint = true;
                at += 1;
                continue;
            };
            let stems: Vec<String> = sentence[at..].iter().map_while(word_of).take(5).map(stem).collect();
            let (mut entry, length) = match concepts::entry(&stems) {
                Some(found) => (Some(found.0), found.1),
                None => (concepts::mistyped(word), 1),
            };
            if is_limit(entry) && !has_number {
                entry = Some(if word == "over" { Entry::Against } else { Entry::Silent });
            }
            if is_joint || word == "but" {
                self.joint(entry);
            }
            self.take(word, &stems[0], entry);
            is_joint = word == "and" || word == "then" || (is_joint && entry == Some(Entry::Silent));
            at += length;
        }
    }

    /// After a comma or an "and" an instruction may begin.
    fn joint(&mut self, next: Option<Entry>) {
        let begins = matches!(next, Some(Entry::Verb | Entry::Action(_) | Entry::Negation | Entry::Contrast));
        let is_empty = self.draft.said.is_empty() && self.draft.conditions.is_empty();
        if !is_empty && (begins || self.draft.is_condition) {
            self.close();
        }
    }

    fn take(&mut self, word: &str, stemmed: &str, entry: Option<Entry>) {
        self.draft.is_before |= word == "before";
        let was_telling = std::mem::take(&mut self.draft.is_telling);
        match entry {
            Some(Entry::Concept(concept)) => self.draft.add(concept.name, concept.weight),
            Some(Entry::Opposite(concept)) => {
                self.draft.has_opposite |= !self.draft.is_condition;
                self.draft.add(concept.name, concept.weight);
            }
            None if word == "but" => {}
            None => self.draft.add(stemmed, 1.0),
            Some(Entry::Silent) => {}
            Some(Entry::Verb) => self.begin_instruction(),
            Some(Entry::Action(action)) => {
                self.begin_instruction();
                if !self.draft.is_condition {
                    self.draft.negations += usize::from(action == REMOVE);
                    self.draft.actions.insert(action);
                }
            }
            Some(Entry::Negation) => {
                self.begin_instruction();
                self.draft.negations += 1;
            }
            Some(Entry::Contrast) if was_telling => self.contrast(),
            Some(Entry::Contrast) => self.draft.negations += 1,
            Some(Entry::Against) => self.contrast(),
            Some(Entry::Excess) => self.draft.has_excess = true,
            Some(Entry::When) if word == "before" && self.is_refusal() => self.gate(),
            Some(Entry::When) => self.draft.is_condition = true,
            Some(Entry::Unless) if self.is_refusal() => self.gate(),
            Some(Entry::Unless) if word == "without" => {
                self.draft.turn_into_condition();
                self.draft.negations = 1;
            }
            Some(Entry::Unless) => self.draft.is_condition = true,
        }
    }

    /// "when you add a parser write tests": the second verb is what is to be done.
    fn begin_instruction(&mut self) {
        if self.draft.is_condition && !self.draft.conditions.is_empty() && self.draft.said.is_empty() {
            self.draft.is_condition = false;
        } else if self.draft.is_against && !self.draft.said.is_empty() {
            self.close();
        }
    }

    fn is_refusal(&self) -> bool {
        self.draft.negations > 0 && !self.draft.said.is_empty() && !self.draft.is_condition
    }

    /// "never commit without asking": to ask is wanted, and to commit is when.
    fn gate(&mut self) {
        self.draft.turn_into_condition();
        self.draft.negations = 0;
        self.draft.actions.clear();
    }

    fn contrast(&mut self) {
        self.close();
        self.draft.negations = 1;
        self.draft.is_against = true;
    }

    fn close(&mut self) {
        let draft = std::mem::take(&mut self.draft);
        let is_empty = draft.said.is_empty() && draft.conditions.is_empty();
        if is_empty && draft.negations % 2 == 1 && draft.is_against {
            // "comments not needed": what was denied came before.
            if let Some(before) = self.clauses.last_mut() {
                before.concepts.values_mut().for_each(|weight| *weight = -*weight);
            }
        } else {
            self.clauses.push(draft.finish());
        }
    }
}

fn word_of(token: &Token) -> Option<&str> {
    match token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_limit(entry: Option<Entry>) -> bool {
    matches!(entry, Some(Entry::Concept(concept) | Entry::Opposite(concept)) if concept.name == "limit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn similarity(a: &str, b: &str) -> f64 {
        Meaning::of(a).similarity(&Meaning::of(b))
    }

    #[test]
    fn the_same_in_other_words() {
        for (a, b) in [
            ("keep it short", "be concise"),
            ("keep it short", "terse output please"),
            ("be concise", "don't be so verbose"),
            ("keep your answers brief", "your replies are too long"),
            ("be consise", "be concise"),
            ("no emojis", "please stop using emojis"),
            ("remove the emojis", "don't use emojis"),
            ("never use globals", "avoid global variables"),
            ("ask before committing", "never commit without asking me"),
            ("ask me before you commit", "don't commit unless I approve"),
            ("before you commit, run the tests", "run tests before committing"),
            ("write a test for every bug", "you forgot to add a test for the bug"),
            ("keep files under 200 lines", "files must not exceed 200 lines"),
            ("don't over-engineer this", "keep it simple"),
            ("you keep adding comments", "don't add comments"),
            ("use type hints", "always add type annotations"),
            ("use tabs, not spaces", "use tabs instead of spaces"),
            ("comments not needed", "no comments"),
            ("use the frobnicator for parsing", "use the frobnicater for parsing"),
        ] {
            assert!(similarity(a, b) >= SAME_MIN, "{a} / {b}: {:?} {:?}", Meaning::of(a).whole, Meaning::of(b).whole);
            assert_eq!(similarity(a, b), similarity(b, a));
        }
    }

    #[test]
    fn something_else_in_like_words() {
        for (a, b) in [
            ("use tabs", "use spaces"),
            ("always run tests", "never run tests"),
            ("write unit tests", "run unit tests"),
            ("run unit tests", "run integration tests"),
            ("be concise", "be verbose"),
            ("keep functions short", "keep it short"),
            ("max 200 lines per file", "max 400 lines per file"),
            ("use npm to install packages", "use pnpm to install packages"),
            ("never commit", "never commit without asking"),
            ("don't delete the tests", "don't write tests"),
            ("use tabs, not spaces", "use spaces, not tabs"),
            ("validate inputs", "handle errors"),
            ("run cargo fmt before commit", "run cargo clippy before commit"),
            ("", "be concise"),
        ] {
            assert!(similarity(a, b) < SAME_MIN, "{a} / {b}: {}", similarity(a, b));
        }
    }

    #[test]
    fn small_words_alone_are_alike_when_equal() {
        assert_eq!(similarity("do that", "do that"), 1.0);
        assert_eq!(similarity("do that", "do this"), 0.0);
        assert_eq!(similarity("", ""), 0.0);
    }

    #[test]
    fn a_prompt_shows_what_is_relevant() {
        let share = |a: &str, b: &str| Meaning::of(a).share_in(&Meaning::of(b));
        assert_eq!(share("never push migrations", "write a migration and push it to staging"), 1.0);
        assert_eq!(share("ask before you commit", "commit this"), share("ask before you commit", "don't commit this"));
        assert_eq!(share("no emojis", "fix the parser"), 0.0);
    }

    proptest! {
        #[test]
        fn likeness_is_a_share_and_symmetric(a in "[a-z ,.']{0,60}", b in ".{0,60}") {
            let (one, other) = (Meaning::of(&a), Meaning::of(&b));
            let likeness = one.similarity(&other);
            prop_assert!((0.0..=1.0).contains(&likeness));
            prop_assert!((likeness - other.similarity(&one)).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&one.share_in(&other)));
            if !a.trim().is_empty() {
                prop_assert!(one.similarity(&one) > 0.999);
            }
        }
    }
}
