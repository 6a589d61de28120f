//! The cues: which words at which place say that something is decided, blocked or next. Tables, and the small matcher
//! that reads them.
//!
//! A pattern is words between spaces: `a|b` one of these, `?a|b` perhaps one of these, `!a|b` none of these follows,
//! `@x` a word of a class, `+` any word, `*` up to a few words, `#` a number or letter, `$` the end of a clause. A cue that begins with `~`
//! may stand anywhere in a clause that supposes and denies nothing; any other begins one, after words that say
//! nothing ("ok, so").

use super::sentence::{Clause, FAULT, Mood, QUOTE, Word, fillers};
use crate::fact::Kind;

/// How many words `*` stands for at most.
const GAP_WORDS_MAX: usize = 7;

pub(super) const FILLERS: &str = "ok|okay|yes|yeah|yep|yup|no|nope|nah|hmm|hm|mm|ah|oh|well|so|and|but|also|then|now|please|\
    actually|just|right|sure|great|good|perfect|cool|nice|thanks|alright|fine|agreed|i|think|guess|maybe|again|sorry|wait|for|\
    because|since|first|honestly|overall|exactly|correct|awesome|hey|hi|plus";
/// These begin a clause without punctuation.
pub(super) const JOINTS: &str = "so|but|and|because|then|since|or";
/// Words of things that went wrong, looked for in what is quoted.
pub(super) const FAULTS: &str = "error|errors|failed|fails|failure|failing|fatal|exception|panic|panicked|traceback|cannot|\
    undefined|unexpected|denied|refused|timeout|segfault|unable|missing|invalid";

pub(super) const QUESTIONS: &[&str] = &[
    "do|does|did|have|has|had|will|would|could|can|shall|may|might @thing",
    "is|are|was|were|am|isn't|aren't|wasn't|doesn't|didn't|don't|haven't|won't|wouldn't|couldn't|can't|shouldn't|should @thing",
    "is|are|was|were|does|do|did|should|would|could|can +",
    "what|why|how|which|who|whose|where|whats|what's|how's|where's|who's",
    "any idea|ideas|suggestion|suggestions|thoughts|other|chance",
    "question|q :",
    "want me|us to",
    "not sure|clear if|whether|why|how|what",
    "wondering|curious",
    "am|was|i'm wondering|curious|asking",
];

pub(super) const REQUESTS: &[&str] = &[
    "can|could|would|will you",
    "can|could|should we ?also|please|now|just @act",
    "do|would you mind",
];

/// Named classes of words.
const CLASSES: &[(&str, &str)] = &[
    (
        "thing",
        "i|you|we|they|he|she|it|this|that|these|those|there|the|a|an|our|my|your|all|any|everything|anything|someone",
    ),
    ("we", "i|we|i'm|we're|we've|i've|we'll|i'll|i'd|we'd|you|they"),
    ("lets", "let's|lets"),
    // Verbs that begin talk or work; what follows them is not chosen.
    (
        "talk",
        "discuss|look|see|talk|say|check|confirm|review|examine|verify|validate|proceed|continue|pause|wait|think|\
         summarize|summarise|assume|focus|understand|investigate|figure|find|know|compare|brainstorm|explore|plan|hold|\
         be|hope|consider|recap|chat|double|analyze|analyse|dig|step|walk|commit|push|resume|debug|ask|clarify|revisit|\
         imagine|pretend|suppose|not|give|hear|read|get|go|start|run|test|try|take|move",
    ),
    // Verbs of choosing and changing.
    (
        "act",
        "use|keep|drop|remove|replace|rename|switch|move|make|add|store|skip|avoid|stick|go|pick|choose|split|merge|\
         support|ship|leave|put|default|migrate|treat|call|name|write|do|have|build|delete|extract|return|show|allow|\
         disable|enable|hide|start|stay|simplify|expose|pin|upgrade|revert|change|fix|implement|create",
    ),
    ("choose", "use|add|do|remove|change|support|store|introduce|allow|make|include|have|create|rename|break|expose|merge"),
    ("fail", "failing|broken|crashing|hanging|flaky|stuck|erroring|red|failed"),
    ("fails", "fails|crashes|hangs|breaks|errors|crashed|hung|broke"),
    ("notwork", "doesn't|don't|didn't|won't|isn't|aren't|not|never|stopped|cannot|can't|doesnt|dont|didnt|wont|isnt"),
    ("ticket", "issue|issues|ticket|tickets|todo|todos|to-do|task|tasks|story|follow-up|followup|backlog|card|reminder"),
    ("pair", "be|is|are|it's|that's"),
];

