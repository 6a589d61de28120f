//! The bytes of a text as the rules see them: a class per byte, and a view that never looks back past the last cut.
//!
//! Invariant: everything before `floor` is already replaced by `[redacted:…]`, so looking back from the floor sees the
//! closing bracket. This ensures that a second pass finds nothing new.

use std::cell::Cell;

pub(super) const DIGIT: u16 = 1;
pub(super) const HEX_LOWER: u16 = 1 << 1;
pub(super) const HEX_UPPER: u16 = 1 << 2;
const REST_LOWER: u16 = 1 << 3;
const REST_UPPER: u16 = 1 << 4;
pub(super) const UNDERSCORE: u16 = 1 << 5;
pub(super) const DASH: u16 = 1 << 6;
pub(super) const DOT: u16 = 1 << 7;
/// `+`, `/`, `=`, `%`: what base64 and its URL escapes add.
pub(super) const BASE64_MARK: u16 = 1 << 8;
pub(super) const SPACE: u16 = 1 << 9;
/// A byte that ends a value written without quotes.
const STOP: u16 = 1 << 10;
/// A byte that needs a closer look.
pub(super) const TRIGGER: u16 = 1 << 11;
/// `~` and `$`.
pub(super) const MARK: u16 = 1 << 12;
/// A byte with which a word or a bracket may begin. Scripts without blanks may have a word at every character.
pub(super) const BEGIN: u16 = 1 << 13;

pub(super) const LOWER: u16 = HEX_LOWER | REST_LOWER;
pub(super) const UPPER: u16 = HEX_UPPER | REST_UPPER;
pub(super) const ALPHA: u16 = LOWER | UPPER;
pub(super) const HEX: u16 = DIGIT | HEX_LOWER;
pub(super) const ALNUM: u16 = DIGIT | ALPHA;
pub(super) const WORD: u16 = ALNUM | UNDERSCORE;
pub(super) const URL64: u16 = WORD | DASH;
pub(super) const BASE64: u16 = ALNUM | BASE64_MARK;
pub(super) const DOTTED: u16 = URL64 | DOT;
/// The bytes that keys and hashes consist of.
pub(super) const WIDE: u16 = DOTTED | BASE64_MARK | MARK;
const BLANK: u16 = SPACE | STOP;

const fn class_of(byte: u8) -> u16 {
    let kind = match byte {
        b'0'..=b'9' => DIGIT,
        b'a'..=b'f' => HEX_LOWER,
        b'g'..=b'z' => REST_LOWER,
        b'A'..=b'F' => HEX_UPPER,
        b'G'..=b'Z' => REST_UPPER,
        b'_' => UNDERSCORE,
        b'-' => DASH,
        b'.' => DOT,
        b'+' | b'/' | b'=' | b'%' => BASE64_MARK,
        b'~' | b'$' => MARK,
        b' ' | b'\t' => BLANK,
        0..=0x1f | 0x7f | b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b'&' | b'<' | b')' | b'}' => STOP,
        _ => 0,
    };
    let trigger = if matches!(byte, b'=' | b':' | b'-' | b'w' | b'W' | b'~' | b'$') { TRIGGER } else { 0 };
    let begin = if byte.is_ascii_alphanumeric() || byte >= 0xc3 || matches!(byte, b'(' | b'<') { BEGIN } else { 0 };
    kind | trigger | begin
}

static CLASS: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = class_of(byte as u8);
        byte += 1;
    }
    table
};

#[inline]
pub(super) const fn is(byte: u8, class: u16) -> bool {
    CLASS[byte as usize] & class != 0
}

