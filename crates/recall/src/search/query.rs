//! Parses a query into terms, exact phrases and dates.
//!
//! Any text is a valid query. `"…"` is an exact phrase, `auth*` a prefix.

use std::ops::Range;

use cerberus_record::clean::text;
use cerberus_text::terms::{self, Term, TermShape, misspelling};

use super::when::{self, TimeFilter};

/// More terms add nothing; each needs one bit.
pub const TERMS_MAX: usize = 32;

/// A shorter prefix would match almost every word.
const BEGINNING_BYTES_MIN: usize = 2;

/// Too many other words are similar to a shorter one.
const MISSPELLED_BYTES_MIN: usize = 5;

const SNIPPET_CHARS_MAX: usize = 160;
const SNIPPET_LEAD_CHARS: usize = 48;

/// Common words that do not say what a question is about, without apostrophes.
const STOP_WORDS: &str = "a about above after again all also am an and any are arent as at be because been before being \
    below between both but by can cant could did didnt do does doesnt doing dont down during each ever few for from \
    further had has hasnt have havent having he her here hers him his how i id if ill im in into is isnt it its itself \
    ive just kind lets likely many may me might more most much my no nor not of off often on once only or other our \
    ours out over own re same she should so some sort such than that thats the their theirs them then there these they \
    this those through to too type under until up us ve very was wasnt we were what whats when whens where wheres which while who \
    whom whos why will with wont would you your yours youre able";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Without duplicates, at most [`TERMS_MAX`].
    pub terms: Vec<QueryTerm>,
    /// Stems that must appear one after the other.
    pub phrases: Vec<Vec<String>>,
    pub when: Vec<TimeFilter>,
    /// Identifiers as typed: `fooBar` matches itself better than `foo_bar`.
    pub names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryTerm {
    pub text: String,
    pub shape: TermShape,
    pub wanted: WantedMatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedMatch {
    /// The term itself; if it is rare, also words that start with it.
    Term,
    /// Anything that starts with it.
    Beginning,
}

impl Query {
    pub fn parse(text: &str) -> Query {
        let mut query = Query { when: when::dates_in(text), ..Query::default() };
        // Every second part is quoted, except the last if its quotation mark is not closed.
        let parts: Vec<&str> = text.split('"').collect();
        for (at, part) in parts.iter().enumerate() {
            if at % 2 == 1 && at + 1 < parts.len() {
                query.phrases.extend(Some(terms::words(part)).filter(|phrase| !phrase.is_empty()));
            }
        }
        let is_significant = |word: &&str| !is_stop_word(word);
        query.add(text.split_whitespace().filter(is_significant));
        if query.terms.is_empty() {
            query.add(text.split_whitespace());
        }
        query
    }

    fn add<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        for word in words {
            let is_beginning = word.ends_with('*') && word.len() > BEGINNING_BYTES_MIN;
            let mut found = terms::terms(word);
            if found.len() > 1 {
                self.names.push(word.to_string());
            }
            // The parts of an identifier say little if they are stop words: `no` in `--no-verify`.
            if found.len() > 1 {
                found.retain(|term| term.shape == TermShape::Whole || !is_stop_word(&term.text));
            }
            let last = found.len().saturating_sub(1);
            for (at, Term { text, shape }) in found.into_iter().enumerate() {
                let wanted = if is_beginning && at == last { WantedMatch::Beginning } else { WantedMatch::Term };
                if self.terms.len() < TERMS_MAX && !self.terms.iter().any(|known| known.text == text) {
                    self.terms.push(QueryTerm { text, shape, wanted });
                }
            }
        }
    }

    /// Whether a text contains every phrase.
    pub fn has_phrases(&self, text: &str) -> bool {
        if self.phrases.is_empty() {
            return true;
        }
        let words = terms::words(text);
        self.phrases.iter().all(|phrase| words.windows(phrase.len()).any(|window| window == phrase.as_slice()))
    }

    /// One line of a text around the first word of the query.
    pub fn snippet(&self, content: &str) -> String {
        let shown = text::line(content, content.len());
        let words = shown.split(' ').scan(0, |at, word| {
            let begin = *at;
            *at += word.chars().count() + 1;
            Some((begin, word))
        });
        let hit = words.into_iter().find(|(_, word)| self.asks_for(word)).map_or(0, |(begin, _)| begin);
        let chars: Vec<char> = shown.chars().collect();
        let from = if chars.len() <= SNIPPET_CHARS_MAX { 0 } else { hit.saturating_sub(SNIPPET_LEAD_CHARS) };
        let until = chars.len().min(from + SNIPPET_CHARS_MAX);
        let cut: String = chars[from..until].iter().collect();
        let (before, after) = (if from > 0 { "…" } else { "" }, if until < chars.len() { "…" } else { "" });
        format!("{before}{}{after}", cut.trim())
    }
}