/// A clause with one of these before the cue supposes or asks; with one of those it denies.
const SUPPOSING: &str = "if|when|whenever|whether|unless|could|might|would|may|why|how|what|case|once|suppose|imagine|\
    assuming|says|said|maybe|perhaps|whenever|until|should|test|tests:";
const DENYING: &str = "not|no|never|nothing|isn't|aren't|wasn't|longer|without|neither|nobody|none|fixed|resolved|was|were";

pub(super) struct Cue {
    pub kind: Kind,
    pattern: &'static str,
}

const fn decision(pattern: &'static str) -> Cue {
    Cue {
        kind: Kind::Decision,
        pattern,
    }
}

const fn blocker(pattern: &'static str) -> Cue {
    Cue {
        kind: Kind::Blocker,
        pattern,
    }
}

const fn next(pattern: &'static str) -> Cue {
    Cue {
        kind: Kind::Next,
        pattern,
    }
}

pub(super) const CUES: &[Cue] = &[
    // What is chosen.
    decision("@lets ?just|also|only|rather|instead|always|simply|completely|first|then|now|really|maybe|please !@talk +"),
    decision("@lets ?just|rather|then get|take|move|put @thing"),
    decision("@lets ?just|rather|then go|start with|for"),
    decision("@lets not @choose"),
    decision("we'll|i'll|we ?will|are|will|shall ?just|then|now going|go|use|keep|stick|switch|drop ?to ?with|for|to +"),
    decision("going|go|went|stick|sticking with !it +"),
    decision("go for + +"),
    decision("decision|decided|agreed|conclusion|verdict ?is : +"),
    decision("we|we've|i|i've ?have|all ?now decided|agreed|settled|chose|choosed|picked|opted on|to|that|for|against|with|+"),
    decision("use|keep|take|do|pick|choose|prefer|want ?to ?use|do|take option|approach|variant|version|alternative|number +"),
    decision("do|use|take|pick|choose|prefer|like|with|for|option|think # $"),
    decision("thinking|leaning|inclined ?of|towards|toward|to the|+ option|approach|way|variant|version|@act"),
    decision("thinking|leaning|inclined of|towards|toward|to the|a * option|approach|way|variant|version"),
    decision("option|approach|variant|alternative + !: ?please|then|is|sounds|it $"),
    decision("use|print|show|call|name|write|put|make|store|return|do|say|have * instead"),
    decision("instead of * @act|print|say|use|run|send"),
    decision("rather than * , @act"),
    decision("?would|i'd ?would|rather prefer|rather|prefere|favour|favor +"),
    decision("want|we ?to ?want to !@talk !be|add|display|see|know|understand|create|have|generate @act"),
    decision("?should we should ?just|only|always|never|not|rather|then|definitely !@talk !also ?only @act !in"),
    decision("keep it|this|that|the|them|using|our|both|only|to +"),
    decision("leave it|this|that|the|them|as +"),
    decision("don't|dont|do ?not|never !fix|forget|worry|know|think|see|have|want|need|get|like|understand|remember|care|@thing @act"),
    decision("no|don't need|need|longer ?for|to + $"),
    decision("it's|its|is|that's fine|ok|okay|enough to|if|as +"),
    // What stands in the way.
    blocker("~ blocked|blocking|stuck by|on|at|with|until|because|here"),
    blocker("@we ?are|am|is|be ?still|currently|now blocked|stuck"),
    blocker("blocker|blockers|blocked ?is : +"),
    blocker("?still|currently waiting|waits for|on +"),
    blocker("@we ?are|am ?still|currently|just waiting for|on +"),
    blocker("~ can't|cannot|couldn't|unable|can ?not|to * until|unless|because|without"),
    blocker("we|i ?still|currently|now can't|cannot|couldn't +"),
    blocker("i'm|i|we|we're ?am|are ?still|currently unable to"),
    blocker("~ is|are|keeps|keep|still|get|seems|looks|it's|that's ?still|now|completely|also|all|currently|again|on|to|be @fail"),
    blocker("~ @notwork ?even|really|actually|seem|seems|to work|working|compile|compiling|build|start|load|deploy|run"),
    blocker("~ still|now|always|constantly|just|again @fails"),
    blocker("~ @fails with|on|again|when|for|in|at"),
    blocker("fix|debug|resolve|investigate|address|repair|solve ?the|this|these|all|our|my|that|those * @fail|failure|failures|crash"),
    blocker("fix|debug|resolve|solve|help ?with ?this|me|the|that ?error|failure ?: \"fault"),
    blocker("~ seeing|getting|get|got|hitting|see|receive|receiving|facing * \"fault|error|errors|exception|crash|failures"),
    // What comes after this.
    next("next ?up|step|steps|task|tasks|thing|action|actions|item|items ?is|are|would|will ?be ,|:|-|we|is|to +"),
    next("next|afterwards|afterward|later|tomorrow ?on ?, @we ?still|should|need|have|can|will|must|could"),
    next("next|afterwards|later ?, @lets|please|@act"),
    next("next week|session|time|sprint|milestone ?, @we|@lets|please|@act"),
    next("after|once that|this|it|which ?is|are|has ?been ?done|finished|merged|ready|landed|complete ?, !@thing|please @act|@lets|@we|please|run|update"),
    next("after|once that|this|it|which ?is|are|has ?been ?done|finished|merged|ready|landed|complete ?, we|i|@lets"),
    next("then @lets|we|we'll"),
    next("todo|todos|to-do|follow-up|follow-ups|remaining|outstanding|later|backlog ?work|items|tasks|is|are : +"),
    next("~ remaining|left|open ?thing|things|work|task|tasks|item|items|step|steps|part is|are|to ?to ?do"),
    next("?still need|needs|have|has to"),
    next("@we|it|that|this|there ?is|are ?will still need|needs|have|has|must ?to|a|the|some"),
    next("?still|we|i ?still|we need|have to * later|afterwards|tomorrow|eventually|next"),
    next("log|create|file|open|add|make|track|write|raise ?up|us|me|me|it|this|that|them ?a|an|the|another|new|as|in|separate|into * @ticket"),
    next("~ @ticket for|to later|track|follow"),
    next("remind me to"),
    next("don't|dont|do ?not let's|forget|forget|@thing to +"),
    next("~ for|as|in|into a|another|the|separate|later|next ?separate|later|next|future|follow-up pr|follow-up|phase|milestone|session|iteration|sprint"),
    next("~ do|fix|handle|tackle|address|revisit|add|implement|get|come|look|deal|change|look * later|afterwards|tomorrow"),
    next("~ top|high|higher|highest|low|lower|next|first prio|priority"),
];

