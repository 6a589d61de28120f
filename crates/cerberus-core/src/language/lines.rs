//! Tables that are sorted when the program is built: one phrase per line, then a tab and what it stands for. They are
//! searched as they are, so that nothing is built when the program starts.

/// Lines sorted by the first word of their phrase.
#[derive(Clone, Copy)]
pub(crate) struct Lines(pub &'static str);

impl Lines {
    /// The phrases that begin with this word, in their order, and what they stand for.
    pub fn of(self, word: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let from = Lines(self.0.get(self.first_at_least(word)..).unwrap_or_default());
        from.all().take_while(move |(phrase, _)| first_word(phrase.as_bytes()) == word.as_bytes())
    }

    pub fn all(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let line = &rest[..end];
            let tab = memchr::memchr(b'\t', line.as_bytes())?;
            rest = rest.get(end + 1..).unwrap_or_default();
            Some((&line[..tab], &line[tab + 1..]))
        })
    }

    /// Where the first line begins whose first word is not less than this.
    fn first_at_least(self, word: &str) -> usize {
        let text = self.0.as_bytes();
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let start = memchr::memrchr(b'\n', &text[low..middle]).map_or(low, |at| low + at + 1);
            if first_word(&text[start..]) < word.as_bytes() {
                low = memchr::memchr(b'\n', &text[middle..]).map_or(text.len(), |at| middle + at + 1);
            } else {
                high = start;
            }
        }
        low
    }
}

fn first_word(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t'));
    end.map_or(line, |end| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_by_their_first_word() {
        let lines = Lines("a\t1\nab cd\t2\nab\t3\nabc\t4\né x\t5\n");
        let found = |word: &str| lines.of(word).map(|(_, value)| value).collect::<String>();
        for (word, expected) in
            [("a", "1"), ("ab", "23"), ("abc", "4"), ("é", "5"), ("", ""), ("aa", ""), ("cd", ""), ("z", ""), ("ê", "")]
        {
            assert_eq!(found(word), expected, "{word}");
        }
        assert_eq!(lines.all().count(), 5);
        assert_eq!(Lines("").of("a").count(), 0);
    }
}
