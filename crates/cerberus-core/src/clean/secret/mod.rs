//! Secrets are cut before anything is written.
//!
//! [`Cleaner::redact`](super::Cleaner::redact) is the one door: total, linear in its input. Known formats and telling names are a table
//! (`rules.txt`, read by `table` when the program is compiled), to which the user may add (`own`);
//! the rest comes from what stands around a value (`assign`, `flag`, `shape`), what its name
//! announces (`key`) and how random it looks (`value`).
//!
//! Invariants: text without a secret is borrowed and nothing is allocated; redacting twice equals
//! redacting once; the name and everything around a secret stay. Never reads a clock, a file or
//! the environment, and keeps nothing of what it cut.

mod assign;
mod flag;
mod key;
mod own;
mod rules;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod value;

use std::borrow::Cow;
use std::ops::Range;

pub use own::Own;
use text::{ALNUM, LOWER, TRIGGER, Text, WIDE, is};

/// A secret: what found it and where it lies, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cut {
    name: &'static str,
    start: usize,
    end: usize,
}

/// What stands in the place of a secret, up to its sort.
const MARK: &str = "[redacted:";

/// A cut can lay bare another secret beside it, so what lies around cuts is looked at again. What people write needs
/// one look more; the limit keeps what an attacker writes linear.
const PASSES: usize = 8;
/// No look reaches further, but for those that end in a cut.
const AROUND_BYTES: usize = 1024;

/// The text with every secret replaced by `[redacted:NAME]`.
pub(super) fn redact_with<'a>(text: &'a str, own: Option<&Own>) -> Cow<'a, str> {
    let by_own = own.and_then(|own| own.pass(text));
    let given = by_own.as_deref().unwrap_or(text);
    let Some(mut out) = pass(given, own, Cuts::of(given, 0..given.len())) else {
        return by_own.map_or(Cow::Borrowed(text), Cow::Owned);
    };
    for _ in 1..PASSES {
        let around = around_marks(&out).flat_map(|stretch| Cuts::of(&out, stretch));
        match pass(&out, own, around) {
            Some(next) => out = next,
            None => break,
        }
    }
    Cow::Owned(out)
}

/// The stretches of a text that lie around the marks in it, none overlapping.
fn around_marks(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut marks = text.match_indices(MARK).map(|(at, _)| at).peekable();
    let mut last = 0;
    std::iter::from_fn(move || {
        let first = marks.next()?;
        let start = first.saturating_sub(AROUND_BYTES).max(last);
        let mut end = first + AROUND_BYTES;
        while let Some(next) = marks.next_if(|next| *next <= end) {
            end = next + AROUND_BYTES;
        }
        last = end.min(text.len());
        Some(start..last)
    })
}

/// What sorts of secrets were cut from a text, by what stands in their place.
pub fn kinds(redacted: &str) -> impl Iterator<Item = &str> {
    redacted.split(MARK).skip(1).filter_map(|rest| Some(rest.split_once(']')?.0))
}

/// The text without these secrets, but for those that the user allows; `None` when there are none.
fn pass(text: &str, own: Option<&Own>, cuts: impl Iterator<Item = Cut>) -> Option<String> {
    let mut cuts = cuts.filter(|cut| own.is_none_or(|own| !own.allows(covered(text, cut))));
    let first = cuts.next()?;
    Some(replaced(text, std::iter::once(first).chain(cuts)))
}

fn covered<'t>(text: &'t str, cut: &Cut) -> &'t str {
    &text[text.floor_char_boundary(cut.start)..text.ceil_char_boundary(cut.end)]
}

/// The text with a mark in the place of every cut.
fn replaced(text: &str, cuts: impl Iterator<Item = Cut>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for cut in cuts {
        // One that reaches beyond its stretch may meet the next.
        if cut.start < kept {
            continue;
        }
        // Cuts end at ASCII bytes, except where a limit ended the look ahead.
        out.push_str(&text[kept..text.floor_char_boundary(cut.start).max(kept)]);
        out.push_str(MARK);
        out.push_str(cut.name);
        out.push(']');
        kept = text.ceil_char_boundary(cut.end);
    }
    out.push_str(&text[kept..]);
    out
}

/// The cuts of a text, from left to right, none overlapping.
struct Cuts<'a> {
    text: Text<'a>,
    /// Where to stop looking.
    end: usize,
    /// All before it was passed over or looked at.
    at: usize,
    /// All before it was searched for keys, not only for triggers.
    searched: usize,
}

impl Iterator for Cuts<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        let (words, rest) = self.text.bytes.get(self.at..self.end)?.as_chunks::<WORD_BYTES>();
        let mut at = self.at;
        let mut filled = true;
        for word in words {
            let seen = glance(word);
            if seen & (TRIGGERS | BREAKS) != BREAKS
                && let Some(cut) = self.look(at, word, seen, filled)
            {
                return self.take(cut);
            }
            filled = seen & BREAKS == 0;
            at += WORD_BYTES;
        }
        let mut last = [b'\n'; WORD_BYTES];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.at = self.end;
        let cut = self.look(at, &last, glance(rest), filled)?;
        self.take(cut)
    }
}

