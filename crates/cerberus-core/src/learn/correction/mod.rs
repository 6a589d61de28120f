//! Finds corrections: what the user says against what the agent did, sentence by sentence, with a confidence.
//!
//! A standing rule counts anywhere; most other corrections count only after the agent has acted. Something that holds
//! only for now is a `Fix`; a description of the product is not a correction. Only explicit standing rules reach 0.9,
//! from which on the user is not asked. It reads only what the user typed, in linear time, and prefers missing a
//! correction to inventing one.

mod cues;
mod explicit;
mod tables;

use std::sync::LazyLock;

use crate::clean::text::{clip, clip_front};
use crate::extract::words::unit::Units;
use crate::extract::words::{READ_BYTES_MAX, TEXT_CHARS_MAX, own, points_back, span, tidy};
use crate::language::matcher::{Pattern, Set, patterns};
use crate::language::outline;
use crate::language::sentence::{Clause, Word, clauses, fillers, sentences};

/// The kind of a correction. All but `Fix` are durable: they hold beyond the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CorrectionKind {
    /// What must or must never be done.
    Rule,
    /// What the user likes better.
    Preference,
    /// How the agent should work.
    Behaviour,
    /// How code or text should look.
    Style,
    /// How things are: where the work runs, what happens by itself.
    Fact,
    /// Wanted once, here and now.
    Fix,
}

impl CorrectionKind {
    pub const ALL: [CorrectionKind; 6] = [
        CorrectionKind::Rule,
        CorrectionKind::Preference,
        CorrectionKind::Behaviour,
        CorrectionKind::Style,
        CorrectionKind::Fact,
        CorrectionKind::Fix,
    ];

    pub fn word(self) -> &'static str {
        match self {
            CorrectionKind::Rule => "rule",
            CorrectionKind::Preference => "preference",
            CorrectionKind::Behaviour => "behaviour",
            CorrectionKind::Style => "style",
            CorrectionKind::Fact => "fact",
            CorrectionKind::Fix => "fix",
        }
    }

    pub fn from_word(word: &str) -> Option<CorrectionKind> {
        CorrectionKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    pub fn is_durable(self) -> bool {
        self != CorrectionKind::Fix
    }
}

/// A prompt and what came before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn<'a> {
    pub prompt: &'a str,
    /// The end of the agent's last message; empty if there was none.
    pub before: &'a str,
    /// The user interrupted the agent, or rejected a tool use.
    pub is_interruption: bool,
}

impl Turn<'_> {
    fn has_acted(&self) -> bool {
        self.is_interruption || !self.before.trim().is_empty()
    }

    /// The agent's last message offers to do something, or asks the user to.
    fn was_offered(&self) -> bool {
        const OFFERS: &[&str] =
            &["want me to", "would you like", "shall i", "should i", "do you want", "you'll need to", "you need to"];
        let end = clip_front(self.before, OFFER_BYTES_MAX).to_lowercase();
        OFFERS.iter().any(|offer| end.contains(offer))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    pub kind: CorrectionKind,
    /// The correcting sentence in the user's own words, on one line.
    pub text: String,
    /// From 0 to 1. From 0.9 on it is accepted without asking.
    pub confidence: f64,
}

/// A message with more is a document.
const CORRECTIONS_MAX: usize = 5;
const LINES_MAX: usize = 40;
/// A longer message describes a task, and its demands apply to that task.
const TASK_BYTES_MIN: usize = 1500;
/// An offer is at the end of the agent's message.
const OFFER_BYTES_MAX: usize = 400;
/// A less certain durable correction is dropped.
const DURABLE_MIN: f64 = 0.7;
/// From here on the user is not asked. An uncertain correction stays just below.
const APPROVED_MIN: f64 = 0.9;
const ASKED_MAX: f64 = 0.89;
const FIX_LIKELY: f64 = 0.7;

