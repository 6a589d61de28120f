//! Tables that are sorted when the program is built: one phrase per line, then a tab and what it stands for. They are
//! searched as they are, so that nothing is built when the program starts.

/// Lines sorted by the first word of their phrase.
#[derive(Clone, Copy)]
pub(crate) struct Lines(pub &'static str);

impl Lines {
    /// The phrases that begin with this word, in their order, and what they stand for.
    pub fn of(self, word: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let from = self.0.get(self.first_at_least(word)..).unwrap_or_default();
        let found = from.lines().take_while(move |line| first_word(line.as_bytes()) == word.as_bytes());
        found.filter_map(|line| line.split_once('\t'))
    }

    pub fn all(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.lines().filter_map(|line| line.split_once('\t'))
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
