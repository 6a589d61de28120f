//! Secrets by their look alone: long tokens that look random, whoever issued them.
//!
//! A random token is worth nothing to a later session, so it is cut without knowing what it opens. A table of letter
//! pairs ([`PAIRS`]) tells how much likelier each pair is in a random token than in ordinary text. The stretch of a run
//! with the best sum is judged: it must be long, with digits or odd capitals spread over it. Where the place says that
//! it is a name, it is kept: in a path, a file name, a host name, after a name that ends in `id`. UUIDs and commit
//! hashes are always kept, other hashes where the words around them say what they are.
//!
//! Text without a run of [`TOKEN_BYTES`] costs one look at every sixteenth byte. Every other look is bounded.

use std::ops::Range;

use super::cut::{AROUND_BYTES, Cut};
use super::pairs::PAIRS;
use super::places::{HASH_WORDS, KEPT_BEGINNINGS, SECRET_PATHS};
use super::text::{ALNUM, ALPHA, DIGIT, DOTTED, HEX, LOWER, MARK, Text, UPPER, URL64, is};
use super::value::{JUDGED_BYTES, is_placeholder};

/// No shorter token is cut.
const TOKEN_BYTES: usize = 16;
/// No shorter hexadecimal number is cut.
const HEX_BYTES: usize = 20;
/// The part of a token that must fit "random" better than "text", and by how much in all, in eighths of a bit.
const FIT_BYTES: usize = 10;
const FIT: i32 = 96;
/// A stretch ends where its sum has fallen this far below its best.
const DROP: i32 = 80;
/// How far back words and the beginning of a path are looked for.
const WORDS_BYTES: usize = 64;
const NAME_BYTES: usize = 128;

/// The random tokens of a text, from left to right, none overlapping.
pub(super) struct OpaqueTokens<'a> {
    text: Text<'a>,
    /// Everything before this was judged.
    at: usize,
    /// The run that `at` is in, if it is in one.
    run_start: usize,
    run_end: usize,
    /// No run is looked for from here on.
    end: usize,
}

impl<'a> OpaqueTokens<'a> {
    /// Those of a stretch of the text.
    pub(super) fn of(text: &'a str, stretch: Range<usize>) -> OpaqueTokens<'a> {
        let text = Text::of(text);
        let start = text.scan_back(stretch.start, AROUND_BYTES, is_joined);
        OpaqueTokens { text, at: start, run_start: start, run_end: start, end: stretch.end }
    }

    /// Moves to the next run that is long enough; false at the end of the text.
    fn next_run(&mut self) -> bool {
        let bytes = self.text.bytes;
        self.at = self.at.max(self.run_end);
        while self.at < self.end
            && let Some(&byte) = bytes.get(self.at + TOKEN_BYTES - 1)
        {
            let probe = self.at + TOKEN_BYTES - 1;
            if !is_joined(byte) {
                self.at = probe + 1;
                continue;
            }
            let start = self.text.scan_back(probe, probe - self.at, is_joined);
            let end = self.text.scan(probe, usize::MAX, is_joined);
            (self.at, self.run_start, self.run_end) = (start, start, end);
            if end - start >= TOKEN_BYTES {
                return true;
            }
            self.at = end;
        }
        false
    }
}

impl Iterator for OpaqueTokens<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        loop {
            while self.run_end.saturating_sub(self.at) >= TOKEN_BYTES {
                let (token, next) = stretch(&self.text, self.run_start, self.at, self.run_end);
                let cut = token.filter(|&(from, end)| !is_kept(&self.text, from, end));
                self.at = next;
                if let Some((start, end)) = cut {
                    self.run_start = end;
                    return Some(Cut { name: "opaque-token", start, end });
                }
            }
            if !self.next_run() {
                return None;
            }
        }
    }
}

const fn is_joined(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'~' | b'%')
}

type TokenRange = Option<(usize, usize)>;

