//! The sentences of a prompt in any language, and what is pasted into it.

use super::{READ_BYTES_MAX, own};
use crate::clean::text::clip;
use crate::language::lexicon::{Lexicon, Reading, tokens};
use crate::language::outline;

/// A prompt with more sentences is a document; its beginning and end are read.
const HEAD_MAX: usize = 30;
const TAIL_MAX: usize = 10;
/// A shorter text before a full stop is a number or an abbreviation.
const SENTENCE_BYTES_MIN: usize = 4;

pub struct Unit {
    pub text: String,
    pub reading: Reading,
    /// Part of a numbered or bulleted list.
    pub is_item: bool,
    /// Not the user's own words: the pasted lines of the prompt, together.
    pub is_pasted: bool,
}

/// A prompt, divided into units and read in its language.
pub struct Units {
    pub list: Vec<Unit>,
    pub lexicon: &'static Lexicon,
    /// The first pasted line that reports a failure.
    pub fault: Option<String>,
    pub prompt_len: usize,
}

impl Units {
    pub fn new(prompt: &str) -> Units {
        let text = own::without_blocks(clip(prompt, READ_BYTES_MAX));
        let own = own::own(&text);
        let mut typed = Vec::new();
        for line in &own.lines {
            let item = outline::item(line);
            let is_item = item.is_some();
            split(item.map_or(line.as_str(), |item| item.text), |text| typed.push((text.to_string(), is_item)));
        }
        let words: Vec<String> = typed.iter().flat_map(|(text, _)| tokens(text)).collect();
        if typed.len() > HEAD_MAX + TAIL_MAX {
            typed.drain(HEAD_MAX..typed.len() - TAIL_MAX);
        }
        let lexicon = Lexicon::of(&words);
        let unit = |text: String, is_item, is_pasted| {
            let reading = Reading::new(&text, lexicon);
            Unit { text, reading, is_item, is_pasted }
        };
        let mut list: Vec<Unit> = typed.into_iter().map(|(text, is_item)| unit(text, is_item, false)).collect();
        if !own.pasted.trim().is_empty() {
            list.push(unit(own.pasted, false, true));
        }
        Units { list, lexicon, fault: own.fault.map(str::to_string), prompt_len: prompt.len() }
    }
}

/// Calls `each` with every sentence of a line that has letters or digits.
fn split(line: &str, mut each: impl FnMut(&str)) {
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let is_followed = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let is_end = matches!(c, '。' | '！' | '？')
            || (matches!(c, '.' | '!' | '?' | ';')
                && is_followed
                && line[start..end].trim().len() > SENTENCE_BYTES_MIN);
        if is_end || chars.peek().is_none() {
            let text = line[start..end].trim();
            if text.chars().any(char::is_alphanumeric) {
                each(text);
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(prompt: &str) -> Vec<String> {
        Units::new(prompt).list.into_iter().map(|unit| unit.text).collect()
    }

    #[test]
    fn a_prompt_is_divided_into_sentences() {
        assert_eq!(texts("1. Use v1.2 here. Why?\n- no mocks"), ["Use v1.2 here.", "Why?", "no mocks"]);
        assert_eq!(texts("それやめて。英語で書いて"), ["それやめて。", "英語で書いて"]);
        assert_eq!(texts("  \n..."), [""; 0]);
    }

    #[test]
    fn pasted_lines_are_one_unit_at_the_end() {
        let units = Units::new("it fails\n```\nerror: no such file\nat main.rs\n```");
        assert_eq!(units.list.len(), 2);
        assert!(units.list[1].is_pasted && units.list[1].text.contains("at main.rs"));
        assert_eq!(units.fault.as_deref(), Some("error: no such file"));
    }

    #[test]
    fn a_document_is_read_at_both_ends() {
        let long: Vec<String> = (0..90).map(|at| format!("Sentence number {at} is here.")).collect();
        assert_eq!(Units::new(&long.join(" ")).list.len(), HEAD_MAX + TAIL_MAX);
    }
}
