//! The cues: which words, at which place in a sentence, express a decision, a blocker or a next action. Tables only;
//! `matcher` interprets them. A cue that begins with `~` may occur anywhere in a clause that is neither hypothetical
//! nor negated, one with `^` at the start of a sentence; any other at the start of a clause, after filler words ("ok,
//! so").

use std::sync::LazyLock;

use crate::language::matcher::{Pattern, Set, patterns};
use crate::language::sentence::{Clause, Mood, Word, fillers};
use crate::language::speech::{DENYING, SUBJECTS, SUPPOSING, request};
use crate::model::fact::Kind;

/// Skipped at the start of a sentence.
pub(crate) static ASSENTS: LazyLock<Set> =
    LazyLock::new(|| Set::new("ok|okay|yes|yeah|yep|yup|hmm|hm|ah|oh|well|so|and|but|also|,|-"));
/// Words that refer to something mentioned before.
pub(crate) static POINTING: LazyLock<Set> = LazyLock::new(|| Set::new("this|that|it|them|these|those|both|either|so"));
/// Agreement with something mentioned before, without saying what.
pub(crate) static BARE_ASSENTS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    patterns(&[
        "@lets ?just|also|then do|implement|try|add|apply|fix|go ?ahead|for|with this|that|it|these|them|those|both ?then|now|first|too|please|all|next $",
        "@lets ?just give it|that|this a try|go|shot",
    ])
});

/// After one of these, a failure is only a possibility.
static DOUBTING: LazyLock<Set> = LazyLock::new(|| Set::new("could|might|may|maybe|perhaps|should|can|consider"));

/// Where a cue may occur.
enum Place {
    Anywhere,
    SentenceStart,
    ClauseStart,
}

struct Cue {
    kind: Kind,
    place: Place,
    pattern: Pattern,
}

fn cue(kind: Kind, pattern: &'static str) -> Cue {
    let (place, pattern) = match pattern.split_at(2) {
        ("~ ", pattern) => (Place::Anywhere, pattern),
        ("^ ", pattern) => (Place::SentenceStart, pattern),
        _ => (Place::ClauseStart, pattern),
    };
    Cue { kind, place, pattern: Pattern::new(pattern) }
}

fn decision(pattern: &'static str) -> Cue {
    cue(Kind::Decision, pattern)
}

fn blocker(pattern: &'static str) -> Cue {
    cue(Kind::Blocker, pattern)
}

fn next(pattern: &'static str) -> Cue {
    cue(Kind::Next, pattern)
}