/// With one of these, a correction is only temporary. What the user did not say is about what was just done.
static LIMITS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    patterns(&[
        "i did not say|mean",
        "i didn't|didnt|never say|said|mean|meant",
        "for|right|just|until|only now",
        "yet|today|tonight|currently|temporarily",
        "this|that time|once",
        "for|at|in the|this moment|time|meantime ?being",
        "for|in|on|to|with this|that|these ?one|new|current pr|mr|branch|commit|file|case|session|plan|test|one|task|change|feature|issue|function|\
         fix|part|release|ticket|section|step|round|phase|batch",
    ])
});
/// Things that a product has and shows: a rule about them is a requirement, not a way of working.
static PRODUCT: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "user|users|customer|customers|visitor|visitors|button|buttons|modal|page|pages|screen|tab|card|cards|header|footer|\
         banner|dropdown|tooltip|sidebar|icon|icons|column|columns|row|rows|endpoint|endpoints|request|requests|players|player",
    )
});
static SUPPOSED: LazyLock<Set> = LazyLock::new(|| Set::new("if|when|once|unless|where"));
static ADDRESSED: LazyLock<Set> = LazyLock::new(|| Set::new("you|your|you're|i|we|our|me|you've"));
static REASONS: LazyLock<Set> = LazyLock::new(|| Set::new("because|since|otherwise|cause|reason|ruins|breaks"));
static LOOKS: LazyLock<Set> = LazyLock::new(|| Set::new("@looks|english|naming|markdown|wording|tone"));
/// A list after a line with one of these consists of rules.
const RULE_LABELS: &[&str] = &[
    "some rules",
    "ground rules",
    "house rules",
    "project rules",
    "rules for this project",
    "rules for this repo",
    "conventions",
    "our conventions",
    "coding guidelines",
    "preferences",
    "my preferences",
    "remember",
    "please remember",
    "remember this",
    "remember these",
    "remember the following",
    "from now on",
    "going forward",
];
/// Not certain, because a game has rules too.
const LISTED: f64 = 0.88;

/// The user's words in the error of a rejected tool use.
pub fn feedback(error: &str) -> Option<&str> {
    let (_, text) = error.split_once("the user said:")?;
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// The corrections in `turn`, in the user's words, without duplicates; the most certain one of each sentence. `units` are
/// those of the prompt.
pub fn corrections(turn: &Turn, units: &Units) -> Vec<Correction> {
    let text = own::without_blocks(clip(turn.prompt, READ_BYTES_MAX));
    let own = own::own(&text);
    let lines: Vec<&str> = own.lines.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
    let mut found = Vec::new();
    if lines.len() > LINES_MAX {
        return found;
    }
    let mut skip = 0;
    for (at, line) in lines.iter().enumerate() {
        if at < skip {
            continue;
        }
        let listed = listed(&lines[at..], &mut found);
        if listed > 0 {
            skip = at + listed;
            continue;
        }
        let line = outline::item(line).map_or(*line, |item| item.text);
        add_from_line(turn, line, &mut found);
    }
    add_explicit(units, &mut found);
    found.sort_by_key(|one| !one.kind.is_durable());
    found.truncate(CORRECTIONS_MAX);
    found
}

/// Adds the rules that the sentences of the prompt state outright, in whatever language, and the tables do not know.
fn add_explicit(units: &Units, found: &mut Vec<Correction>) {
    let is_task = units.prompt_len > TASK_BYTES_MIN;
    for unit in units.list.iter().filter(|unit| !unit.is_pasted) {
        let reading = &unit.reading;
        let is_known = |one: &Correction| {
            one.kind.is_durable() && (unit.text.contains(&one.text) || one.text.contains(&unit.text))
        };
        if found.iter().any(is_known) || is_limited(&unit.text) || reading.words.iter().any(|word| PRODUCT.has(word)) {
            continue;
        }
        if let Some(explicit) = explicit::explicit(reading, &unit.text, is_task) {
            let most = if is_task { ASKED_MAX } else { 1.0 };
            add(explicit.kind, explicit.confidence.min(most), &unit.text, found);
        }
    }
}

/// Whether a sentence says that it holds only for now.
fn is_limited(text: &str) -> bool {
    let mut is_limited = false;
    sentences(text, |words| {
        is_limited |= (0..words.len()).any(|at| LIMITS.iter().any(|limit| limit.matches_at(words, at)));
    });
    is_limited
}

/// The rules of a labelled list; returns how many lines were read.
fn listed(lines: &[&str], found: &mut Vec<Correction>) -> usize {
    let Some((first, rest)) = lines.split_first() else { return 0 };
    let is_rules =
        outline::label(first).is_some_and(|(label, inline)| inline.is_empty() && RULE_LABELS.contains(&label.as_str()));
    if !is_rules {
        return 0;
    }
    let items = outline::items(rest);
    for item in &items {
        add(CorrectionKind::Rule, LISTED, &outline::plain(item.text), found);
    }
    if items.is_empty() { 0 } else { 1 + items.len() }
}

/// Adds the corrections in the sentences of one line.
fn add_from_line(turn: &Turn, line: &str, found: &mut Vec<Correction>) {
    let mut before = None;
    // An answer in an agent's menu: "Yes, and don't ask again for …".
    if line.contains("don't ask again") {
        return;
    }
    sentences(line, |words| {
        let clauses = clauses(words);
        // A complaint may refer back to a question.
        let antecedent = before.filter(|_| points_back(words));
        before = Some(words[0].start);
        let Some(judged) = judge(turn, words, &clauses) else { return };
        let (start, end) = span(words, &clauses, judged.clause);
        let start = antecedent.filter(|start| end - start <= TEXT_CHARS_MAX).unwrap_or(start);
        add(judged.kind, judged.confidence, &line[start..end], found);
    });
}

fn add(kind: CorrectionKind, confidence: f64, text: &str, found: &mut Vec<Correction>) {
    let Some(text) = tidy(text) else { return };
    // A sentence that is repeated together with the next one was only its beginning.
    if let Some(known) = found.iter_mut().find(|known| text.contains(&known.text) && kind.is_durable()) {
        let confidence = if known.kind.is_durable() { confidence.max(known.confidence) } else { confidence };
        *known = Correction { kind, text, confidence };
    } else if let Some(known) = found.iter_mut().find(|known| known.text.contains(&text)) {
        // The same words as a rule count more than as a fix.
        if kind.is_durable() && (!known.kind.is_durable() || confidence > known.confidence) {
            let kind = if known.kind.is_durable() { known.kind } else { kind };
            *known = Correction { kind, confidence, text: known.text.clone() };
        }
    } else {
        found.push(Correction { kind, text, confidence });
    }
}

struct Judged<'a> {
    kind: CorrectionKind,
    confidence: f64,
    clause: &'a Clause,
}