/// The kinds that the sentence says, each with the clause it stands in.
pub(super) fn said<'a>(sentence: &'a [Word], clauses: &'a [Clause]) -> impl Iterator<Item = (Kind, &'a Clause)> {
    [Kind::Decision, Kind::Blocker, Kind::Next]
        .into_iter()
        .filter_map(move |kind| {
            let says = |clause: &&Clause| {
                CUES.iter()
                    .any(|cue| cue.kind == kind && cue.stands_in(sentence, clause))
            };
            clauses.iter().find(says).map(|clause| (kind, clause))
        })
}

impl Cue {
    fn stands_in(&self, sentence: &[Word], clause: &Clause) -> bool {
        let words = &sentence[clause.start..];
        let own = &words[..clause.end - clause.start];
        match clause.mood {
            Mood::Question => false,
            Mood::Request => self.is_order() && self.begins(words, request(own)..request(own) + 1),
            Mood::Statement => match self.pattern.strip_prefix("~ ") {
                Some(pattern) => (0..own.len()).any(|at| {
                    let before = &own[..at];
                    match_len(pattern, &words[at..]).is_some()
                        && !has(before, SUPPOSING)
                        && !(self.kind == Kind::Blocker && has(&before[before.len().saturating_sub(3)..], DENYING))
                }),
                None => self.begins(words, 0..fillers(own) + 1),
            },
        }
    }

