//! Answers that decide nothing on their own: "yes", "option 2", "let's go with B", "continue".

use crate::clean::text::words;
use crate::language::lexicon::{self, Hit, Lexicon, Reading, tokens};

/// Words that agree, point or connect. A decision that has no others says nothing without what it answers.
const EMPTY: &[&str] = &[
    "ok",
    "okay",
    "yes",
    "yeah",
    "yep",
    "no",
    "sure",
    "fine",
    "great",
    "good",
    "perfect",
    "nice",
    "cool",
    "please",
    "thanks",
    "let",
    "lets",
    "do",
    "go",
    "going",
    "ahead",
    "with",
    "for",
    "it",
    "that",
    "this",
    "these",
    "them",
    "the",
    "an",
    "and",
    "option",
    "options",
    "number",
    "choice",
    "choose",
    "pick",
    "take",
    "variant",
    "looks",
    "look",
    "sounds",
    "sound",
    "works",
    "work",
    "agreed",
    "agree",
    "me",
    "we",
    "us",
    "you",
    "your",
    "my",
    "now",
    "then",
    "first",
    "second",
    "third",
    "one",
    "two",
    "three",
    "four",
    "both",
    "all",
    "seems",
    "like",
    "to",
    "is",
    "be",
    "on",
    "of",
    "in",
    "so",
    "as",
    "just",
    "proceed",
    "continue",
    "recommendation",
    "suggestion",
    "proposal",
    "approach",
    "recommended",
    "suggested",
    "proposed",
    "plan",
    "sí",
    "si",
    "vale",
    "claro",
    "opción",
    "oui",
    "ja",
    "gut",
    "passt",
    "mach",
    "machen",
    "wir",
    "sim",
    "tak",
    "da",
    "да",
    "はい",
    "好的",
    "好",
    "可以",
    "네",
];

/// Answers and questions that only say how the conversation goes on.
const NAVIGATION: &[&str] = &[
    "continue", "next", "proceed", "skip", "stop", "done", "finish", "back", "later", "other", "none", "cancel",
    "start", "ready", "move", "wait", "topic", "question", "session", "step",
];

/// Work that is done anyway: to accept it decides nothing.
const ROUTINE: &[&str] = &[
    "commit",
    "push",
    "run",
    "test",
    "tests",
    "changes",
    "merge",
    "check",
    "verify",
    "file",
    "files",
    "phase",
    "task",
    "these",
    "those",
    "another",
    "anything",
    "else",
    "help",
    "would",
    "should",
    "want",
    "what",
    "which",
    "how",
    "deploy",
    "implementation",
    "implement",
    "begin",
    "make",
    "more",
    "before",
    "after",
    "branch",
    "create",
];

/// Is it only how to go on, or what is done anyway?
pub fn is_routine(text: &str) -> bool {
    let is_routine = |word: &String| [ROUTINE, NAVIGATION].iter().any(|list| list.contains(&word.as_str()));
    words(text).all(|word| is_routine(&word) || is_empty(&word))
}

/// Fewer letters are seldom the name of something.
const CONTENT_CHARS_MIN: usize = 4;
/// So many characters without blanks, as in Japanese and Chinese, are about a word.
const CHARS_PER_WORD: usize = 3;

/// How many words say what a text is about: neither frequent in a language, nor answers, nor work that is done anyway.
pub fn content_words(text: &str) -> usize {
    let count = |word: String| match word.chars().filter(|c| *c >= '\u{2e80}').count() {
        0 => usize::from(is_content(&word)),
        wide => wide.div_ceil(CHARS_PER_WORD),
    };
    words(text).map(count).sum()
}

fn is_content(word: &str) -> bool {
    let is_known = [EMPTY, ROUTINE, NAVIGATION].iter().any(|list| list.contains(&word));
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    has_digit || (word.chars().count() >= CONTENT_CHARS_MIN && !is_known && !lexicon::is_frequent(word))
}

/// Words for doing what was offered, whatever it is.
const DOING: &[&str] = &[
    "implement",
    "fix",
    "apply",
    "create",
    "it",
    "them",
    "everything",
    "send",
    "write",
    "start",
    "add",
    "update",
    "haz",
    "hacelo",
    "procede",
    "implementa",
    "implementalo",
    "faz",
    "faça",
    "fais",
    "fait",
    "tout",
    "ça",
    "ca",
    "fallo",
    "zrób",
    "сделай",
    "делай",
    "i",
    "want",
    "need",
];

/// Is a whole prompt an answer without content of its own?
pub fn is_bare(prompt: &str) -> bool {
    const WORDS_MAX: usize = 12;
    let tokens = tokens(prompt);
    // Most prompts are longer, and to find their language takes time.
    if tokens.is_empty() || tokens.len() > WORDS_MAX {
        return false;
    }
    let reading = Reading::new(prompt, Lexicon::of(&tokens));
    let agrees = |at: usize| {
        let is_there = |hit: &Hit| hit.concept == "agree" && (hit.start..hit.start + hit.len).contains(&at);
        reading.hits.iter().any(is_there)
    };
    let is_spare = |at: usize| {
        let word = reading.words[at].as_str();
        is_empty(word) || DOING.contains(&word) || agrees(at) || matches!(word, "!" | ":" | "0") || is_mark(word)
    };
    !reading.is_question && (0..tokens.len()).all(is_spare)
}

fn is_mark(word: &str) -> bool {
    word.len() == 1 && matches!(word.as_bytes()[0], b'a'..=b'h')
}

/// Does a decision say nothing without what it answers?
pub fn is_assent(text: &str) -> bool {
    words(text).all(|word| is_empty(&word))
}

/// Does the answer only say how to go on?
pub fn is_navigation(question: &str, answer: &str) -> bool {
    let is_navigating = |word: &String| NAVIGATION.contains(&word.as_str());
    let is_about_it = words(question).any(|word| is_navigating(&word));
    is_about_it && words(answer).all(|word| is_navigating(&word) || is_empty(&word))
}

fn is_empty(word: &str) -> bool {
    EMPTY.contains(&word) || word.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assent_has_no_content_of_its_own() {
        for text in ["option 2", "let's do 1", "Yes, go with B", "ok", "Sounds good, go ahead", "2", "好的"] {
            assert!(is_assent(text), "{text}");
        }
        for text in ["use sqlite", "Let's go with the token bucket", "yes, but keep the old name"] {
            assert!(!is_assent(text), "{text}");
        }
    }

    #[test]
    fn a_bare_answer_has_no_content_in_any_language() {
        for prompt in [
            "yes",
            "ok, go ahead!",
            "ja, mach",
            "sí, dale",
            "oui vas-y",
            "va bene",
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