/// The most certain correction of a sentence; a durable one before a fix.
fn judge<'a>(turn: &Turn, words: &[Word], clauses: &'a [Clause]) -> Option<Judged<'a>> {
    let is_limited = (0..words.len()).any(|at| LIMITS.iter().any(|limit| limit.matches_at(words, at)));
    let mut best: Option<Judged> = None;
    for cue in cues::for_turn(turn) {
        let Some(clause) = clauses.iter().find(|clause| cue.applies_to(words, clause)) else { continue };
        let confidence = weighed(turn, cue, words, clause);
        let is_weak = is_limited || confidence < DURABLE_MIN;
        let (kind, confidence) = match cue.kind {
            kind if !kind.is_durable() || !is_weak => (kind, confidence),
            _ if turn.has_acted() => (CorrectionKind::Fix, FIX_LIKELY),
            _ => continue,
        };
        let rank = |kind: CorrectionKind, confidence: f64| (kind.is_durable(), confidence);
        if best.as_ref().is_none_or(|best| rank(kind, confidence) > rank(best.kind, best.confidence)) {
            best = Some(Judged { kind, confidence, clause });
        }
    }
    let best = best?;
    let is_look = best.kind == CorrectionKind::Rule && LOOKS.has_any(words);
    Some(if is_look { Judged { kind: CorrectionKind::Style, ..best } } else { best })
}

/// The confidence of the cue in this sentence and turn.
fn weighed(turn: &Turn, cue: &cues::Cue, words: &[Word], clause: &Clause) -> f64 {
    let supposes = words.first().is_some_and(|word| SUPPOSED.has(&word.low)) && !ADDRESSED.has_any(words);
    let is_task = turn.prompt.len() > TASK_BYTES_MIN;
    let doubt = if PRODUCT.has_any(words) || supposes || is_task { 0.15 } else { 0.0 };
    let stress = if turn.is_interruption { 0.05 } else { 0.0 };
    let reason = if REASONS.has_any(words) { 0.03 } else { 0.0 };
    // A remark in passing is less certain.
    let is_outright = fillers(words) >= clause.start || ADDRESSED.has_any(&words[..clause.start]);
    let most = if cue.confidence >= APPROVED_MIN && is_outright { 1.0 } else { ASKED_MAX };
    let weighed = (cue.confidence + stress + reason - doubt).min(most);
    (weighed * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests;
