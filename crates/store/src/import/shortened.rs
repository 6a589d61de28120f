//! Shortens a line of JSON while it is read, so that a line of any length takes little memory: of each long text in it,
//! the beginning and the end are kept, and how much is missing between them. Everything else stays as it is. Pure.

/// Of a text that is longer than twice this, about this much is kept at both ends.
pub(super) const END_BYTES: usize = 512 * 1024;

/// How far a place to cut is looked for that is beside a blank: what stands together stays together.
const BLANK_BYTES_MAX: usize = 16 * 1024;

/// A line that is being shortened.
#[derive(Default)]
pub(super) struct ShortenedLine {
    kept: Vec<u8>,
    text: Option<OpenText>,
}

/// A text that has not ended.
struct OpenText {
    /// The end of what is kept of its beginning, as soon as it is known.
    head_end: Option<usize>,
    /// The last two places behind it that are far apart. The end of the text begins at the first of them.
    tails: [usize; 2],
    /// How much was left out between its beginning and its end.
    cut_bytes: usize,
    escape: Escape,
    /// What was just read is the first half of a character.
    is_half: bool,
    /// What was just read is a blank.
    is_blank: bool,
}

/// Where in an escape sequence the next byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    Outside,
    Begun,
    /// Of the digits of a code, so many were read. The first two say whether it is half of a character.
    Digits(usize, [u8; 2]),
}

impl ShortenedLine {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// How much is kept so far.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.kept
    }

    fn byte(&mut self, byte: u8) {
        let Some(text) = &mut self.text else {
            self.kept.push(byte);
            if byte == b'"' {
                let at = self.kept.len();
                let (head_end, escape) = (None, Escape::Outside);
                let tails = [at; 2];
                self.text = Some(OpenText { head_end, tails, cut_bytes: 0, escape, is_half: false, is_blank: false });
            }
            return;
        };
        if text.escape == Escape::Outside && byte == b'"' {
            let cut_bytes = text.cut_bytes;
            if let Some(head_end) = text.head_end.filter(|_| cut_bytes > 0) {
                let mark = format!("…[{cut_bytes}-bytes-not-kept]…");
                self.kept.splice(head_end..head_end, mark.into_bytes());
            }
            self.text = None;
            self.kept.push(byte);
            return;
        }
        if text.is_between(byte) {
            text.cut(&mut self.kept);
        }
        text.read(byte);
        self.kept.push(byte);
    }
}

impl OpenText {
    /// Whether the text may be cut before this byte.
    fn is_between(&self, byte: u8) -> bool {
        let is_inside_character = (0x80..0xc0).contains(&byte);
        self.escape == Escape::Outside && !self.is_half && !is_inside_character
    }

    /// Cuts the text here if enough of it was read.
    fn cut(&mut self, kept: &mut Vec<u8>) {
        let read = kept.len() - self.tails[1];
        if read < END_BYTES || !self.is_blank && read < END_BYTES + BLANK_BYTES_MAX {
            return;
        }
        let Some(head_end) = self.head_end else {
            (self.head_end, self.tails) = (Some(kept.len()), [kept.len(); 2]);
            return;
        };
        let [first, second] = self.tails;
        // What is between the beginning and the end.
        kept.drain(head_end..first);
        self.cut_bytes += first - head_end;
        self.tails = [head_end + second - first, kept.len()];
    }

    fn read(&mut self, byte: u8) {
        let was_half = std::mem::take(&mut self.is_half);
        self.is_blank = byte == b' ';
        self.escape = match self.escape {
            Escape::Outside if byte == b'\\' => {
                self.is_half = was_half;
                Escape::Begun
            }
            Escape::Outside => Escape::Outside,
            Escape::Begun if byte == b'u' => Escape::Digits(0, [0; 2]),
            Escape::Begun => {
                self.is_blank = matches!(byte, b'n' | b'r' | b't');
                Escape::Outside
            }
            Escape::Digits(read, mut first) => {
                if let Some(digit) = first.get_mut(read) {
                    *digit = byte.to_ascii_lowercase();
                }
                self.is_half = read == 3 && first[0] == b'd' && matches!(first[1], b'8' | b'9' | b'a' | b'b');
                if read == 3 { Escape::Outside } else { Escape::Digits(read + 1, first) }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shortened(line: &str) -> (Value, usize) {
        let mut shortened = ShortenedLine::default();
        let mut longest = 0;
        for bytes in line.as_bytes().chunks(1_000) {
            shortened.push(bytes);
            longest = longest.max(shortened.len());
        }
        (serde_json::from_slice(&shortened.finish()).unwrap(), longest)
    }

    #[test]
    fn of_long_texts_both_ends_are_kept_and_all_else() {
        let said = |text: &str| json!({"a": [1.5, "short \"text\"", null], "said": text, "b": {"c": "\u{1f980} end"}});
        for (piece, is_apart) in [
            ("a line of output\n", true),
            ("\\ \"quoted\" \u{1} ", true),
            ("東京", false),
            ("abcdef", false),
            ("\u{1f980}", false),
        ] {
            let text = format!("first {}last", piece.repeat(12 * END_BYTES / piece.len()));
            // As some agents write what is not in ASCII.
            let ascii: String = said(&text).to_string().chars().map(in_ascii).collect();
            for line in [said(&text).to_string(), ascii] {
                let (value, longest) = shortened(&line);
                assert!(longest < 5 * END_BYTES, "{piece}: {longest}");
                let kept = value["said"].as_str().unwrap();
                assert_eq!(said(kept), value, "{piece}");
                let (head, rest) = kept.split_once("…[").unwrap();
                let (cut, tail) = rest.split_once("-bytes-not-kept]…").unwrap();
                assert!(text.starts_with(head) && text.ends_with(tail), "{piece}");
                assert!(head.len() + tail.len() >= END_BYTES / 3, "{piece}");
                let is_blank = |c: char| c.is_whitespace();
                assert!(!is_apart || head.ends_with(is_blank) && text[..text.len() - tail.len()].ends_with(is_blank));
                assert!(cut.parse::<usize>().unwrap() > 6 * END_BYTES, "{piece}: {cut}");
            }
        }
    }

    #[test]
    fn what_is_not_long_stays_as_it_is() {
        let texts =
            ["a ".repeat(END_BYTES / 2), "b".repeat(END_BYTES), "\u{1f980} \"\\\n".repeat(1_000), String::new()];
        let line = json!({"texts": texts, "n": [1, true]}).to_string();
        let mut shortened = ShortenedLine::default();
        shortened.push(line.as_bytes());
        assert_eq!(shortened.finish(), line.into_bytes());
        // Damaged lines too.
        for line in ["", "\"", "{\"a\":\"b\\", "\\u12", "\"\\ud8"] {
            let mut shortened = ShortenedLine::default();
            shortened.push(line.as_bytes());
            assert_eq!(shortened.finish(), line.as_bytes());
        }
    }

    fn in_ascii(c: char) -> String {
        if c.is_ascii() {
            return c.to_string();
        }
        c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    }
}
