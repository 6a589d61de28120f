//! Concepts that people express in their own language: "always", "from now on", "does not work", "later".
//!
//! Each language is a data file with one concept per line, `concept: phrase | phrase`; `word*` matches any word with
//! that beginning. The line `words` lists its most frequent words, by which a language is recognized. What a concept
//! means is decided elsewhere, once for all languages.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

/// No sentence has more words that matter.
const SENTENCE_WORDS_MAX: usize = 80;
/// The language of a prompt shows in its first words.
const JUDGED_WORDS_MAX: usize = 400;
/// Where every character is a word, a word has about this many.
const CHARS_PER_WORD: usize = 4;
/// Fewer frequent words of a language rule out no other.
const FREQUENT_MIN: usize = 3;
/// A frequent word says more about the language than a phrase.
const FREQUENT_WEIGHT: usize = 2;

const FILES: [(&str, &str); 11] = [
    ("en", include_str!("en.txt")),
    ("es", include_str!("es.txt")),
    ("pt", include_str!("pt.txt")),
    ("fr", include_str!("fr.txt")),
    ("de", include_str!("de.txt")),
    ("it", include_str!("it.txt")),
    ("pl", include_str!("pl.txt")),
    ("ru", include_str!("ru.txt")),
    ("ja", include_str!("ja.txt")),
    ("zh", include_str!("zh.txt")),
    ("ko", include_str!("ko.txt")),
];

/// Its place in the list.
const ENGLISH: usize = 0;

/// Read when a text may be in this language. Most prompts need only one.
static LEXICONS: [OnceLock<Lexicon>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

struct Phrase {
    concept: &'static str,
    words: Vec<Cow<'static, str>>,
}

/// One language.
pub struct Lexicon {
    pub name: &'static str,
    has_blanks: bool,
    frequent: Vec<&'static str>,
    /// By the first word.
    phrases: HashMap<Cow<'static, str>, Vec<Phrase>>,
    /// Phrases whose first word is only a beginning.
    open: Vec<Phrase>,
}

impl Lexicon {
    fn at(language: usize) -> &'static Lexicon {
        let (name, text) = FILES[language];
        LEXICONS[language].get_or_init(|| Lexicon::new(name, text))
    }

    fn new(name: &'static str, text: &'static str) -> Lexicon {
        let has_blanks = !matches!(name, "ja" | "zh" | "ko");
        let frequent = frequent_words(text).collect();
        let mut lexicon = Lexicon { name, has_blanks, frequent, phrases: HashMap::new(), open: Vec::new() };
        let concepts = text.lines().filter_map(|line| line.split_once(": ")).filter(|(concept, _)| *concept != WORDS);
        for (concept, list) in concepts {
            for phrase in list.split('|').map(str::trim) {
                let words = phrase_words(phrase);
                let Some(first) = words.first().cloned() else { continue };
                let known = Phrase { concept, words };
                if first.ends_with('*') {
                    lexicon.open.push(known);
                } else {
                    lexicon.phrases.entry(first).or_default().push(known);
                }
            }
        }
        lexicon
    }

    /// The language that most of the words belong to; English if there is no evidence. Languages that share far fewer
    /// frequent words with the text than another one are not looked at further.
    pub fn of(words: &[String]) -> &'static Lexicon {
        let words = &words[..words.len().min(JUDGED_WORDS_MAX)];
        let frequent = |(_, text): &(&str, &'static str)| {
            let known: Vec<&str> = frequent_words(text).collect();
            words.iter().filter(|word| known.contains(&word.as_str())).count()
        };
        let frequent = FILES.each_ref().map(frequent);
        let most = frequent.iter().copied().max().unwrap_or_default();
        let mut best = (0, ENGLISH);
        // Output that is pasted into a prompt is English, and often longer than the rest.
        let is_possible =
            |(language, count): &(usize, usize)| *language == ENGLISH || most < FREQUENT_MIN || 2 * count >= most;
        for (language, count) in frequent.into_iter().enumerate().filter(is_possible) {
            let hits = Lexicon::at(language).hits(words);
            let found = count * FREQUENT_WEIGHT + hits.iter().map(|hit| hit.len).sum::<usize>();
            if found > best.0 {
                best = (found, language);
            }
        }
        Lexicon::at(best.1)
    }

    pub fn is_frequent(&self, word: &str) -> bool {
        self.frequent.contains(&word)
    }

    fn hits(&self, words: &[String]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for at in 0..words.len() {
            let listed = self.phrases.get(words[at].as_str()).into_iter().flatten();
            for phrase in listed.chain(&self.open).filter(|phrase| phrase.begins(&words[at..])) {
                hits.push(Hit { concept: phrase.concept, start: at, len: phrase.words.len() });
            }
        }
        hits
    }
}

/// The line of the most frequent words.
const WORDS: &str = "words";

