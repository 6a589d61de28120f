//! What a word may be, judged by its form alone: English has few endings, and they are informative. It knows no
//! meanings, and prefers false negatives to false positives.

use std::sync::LazyLock;

use cerberus_text::words::Set;

/// Words that look like the base form of a verb but begin no instruction.
static NO_IMPERATIVES: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "i|you|we|they|he|she|it|this|that|these|those|there|the|a|an|our|my|your|all|any|everything|anything|someone|\
         i'm|we're|we've|i've|we'll|i'll|i'd|we'd|to|of|in|on|at|by|for|from|with|without|into|over|under|after|\
         before|about|as|than|then|if|when|while|until|and|or|but|so|not|never|always|again|once|more|less|most|too|\
         quite|very|really|actually|ever|already|yet|now|no|ok|\
         got|had|was|were|been|saw|seen|did|done|went|gone|came|made|took|taken|knew|known|found|lost|\
         ran|wrote|written|said|told|kept|meant|broke|broken|gave|given|sent|built|felt|thought|began|became|forgot|\
         mind|mine|happy|sure|ready|clear|good|bad|better|best|worse|new|old|true|false|null|empty|available|visible|able|\
         possible|fine|right|wrong|same|different|other|such|sign-off|enough|one|two|three|first|last|because|be|is|are|\
         has|does|user|users|there|here|yes|great|nice|cool|short|long|only|even|still|just|also|have|need|seem|happen",
    )
});

/// May it be the verb of an instruction: "run", not "runs", "ran" or "running"?
pub(crate) fn is_imperative(word: &str) -> bool {
    let has_form = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let is_past = word.ends_with("ed") && !word.ends_with("eed") && word != "embed";
    let is_third = word.ends_with('s') && !word.ends_with("ss");
    has_form && !is_past && !is_third && !is_gerund(word) && !word.ends_with("ly") && !NO_IMPERATIVES.has(word)
}

pub(crate) fn is_gerund(word: &str) -> bool {
    const NO_GERUNDS: &[&str] =
        &["string", "nothing", "anything", "something", "everything", "during", "bring", "thing"];
    word.len() >= 5 && word.ends_with("ing") && !NO_GERUNDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_forms_are_recognised() {
        for word in ["run", "use", "proceed", "force-push", "pass", "discuss", "squash", "embed"] {
            assert!(is_imperative(word), "{word}");
        }
        for word in ["runs", "ran", "failed", "running", "you", "it", "the", "quickly", "crashes", "", "a", "x9", "\""]
        {
            assert!(!is_imperative(word), "{word}");
        }
        assert!(is_gerund("adding") && is_gerund("using") && !is_gerund("string") && !is_gerund("bring"));
    }
}