/// The next stretch from `from` to the end of a run: the token around it if it is one, and where to go on.
fn stretch(text: &Text, lowest: usize, from: usize, end: usize) -> (TokenRange, usize) {
    if let Some(hash) = hash_at(text, from, end) {
        return (Some((from, hash)), hash);
    }
    let (mut first, mut last, mut best, mut sum) = (from, from, 0, 0);
    let run = text.bytes.get(from..end).unwrap_or_default();
    let mut before = run.first().map_or(0, |&byte| COLUMNS[usize::from(byte)]);
    let mut at = from + 1;
    for (index, &byte) in run.iter().enumerate().skip(1) {
        let here = COLUMNS[usize::from(byte)];
        sum += i32::from(FLAT[(usize::from(before & COLUMN) << 5) | usize::from(here & COLUMN)]);
        // A capital after a small letter that begins no word.
        if before & IS_SMALL != 0 && here & IS_CAPITAL != 0 && !run.get(index + 1).is_some_and(|&next| is(next, LOWER))
        {
            sum += ODD_CAPITAL;
        }
        before = here;
        at = from + index;
        if sum > best {
            (best, last) = (sum, at + 1);
        } else if sum <= 0 && best < FIT {
            (first, last, best, sum) = (at, at, 0, 0);
        } else if sum <= 0 || sum < best - DROP {
            break;
        }
        at += 1;
    }
    if best < FIT || last - first < FIT_BYTES {
        return (None, at);
    }
    let (start, stop) = widened(text, lowest, first, last, end);
    let long_enough = stop - start >= TOKEN_BYTES && is_spread(text.slice(start, stop));
    (long_enough.then_some((start, stop)), at.max(stop))
}

/// Letters that follow each other as in no word: `qwmnrtplkdsa`.
pub(super) fn is_random_word(word: &[u8]) -> bool {
    let column = |byte: u8| usize::from(COLUMNS[usize::from(byte)] & COLUMN);
    let score = |pair: &[u8]| i32::from(FLAT[(column(pair[0]) << 5) | column(pair[1])]);
    word.len() >= RANDOM_WORD_BYTES
        && word.iter().all(|&byte| is(byte, ALPHA))
        && word.windows(2).map(score).sum::<i32>() >= RANDOM_WORD
}

/// Words have less than nothing.
const RANDOM_WORD: i32 = 64;
const RANDOM_WORD_BYTES: usize = 8;

/// The column of each byte in the table of pairs, and whether it is a small letter or a capital.
const COLUMN: u8 = 31;
const IS_SMALL: u8 = 32;
const IS_CAPITAL: u8 = 64;
/// What a capital where no word has one adds.
const ODD_CAPITAL: i32 = 10;

static COLUMNS: [u8; 256] = {
    let (mut table, mut byte) = ([27; 256], 0);
    while byte < 256 {
        table[byte] = match byte as u8 {
            letter @ b'a'..=b'z' => (letter - b'a') | IS_SMALL,
            letter @ b'A'..=b'Z' => (letter - b'A') | IS_CAPITAL,
            b'0'..=b'9' => 26,
            _ => 27,
        };
        byte += 1;
    }
    table
};

/// The table of pairs with rows of 32, so that no index needs a check.
static FLAT: [i8; 1024] = {
    let (mut table, mut at) = ([0; 1024], 0);
    while at < 28 * 28 {
        table[at / 28 * 32 + at % 28] = PAIRS[at / 28][at % 28];
        at += 1;
    }
    table
};

/// The end of a UUID or of a hash of a usual length that begins at `from`.
fn hash_at(text: &Text, from: usize, end: usize) -> Option<usize> {
    let digits = text.scan(from, 65, |byte| byte.is_ascii_hexdigit()) - from;
    let length = match digits {
        8 if ends_in_uuid(text.slice(from, from + 36)) => 36,
        32 | 40 | 64 if text.slice(from, from + digits).iter().any(|&byte| is(byte, ALPHA)) => digits,
        _ => return None,
    };
    (from + length == end || !is(text.at(from + length), ALNUM)).then_some(from + length)
}

/// The token around a stretch: to the ends of its words, and the padding of base64; without words before a slash.
fn widened(text: &Text, lowest: usize, first: usize, last: usize, end: usize) -> (usize, usize) {
    let inner = |byte: u8| is(byte, ALNUM) || matches!(byte, b'_' | b'-' | b'+' | b'~');
    let mut start = text.scan_back(first, first - lowest, inner);
    let stop = text.scan(last, end - last, inner);
    loop {
        let slash = text.scan(start, stop - start, |byte| byte != b'/' && !is(byte, DIGIT));
        if slash == stop || text.at(slash) != b'/' || stop - (slash + 1) < TOKEN_BYTES {
            break;
        }
        start = slash + 1;
    }
    (start, text.scan(stop, 2, |byte| byte == b'='))
}

