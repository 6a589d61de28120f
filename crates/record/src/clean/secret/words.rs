//! Words of the tables of places: what names a secret, what links it to its value, what tells nothing.

use super::places::{SecretCue, links, ordinary, said};
use super::text::Text;

pub(super) const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The longest cue that begins at `at`, and its end.
pub(super) fn cue_at(text: &Text, at: usize) -> Option<(usize, SecretCue)> {
    let (second, third) = (text.at(at + 1).to_ascii_lowercase(), text.at(at + 2).to_ascii_lowercase());
    // Almost all cues already differ here.
    let may_be = |cue: &[u8]| {
        let last = text.at(at + cue.len() - 1).to_ascii_lowercase();
        cue[1] == second && cue.get(2).is_none_or(|&byte| byte == third || byte == b'_') && cue.last() == Some(&last)
    };
    let known = |(cue, _): &&(&str, SecretCue)| may_be(cue.as_bytes()) && is_said(text.slice(at, at + cue.len()), cue);
    let (cue, sort) = said(text.at(at).to_ascii_lowercase()).iter().find(known)?;
    let end = at + cue.len();
    // Words of scripts without blanks may have others behind them.
    let is_whole = cue.bytes().any(|byte| byte >= 0xe0) || !is_letter(text.at(end)) || text.at(end) >= 0xe3;
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

/// Is this the word for a secret in some language?
pub(super) fn names_secret(word: &[u8]) -> bool {
    let first = word.first().map_or(0, u8::to_ascii_lowercase);
    let is_kind = |cue: &SecretCue| {
        matches!(cue, SecretCue::Password | SecretCue::Pass | SecretCue::Pin | SecretCue::Key | SecretCue::Seed)
    };
    said(first).iter().any(|(known, cue)| is_kind(cue) && is_said(word, known))
}

/// No word that reveals nothing is longer.
const ORDINARY_BYTES: usize = 40;

/// Is this a word that follows `the password is` in sentences that reveal nothing?
pub(super) fn is_ordinary(word: &[u8]) -> bool {
    // No word of the tables is longer.
    if word.len() > ORDINARY_BYTES {
        return false;
    }
    let first = word.first().map_or(0, u8::to_ascii_lowercase);
    ordinary(first).iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
        || said(first).iter().any(|(known, _)| is_said(word, known))
}

/// Is this word a link?
pub(super) fn is_link(word: &[u8]) -> bool {
    let first = word.first().map_or(0, u8::to_ascii_lowercase);
    links(first).iter().any(|link| word.eq_ignore_ascii_case(link.as_bytes()))
}