impl Query {
    /// The parts of a text that the query asks for: whole words, without the punctuation around them.
    pub fn matches(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        for word in text.split_inclusive(char::is_whitespace) {
            let core = word.trim_matches(|c: char| !c.is_alphanumeric());
            if let Some(start) = word.find(core).filter(|_| !core.is_empty() && self.asks_for(word)) {
                found.push(at + start..at + start + core.len());
            }
            at += word.len();
        }
        found
    }

    /// Whether a word has a term of the query, begins with one, or is spelled almost the same.
    fn asks_for(&self, word: &str) -> bool {
        let is_asked = |term: &Term, asked: &QueryTerm| {
            let is_near = || asked.text.len() >= MISSPELLED_BYTES_MIN && misspelling(&term.text, &asked.text).is_some();
            term.text.starts_with(asked.text.as_str()) || is_near()
        };
        terms::terms(word).iter().any(|term| self.terms.iter().any(|asked| is_asked(term, asked)))
    }
}

/// Whether a word says nothing about the topic.
pub fn is_stop_word(word: &str) -> bool {
    let plain = word.replace(['\'', '’'], "").to_lowercase();
    let plain = plain.trim_matches(|c: char| c.is_ascii_punctuation());
    STOP_WORDS.split(' ').any(|stop| stop == plain)
        // A sign before a stop word makes it a name: `--no`, `.do`.
        && !word.starts_with(['-', '.', '@', '#', '$', '/'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(text: &str) -> String {
        let shown = |term: &QueryTerm| match term.wanted {
            WantedMatch::Term => term.text.clone(),
            WantedMatch::Beginning => format!("{}*", term.text),
        };
        Query::parse(text).terms.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_question_is_reduced_to_its_topic() {
        for (text, terms) in [
            ("What kind of database does the billing service use?", "databas bil servic us"),
            ("Where's Anna's notebook", "anna notebook"),
            ("auth*", "auth*"),
            ("authentication*", "authenticat*"),
            ("a*", "a"),
            ("c++ or c#", "c c＋＋ c＃"),
            ("--no-verify", "verifi noverify －－no－verify"),
            (".env", "env ．env"),
            ("test tests tested", "test"),
            ("what is it", "what is it"),
            ("NEAR(a b) OR \"x\" AND -y", "near b x y －y"),
            ("??? !!", ""),
        ] {
            assert_eq!(asked(text), terms, "{text}");
        }
    }

    #[test]
    fn a_phrase_must_match_exactly() {
        let query = Query::parse("\"write ahead log\" size");
        assert!(query.has_phrases("The write-ahead logs are small."));
        assert!(!query.has_phrases("Log ahead of what you write."));
        assert!(Query::parse("an \"open quotation").has_phrases("anything"));
    }

    #[test]
    fn a_snippet_shows_the_match() {
        let query = Query::parse("retries");
        assert_eq!(query.snippet("Two retries,\n then stop."), "Two retries, then stop.");
        let long = format!("{} retry twice {}", "before ".repeat(60), "after ".repeat(60));
        let snippet = query.snippet(&long);
        assert!(snippet.starts_with('…') && snippet.ends_with('…') && snippet.contains("retry twice"), "{snippet}");
        assert!(snippet.chars().count() <= SNIPPET_CHARS_MAX + 2);
    }

    #[test]
    fn matches_are_whole_words() {
        let found = |query: &str, text: &'static str| -> Vec<&str> {
            Query::parse(query).matches(text).into_iter().map(|range| &text[range]).collect()
        };
        assert_eq!(found("retries", "Two retries, then (retry)."), ["retries", "retry"]);
        assert_eq!(found("checkpiont", "E2E checkpoint tests"), ["checkpoint"]);
        assert_eq!(found("process.go", "see process.go: it"), ["process.go"]);
        assert_eq!(found("zzz", "nothing"), [""; 0]);
    }

    proptest! {
        #[test]
        fn any_text_is_a_query(text in "\\PC{0,80}|[a-z\"*' .-]{0,80}", content in "\\PC{0,200}") {
            let query = Query::parse(&text);
            prop_assert!(query.terms.len() <= TERMS_MAX);
            query.has_phrases(&content);
            prop_assert!(query.matches(&content).into_iter().all(|range| !content[range].is_empty()));
            prop_assert!(query.snippet(&content).chars().count() <= SNIPPET_CHARS_MAX + 2);
        }
    }
}