/// Are there digits, or capitals where no word has them, in several places? Words joined by hyphens with a number
/// somewhere are not random: half of the token must be pieces that mix letters and digits.
fn is_spread(token: &[u8]) -> bool {
    let (mut digits, mut capitals, mut letters) = (0, 0, 0);
    for (at, &byte) in token.iter().enumerate() {
        let before = if at > 0 { token[at - 1] } else { 0 };
        letters += usize::from(is(byte, ALPHA));
        digits += usize::from(is(byte, DIGIT) && !is(before, DIGIT));
        let next_is_small = token.get(at + 1).is_some_and(|&next| is(next, LOWER));
        capitals += usize::from(is(byte, UPPER) && is(before, LOWER) && !next_is_small);
    }
    letters >= 3 && ((digits >= 1 && digits + capitals >= 3) || capitals >= 5) && is_mixed(token)
}

fn is_mixed(token: &[u8]) -> bool {
    let (mut mixed, mut longest) = (0, 0);
    for piece in token.split(|&byte| !is(byte, ALNUM)) {
        let humps = piece.windows(2).filter(|pair| is(pair[0], LOWER) && is(pair[1], UPPER)).count();
        let has = |class| piece.iter().any(|&byte| is(byte, class));
        if has(ALPHA) && (has(DIGIT) || humps > 1) {
            mixed += piece.len();
            longest = longest.max(piece.len());
        }
    }
    mixed >= 14 && mixed * 2 >= token.len() && longest >= FIT_BYTES
}

/// Tokens that are ids, hashes or names: by their shape, or by what stands around them.
fn is_kept(text: &Text, start: usize, end: usize) -> bool {
    let token = text.slice(start, end);
    (token.len() < HEX_BYTES && token.iter().all(|&byte| is(byte, HEX)))
        || ends_in_uuid(token)
        || is_object_id(token)
        || is_known_shape(token)
        || is_placeholder(&token[..token.len().min(JUDGED_BYTES)])
        || is_in_path(text, start, end)
        || is_in_dotted_name(text, end)
        || is_id(text, start)
        || (ends_in_hash(token) && is_announced(text, start))
}

fn ends_in_uuid(token: &[u8]) -> bool {
    let fits = |(at, &byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    (36..=56).contains(&token.len()) && token[token.len() - 36..].iter().enumerate().all(fits)
}

/// A commit of git or an object of MongoDB.
fn is_object_id(token: &[u8]) -> bool {
    matches!(token.len(), 24 | 40) && token.iter().all(u8::is_ascii_hexdigit)
}

/// All hexadecimal, or a hash of a usual length after a short prefix.
fn ends_in_hash(token: &[u8]) -> bool {
    let digits = token.iter().rev().take_while(|byte| byte.is_ascii_hexdigit()).count();
    digits == token.len() || (matches!(digits, 20 | 24 | 32 | 40 | 64) && token.len() - digits <= 12)
}

/// Checksums (`sha512-…`), target triples, ids (`req_…`), Go's pseudo-versions (`0-20240827094217-dd81d9e9be82`).
fn is_known_shape(token: &[u8]) -> bool {
    let begins = |word: &&str| token.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()));
    let mut parts = token.rsplit(|&byte| byte == b'-');
    let (revision, time) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_version = revision.len() == 12
        && revision.iter().all(|&byte| is(byte, HEX))
        && time.len() == 14
        && time.iter().all(|&byte| is(byte, DIGIT));
    is_version || KEPT_BEGINNINGS.iter().any(begins)
}

/// Is it part of a file name or a host name? Then what follows it ends in letters: `-x3f9.min.js`, `-x3f9.vercel.app`.
fn is_in_dotted_name(text: &Text, end: usize) -> bool {
    let stop = text.scan(end, NAME_BYTES, |byte| is(byte, ALNUM) || matches!(byte, b'.' | b'-' | b'_'));
    let last = text.scan_back(stop, stop - end, |byte| is(byte, ALNUM));
    let label = text.slice(last, stop);
    text.at(end) == b'.'
        && text.before(last) == b'.'
        && (1..=12).contains(&label.len())
        && is(label[0], ALPHA)
        && label.iter().filter(|&&byte| is(byte, DIGIT)).count() <= 1
}

