//! The closed list of words by which a sentence counts as a rule, a preference or a decision without anybody's help.
//!
//! It is short on purpose. It is not meant to understand people: that is the agent's job, which quotes what it
//! understood (`prove`). Without an agent's help, only what is said outright counts.

use std::collections::HashSet;
use std::sync::LazyLock;

use cerberus_text::words::{Words, is_unspaced};

/// What a sentence says outright.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cue {
    /// It holds from now on.
    Lasting,
    Preference,
    Decision,
}

/// The words of one language.
struct CueLanguage {
    lasting: Vec<&'static str>,
    opening: Vec<&'static str>,
    before: Vec<&'static str>,
    named: Vec<&'static str>,
    preference: Vec<&'static str>,
    decision: Vec<&'static str>,
    deny: Vec<&'static str>,
}

static LANGUAGES: LazyLock<Vec<CueLanguage>> = LazyLock::new(|| languages(include_str!("cues.txt")));

fn languages(text: &'static str) -> Vec<CueLanguage> {
    let sections = text.split("\n[").skip(1);
    let list = |section: &'static str, name: &str| {
        let line = section.lines().find_map(|line| line.strip_prefix(name).filter(|rest| rest.starts_with(' ')));
        line.into_iter().flat_map(|line| line.split('|')).map(str::trim).collect()
    };
    sections
        .map(|section| CueLanguage {
            lasting: list(section, "lasting"),
            opening: list(section, "opening"),
            before: list(section, "before"),
            named: list(section, "named"),
            preference: list(section, "preference"),
            decision: list(section, "decision"),
            deny: list(section, "deny"),
        })
        .collect()
}

/// What a sentence of the user says outright; `None` for questions, too.
pub fn cue(sentence: &str) -> Option<Cue> {
    let low = lower(sentence);
    if is_question(&low) {
        return None;
    }
    LANGUAGES.iter().find_map(|language| language.cue(low.trim()))
}

/// Whether a sentence that the agent quotes holds from now on: it says so outright, or calls itself a rule.
pub fn is_lasting(quotation: &str) -> bool {
    let low = lower(quotation);
    let is_named = |language: &CueLanguage| has(&low, &language.named);
    cue(quotation) == Some(Cue::Lasting) || !is_question(&low) && LANGUAGES.iter().any(is_named)
}

/// Whether a sentence forbids or denies something. Two sentences of which one does are not the same.
pub fn is_denial(sentence: &str) -> bool {
    let low = lower(sentence);
    LANGUAGES.iter().any(|language| has(&low, &language.deny))
}

/// Words that only say that something always or never holds, in the form in which words are compared.
static FRAMING: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let lists = LANGUAGES.iter().flat_map(|language| [&language.opening, &language.before, &language.deny]);
    lists.flatten().flat_map(|phrase| Words::of(phrase).iter().map(str::to_string).collect::<Vec<_>>()).collect()
});

pub fn is_framing(word: &str) -> bool {
    FRAMING.contains(word)
}

fn lower(sentence: &str) -> String {
    sentence.to_lowercase().replace('’', "'")
}

fn is_question(sentence: &str) -> bool {
    sentence.contains(['?', '？', '؟'])
}

fn has(sentence: &str, list: &[&str]) -> bool {
    list.iter().any(|phrase| find(sentence, phrase).is_some())
}

impl CueLanguage {
    fn cue(&self, sentence: &str) -> Option<Cue> {
        let opens = |list: &[&str]| list.iter().any(|phrase| self.opens(sentence, phrase));
        match () {
            () if has(sentence, &self.lasting) || opens(&self.opening) => Some(Cue::Lasting),
            () if has(sentence, &self.preference) => Some(Cue::Preference),
            () if opens(&self.decision) => Some(Cue::Decision),
            () => None,
        }
    }

