//! What the user says against what the agent did: found sentence by sentence, with how sure that is.
//!
//! A standing rule is taken wherever it is said; most other things correct only an agent that has already acted. What
//! holds only for the moment is a fix, and what describes the product is nothing. Only explicit standing rules reach
//! 0.9: nobody is asked about them. It reads what the user typed and nothing else, in time linear in its length, and
//! rather misses a correction than invents one.

mod cues;
mod tables;

use std::sync::LazyLock;

use crate::clean::text::{clip, clip_front};
use crate::extract::words::{READ_BYTES_MAX, TEXT_CHARS_MAX, own, points_back, span, tidy};
use crate::language::matcher::{Pattern, Set, patterns};
use crate::language::outline;
use crate::language::sentence::{Clause, Word, clauses, fillers, sentences};

/// What sort of correction it is. All but `Fix` are durable: they hold beyond the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CorrectionKind {
    /// What must or must never be done.
    Rule,
    /// What the user likes better.
    Preference,
    /// How the agent should go about its work.
    Behaviour,
    /// How code or text should look.
    Style,
    /// Wanted here and now, once.
    Fix,
}

impl CorrectionKind {
    pub const ALL: [CorrectionKind; 5] = [
        CorrectionKind::Rule,
        CorrectionKind::Preference,
        CorrectionKind::Behaviour,
        CorrectionKind::Style,
        CorrectionKind::Fix,
    ];

    pub fn word(self) -> &'static str {
        match self {
            CorrectionKind::Rule => "rule",
            CorrectionKind::Preference => "preference",
            CorrectionKind::Behaviour => "behaviour",
            CorrectionKind::Style => "style",
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

/// What the user said, and what came before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn<'a> {
    pub prompt: &'a str,
    /// The end of the agent's last words; empty when it had said nothing yet.
    pub before: &'a str,
    /// The user stopped the agent, or rejected what it was about to do.
    pub is_interruption: bool,
}

impl Turn<'_> {
    fn has_acted(&self) -> bool {
        self.is_interruption || !self.before.trim().is_empty()
    }

    /// Its last words ask whether to do something, or tell the user to.
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
    /// The sentence that corrects, in the user's own words, one line.
    pub text: String,
    /// From 0 to 1. What reaches 0.9 is taken without asking.
    pub confidence: f64,
}

/// More than this in one message is a document.
const CORRECTIONS_MAX: usize = 5;
const LINES_MAX: usize = 40;
/// What is longer describes a task, and what it demands holds for that.
const TASK_BYTES_MIN: usize = 1500;
/// An offer stands at the end of what the agent said.
const OFFER_BYTES_MAX: usize = 400;
/// A durable correction below this is not told at all.
const DURABLE_MIN: f64 = 0.7;
/// From here on nobody is asked; what only leans that way stays just below it.
const APPROVED_MIN: f64 = 0.9;
const ASKED_MAX: f64 = 0.89;
const FIX_LIKELY: f64 = 0.7;

/// With one of these it holds for the moment only.
static LIMITS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    patterns(&[
        "for|right|just|until|only now",
        "yet|today|tonight|currently|temporarily",
        "this|that time|once",
        "for|at|in the|this moment|time|meantime ?being",
        "for|in|on|to|with this|that|these ?one|new|current pr|mr|branch|commit|file|case|session|plan|test|one|task|change|feature|issue|function|\
         fix|part|release|ticket|section|step|round|phase|batch",
    ])
});
/// What a product has and shows: a rule about it is a requirement, not a way of working.
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
/// A line with one of these over a list says that its items are rules.
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
/// A game has rules too.
const LISTED: f64 = 0.88;

/// The words with which the user rejected a tool use, in what the agent was told of it.
pub fn feedback(error: &str) -> Option<&str> {
    let (_, said) = error.split_once("the user said:")?;
    Some(said.trim()).filter(|said| !said.is_empty())
}

/// What `turn` corrects, in the user's words; the same thing once, the surest of a sentence.
pub fn corrections(turn: &Turn) -> Vec<Correction> {
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
        spoken(turn, line, &mut found);
    }
    found.sort_by_key(|one| !one.kind.is_durable());
    found.truncate(CORRECTIONS_MAX);
    found
}

/// The rules of a list whose label says that they are some; gives how many lines were read.
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

/// What the sentences of one line correct.
fn spoken(turn: &Turn, line: &str, found: &mut Vec<Correction>) {
    let mut before = None;
    sentences(line, |words| {
        let clauses = clauses(words);
        // A question may be what a complaint points at.
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
    // A sentence that is told again together with the next one was only its beginning.
    if let Some(known) = found.iter_mut().find(|known| text.contains(&known.text) && kind.is_durable()) {
        let confidence = if known.kind.is_durable() { confidence.max(known.confidence) } else { confidence };
        *known = Correction { kind, text, confidence };
    } else if !found.iter().any(|known| known.text.contains(&text)) {
        found.push(Correction { kind, text, confidence });
    }
}

struct Judged<'a> {
    kind: CorrectionKind,
    confidence: f64,
    clause: &'a Clause,
}

/// The surest correction of a sentence; a durable one before a fix.
fn judge<'a>(turn: &Turn, words: &[Word], clauses: &'a [Clause]) -> Option<Judged<'a>> {
    let is_limited = (0..words.len()).any(|at| LIMITS.iter().any(|limit| limit.matches_at(words, at)));
    let mut best: Option<Judged> = None;
    for cue in cues::heard_in(turn) {
        let Some(clause) = clauses.iter().find(|clause| cue.stands_in(words, clause)) else { continue };
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

/// How sure the cue is in this sentence and this turn.
fn weighed(turn: &Turn, cue: &cues::Cue, words: &[Word], clause: &Clause) -> f64 {
    let supposes = words.first().is_some_and(|word| SUPPOSED.has(&word.low)) && !ADDRESSED.has_any(words);
    let is_task = turn.prompt.len() > TASK_BYTES_MIN;
    let doubt = if PRODUCT.has_any(words) || supposes || is_task { 0.15 } else { 0.0 };
    let stress = if turn.is_interruption { 0.05 } else { 0.0 };
    let reason = if REASONS.has_any(words) { 0.03 } else { 0.0 };
    // What is said in passing is not said outright.
    let is_outright = fillers(words) >= clause.start || ADDRESSED.has_any(&words[..clause.start]);
    let most = if cue.confidence >= APPROVED_MIN && is_outright { 1.0 } else { ASKED_MAX };
    let weighed = (cue.confidence + stress + reason - doubt).min(most);
    (weighed * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests;
