//! Makes new inputs of known ones: bits, ranges, pieces of other inputs, and words that parsers stumble over.

use crate::random::Random;

/// An input never grows beyond this.
const INPUT_BYTES_MAX: usize = 256 * 1024;
const CHANGES_MAX: usize = 6;
const NESTING_MAX: usize = 5_000;

/// What means something to a parser, a terminal, a shell, git, SQL, or us.
const WORDS: &[&str] = &[
    "\n",
    "\r\n",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\u{2028}",
    "\u{200b}",
    "\u{e0041}",
    "\u{9b}31m",
    "\u{1b}[2J",
    "\u{1b}]0;x\u{7}",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{}",
    "[]",
    "null",
    "true",
    "-0",
    "1e999",
    "18446744073709551616",
    "-9223372036854775808",
    "0.1e-999",
    ",",
    ":",
    "{\"",
    "\"}",
    "//",
    "/*",
    "*/",
    "#",
    "'''",
    "\"\"\"",
    "[[",
    "]]",
    "= ",
    "proj:x",
    "\nnext:rm-rf",
    "dec:always-push",
    "</system-reminder>",
    "<private>",
    "</private>",
    "../../x",
    "/etc/passwd",
    "AND",
    "OR",
    "NEAR(",
    "*",
    "^",
    "\"*",
    "x:y",
    ";--",
    "$(id)",
    "`id`",
    "%s%n",
    "2026-01-22T13:35:14Z",
    "+9999999-01-01T00:00:00Z",
    "-000001-01-01T00:00:00Z",
    "password = ",
    "AKIA",
    "-----BEGIN RSA PRIVATE KEY-----",
    "ghp_",
    "eyJhbGciOi",
    "Bearer ",
    "ﬁ",
    "İ",
    "ß",
    "👩‍👩‍👧",
    "\u{300}\u{300}\u{300}",
    "test result: FAILED. 1 passed; 2 failed;",
    "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch",
    "diff --git a/x b/x\n@@ -1,99999999999 +1 @@\n",
];

const BAD_BYTES: [&[u8]; 5] = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80"];

/// An input that nobody has seen, made of known ones.
pub fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.one_of(corpus).cloned().unwrap_or_default();
    for _ in 0..=random.below(CHANGES_MAX) {
        change(&mut input, corpus, random);
        input.truncate(INPUT_BYTES_MAX);
    }
    input
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(11) {
        0 => flip(input, random),
        1 => input.truncate(at),
        2 => drop(input.drain(range(input.len(), random))),
        3 => {
            let copied = input[range(input.len(), random)].to_vec();
            let often = 1 + random.below(if copied.len() < 64 { 200 } else { 3 });
            insert(input, at, &copied.repeat(often));
        }
        4 | 5 => {
            let word = random.one_of(WORDS).copied().unwrap_or_default();
            insert(input, at, word.as_bytes());
        }
        6 => {
            let other = random.one_of(corpus).cloned().unwrap_or_default();
            let piece = other[range(other.len(), random)].to_vec();
            insert(input, at, &piece);
        }
        7 => nest(input, at, random),
        8 => insert(input, at, random.one_of(&BAD_BYTES).copied().unwrap_or_default()),
        9 => swap_string(input, random),
        _ => swap_number(input, random),
    }
}

fn range(length: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = random.below(length + 1);
    // Mostly small: a large hole leaves nothing to look at.
    let most = if random.below(4) == 0 { length } else { 40 };
    start..(start + random.below(most + 1)).min(length)
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    drop(input.splice(at..at, bytes.iter().copied()));
}

fn flip(input: &mut [u8], random: &mut Random) {
    let (at, bit) = (random.below(input.len()), random.below(8));
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << bit;
    }
}

fn nest(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    let depth = random.below(NESTING_MAX);
    let (open, close): (&[u8], &[u8]) = match random.below(3) {
        0 => (b"[", b"]"),
        1 => (b"{\"a\":", b"}"),
        _ => (b"(", b")"),
    };
    let closing = if random.below(2) == 0 { close.repeat(depth) } else { Vec::new() };
    insert(input, at, &[open.repeat(depth), b"1".to_vec(), closing].concat());
}

/// Puts a word in the place of what stands between two quotes.
fn swap_string(input: &mut Vec<u8>, random: &mut Random) {
    let quotes: Vec<usize> = (0..input.len()).filter(|at| input[*at] == b'"').collect();
    let first = random.below(quotes.len());
    if let [from, to, ..] = quotes[first.min(quotes.len())..] {
        let word = random.one_of(WORDS).copied().unwrap_or_default();
        let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        drop(input.splice(from + 1..to, escaped.into_bytes()));
    }
}

fn swap_number(input: &mut Vec<u8>, random: &mut Random) {
    let digits: Vec<usize> = (0..input.len()).filter(|at| input[*at].is_ascii_digit()).collect();
    let Some(from) = random.one_of(&digits).copied() else { return };
    let length = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let extremes = ["0", "-1", "4294967296", "9223372036854775807", "1e308", "99999999999999999999999999"];
    let number = random.one_of(&extremes).copied().unwrap_or_default();
    drop(input.splice(from..from + length, number.bytes()));
}
