//! A text in the form in which quotations are compared: without case, quotation marks, emphasis and differences of
//! blanks and dashes. It remembers where every character comes from.

use cerberus_text::words::is_unspaced;

/// A folded text, and for each of its characters the range of bytes in the original.
pub(super) struct FoldedText {
    pub chars: Vec<char>,
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl FoldedText {
    pub fn of(text: &str) -> FoldedText {
        let mut folded = FoldedText { chars: Vec::with_capacity(text.len()), starts: Vec::new(), ends: Vec::new() };
        let mut blank = None;
        for (at, c) in text.char_indices() {
            let end = at + c.len_utf8();
            if c.is_whitespace() {
                blank = blank.or(Some((at, end)));
                continue;
            }
            if is_mark(c) {
                continue;
            }
            if let Some((at, end)) = blank.take().filter(|_| !folded.chars.is_empty()) {
                folded.push(' ', at, end);
            }
            match c {
                '…' => (0..3).for_each(|_| folded.push('.', at, end)),
                '–' | '—' | '‑' | '−' => folded.push('-', at, end),
                _ => c.to_lowercase().for_each(|low| folded.push(low, at, end)),
            }
        }
        folded
    }

    fn push(&mut self, c: char, start: usize, end: usize) {
        self.chars.push(c);
        self.starts.push(start);
        self.ends.push(end);
    }

    /// The bytes that the characters from `from` to `to` come from.
    pub fn range(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        self.starts[from]..self.ends[to - 1]
    }

    /// Where `part` stands as whole words, from `from` on.
    pub fn find(&self, part: &[char], from: usize) -> Option<usize> {
        let last = self.chars.len().checked_sub(part.len())?;
        (from..=last).find(|at| self.chars[*at..at + part.len()] == *part && self.is_whole(*at, at + part.len()))
    }

    /// Nothing of a word is cut off. Scripts without blanks have no such edges.
    fn is_whole(&self, from: usize, to: usize) -> bool {
        let is_edge = |at: usize| match (at.checked_sub(1), self.chars.get(at)) {
            // What an apostrophe separates are two words: "qu'elle", not "don't".
            (Some(before), Some(c)) => {
                let is_apart =
                    self.ends[before] < self.starts[at] && self.chars.get(at + 1).is_some_and(|c| is_spaced(*c));
                !is_spaced(self.chars[before]) || !is_spaced(*c) || is_apart
            }
            _ => true,
        };
        is_edge(from) && is_edge(to)
    }
}

/// A letter or digit of a script that separates words.
fn is_spaced(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}

/// Quotation marks and marks of emphasis: who quotes leaves them out, or uses others.
fn is_mark(c: char) -> bool {
    "\"'`´*“”„‟‘’‚‹›«»「」『』\u{200b}\u{feff}".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_quoting_changes_is_folded() {
        let folded = |text: &str| FoldedText::of(text).chars.into_iter().collect::<String>();
        assert_eq!(folded(" Don’t  use\n\t**mocks** — “ever”… "), "dont use mocks - ever...");
        assert_eq!(folded("ЗАПУСКАЙ Тесты"), "запускай тесты");
    }

    #[test]
    fn a_part_is_found_as_whole_words() {
        let text = "Never push to mainline, push to main. 本番に直接pushしない";
        let folded = FoldedText::of(text);
        let find =
            |part: &str| folded.find(&part.chars().collect::<Vec<char>>(), 0).map(|at| (at, part.chars().count()));
        let (at, length) = find("push to main").unwrap();
        assert_eq!(&text[folded.range(at, at + length)], "push to main");
        assert_eq!(at, text.find("push to main.").unwrap());
        assert!(find("ever push").is_none() && find("直接push").is_some());
        assert!(FoldedText::of("qu'elle a").find(&['e', 'l', 'l', 'e'], 0).is_some());
        assert!(FoldedText::of("don't go").find(&['t', ' ', 'g', 'o'], 0).is_none());
    }
}
