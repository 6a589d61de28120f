//! Concepts that people express in their own language: "always", "from now on", "does not work", "later".
//!
//! Each language is a data file with one concept per line, `concept: phrase | phrase`; `word*` matches any word with
//! that beginning. The line `words` lists its most frequent words, by which a language is recognized. What a concept
//! means is decided elsewhere, once for all languages.

mod words;

use super::lines::Lines;

pub use words::tokens;

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

/// Its place in the list.
const ENGLISH: usize = 0;

/// The most frequent words of all languages, each with a number whose bits are the places of the languages.
const FREQUENT: Lines = Lines(include_str!(concat!(env!("OUT_DIR"), "/frequent.txt")));

macro_rules! lexicon {
    ($name:literal) => {
        Lexicon {
            name: $name,
            phrases: Lines(include_str!(concat!(env!("OUT_DIR"), "/", $name, ".phrases.txt"))),
            open: Lines(include_str!(concat!(env!("OUT_DIR"), "/", $name, ".open.txt"))),
        }
    };
}

/// In the order of the build script.
static LEXICONS: [Lexicon; 11] = [
    lexicon!("en"),
    lexicon!("es"),
    lexicon!("pt"),
    lexicon!("fr"),
    lexicon!("de"),
    lexicon!("it"),
    lexicon!("pl"),
    lexicon!("ru"),
    lexicon!("ja"),
    lexicon!("zh"),
    lexicon!("ko"),
];

/// One language.
pub struct Lexicon {
    pub name: &'static str,
    /// Each with its concept.
    phrases: Lines,
    /// Phrases whose first word is only a beginning.
    open: Lines,
}

impl Lexicon {
    /// The language that most of the words belong to; English if there is no evidence. Languages that share far fewer
    /// frequent words with the text than another one are not looked at further.
    pub fn of(words: &[String]) -> &'static Lexicon {
        let words = &words[..words.len().min(JUDGED_WORDS_MAX)];
        let mut frequent = [0_usize; LEXICONS.len()];
        for languages in words.iter().map(|word| languages_of(word)).filter(|languages| *languages != 0) {
            frequent.iter_mut().enumerate().for_each(|(place, count)| *count += usize::from(languages >> place & 1));
        }
        let most = frequent.iter().copied().max().unwrap_or_default();
        let mut best = (0, ENGLISH);
        // Output that is pasted into a prompt is English, and often longer than the rest.
        let is_possible =
            |(language, count): &(usize, usize)| *language == ENGLISH || most < FREQUENT_MIN || 2 * count >= most;
        for (language, count) in frequent.into_iter().enumerate().filter(is_possible) {
            let hits = LEXICONS[language].hits(words);
            let found = count * FREQUENT_WEIGHT + hits.iter().map(|hit| hit.len).sum::<usize>();
            if found > best.0 {
                best = (found, language);
            }
        }
        &LEXICONS[best.1]
    }

    pub fn is_frequent(&self, word: &str) -> bool {
        let place = LEXICONS.iter().position(|lexicon| lexicon.name == self.name);
        place.is_some_and(|place| languages_of(word) >> place & 1 == 1)
    }

    fn has_blanks(&self) -> bool {
        !matches!(self.name, "ja" | "zh" | "ko")
    }

    fn hits(&self, words: &[String]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for at in 0..words.len() {
            for (phrase, concept) in self.phrases.of(&words[at]).chain(self.open.all()) {
                if let Some(len) = beginning(phrase, &words[at..]) {
                    hits.push(Hit { concept, start: at, len });
                }
            }
        }
        hits
    }
}

/// Whether a word is frequent in some language.
pub fn is_frequent(word: &str) -> bool {
    languages_of(word) != 0
}

/// The languages in which a word is frequent, as bits.
fn languages_of(word: &str) -> u16 {
    FREQUENT.of(word).find(|(known, _)| *known == word).and_then(|(_, languages)| languages.parse().ok()).unwrap_or(0)
}

/// How many words a phrase has, if a text begins with it.
fn beginning(phrase: &str, words: &[String]) -> Option<usize> {
    let mut count = 0;
    // By bytes, because every word of a prompt is compared with many phrases.
    for pattern in phrase.as_bytes().split(|byte| *byte == b' ') {
        let word = words.get(count)?.as_bytes();
        let fits = match pattern.strip_suffix(b"*") {
            Some(beginning) => word.starts_with(beginning),
            None => pattern == word,
        };
        if !fits {
            return None;
        }
        count += 1;
    }
    Some(count)
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
        let skipped = if self.lexicon.has_blanks() { skipped } else { skipped * CHARS_PER_WORD };
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

#[cfg(test)]
mod tests;
