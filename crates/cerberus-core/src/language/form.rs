//! What a word may be, judged by its form alone: English has few endings, and they are informative. It knows no
//! meanings, and prefers false negatives to false positives.

use std::sync::LazyLock;

use super::matcher::Set;

/// Words that look like the base form of a verb but begin no instruction.
static NO_IMPERATIVES: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "@thing|@we|@small|got|had|was|were|been|saw|seen|did|done|went|gone|came|made|took|taken|knew|known|found|lost|\
         ran|wrote|written|said|told|kept|meant|broke|broken|gave|given|sent|built|felt|thought|began|became|forgot|\
         mind|mine|happy|sure|ready|clear|good|bad|better|best|worse|new|old|true|false|null|empty|available|visible|able|\
         possible|fine|right|wrong|same|different|other|such|sign-off|enough|one|two|three|first|last|because|be|is|are|\
         has|does|user|users|there|here|yes|great|nice|cool|short|long|only|even|still|just|also|have|need|seem|happen",
    )
});

/// Words ending in -s that are not plurals.
static NO_PLURALS: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "always|this|does|was|has|is|its|yes|as|plus|across|unless|perhaps|towards|besides|sometimes|afterwards|whereas|\
         hers|ours|yours|theirs|us|thus|lets|minus|versus|years|thanks|ones|others|status|https",
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

pub(crate) fn is_plural(word: &str) -> bool {
    let has_form = word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'));
    let is_singular = word.ends_with("ss") || word.ends_with("us") || word.ends_with("is");
    has_form && word.ends_with('s') && !is_singular && !NO_PLURALS.has(word)
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
        for (word, plural) in
            [("lines", true), ("commits", true), ("class", false), ("always", false), ("status", false)]
        {
            assert_eq!(is_plural(word), plural, "{word}");
        }
    }
}