static CUES: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    vec![
        // What was chosen.
        decision("@lets ?just|also|only|rather|instead|always|simply|completely|first|now|really !@talk !@bare +"),
        decision("@lets ?just|rather get|take|move|put|give @thing"),
        decision("@lets ?just|rather go|start ?with|for !through|over|back|ahead|on|to|and|deeper|by +"),
        decision("@lets not @choice|do|add|make|have|include|change|introduce"),
        decision("we'll|i'll ?just|then|now @choice +"),
        decision("we|i will|shall ?just|then|now @choice +"),
        decision("we|i|we're|i'm ?are|am going|sticking|switching|moving with|to|for ?use|keep|drop|+ !@talk +"),
        decision("going|go|stick|sticking with|for !it|that|this|through +"),
        decision("decision|decided|agreed|conclusion|verdict : +"),
        decision("@we ?have ?all|now|already|explicitly decided|agreed|settled|chose|choosed|picked|opted !up"),
        decision(
            "use|keep|take|do|pick|choose|prefer|want ?to ?use|do|take|the option|approach|variant|version|alternative|number +",
        ),
        decision("do|use|take|pick|choose|prefer|like|with|for|option|think # $"),
        decision(
            "^ # is|seems|looks|sounds|it|,|and|then|please|makes|also !not|wrong|unclear|broken ?#|a|an|the|like|good|better|best|correct|fine|right|great",
        ),
        decision("^ option|approach|variant|alternative # $"),
        decision("^ option|approach|variant|alternative # please|then|is|sounds|looks|it !not|wrong|unclear|broken"),
        decision("thinking|leaning|inclined of|towards|toward|to the|a|@act * option|approach|way|variant|version"),
        decision("use|print|show|call|name|put|store|return|do|say|have|read|take|write|make * instead"),
        decision("^ instead of * @act|print|say|use|run|send"),
        decision("i'd|would|we'd ?much|actually rather|prefer|prefere|favour|favor"),
        decision("prefer|prefere +"),
        decision("?we want to @choice"),
        decision("i'd|we'd like to @choice"),
        decision("we should ?just|rather|then|definitely|probably only|always|never|not|instead|@choice !in|on +"),
        decision("we should * instead"),
        decision("keep it|this|that|the|them|using|our|both|only +"),
        decision("leave it|this|that|the|them as|out|alone|there|in|for"),
        decision("don't|dont|never @choice|do|add|make|include|store !anything|any|it|that|this|yet|the|@thing +"),
        decision("do not @choice|add|make|include|store !anything|any|it|that|this|yet|the|@thing +"),
        decision("it's|its|that's fine|ok|okay|enough to|if|as +"),
        // What is in the way.
        blocker("~ blocked|stuck by|on|at|with|until|because|here"),
        blocker("@we ?are|am|is|be ?still|currently|now|completely blocked|stuck"),
        blocker("blocker|blockers|blocked : +"),
        blocker("?still|currently waiting|waits for|on +"),
        blocker("@we ?are|am ?still|currently|just waiting for|on +"),
        blocker("~ can't|cannot|unable|won't * until|unless"),
        blocker(
            "~ can't|cannot|unable ?to|even|really|currently get|run|build|start|log|login|access|connect|push|merge|deploy|install|open|\
        enable|reach|compile|reproduce|re-run|rerun|continue|proceed|switch|finish|load|ship|release|sign|fetch|pull",
        ),
        blocker(
            "~ is|are|keeps|keep|still|gets|seems|looks|it's|that's ?still|now|completely|also|all|currently|again|to|be @fail",
        ),
        blocker(
            "~ test|tests|build|builds|ci|pipeline|deploy|deployment|lint|linting|job|jobs|suite|workflow|migration @fail|fails",
        ),
        blocker(
            "~ @notwork ?even|really|actually|seem|seems|to work|working|compile|compiling|build|start|load|deploy !if|since|because|for|like|that|when|as|with|in",
        ),
        blocker("~ still|now|always|constantly|again @fails|fail"),
        blocker("~ @fails with|again|every|on"),
        blocker("~ happened|happening|happens|occurred|occurs|crashed|failed|broke again"),
        blocker(
            "~ there|there's ?does ?is|was|are|were|seems|seem ?to ?be|like a|an|some|another * problem|problems|error|errors|failure|failures|crash \
        running|during|with|when|deploying|building|on|in",
        ),
        blocker(
            "fix|debug|resolve|investigate|address|repair|solve ?the|this|these|all|our|my|that|those * @fail|failure|failures|crash",
        ),
        blocker("fix|debug|resolve|solve|help ?with ?this|me|the|that ?error|failure ?: \"fault"),
        blocker(
            "~ i'm|i|we|we're|still|keep|but|am|currently|now seeing|getting|get|got|hitting|see|receive|facing * \"fault|error|errors|exception|crash|failures",
        ),
        // What comes next.
        next(
            "^ next ?up|step|steps|task|tasks|action|actions|item|items ?is|are|would|will ?be ,|:|-|we|is|to !http|one +",
        ),
        next("next|afterwards|afterward|later|tomorrow ?on ?, @we ?still should|need|have|can|will|must|could|to"),
        next("next|afterwards|later ?, @lets|please|@act"),
        next("next week|session|time|sprint|milestone|phase|release ?, @we|@lets|please|@act"),
        next(
            "^ after|once that|this|it|which ?is|are|has|was ?been ?done|finished|merged|ready|landed|complete ?, we|i|@lets|please|@act ?should|need|can|will|must|to|want !get|got|see|saw",
        ),
        next("todo|todos|to-do|follow-up|follow-ups|remaining|outstanding|backlog ?work|items|tasks : +"),
        next("~ remaining|left|open ?thing|things|work|task|tasks|item|items|step|steps|part is|are to"),
        next("@we ?will|do need|have|must|should|can|could ?to * later|afterwards|tomorrow|eventually"),
        next(
            "?@lets ?definitely|just|also log|create|file|open|raise|track|make|add ?up|us|me|it|this|that|them ?a|an|the|another|as|in \
        ?new|separate|follow ?up ?linear|github|jira|low-priority|gh @ticket !comment",
        ),
        next("remind me to"),
        next("don't|dont forget to|about|the"),
        next("do not forget to|about|the"),
        next(
            "~ in|as|for|into a|another|the ?later|next|future|separate follow-up|followup|follow|later|next|future pr|issue|ticket|up|phase|milestone|iteration|sprint|release",
        ),
        next("~ do|fix|handle|tackle|address|revisit|come|deal|change * later|afterwards|tomorrow $|on|too"),
        next("~ top|high|higher|highest|low|lower|medium prio|priority"),
    ]
});

/// The kinds that the sentence expresses, each with its clause.
pub(crate) fn expressed<'a>(sentence: &'a [Word], clauses: &'a [Clause]) -> impl Iterator<Item = (Kind, &'a Clause)> {
    [Kind::Decision, Kind::Blocker, Kind::Next].into_iter().filter_map(move |kind| {
        let has_cue = |clause: &&Clause| CUES.iter().any(|cue| cue.kind == kind && cue.matches_in(sentence, clause));
        clauses.iter().find(has_cue).map(|clause| (kind, clause))
    })
}

impl Cue {
    fn matches_in(&self, sentence: &[Word], clause: &Clause) -> bool {
        let words = &sentence[clause.start..];
        let own = &words[..clause.end - clause.start];
        let begins = |from: usize, to: usize| (from..=to).any(|at| self.pattern.matches_at(words, at));
        match (&self.place, clause.mood) {
            (_, Mood::Question) | (Place::Anywhere | Place::SentenceStart, Mood::Request) => false,
            // From a polite request, only blockers and later work are taken: the rest is being done now.
            (Place::ClauseStart, Mood::Request) => {
                let order = request(own);
                let is_order = own.get(order).is_some_and(|word| !SUBJECTS.has(&word.low));
                is_order && self.kind != Kind::Decision && begins(order, order)
            }
            (Place::Anywhere, Mood::Statement) => {
                (0..own.len()).any(|at| self.pattern.matches_at(words, at) && self.is_asserted(&own[..at]))
            }
            (Place::SentenceStart, Mood::Statement) => clause.start == 0 && begins(0, fillers(own)),
            // "do this, then let's do that" is a request in two parts.
            (Place::ClauseStart, Mood::Statement) => {
                let silent = fillers(own);
                let is_part = clause.start > 0 && self.kind == Kind::Decision;
                let continues = is_part && own[..silent].iter().any(|word| word.low == "then");
                !continues && begins(0, silent)
            }
        }
    }

    /// Do the words before the cue leave its meaning unchanged?
    fn is_asserted(&self, before: &[Word]) -> bool {
        let near = &before[before.len().saturating_sub(3)..];
        let is_real = self.kind != Kind::Blocker || !(DOUBTING.has_any(before) || DENYING.has_any(near));
        is_real && !SUPPOSING.has_any(before)
    }
}
