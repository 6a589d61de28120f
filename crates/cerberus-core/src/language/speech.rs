//! Words that frame a clause: fillers, questions, polite requests, hypotheticals and negations. Tables, and where the
//! instruction in a request begins.

use std::sync::LazyLock;

use super::matcher::{Pattern, Set, patterns};
use super::sentence::{Word, fillers};

pub(crate) static FILLERS: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "ok|okay|yes|yeah|yep|yup|no|nope|nah|hmm|hm|mm|ah|oh|well|so|and|but|also|then|now|please|\
    actually|just|right|sure|great|good|perfect|cool|nice|thanks|alright|fine|agreed|i|think|guess|maybe|again|sorry|wait|for|\
    because|since|first|honestly|overall|exactly|correct|awesome|hey|hi|plus|though|however|alternatively|definitely|uh|uhm|um|lol",
    )
});
/// These begin a clause without punctuation.
pub(crate) static JOINTS: LazyLock<Set> = LazyLock::new(|| Set::new("so|but|and|because|then|since|or|though"));
/// Words for errors, looked for in quotations.
pub(crate) static FAULTS: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "error|errors|failed|fails|failure|failing|fatal|exception|panic|panicked|traceback|cannot|\
    undefined|unexpected|denied|refused|timeout|segfault|unable|missing|invalid",
    )
});

pub(crate) static QUESTIONS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    patterns(&[
        "do|does|did|have|has|had|will|would|could|can|shall|may|might @thing",
        "is|are|was|were|am|isn't|aren't|wasn't|doesn't|didn't|don't|haven't|won't|wouldn't|couldn't|can't|shouldn't|should @thing",
        "is|are|was|were|does|did|should|would|could|can +",
        "do !not +",
        "what|why|how|which|who|whose|where|whats|what's|how's|where's|who's",
        "any idea|ideas|suggestion|suggestions|thoughts|other|chance",
        "question|q :",
        "want me|us to",
        "not sure|clear if|whether|why|how|what",
        "wondering|curious",
        "?i am|was|i'm wondering|curious|asking",
        "i wonder|wondered",
    ])
});

pub(crate) static REQUESTS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    patterns(&["can|could|would|will you", "can|could|should we ?also|please|now|just @act", "do|would you mind"])
});

/// After one of these, a cue is only hypothetical or a question.
pub(crate) static SUPPOSING: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "if|when|whenever|whether|unless|why|how|what|case|once|suppose|imagine|assuming|says|said|until|where|would",
    )
});
/// Shortly after one of these, a cue is negated.
pub(crate) static DENYING: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "not|no|never|nothing|isn't|aren't|wasn't|longer|without|neither|nobody|none|fixed|resolved|was|were|\
    won't|wouldn't|don't|doesn't|avoid|prevent",
    )
});
/// An instruction does not begin with one of these.
pub(crate) static SUBJECTS: LazyLock<Set> = LazyLock::new(|| Set::new("@we|@thing"));

/// Where the instruction begins: after "ok, can you please".
pub(crate) fn request(clause: &[Word]) -> usize {
    let opening = fillers(clause);
    let asked = REQUESTS.iter().find_map(|pattern| pattern.match_len(&clause[opening..]));
    let order = opening + asked.unwrap_or(0).min(2);
    order + fillers(&clause[order.min(clause.len())..])
}