fn frequent_words(text: &'static str) -> impl Iterator<Item = &'static str> {
    let list = text.lines().find_map(|line| line.strip_prefix(WORDS)?.strip_prefix(": "));
    list.into_iter().flat_map(|list| list.split('|').map(str::trim))
}

/// The words of a phrase as [`tokens`] gives them. Most phrases are written that way.
fn phrase_words(phrase: &'static str) -> Vec<Cow<'static, str>> {
    let is_plain = |c: char| c.is_lowercase() && !is_ideograph(c) || matches!(c, ' ' | '\'' | '*');
    if phrase.chars().all(is_plain) {
        return phrase.split_whitespace().map(Cow::Borrowed).collect();
    }
    let mut words = tokens(phrase.trim_end_matches('*'));
    if let Some(last) = words.last_mut().filter(|_| phrase.ends_with('*')) {
        last.push('*');
    }
    words.into_iter().map(Cow::Owned).collect()
}

impl Phrase {
    fn begins(&self, words: &[String]) -> bool {
        let fits = |(pattern, word): (&Cow<str>, &String)| match pattern.strip_suffix('*') {
            Some(beginning) => word.starts_with(beginning),
            None => *pattern == word.as_str(),
        };
        self.words.len() <= words.len() && self.words.iter().zip(words).all(fits)
    }
}

/// A concept that occurs in a sentence, from the word `start` on.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    pub concept: &'static str,
    pub start: usize,
    pub len: usize,
}

/// One sentence, read with the lexicon of its language.
pub struct Reading {
    pub words: Vec<String>,
    pub hits: Vec<Hit>,
    pub lexicon: &'static Lexicon,
    /// Where the sentence begins after "ok, also, please".
    pub opening: usize,
    pub is_question: bool,
}

/// Words that may precede the beginning of a sentence, besides the concepts below.
const SILENT_WORDS: &[&str] = &["and", "also", "but", "so", "0", "the", "well", "just", ":", "!"];
const SILENT_CONCEPTS: &[&str] = &["agree", "no", "request", "because"];
/// After one of these words a phrase is reported or supposed, not said: "I remember", "where we use".
const REPORTING_WORDS: &[&str] = &["i", "ah", "where", "which", "that", "if", "when", "places"];

impl Reading {
    pub fn new(text: &str, lexicon: &'static Lexicon) -> Reading {
        let mut words = tokens(text);
        words.truncate(SENTENCE_WORDS_MAX);
        let hits = lexicon.hits(&words);
        let is_silent = |at: usize| {
            SILENT_WORDS.contains(&words[at].as_str())
                || hits
                    .iter()
                    .any(|hit| SILENT_CONCEPTS.contains(&hit.concept) && (hit.start..hit.start + hit.len).contains(&at))
        };
        let opening = (0..words.len()).find(|at| !is_silent(*at)).unwrap_or(words.len());
        let is_question = text.trim_end().ends_with(['?', '？']);
        Reading { words, hits, lexicon, opening, is_question }
    }

    pub fn has(&self, concept: &str) -> bool {
        self.hits.iter().any(|hit| hit.concept == concept)
    }

    pub fn has_any(&self, concepts: &[&str]) -> bool {
        concepts.iter().any(|concept| self.has(concept))
    }

    fn first(&self, concept: &str) -> Option<&Hit> {
        self.hits.iter().filter(|hit| hit.concept == concept).min_by_key(|hit| hit.start)
    }

    /// Whether the concept comes after at most `skipped` words of the sentence proper.
    pub fn opens_with(&self, concept: &str, skipped: usize) -> bool {
        let skipped = if self.lexicon.has_blanks { skipped } else { skipped * CHARS_PER_WORD };
        self.first(concept).is_some_and(|hit| hit.start <= self.opening + skipped)
    }

    /// The same for what the sentence itself says, and does not only report.
    pub fn says(&self, concept: &str, skipped: usize) -> bool {
        let is_reported = |hit: &Hit| {
            hit.concept == concept
                && hit.start.checked_sub(1).is_some_and(|at| REPORTING_WORDS.contains(&self.words[at].as_str()))
        };
        self.opens_with(concept, skipped) && !self.hits.iter().any(is_reported)
    }

    pub fn count(&self, concept: &str) -> usize {
        self.hits.iter().filter(|hit| hit.concept == concept).count()
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af)
}

/// The words of a text in lower case. Numbers become `0`. In scripts without blanks every character is a word.
pub fn tokens(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let end = |word: &mut String, words: &mut Vec<String>| {
        if !word.is_empty() {
            words.push(std::mem::take(word));
        }
    };
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            '’' => word.push('\''),
            c if is_ideograph(c) => {
                end(&mut word, &mut words);
                words.push(c.to_string());
            }
            c if c.is_numeric() => {
                if !word.ends_with('0') {
                    word.push('0');
                }
            }
            c if c.is_alphabetic() || matches!(c, '\'' | '_') => word.push(c),
            c => {
                end(&mut word, &mut words);
                if matches!(c, '?' | '!' | ':' | '`' | '？') {
                    words.push(c.to_string());
                }
            }
        }
    }
    end(&mut word, &mut words);
    words
}

#[cfg(test)]
mod tests;