    /// Of a polite order only blockers and later work are taken: what it orders is being done now.
    fn is_order(&self) -> bool {
        self.kind != Kind::Decision && !self.pattern.starts_with('~')
    }

    fn begins(&self, words: &[Word], mut at: std::ops::Range<usize>) -> bool {
        at.any(|at| words.get(at..).is_some_and(|rest| match_len(self.pattern, rest).is_some()))
    }
}

fn has(words: &[Word], list: &str) -> bool {
    words.iter().any(|word| is_one_of(&word.low, list))
}

/// Where the order begins after "can you please".
fn request(clause: &[Word]) -> usize {
    let asked = clause.iter().position(|word| matches!(word.low.as_str(), "you" | "we"));
    let rest = asked.map_or(0, |at| at + 1);
    rest + fillers(&clause[rest.min(clause.len())..])
}

pub(super) fn is_one_of(word: &str, list: &str) -> bool {
    list.split('|').any(|one| match one.strip_prefix('@') {
        Some(class) => CLASSES
            .iter()
            .any(|(name, members)| *name == class && is_one_of(word, members)),
        None => one.trim_start() == word,
    })
}

/// `B`, `2`, `#3`: how one of several is named.
fn is_mark(word: &str) -> bool {
    let name = word.trim_start_matches('#');
    let is_number = !name.is_empty() && name.len() <= 2 && name.bytes().all(|byte| byte.is_ascii_digit());
    is_number || (name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase()) && name != "i" && name != "a")
}

/// How many words the pattern takes from the beginning of `words`, when it fits.
pub(super) fn match_len(pattern: &str, words: &[Word]) -> Option<usize> {
    let (first, rest) = match pattern.trim_start().split_once(' ') {
        Some((first, rest)) => (first, rest),
        None if pattern.trim().is_empty() => return Some(0),
        None => (pattern.trim(), ""),
    };
    let head = words.first().map_or("", |word| word.low.as_str());
    let take = |count: usize| Some(count + match_len(rest, words.get(count..)?)?);
    let is_word = !head.is_empty() && (head.chars().any(char::is_alphanumeric) || head == QUOTE || head == FAULT);
    match first.as_bytes() {
        b"*" => (0..=GAP_WORDS_MAX.min(words.len())).find_map(take),
        b"+" => is_word.then(|| take(1)).flatten(),
        b"#" => is_mark(head).then(|| take(1)).flatten(),
        b"$" => (!is_word).then(|| match_len(rest, words)).flatten(),
        [b'!', ..] => (!is_one_of(head, &first[1..])).then(|| take(0)).flatten(),
        [b'?', _, ..] => match is_one_of(head, &first[1..]) {
            true => take(1).or_else(|| take(0)),
            false => take(0),
        },
        _ => is_one_of(head, first).then(|| take(1)).flatten(),
    }
}
