//! Which sentences are quoted: those that say most that is not quoted yet. A word counts more the rarer it is in the
//! conversation and the more turns come back to it; a linear model over position and form weighs the sentence.

use std::cmp::Ordering;

use cerberus_record::map::{FastMap, FastSet};
use cerberus_text::tokens;

use super::sentences::{SENTENCE_CHARS_MAX, Sentence};
use super::{Quotable, WorkDone};

/// Shorter sentences say little on their own.
const SHORT_CHARS: usize = 25;
/// Each of these is counted up to its limit.
const SESSIONS_BACK_MAX: usize = 3;
const TURNS_BACK_MAX: usize = 6;
const FROM_END_MAX: usize = 10;
const NAMES_MAX: usize = 3;

/// What a request is worth beside a sentence of the agent: the next session needs the user's own words more.
const REQUEST_WORTH: f64 = 2.0;
/// How much a sentence's standing counts beside what it says, and its length beside both.
const STANDING: f64 = 0.7;
const LENGTH: f64 = 0.8;
/// What a line costs beside its sentences: its prefix and its age.
const LINE_TOKENS: usize = 5;
/// A quote costs its characters and this many more.
const LINE_CHARS: f64 = 20.0;
/// The last request is quoted whatever its score, up to this many sentences.
const LAST_REQUEST_SENTENCES: usize = 2;

/// What a sentence is judged by. All are between 0 and 1.
pub const FEATURES: [&str; 10] = [
    "bias",
    "sessions back",
    "turns back",
    "length",
    "names of the code",
    "short",
    "row of a table",
    "sentences from the end",
    "first of a reply",
    "last request",
];
pub type SentenceFeatures = [f64; FEATURES.len()];

/// Fitted by `cerberus-bench quotes` on 54 moments between sessions of 21 people; `docs/continuity.md` has the figures for
/// people left out.
pub const WEIGHTS: SentenceFeatures = [-1.86, -1.89, -0.97, 0.91, 0.81, -1.00, 0.62, -0.59, 0.34, 0.27];

/// A sentence that may be quoted.
#[derive(Debug)]
pub struct CandidateSentence {
    pub text: String,
    /// Of the list that it is in.
    pub heading: String,
    pub begins_item: bool,
    /// The index of its turn.
    pub turn: usize,
    pub is_reply: bool,
    pub features: SentenceFeatures,
    pub tokens: usize,
    words: Vec<u64>,
    /// It is quoted first, whatever its score.
    pub(super) is_certain: bool,
}

/// All sentences of `turns` that may be quoted, in order. Sessions without work have none, unless there are no others.
pub fn candidates(turns: &[Quotable]) -> Vec<CandidateSentence> {
    let mut found = Vec::new();
    let (mut sessions_back, mut turns_back) = (0, 0);
    let anchor = anchor(turns);
    let mut next: Option<&Quotable> = None;
    for (index, turn) in turns.iter().enumerate().rev().filter(|(_, turn)| turn.part != WorkDone::Idle) {
        match next {
            Some(next) if next.session == turn.session => turns_back += 1,
            Some(_) => (sessions_back, turns_back) = (sessions_back + 1, 0),
            None => {}
        }
        let is_last = next.is_none();
        next = Some(turn);
        for (is_reply, all) in [(true, &turn.reply), (false, &turn.request)] {
            for (position, sentence) in all.iter().enumerate().rev() {
                let from_end = all.len() - 1 - position;
                let features = SentencePlace { sessions_back, turns_back, position, from_end, is_reply, is_last }
                    .features(sentence);
                let is_first = position < LAST_REQUEST_SENTENCES;
                let is_guaranteed = is_last || anchor == Some(index);
                let is_certain = is_guaranteed && if is_reply { position == 0 || from_end == 0 } else { is_first };
                let Sentence { text, heading, begins_item, tokens, words, .. } = sentence.clone();
                found.push(CandidateSentence {
                    text,
                    heading,
                    begins_item,
                    turn: index,
                    is_reply,
                    features,
                    tokens,
                    words,
                    is_certain,
                });
            }
        }
    }
    found.reverse();
    found
}

/// The last turn of the last session at work. Whatever was said since, it stays.
pub(super) fn anchor(turns: &[Quotable]) -> Option<usize> {
    turns.iter().rposition(|turn| turn.part == WorkDone::Work)
}

/// Where a sentence stands.
struct SentencePlace {
    sessions_back: usize,
    turns_back: usize,
    position: usize,
    from_end: usize,
    is_reply: bool,
    is_last: bool,
}

