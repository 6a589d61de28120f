//! How many words a text has, in any script.

use cerberus_text::words::is_unspaced;

/// How many words a text has, in any script.
pub fn word_count(text: &str) -> usize {
    let is_word =
        |word: &&str| word.contains(char::is_alphabetic) && !word.contains(is_unspaced) && word.chars().count() > 1;
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '_' | '-'))).filter(is_word);
    words.count() + text.chars().filter(|c| is_unspaced(*c)).count().div_ceil(CHARS_PER_WORD)
}

/// Characters of a script without blanks that count as a word.
pub(super) const CHARS_PER_WORD: usize = 2;
