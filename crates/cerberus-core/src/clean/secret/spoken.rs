//! Secrets that words announce: sentences in several languages, commands, calls, codes for scanners.
//!
//! Looks at the beginning of every word once; what follows is bounded.

use super::Cut;
use super::places::{Cue, SAID, SECOND};
use super::position::{Command, command_at, next_password};
use super::sentence::{
    self, KEY_SAID, PASSWORD_SAID, SEED_SAID, VAGUE_SAID, after, alone, bearer, before, identified, login,
};
use super::text::{ALNUM, DIGIT, Text, is};
use super::{call, grid, numbers};
use crate::clean::code::code_end;

/// How many programs inside a command are looked at: `sudo docker exec db mysql -px`.
const NESTED_MAX: usize = 5;
/// The secrets of a text that words announce, from left to right.
pub(super) struct Passwords<'a> {
    text: Text<'a>,
    at: usize,
    command: Option<Command>,
    /// No command that was read goes on beyond this, and how many began inside another.
    command_end: usize,
    nested: usize,
    /// Further secrets of the last place, the next one last, and where that place ends.
    listed: Vec<Cut>,
    listed_end: usize,
}

impl<'a> Passwords<'a> {
    pub(super) fn of(text: &'a str) -> Passwords<'a> {
        Passwords {
            text: Text::of(text),
            at: 0,
            command: None,
            command_end: 0,
            nested: 0,
            listed: Vec::new(),
            listed_end: 0,
        }
    }

    fn take(&mut self, cut: Cut) -> Option<Cut> {
        self.at = cut.end.max(self.at);
        self.text.floor = self.at;
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
            let at = self.text.scan(self.at, usize::MAX, |byte| !FIRST[usize::from(byte)]);
            let byte = *self.text.bytes.get(at)?;
            self.at = at + 1;
            if is_letter(self.text.before(at))
                && byte < 0xc3
                && !matches!(byte, b'(' | b'<')
                && !is_escaped(&self.text, at)
            {
                continue;
            }
            // A code of our own that is written with blanks.
            if self.text.at(at + 5) == b' '
                && let Some(end) = code_end(self.text.bytes, at)
            {
                return self.take(Cut { name: "cerberus-code", start: at, end });
            }
            let is_word = SECOND[usize::from(byte)] >> (self.text.at(at + 1) % 32) & 1 == 1;
            let is_number = matches!(byte, b'3'..=b'6' | b'A'..=b'Z') && is(self.text.at(at + 2), DIGIT);
            if !is_word && !is_number && !matches!(byte, b'(' | b'<') {
                continue;
            }
            let found = self.command_from(at, byte).or_else(|| self.announced(at, byte));
            if let Some(cut) = found {
                return self.take(cut);
            }
        }
    }
}

impl Passwords<'_> {
    /// The first secret of the command whose program is named at `at`.
    fn command_from(&mut self, at: usize, byte: u8) -> Option<Cut> {
        if byte >= 0x80 || !is(byte, ALNUM) {
            return None;
        }
        if at >= self.command_end {
            self.nested = 0;
        } else if self.nested == NESTED_MAX {
            return None;
        }
        let command = command_at(&self.text, at)?;
        self.nested += 1;
        self.command_end = self.command_end.max(command.end);
        self.command = Some(command);
        self.in_command()
    }

    /// The secret that the word at `at` announces.
    fn announced(&mut self, at: usize, byte: u8) -> Option<Cut> {
        let text = &self.text;
        match byte {
            b'(' => return call::named(text, at),
            b'<' => return call::element(text, at),
            b'3'..=b'6' => return numbers::card(text, at).or_else(|| call::password_file(text, at)),
            b'A'..=b'Z' if is(text.at(at + 2), DIGIT) => {
                if let Some(cut) = numbers::iban(text, at) {
                    return Some(cut);
                }
            }
            _ => {}
        }
        if let Some(cut) = call::arguments(text, at).or_else(|| call::scan_code(text, at)) {
            return Some(cut);
        }
        let (end, cue) = cue_at(text, at)?;
        match cue {
            Cue::Password => after(text, end, PASSWORD_SAID)
                .or_else(|| alone(text, end))
                .or_else(|| before(text, at, end))
                .or_else(|| self.list(at, grid::column(&self.text, at, end, grid::Cells::Any))),
            Cue::Pin => after(text, end, PASSWORD_SAID)
                .filter(|cut| text.slice(cut.start, cut.end).iter().all(u8::is_ascii_digit)),
            Cue::Key => after(text, end, KEY_SAID)
                .or_else(|| before(text, at, end))
                .or_else(|| self.list(at, grid::column(&self.text, at, end, grid::Cells::WithDigits))),
            Cue::Vague => after(text, end, VAGUE_SAID),
            Cue::Seed => after(text, end, SEED_SAID).map(|cut| grid::grouped(text, cut)),
            Cue::Codes => self.list(at, grid::codes(text, end)),
            Cue::Login => login(text, end),
            Cue::Bearer => bearer(text, end),
            Cue::Pass => sentence::pass(text, at, end),
            Cue::Phrase => numbers::seed_phrase(text, end),
            Cue::Number => numbers::social_security(text, end),
            Cue::By => identified(text, at, end),
            Cue::Values => self.list(at, grid::values(text, at, end)),
            Cue::Form => grid::form(text, end),
        }
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

/// The bytes that cues, programs, calls, card numbers and IBANs begin with.
const FIRST: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0);
    while byte < 256 {
        table[byte] = SECOND[byte] != 0;
        // A code of our own may begin with any letter or digit.
        table[byte] |= (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'(' | b'<');
        byte += 1;
    }
    table
};

/// Does a word begin here after an escape of an address: `%3Ftoken%3Dx`?
fn is_escaped(text: &Text, at: usize) -> bool {
    matches!(text.back(at, 3), [b'%', _, _])
}

pub(super) const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The longest cue that begins at `at`, and its end.
fn cue_at(text: &Text, at: usize) -> Option<(usize, Cue)> {
    let first = text.at(at).to_ascii_lowercase();
    let second = text.at(at + 1).to_ascii_lowercase();
    let begins = |cue: &str| cue.as_bytes()[0] == first && cue.as_bytes()[1] == second;
    let known = |(cue, _): &&(&str, Cue)| begins(cue) && is_said(text.slice(at, at + cue.len()), cue);
    let (cue, sort) = SAID.iter().filter(known).max_by_key(|(cue, _)| cue.len())?;
    let end = at + cue.len();
    let is_whole = cue.as_bytes()[0] >= 0xe0 || !is_letter(text.at(end));
    is_whole.then_some((end, *sort))
}

/// Is this the word of the table, in which `_` is a blank or a dash?
pub(super) fn is_said(said: &[u8], word: &str) -> bool {
    let same = |(byte, wanted): (&u8, u8)| match wanted {
        b'_' => matches!(byte, b' ' | b'-' | b'_'),
        _ => byte.to_ascii_lowercase() == wanted,
    };
    said.len() == word.len() && (said.iter().zip(word.bytes()).all(same) || said == word.as_bytes())
}

#[cfg(test)]
mod tests;