/// A text with a floor that no look back crosses.
pub(super) struct Text<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) floor: usize,
    /// The end of the last bare value that was judged and kept. No value is judged twice, however many names and
    /// operators it contains.
    pub(super) judged_end: Cell<usize>,
    /// The same for the last key that was a placeholder.
    pub(super) placeholder_end: Cell<usize>,
    /// What looks cost besides the usual, in bytes of text.
    spent: Cell<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn of(text: &'a str) -> Text<'a> {
        let (judged_end, placeholder_end) = (Cell::new(0), Cell::new(0));
        Text { bytes: text.as_bytes(), floor: 0, judged_end, placeholder_end, spent: Cell::new(0) }
    }

    /// Notes that a look costs more than others.
    pub(super) fn spend(&self, bytes: usize) {
        self.spent.set(self.spent.get() + bytes);
    }

    /// What looks have cost since this was asked last.
    pub(super) fn take_spent(&self) -> usize {
        self.spent.take()
    }

    /// The byte at `at`; a line break past the end.
    #[inline]
    pub(super) fn at(&self, at: usize) -> u8 {
        #[cfg(test)]
        steps::add(1);
        self.bytes.get(at).copied().unwrap_or(b'\n')
    }

    /// The bytes from `at` on; line breaks past the end.
    #[inline]
    pub(super) fn head<const N: usize>(&self, at: usize) -> [u8; N] {
        #[cfg(test)]
        steps::add(N);
        match self.bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(head) => *head,
            None => std::array::from_fn(|offset| self.at(at + offset)),
        }
    }

    /// The byte before `at`: a line break at the very start, the closing bracket after a cut.
    #[inline]
    pub(super) fn before(&self, at: usize) -> u8 {
        if at > self.floor {
            self.at(at - 1)
        } else if at == 0 {
            b'\n'
        } else {
            b']'
        }
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        #[cfg(test)]
        steps::add(end.min(self.bytes.len()).saturating_sub(start));
        self.bytes.get(start..end.min(self.bytes.len())).unwrap_or_default()
    }

    /// Do these bytes contain a cut from an earlier pass? Then they were decided there.
    pub(super) fn holds_cut(&self, start: usize, end: usize) -> bool {
        const MARK: &[u8] = super::MARK.as_bytes();
        let window = self.slice(start, end.saturating_add(MARK.len()));
        let begins = |at: usize| window[at] == MARK[0] && window[at..].starts_with(MARK);
        (0..window.len()).any(begins)
    }

    pub(super) fn starts_with(&self, at: usize, word: &[u8]) -> bool {
        self.slice(at, at + word.len()) == word
    }

    /// The end of the run of `class` that starts at `from`, looking no further than `limit` bytes.
    pub(super) fn run(&self, from: usize, class: u16, limit: usize) -> usize {
        self.scan(from, limit, |byte| is(byte, class))
    }

    /// The end of the unquoted value that starts at `from`.
    pub(super) fn until_stop(&self, from: usize, limit: usize) -> usize {
        self.scan(from, limit, |byte| !is(byte, STOP))
    }

    /// The end of the bytes from `from` that are `wanted`, looking no further than `limit` bytes.
    pub(super) fn scan(&self, from: usize, limit: usize, wanted: impl Fn(u8) -> bool) -> usize {
        let window = self.bytes.get(from..from.saturating_add(limit).min(self.bytes.len())).unwrap_or_default();
        let length = window.iter().position(|&byte| !wanted(byte)).unwrap_or(window.len());
        #[cfg(test)]
        steps::add(length);
        from + length
    }

    /// The start of the run of `class` that ends before `end`, at most `limit` bytes back.
    pub(super) fn run_back(&self, end: usize, class: u16, limit: usize) -> usize {
        self.scan_back(end, limit, |byte| is(byte, class))
    }

    /// The start of the bytes before `end` that are `wanted`, at most `limit` bytes back.
    pub(super) fn scan_back(&self, end: usize, limit: usize, wanted: impl Fn(u8) -> bool) -> usize {
        let lowest = end.saturating_sub(limit).max(self.floor);
        let mut start = end;
        while start > lowest && wanted(self.at(start - 1)) {
            start -= 1;
        }
        start
    }

    /// At most `limit` bytes that end before `end`, none of them before the floor.
    pub(super) fn back(&self, end: usize, limit: usize) -> &'a [u8] {
        self.slice(end.saturating_sub(limit).max(self.floor), end)
    }

    pub(super) fn skip_spaces(&self, from: usize) -> usize {
        self.run(from, SPACE, 32)
    }

    pub(super) fn skip_spaces_back(&self, end: usize) -> usize {
        self.run_back(end, SPACE, 32)
    }
}

/// How many bytes the rules touched, so that tests can tell linear from quadratic work without a clock.
#[cfg(test)]
pub(super) mod steps {
    use std::cell::Cell;

    thread_local!(static STEPS: Cell<usize> = const { Cell::new(0) });

    pub(in super::super) fn add(count: usize) {
        STEPS.with(|steps| steps.set(steps.get() + count));
    }

    pub(in super::super) fn take() -> usize {
        STEPS.with(|steps| steps.replace(0))
    }
}
