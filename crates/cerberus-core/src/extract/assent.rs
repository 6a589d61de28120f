//! Answers that decide nothing on their own: "yes", "option 2", "let's go with B", "continue".

use crate::clean::text::words;

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
