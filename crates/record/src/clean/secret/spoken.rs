//! Secrets that words announce: sentences in several languages, commands, calls, codes for scanners.
//!
//! Looks at the beginning of every word once; what follows is bounded.

use std::ops::Range;

use super::Cut;
use super::owed::Owed;
use super::places::{CALL, CODE, CUE, HEAD_BYTES, PROGRAM, SecretCue, begins};
use super::position::{CommandReading, command_at, next_password};
use super::sentence::{self, KEY_SAID, PASSWORD_SAID, SEED_SAID, VAGUE_SAID, after, alone};
use super::text::{ALNUM, BEGIN, DIGIT, Text, is};
use super::words::{cue_at, is_letter};
use super::written::is_quote;
use super::{call, grid, near, numbers, pair, pin, printed, shape};
use crate::clean::code::code_end;

/// What a word that announces something costs to look at, in bytes read, and how much of this may be owed. All bytes of a
/// command count. Where there is more for long, as only in hostile text, some words are passed over.
const LOOK_BYTES: usize = 192;
const AHEAD_BYTES: usize = 96 * 1024;

/// The secrets of a text that words announce, from left to right.
pub(super) struct Passwords<'a> {
    text: Text<'a>,
    at: usize,
    /// No word is looked at from here on.
    end: usize,
    /// How far all looks so far would reach, one after the other.
    looked: usize,
    owed: Owed,
    command: Option<CommandReading>,
    /// Further secrets of the last place, the next one last, and where that place ends.
    listed: Vec<Cut>,
    listed_end: usize,
}

impl<'a> Passwords<'a> {
    /// Those that a word in this stretch of the text announces.
    pub(super) fn of(text: &'a str, stretch: Range<usize>) -> Passwords<'a> {
        Passwords {
            text: Text::of(text),
            at: stretch.start,
            end: stretch.end,
            looked: 0,
            owed: Owed::default(),
            command: None,
            listed: Vec::new(),
            listed_end: 0,
        }
    }

    fn take(&mut self, cut: Cut) -> Option<Cut> {
        let cut = self.owed.settled(&self.text, cut, self.looked);
        self.listed.retain(|next| next.start >= cut.end);
        self.command = self.command.filter(|command| cut.end < command.end);
        self.at = cut.end.max(self.at);
        (self.text.floor, self.looked) = (self.at, self.at);
        self.text.take_spent();
        Some(cut)
    }

    /// The next secret of the command that is being read; later words of it are then searched too.
    fn in_command(&mut self) -> Option<Cut> {
        let mut command = self.command?;
        let cut = next_password(&self.text, &mut command);
        self.command = cut.map(|_| command);
        cut
    }
}

impl Iterator for Passwords<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        if let Some(cut) = self.listed.pop() {
            return self.take(cut);
        }
        if let Some(cut) = self.in_command() {
            return self.take(cut);
        }
        loop {
            let at = next_word(&self.text, self.at).filter(|&at| at < self.end)?;
            self.at = at + 1;
            // A code of our own that is written with blanks.
            if self.text.at(at + 5) == b' '
                && let Some(end) = code_end(self.text.bytes, at)
            {
                return self.take(Cut { name: "cerberus-code", start: at, end });
            }
            if let Some(cut) = self.look(at) {
                return self.take(cut);
            }
            self.at = past_word(&self.text, at);
        }
    }
}