/// Is it part of a path, of a file or in an address? Except where a part of the path announces a secret: `/webhook/x`.
fn is_in_path(text: &Text, start: usize, end: usize) -> bool {
    let ends =
        |byte: u8| byte <= b' ' || matches!(byte, b'"' | b'\'' | b'`' | b'=' | b'(' | b'<' | b'>' | b'[' | b',' | b';');
    let before = text.slice(text.scan_back(start, NAME_BYTES, |byte| !ends(byte)), start);
    let is_rooted = matches!(before.first(), Some(b'/' | b'~' | b'.' | b'$'))
        || before.windows(2).any(|part| matches!(part, b"//" | b":\\" | b":/"));
    let is_folder = |part: &[u8]| is_rooted || (!is_random_part(part) && part.len() >= 3);
    if matches!(text.before(start), b'/' | b'\\') {
        let slash = start - 1;
        let word = text.slice(text.run_back(slash, DOTTED, 24), slash);
        return is_folder(word) && !SECRET_PATHS.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    }
    let goes_on = text.at(end) == b'/' && is_folder(text.slice(end + 1, text.run(end + 1, DOTTED | MARK, 24)));
    // `host/image:HASH`, `src/a.rs@HASH`.
    let is_tag = matches!(text.before(start), b':' | b'@' | b'#') && before.contains(&b'/');
    let is_word = |part: &[u8]| part.len() >= 4 && part.iter().all(|&byte| is(byte, ALPHA)) && !is_random_part(part);
    let token = text.slice(start, end);
    goes_on
        || (is_tag && ends_in_hash(token))
        || (token.contains(&b'/') && token.split(|&byte| byte == b'/').any(is_word))
}

/// Capitals where no word has them, or all kinds of characters: a piece of base64, not a folder.
fn is_random_part(part: &[u8]) -> bool {
    let has = |class| part.iter().any(|&byte| is(byte, class));
    let is_odd = |three: &[u8]| is(three[0], LOWER) && is(three[1], UPPER) && !is(three[2], LOWER);
    let ends_odd = part.last_chunk::<2>().is_some_and(|pair| is(pair[0], LOWER) && is(pair[1], UPPER));
    part.windows(3).any(is_odd) || ends_odd || (has(DIGIT) && has(LOWER) && has(UPPER))
}

/// Does a name that ends in `id` stand before it: `sessionId: x`, `"item_ids": ["x`, `orderid=x`, `same id x`? Without a
/// sign it must not be a word such as `valid`.
fn is_id(text: &Text, start: usize) -> bool {
    let end = text.scan_back(start, 16, |byte| !is(byte, ALNUM) && byte != b']');
    let is_assigned = text.slice(end, start).iter().any(|byte| matches!(byte, b'=' | b':'));
    let name = text.slice(text.run_back(end, URL64, 32), end);
    let name = name.strip_suffix(b"s").or(name.strip_suffix(b"S")).unwrap_or(name);
    let Some((rest, id)) = name.split_last_chunk::<2>() else { return false };
    let begins = rest.last().is_none_or(|&byte| !is(byte, ALPHA) || (is(byte, LOWER) && id[0] == b'I'));
    let is_upper = rest.iter().all(|&byte| !is(byte, LOWER)) && id == b"ID";
    let is_known =
        [&b"uu"[..], b"gu"].iter().any(|word| rest.len() >= 2 && rest[rest.len() - 2..].eq_ignore_ascii_case(word));
    let holds = |part: &[u8]| rest.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part));
    id.eq_ignore_ascii_case(b"id")
        && (begins || is_upper || is_known || is_assigned)
        && ![&b"secret"[..], b"token"].iter().any(|part| holds(part))
}

/// `hash`, `Get-FileHash`, `sha256sum`: also some words or a line away.
fn names_a_hash(word: &[u8]) -> bool {
    let ends = |end: &[u8]| word.len() >= end.len() && word[word.len() - end.len()..].eq_ignore_ascii_case(end);
    [&b"hash"[..], b"hashes", b"sum", b"sums", b"digest", b"digests", b"md5", b"trace", b"traces"]
        .iter()
        .any(|end| ends(end))
}

/// Do the words before it say that it is a hash or an id?
fn is_announced(text: &Text, start: usize) -> bool {
    let line = text.slice(text.scan_back(start, WORDS_BYTES, |byte| byte != b'\n'), start);
    if text.back(start, 2 * WORDS_BYTES).split(|&byte| !is(byte, ALNUM)).any(names_a_hash) {
        return true;
    }
    let names = |word: &[u8]| HASH_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    let commits = |word: &[u8]| word.len() > 6 && word[..6].eq_ignore_ascii_case(b"commit");
    if line.split(|&byte| !is(byte, ALNUM)).any(|word| names(word) || commits(word)) {
        return true;
    }
    let name = text.back(text.scan_back(start, 8, |byte| !is(byte, ALNUM)), 24);
    let ends = |end: &&[u8]| name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end);
    // `package-1.2.0.tgz#HASH`, `git+https://host/a.git#HASH`.
    let is_locked = text.before(start) == b'#' && [&b".tgz"[..], b".git", b".zip", b".gz"].iter().any(ends);
    is_locked || [&b"sha256"[..], b"version", b" -r"].iter().any(ends)
}

#[cfg(test)]
mod tests;