impl SentencePlace {
    fn features(&self, sentence: &Sentence) -> SentenceFeatures {
        let share = |count: usize, max: usize| count.min(max) as f64 / max as f64;
        let flag = |is: bool| f64::from(u8::from(is));
        let chars = sentence.text.chars().count();
        [
            1.0,
            share(self.sessions_back, SESSIONS_BACK_MAX),
            share(self.turns_back, TURNS_BACK_MAX),
            share(chars, SENTENCE_CHARS_MAX),
            share(sentence.names, NAMES_MAX),
            flag(chars < SHORT_CHARS),
            flag(sentence.is_row),
            flag(self.is_reply) * share(self.from_end, FROM_END_MAX),
            flag(self.is_reply && self.position == 0),
            flag(!self.is_reply && self.is_last),
        ]
    }
}

/// The indices of the sentences to quote, in order: the best for their length that repeat least, until the budget is
/// used. What says nothing new is not quoted.
pub fn choose(candidates: &[CandidateSentence], weights: &SentenceFeatures, budget_tokens: usize) -> Vec<usize> {
    let scores: Vec<f64> = candidates.iter().map(|candidate| worth(candidate, weights)).collect();
    let mut by_word: FastMap<u64, Vec<usize>> = FastMap::default();
    for (at, candidate) in candidates.iter().enumerate() {
        candidate.words.iter().for_each(|word| by_word.entry(*word).or_default().push(at));
    }
    let word_worths: FastMap<u64, f64> =
        by_word.iter().map(|(word, found)| (*word, word_worth(candidates, found))).collect();
    // What the words of each sentence that are not quoted yet are worth together.
    let mut news: Vec<f64> =
        candidates.iter().map(|candidate| candidate.words.iter().map(|word| word_worths[word]).sum()).collect();
    // How many words of each sentence are quoted already.
    let mut known = vec![0usize; candidates.len()];
    let headings: Vec<usize> = candidates.iter().map(|candidate| heading_tokens(&candidate.heading)).collect();
    let mut open: Vec<usize> = (0..candidates.len()).collect();
    let mut lines: FastSet<(usize, bool)> = FastSet::default();
    let (mut chosen, mut left) = (Vec::<usize>::new(), budget_tokens);
    loop {
        let cost = |at: usize| {
            let CandidateSentence { tokens, turn, is_reply, ref heading, .. } = candidates[at];
            let is_headed = |other: &usize| candidates[*other].turn == turn && candidates[*other].heading == *heading;
            let heading = if headings[at] == 0 || chosen.iter().any(is_headed) { 0 } else { headings[at] };
            tokens + heading + if lines.contains(&(turn, is_reply)) { 0 } else { LINE_TOKENS }
        };
        let is_new = |at: usize| {
            let CandidateSentence { text, words, is_certain, is_reply, .. } = &candidates[at];
            let is_said = |other: &usize| {
                let other = &candidates[*other];
                other.is_reply == *is_reply && other.words == *words && (!words.is_empty() || other.text == *text)
            };
            // An answer may have no other words than its request.
            let is_compared = *is_certain || words.is_empty();
            !if is_compared { chosen.iter().any(is_said) } else { known[at] == words.len() }
        };
        open.retain(|at| candidates[*at].tokens <= left && is_new(*at));
        let value = |at: usize| (candidates[at].is_certain, scores[at] * news[at]);
        let better = |a: &usize, b: &usize| {
            // Of two that are alike the later one is newer.
            value(open[*a]).partial_cmp(&value(open[*b])).unwrap_or(Ordering::Equal).then(a.cmp(b))
        };
        let Some(best) = (0..open.len()).filter(|place| cost(open[*place]) <= left).max_by(better) else { break };
        let cost = cost(open[best]);
        let best = open.remove(best);
        left -= cost;
        lines.insert((candidates[best].turn, candidates[best].is_reply));
        for word in &candidates[best].words {
            for at in by_word.remove(word).unwrap_or_default() {
                known[at] += 1;
                news[at] -= word_worths[word];
            }
        }
        chosen.push(best);
    }
    chosen.sort_unstable();
    chosen
}

fn heading_tokens(heading: &str) -> usize {
    if heading.is_empty() { 0 } else { tokens::line(heading) }
}

/// A word is worth more the fewer sentences have it, and the more turns come back to it.
fn word_worth(candidates: &[CandidateSentence], found: &[usize]) -> f64 {
    let rarity = ((candidates.len() + 1) as f64 / found.len() as f64).ln();
    let mut turns: Vec<usize> = found.iter().map(|at| candidates[*at].turn).collect();
    turns.dedup();
    rarity * turns.len() as f64
}

/// How likely a sentence is to matter, for what it costs.
fn worth(candidate: &CandidateSentence, weights: &SentenceFeatures) -> f64 {
    let sum: f64 = candidate.features.iter().zip(weights).map(|(feature, weight)| feature * weight).sum();
    let chars = candidate.text.chars().count() as f64;
    let speaker = if candidate.is_reply { 1.0 } else { REQUEST_WORTH };
    (speaker / (1.0 + (-sum).exp())).powf(STANDING) / (LINE_CHARS + chars).powf(LENGTH)
}
