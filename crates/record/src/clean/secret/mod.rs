//! Removes secrets before anything is stored.
//!
//! [`Cleaner::redact`](super::Cleaner::redact) is the only entry point; it accepts any text and is linear in its
//! length. Known formats and names are in a table (`rules.txt`, parsed by `table` at compile time), which the user can
//! extend (`own`). The rest is decided from the context of a value (`assign`, `indirect`, `flag`, `shape`), what its name
//! announces (`key`) and whether it is a placeholder (`value`). In words, as opposed to names and ids, secrets are also
//! cut by their place (`places.txt`, read by `places`): in a sentence (`spoken`, `sentence`, `near`, `said`, `pin`), a command
//! (`position`), a call, an element or a code (`call`), beside a name (`pair`), below a command that prints it (`printed`), a column or a list (`grid`). Where nothing announces it, a token is cut by its
//! look alone (`opaque`). Card and account numbers are recognised by their check digits (`numbers`).
//!
//! Invariants: text without a secret is borrowed and nothing is allocated; redacting twice equals redacting once; the
//! name of a secret and everything around it are kept. Never reads a clock, a file or the environment, and keeps
//! nothing of what it removed.

mod announced;
mod assign;
mod call;
mod cut;
mod flag;
mod grid;
mod indirect;
mod invisible;
mod key;
mod near;
mod numbers;
mod opaque;
mod owed;
mod own;
mod pair;
mod pairs;
mod pin;
mod places;
mod position;
mod printed;
mod rules;
mod said;
mod sentence;
mod shape;
mod spoken;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod value;
mod words;
mod written;

use std::borrow::Cow;
use std::ops::Range;

use cut::{AROUND_BYTES, Cut, MARK, covered, replaced};
use owed::Owed;
pub use own::UserRules;
use text::{ALNUM, DIGIT, LOWER, TRIGGER, Text, WIDE, is};

/// A cut can expose another secret beside it, so the text around cuts is checked again. Ordinary text needs one more
/// pass; the limit keeps hostile text linear.
const PASSES: usize = 8;
/// What a trigger that reveals nothing costs, in bytes of text, and how much of this may be owed. Where there is more for
/// long, as only in hostile text, some triggers are passed over.
const LOOK_BYTES: usize = 16;
const AHEAD_BYTES: usize = 16 * 1024;

/// The text with every secret and every random token replaced by `[redacted:NAME]`.
pub(super) fn redact_words<'a>(text: &'a str, own: Option<&UserRules>) -> Cow<'a, str> {
    let mut out = redact_with(text, own);
    for number in 1..PASSES {
        let spoken = pass(&out, own, stretches(&out, number).flat_map(|part| spoken::Passwords::of(&out, part)));
        let said = spoken.as_deref().unwrap_or(&out);
        let opaque = pass(said, own, stretches(said, number).flat_map(|part| opaque::OpaqueTokens::of(said, part)));
        let Some(next) = opaque.or(spoken) else { break };
        let by_own = own.and_then(|own| own.pass(&next));
        out = Cow::Owned(redact_around(by_own.unwrap_or(next), own));
    }
    match invisible::without_invisible(text) {
        // A key that invisible characters split is only found without them.
        Some(plain) => match redact_words(&plain, own) {
            Cow::Owned(redacted) if kinds(&redacted).count() > kinds(&out).count() => Cow::Owned(redacted),
            _ => out,
        },
        None => out,
    }
}

