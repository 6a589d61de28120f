//! Answers that decide nothing on their own: "yes", "option 2", "let's go with B", "continue".

use std::sync::LazyLock;

use cerberus_record::clean::text::words;
use cerberus_text::words::Set;

/// Words that agree, point or connect.
static EMPTY: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "ok|okay|yes|yeah|yep|no|sure|fine|great|good|perfect|nice|cool|please|thanks|let|lets|do|go|going|\
         ahead|with|for|it|that|this|these|them|the|an|and|option|options|number|choice|choose|pick|take|\
         variant|looks|look|sounds|sound|works|work|agreed|agree|me|we|us|you|your|my|now|then|first|second|\
         third|one|two|three|four|both|all|seems|like|to|is|be|on|of|in|so|as|just|proceed|continue|\
         recommendation|suggestion|proposal|approach|recommended|suggested|proposed|plan|sí|si|vale|claro|\
         opción|oui|ja|gut|passt|mach|machen|wir|sim|tak|da|да|はい|好的|好|可以|네",
    )
});

/// Answers and questions that only say how the conversation goes on.
static NAVIGATION: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "continue|next|proceed|skip|stop|done|finish|back|later|other|none|cancel|start|ready|move|wait|topic|\
         question|session|step",
    )
});

/// Work that is done anyway.
static ROUTINE: LazyLock<Set> = LazyLock::new(|| {
    Set::new(
        "commit|push|run|test|tests|changes|merge|check|verify|file|files|phase|task|these|those|another|\
         anything|else|help|would|should|want|what|which|how|deploy|implementation|implement|begin|make|more|\
         before|after|branch|create",
    )
});

/// Fewer letters are seldom the name of something.
const CONTENT_CHARS_MIN: usize = 4;
/// So many characters without blanks, as in Japanese and Chinese, are about a word.
const CHARS_PER_WORD: usize = 3;

/// How many words say what a text is about: neither answers, nor work that is done anyway.
pub fn content_words(text: &str) -> usize {
    let count = |word: String| match wide_chars(&word) {
        0 => usize::from(is_content(&word)),
        wide => wide.div_ceil(CHARS_PER_WORD),
    };
    words(text).map(count).sum()
}

fn wide_chars(text: &str) -> usize {
    text.chars().filter(|c| *c >= '\u{2e80}').count()
}

fn is_content(word: &str) -> bool {
    let is_known = [&EMPTY, &ROUTINE, &NAVIGATION].iter().any(|list| list.has(word));
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    has_digit || (word.chars().count() >= CONTENT_CHARS_MIN && !is_known)
}

/// Is a whole prompt an answer without content of its own? A single word is, in any language.
pub fn is_bare(prompt: &str) -> bool {
    const WORDS_MAX: usize = 12;
    const BARE_WIDE_MAX: usize = 3;
    let count = prompt.split_whitespace().count();
    let is_short = match wide_chars(prompt) {
        0 => count == 1 || count == 2 && words(prompt).next().is_some_and(|word| is_empty(&word)),
        wide => wide <= BARE_WIDE_MAX,
    };
    let is_question = prompt.contains(['?', '？']);
    (1..=WORDS_MAX).contains(&count) && !is_question && (is_short || words(prompt).all(|word| is_empty(&word)))
}

/// Does the answer only say how to go on?
pub fn is_navigation(question: &str, answer: &str) -> bool {
    let is_about_it = words(question).any(|word| NAVIGATION.has(&word));
    is_about_it && words(answer).all(|word| NAVIGATION.has(&word) || is_empty(&word))
}

fn is_empty(word: &str) -> bool {
    EMPTY.has(word) || word.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_answer_has_no_content_in_any_language() {
        for prompt in [
            "yes",
            "ok, go ahead!",
            "ja, mach",
            "sí, dale",
            "oui vas-y",
            "tak",
            "да, давай",
            "はい",
            "好的",
            "네",
            "B",
            "option 2 please",
            "1",
        ] {
            assert!(is_bare(prompt), "{prompt}");
        }
        for prompt in ["", "yes?", "yes, but keep the old name", "sí, pero sin caché", "use B for the parser"] {
            assert!(!is_bare(prompt), "{prompt}");
        }
        assert!(is_bare(&"yes ".repeat(12)) && !is_bare(&"yes ".repeat(13)), "a longer prompt says something");
    }

    #[test]
    fn navigation_is_no_decision() {
        for (question, answer) in [("Continue with the next topic?", "Yes, continue"), ("Ready to move on?", "Next")] {
            assert!(is_navigation(question, answer), "{question}");
        }
        for (question, answer) in
            [("Which database?", "SQLite"), ("Use SQLite?", "Yes"), ("Which step is next?", "The parser")]
        {
            assert!(!is_navigation(question, answer), "{question}");
        }
    }
}