impl<'a> Cuts<'a> {
    fn of(text: &'a str, stretch: Range<usize>) -> Cuts<'a> {
        Cuts { text: Text::of(text), end: stretch.end, at: stretch.start, searched: stretch.start }
    }

    /// Looks closer at the word at `at`; `filled` tells whether the one before it has no break.
    #[inline]
    fn look(&mut self, at: usize, word: &[u8; WORD_BYTES], seen: u8, filled: bool) -> Option<Cut> {
        if seen & BREAKS == 0 && (filled || seen & SMALL == 0) && self.in_run(at) {
            return self.search(at);
        }
        for (offset, &byte) in word.iter().enumerate() {
            if GLANCE[usize::from(byte)] & TRIGGERS != 0
                && self.is_promising(at + offset, byte)
                && let Some(cut) = self.triggered(at + offset, byte)
            {
                return Some(cut);
            }
        }
        None
    }

    /// Can this trigger give anything away? Most in code are settled by the bytes beside them. Never wrong when it says no.
    #[inline]
    fn is_promising(&self, at: usize, byte: u8) -> bool {
        let before = self.text.before(at);
        match byte {
            // The second byte of `:=` and `==` was seen with the first.
            b'=' => !matches!(before, b'=' | b':') && assign::may_be_named(&self.text, at),
            b':' => match self.text.at(at + 1) {
                b':' => false,
                b'/' | b'A' => true,
                _ => before != b':' && assign::may_be_named(&self.text, at),
            },
            // Inside a line of dashes only its ends tell something.
            b'-' => !is(before, ALNUM) && (before != b'-' || self.text.at(at + 1) != b'-'),
            _ => before | 0x20 == b's',
        }
    }

    fn take(&mut self, cut: Cut) -> Option<Cut> {
        (self.text.floor, self.at, self.searched) = (cut.end, cut.end, cut.end);
        Some(cut)
    }

    /// The secret which the trigger byte at `at` gives away.
    #[inline(never)]
    fn triggered(&self, at: usize, byte: u8) -> Option<Cut> {
        let text = &self.text;
        match (byte, text.at(at + 1)) {
            (b'=', _) => assign::assignment(text, at),
            (b':', b'/') => shape::address(text, at).or_else(|| assign::assignment(text, at)),
            (b':', _) => shape::telegram(text, at).or_else(|| assign::assignment(text, at)),
            (b'-', b'-') => shape::key_block(text, at),
            (b'-', _) => flag::flag(text, at),
            (b'~', _) => shape::azure_secret(text, at),
            (b'$', _) => shape::password_hash(text, at),
            _ => flag::password_word(text, at),
        }
    }

    /// Is the word at `at` inside a run that is long enough for a key?
    fn in_run(&self, at: usize) -> bool {
        self.searched == at || {
            let end = self.text.run(at, WIDE, KEY_BYTES);
            end >= at + WORD_BYTES && end - self.text.run_back(at, WIDE, KEY_BYTES) >= KEY_BYTES
        }
    }

    /// Looks at triggers and at the beginnings of words, from the start of the run around the
    /// word at `at` to the end of that word.
    #[inline(never)]
    fn search(&mut self, at: usize) -> Option<Cut> {
        let start = self.text.run_back(at, WIDE, 3 * WORD_BYTES).max(self.searched).min(at);
        self.searched = at + WORD_BYTES;
        let mut last = self.text.before(start);
        self.text.slice(start, self.searched).iter().enumerate().find_map(|(offset, &byte)| {
            let at = start + offset;
            let begins = is(byte, ALNUM) && !is(last, text::WORD);
            last = byte;
            let promising = is(byte, TRIGGER) && (matches!(byte, b'~' | b'$') || self.is_promising(at, byte));
            let found = if promising { self.triggered(at, byte) } else { None };
            found.or_else(|| {
                if begins { rules::key_at(&self.text, at).or_else(|| assign::argument(&self.text, at)) } else { None }
            })
        })
    }
}

const WORD_BYTES: usize = 8;
/// No key of a known format is shorter. It fills two words in a row wherever it lies, unless it
/// is one of 20 capitals and digits, which fills one.
const KEY_BYTES: usize = 20;

/// What a word shows at a glance; plain text is passed over with this alone.
const TRIGGERS: u8 = 1;
/// A byte that cannot be part of a key.
const BREAKS: u8 = 2;
/// A small letter.
const SMALL: u8 = 4;

const GLANCE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        // `~` and `$` only tell something inside a long run.
        if is(byte as u8, TRIGGER) && byte as u8 != b'~' && byte as u8 != b'$' {
            table[byte] |= TRIGGERS;
        }
        if !is(byte as u8, WIDE) {
            table[byte] |= BREAKS;
        }
        if is(byte as u8, LOWER) {
            table[byte] |= SMALL;
        }
        byte += 1;
    }
    table
};

#[inline]
fn glance(word: &[u8]) -> u8 {
    word.iter().fold(0, |seen, &byte| seen | GLANCE[usize::from(byte)])
}