impl Passwords<'_> {
    /// The secret that the word, the number or the bracket at `at` announces.
    #[inline]
    fn look(&mut self, at: usize) -> Option<Cut> {
        let text = &self.text;
        let head: [u8; HEAD_BYTES] = text.head(at);
        let [first, second, third, ..] = head;
        let may_be = begins(&head);
        let is_number = matches!(first, b'3'..=b'6' | b'A'..=b'Z') && is(third, DIGIT);
        let before = text.before(at);
        let is_open = match first {
            b'(' => is_quote(second) || is(second, ALNUM) || matches!(second, b' ' | b'\n' | b'['),
            b'<' => is(second, ALNUM),
            _ => matches!(before, b'@' | b':') && matches!(text.back(at, 2), [_, b'@'] | b"*:"),
        };
        let is_apart = matches!(before, b' ' | b'\n') || is_quote(before);
        let is_beside = is_apart && pair::may_begin(text, at);
        let is_printed = is_apart && printed::may_be(text, at);
        if (may_be == 0 && !is_number && !is_open && !is_beside && !is_printed) || self.looked > at + AHEAD_BYTES {
            return None;
        }
        let found = match first {
            b'(' => call::named(text, at),
            b'<' => call::element(text, at),
            _ if is_open && before == b'@' => shape::driver_address(text, at),
            _ if is_open => call::password_file(text, at),
            _ if is_number => self.number(at, first),
            _ if is_beside => pair::beside(text, at),
            _ => None,
        };
        let found = found.or_else(|| if is_printed { printed::word(text, at) } else { None });
        if found.is_some() {
            return found;
        }
        self.looked = match self.text.take_spent() {
            0 => self.looked,
            spent => self.looked.max(at) + spent,
        };
        self.announced(at, may_be)
    }

    /// Notes that something was looked at.
    fn charge(&mut self, at: usize, bytes: usize) {
        self.looked = self.looked.max(at) + bytes + self.text.take_spent();
    }

    fn number(&self, at: usize, first: u8) -> Option<Cut> {
        match first {
            b'A'..=b'Z' => numbers::iban(&self.text, at),
            _ => numbers::card(&self.text, at).or_else(|| call::password_file(&self.text, at)),
        }
    }

    /// The first secret of the command whose program is named at `at`.
    fn command_from(&mut self, at: usize) -> Option<Cut> {
        let command = command_at(&self.text, at)?;
        self.command = Some(command);
        let cut = self.in_command();
        self.charge(at, command.end - at);
        cut
    }

    /// The secret that the word at `at` announces, if it is what it may be.
    fn announced(&mut self, at: usize, may_be: u8) -> Option<Cut> {
        if may_be & PROGRAM != 0
            && let Some(cut) = self.command_from(at)
        {
            return Some(cut);
        }
        if may_be & CALL != 0
            && let Some(end) = call::function_end(&self.text, at)
        {
            self.charge(at, LOOK_BYTES);
            if let Some(cut) = call::arguments(&self.text, at, end) {
                return Some(cut);
            }
        }
        if may_be & CODE != 0
            && let Some(code) = call::code_at(&self.text, at)
        {
            self.charge(at, 2 * LOOK_BYTES);
            if let Some(cut) = call::scanned(&self.text, at, code) {
                return Some(cut);
            }
        }
        let (end, cue) = if may_be & CUE != 0 { cue_at(&self.text, at)? } else { return None };
        // In a table, the lines around it are read too.
        let is_cell = self.text.at(end) == b' ' && matches!(self.text.at(end + 1), b' ' | b'|');
        self.charge(at, if is_cell { 4 * LOOK_BYTES } else { LOOK_BYTES });
        let text = &self.text;
        match cue {
            SecretCue::Password => after(text, at, end, PASSWORD_SAID)
                .or_else(|| alone(text, at, end))
                .or_else(|| grid::beside_blanks(text, at, end, grid::SecretCells::Any))
                .or_else(|| near::before(text, at, end))
                .or_else(|| near::after(text, end))
                .or_else(|| self.column(at, end, grid::SecretCells::Any)),
            SecretCue::Pin => pin::number(text, at, end),
            SecretCue::Key => after(text, at, end, KEY_SAID)
                .or_else(|| sentence::alone_as(text, at, end, KEY_SAID))
                .or_else(|| grid::beside_blanks(text, at, end, grid::SecretCells::WithDigits))
                .or_else(|| near::before(text, at, end))
                .or_else(|| self.column(at, end, grid::SecretCells::WithDigits)),
            SecretCue::Vague if sentence::is_of_network(text, at) => {
                after(text, at, end, PASSWORD_SAID).or_else(|| alone(text, at, end))
            }
            SecretCue::Vague => after(text, at, end, VAGUE_SAID),
            SecretCue::Seed => after(text, at, end, SEED_SAID).map(|cut| grid::grouped(text, cut)),
            SecretCue::Codes => self.list(at, grid::codes(text, end)),
            SecretCue::Login => near::login(text, end),
            SecretCue::Bearer => near::bearer(text, end),
            SecretCue::User => near::beside_user(text, end),
            SecretCue::Pass => sentence::pass(text, at, end).or_else(|| self.column(at, end, grid::SecretCells::Any)),
            SecretCue::Phrase => numbers::seed_phrase(text, end),
            SecretCue::Number => numbers::social_security(text, end),
            SecretCue::By => grid::identified(text, at, end),
            SecretCue::Data => self.list(at, grid::data(text, at, end)),
            SecretCue::Values => self.list(at, grid::values(text, at, end)),
            SecretCue::Form => grid::form(text, end),
            SecretCue::Send => call::answer(text, at, end),
        }
    }

    /// The first secret below the heading from `at` to `end`.
    fn column(&mut self, at: usize, end: usize, cells: grid::SecretCells) -> Option<Cut> {
        if at < self.listed_end {
            return None;
        }
        let (cuts, read) = grid::column(&self.text, at, end, cells);
        self.charge(at, read - at);
        self.list(at, cuts)
    }

    /// Keeps all but the first of several secrets for later. A place is read once.
    fn list(&mut self, at: usize, mut cuts: Vec<Cut>) -> Option<Cut> {
        if at < self.listed_end {
            return None;
        }
        cuts.reverse();
        let first = cuts.pop();
        self.listed_end = cuts.first().or(first.as_ref()).map_or(self.listed_end, |cut| cut.end);
        self.listed = cuts;
        first
    }
}

/// Where the next word may begin after the one at `at`: behind its letters, except where an escape may be among them.
#[inline]
fn past_word(text: &Text, at: usize) -> usize {
    let is_plain = is(text.at(at), ALNUM) && text.before(at) != b'%' && text.before(at.saturating_sub(1)) != b'%';
    if is_plain { text.run(at, ALNUM, usize::MAX) } else { at + 1 }
}

/// Where the next word or bracket is, from `from` on.
#[inline]
fn next_word(text: &Text, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = text.scan(at, usize::MAX, |byte| !is(byte, BEGIN));
        // A word also begins after an escape of an address: `%3Ftoken%3Dx`.
        let is_escaped = || matches!(text.back(at, 3), [b'%', _, _]);
        // And after an escaped line break: `printf "user bob\npassword x\n"`.
        let is_break =
            || text.before(at) == b'\\' && matches!(text.at(at), b'n' | b't' | b'r') && is_letter(text.at(at + 1));
        if !is(*text.bytes.get(at)?, ALNUM) || !is_letter(text.before(at)) || is_escaped() {
            return Some(at + usize::from(is_break()));
        }
        at = if text.back(at, 2).first() == Some(&b'%') { at + 1 } else { text.run(at, ALNUM, usize::MAX) };
    }
}

#[cfg(test)]
mod tests;