    /// Whether the sentence begins with a phrase, after nothing but words that may stand before it. A script without
    /// blanks ends with its verb, so there a phrase counts anywhere.
    fn opens(&self, sentence: &str, phrase: &str) -> bool {
        let Some(at) = find(sentence, phrase) else { return false };
        let mut rest = sentence[..at].trim_matches(is_separator);
        while !rest.is_empty() && !phrase.contains(is_unspaced) {
            let Some(shorter) = self.before.iter().find_map(|word| {
                let rest = rest.strip_suffix(word)?;
                (rest.is_empty() || rest.ends_with(is_separator)).then_some(rest)
            }) else {
                return false;
            };
            rest = shorter.trim_matches(is_separator);
        }
        true
    }
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | '.' | ':' | ';' | '!' | '-' | '–' | '—' | '*' | '¡')
}

/// Where a phrase stands as whole words. One that ends with `*` is the beginning of a word.
fn find(sentence: &str, phrase: &str) -> Option<usize> {
    let (phrase, is_open) = phrase.strip_suffix('*').map_or((phrase, false), |stem| (stem, true));
    let is_whole = |at: &usize| {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let end = at + phrase.len();
        phrase.contains(is_unspaced)
            || !joins(sentence[..*at].chars().next_back()) && (is_open || !joins(sentence[end..].chars().next()))
    };
    sentence.match_indices(phrase).map(|(at, _)| at).find(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_closed() {
        const WORDS_MAX: usize = 30;
        assert_eq!(LANGUAGES.len(), 11);
        for language in LANGUAGES.iter() {
            let CueLanguage { lasting, opening, before, named, preference, decision, deny } = language;
            let lists = [lasting, opening, before, named, preference, decision, deny];
            let all: Vec<&str> = lists.into_iter().flatten().copied().collect();
            assert!((15..=WORDS_MAX).contains(&all.len()), "{all:?}");
            assert!(all.iter().all(|phrase| !phrase.is_empty() && *phrase == phrase.to_lowercase()), "{all:?}");
        }
    }

    #[test]
    fn what_is_said_outright_is_recognised() {
        for (sentence, expected) in [
            ("Always run the tests before you commit.", Some(Cue::Lasting)),
            ("no, never push to main!", Some(Cue::Lasting)),
            ("You should always ask first", Some(Cue::Lasting)),
            ("ok from now on write in English", Some(Cue::Lasting)),
            ("Remember: the staging database is read-only", Some(Cue::Lasting)),
            ("the button never shows", None),
            ("it always fails on CI", None),
            ("should we always squash?", None),
            ("the ruler is broken", None),
            ("I prefer small commits.", Some(Cue::Preference)),
            ("Let's use sqlite for the cache", Some(Cue::Decision)),
            ("he said let's use sqlite", None),
            ("every time I click, it crashes", None),
            ("the eslint rule is wrong", None),
            ("Nunca hagas push a main", Some(Cue::Lasting)),
            ("Bitte immer erst testen", Some(Cue::Lasting)),
            ("das schlägt immer fehl", None),
            ("nie potrzebujemy tego", None),
            ("今後は必ずテストを書いてください", Some(Cue::Lasting)),
            ("キャッシュにはsqliteを使おう", Some(Cue::Decision)),
            ("以后不要用中文写注释", Some(Cue::Lasting)),
            ("これからテストします", None),
            ("앞으로 주석은 영어로 써 줘", Some(Cue::Lasting)),
            ("Запомни: тесты сначала", Some(Cue::Lasting)),
            ("fix the login form", None),
        ] {
            assert_eq!(cue(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn what_calls_itself_a_rule_lasts_if_it_is_quoted() {
        for sentence in
            ["Rule: one commit per change.", "The convention here is snake_case", "必ずテストを書いてください"]
        {
            assert!(is_lasting(sentence) && cue(sentence).is_none(), "{sentence}");
        }
        assert!(is_lasting("Never push to main") && !is_lasting("push to main") && !is_lasting("is there a rule?"));
    }

    #[test]
    fn a_denial_is_known_in_every_language() {
        for sentence in [
            "Don’t mock",
            "no mocks",
            "nunca uses mocks",
            "keine Mocks",
            "ne pas simuler",
            "模拟不要用",
            "モックは使わない",
        ] {
            assert!(is_denial(sentence), "{sentence}");
        }
        for sentence in ["Use mocks", "usa mocks", "nimm Mocks", "know the notation"] {
            assert!(!is_denial(sentence), "{sentence}");
        }
    }
}