/// The text with every secret that a rule knows replaced by `[redacted:NAME]`.
pub(super) fn redact_with<'a>(text: &'a str, own: Option<&UserRules>) -> Cow<'a, str> {
    let by_own = own.and_then(|own| own.pass(text));
    let given = by_own.as_deref().unwrap_or(text);
    match pass(given, own, Cuts::of(given, 0..given.len())) {
        Some(out) => Cow::Owned(redact_around(out, own)),
        None => by_own.map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// The text with what its cuts exposed replaced too.
fn redact_around(mut out: String, own: Option<&UserRules>) -> String {
    for _ in 1..PASSES {
        let around = around_marks(&out).flat_map(|stretch| Cuts::of(&out, stretch));
        match pass(&out, own, around) {
            Some(next) => out = next,
            None => break,
        }
    }
    out
}

/// What a pass reads: the whole text the first time, then only what is around its marks.
fn stretches(text: &str, number: usize) -> impl Iterator<Item = Range<usize>> {
    let whole = (number == 1).then_some(0..text.len());
    whole.into_iter().chain(around_marks(text).filter(move |_| number > 1))
}

/// One word that is too short for a key, with nothing in it that announces a value. Most names in code are like this.
pub(super) fn is_short_name(text: &str) -> bool {
    let mut before = 0;
    text.len() < KEY_BYTES
        && text.bytes().all(|byte| {
            // Of these bytes, `w` alone is a trigger, in words like `passwd`.
            let is_trigger = is(byte, TRIGGER) && before | 0x20 == b's';
            before = byte;
            is(byte, text::WORD) && !is_trigger
        })
}

/// The ranges of a text around its marks, without overlaps.
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

/// The kinds of secrets that were removed from a text, read from their marks.
pub fn kinds(redacted: &str) -> impl Iterator<Item = &str> {
    redacted.split(MARK).skip(1).filter_map(|rest| Some(rest.split_once(']')?.0))
}

/// The kinds of secrets that were removed from `text` and were not already redacted in it.
pub fn kinds_of(redacted: &str, text: &str) -> Vec<String> {
    let mut found: Vec<String> = kinds(redacted).map(str::to_string).collect();
    for before in kinds(text) {
        if let Some(at) = found.iter().position(|kind| kind == before) {
            found.remove(at);
        }
    }
    found.sort();
    found
}

/// The text without these secrets, except those the user allows; `None` if there are none.
fn pass(text: &str, own: Option<&UserRules>, cuts: impl Iterator<Item = Cut>) -> Option<String> {
    let mut cuts = cuts.filter(|cut| own.is_none_or(|own| !own.allows(covered(text, cut))));
    let first = cuts.next()?;
    Some(replaced(text, std::iter::once(first).chain(cuts)))
}

/// The cuts of a text, from left to right, none overlapping.
struct Cuts<'a> {
    text: Text<'a>,
    /// Where to stop.
    end: usize,
    /// Everything before this was skipped or checked.
    at: usize,
    /// Everything before this was searched for keys, not only for triggers.
    searched: usize,
    /// How far all looks that revealed nothing would reach, one after the other.
    looked: usize,
    owed: Owed,
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
        Cuts {
            text: Text::of(text),
            end: stretch.end,
            at: stretch.start,
            searched: stretch.start,
            looked: 0,
            owed: Owed::default(),
        }
    }

    /// Checks the word at `at` closely; `filled` tells whether the previous word has no break.
    #[inline]
    fn look(&mut self, at: usize, word: &[u8; WORD_BYTES], seen: u8, filled: bool) -> Option<Cut> {
        if seen & BREAKS == 0 && (filled || seen & SMALL == 0) && self.in_run(at) {
            return self.search(at);
        }
        for (offset, &byte) in word.iter().enumerate() {
            if GLANCE[usize::from(byte)] & TRIGGERS != 0
                && self.is_promising(at + offset, byte)
                && let Some(cut) = self.revealed(at + offset, byte)
            {
                return Some(cut);
            }
        }
        None
    }

    /// Can this trigger reveal a secret? Most triggers in code are ruled out by the bytes beside them. No false
    /// negatives.
    #[inline]
    fn is_promising(&self, at: usize, byte: u8) -> bool {
        let before = self.text.before(at);
        match byte {
            // The second byte of `:=` and `==` was handled with the first.
            b'=' => !matches!(before, b'=' | b':') && assign::may_be_named(&self.text, at),
            b':' => match self.text.at(at + 1) {
                b':' => false,
                b'/' => true,
                b'A' if is(before, DIGIT) => true,
                _ => before != b':' && assign::may_be_named(&self.text, at),
            },
            // In a line of dashes only its ends matter.
            b'-' => !is(before, ALNUM) && (before != b'-' || self.text.at(at + 1) != b'-'),
            _ => before | 0x20 == b's',
        }
    }

    fn take(&mut self, cut: Cut) -> Option<Cut> {
        let cut = self.owed.settled(&self.text, cut, self.looked);
        self.looked = cut.end;
        (self.text.floor, self.at, self.searched) = (cut.end, cut.end, cut.end);
        Some(cut)
    }

    /// The same, where triggers do not stand closer for long than in any ordinary text.
    fn revealed(&mut self, at: usize, byte: u8) -> Option<Cut> {
        if self.looked > at + AHEAD_BYTES {
            return None;
        }
        let cut = self.triggered(at, byte);
        let spent = self.text.take_spent();
        if cut.is_none() {
            self.looked = self.looked.max(at) + LOOK_BYTES + spent;
        }
        cut
    }

    /// The secret that the trigger byte at `at` reveals.
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

    /// Checks triggers and the beginnings of words, from the start of the run around the word at `at` to the end of
    /// that word.
    #[inline(never)]
    fn search(&mut self, at: usize) -> Option<Cut> {
        let back = if self.searched == at { at } else { self.text.run_back(at, WIDE, 3 * WORD_BYTES) };
        let start = back.max(self.searched).min(at);
        self.searched = at + WORD_BYTES;
        let mut last = self.text.before(start);
        for (offset, &byte) in self.text.slice(start, self.searched).iter().enumerate() {
            let at = start + offset;
            let begins = is(byte, ALNUM) && !is(last, text::WORD);
            last = byte;
            let promising = is(byte, TRIGGER) && (matches!(byte, b'~' | b'$') || self.is_promising(at, byte));
            let mut found = if promising { self.revealed(at, byte) } else { None };
            if begins && found.is_none() {
                found = rules::key_at(&self.text, at).or_else(|| assign::argument(&self.text, at));
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// No card number or account number is shorter, and no random token.
pub(super) const NUMBER_BYTES: usize = 13;
const WORD_BYTES: usize = 8;
/// No key of a known format is shorter. It fills two consecutive words wherever it lies, except one of 20 capitals and
/// digits, which fills one.
const KEY_BYTES: usize = 20;

/// What one look at a word shows; plain text is skipped based on this alone.
const TRIGGERS: u8 = 1;
/// A byte that cannot be part of a key.
const BREAKS: u8 = 2;
/// A lower-case letter.
const SMALL: u8 = 4;

static GLANCE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        // `~` and `$` only matter inside a long run.
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
