//! File patterns with the syntax of `.gitignore`: `*` and `?` within a name, `**` across folders, `[a-c]`, `[!a-c]` and
//! `[[:digit:]]`, and `\` before a character that is meant itself.
//!
//! A pattern covers what it matches and everything below. It begins at any folder of a path; one with a leading `/`
//! begins at the top. Matching ignores case, and `?` and `[…]` stand for one character as well as for one byte, as in
//! git: matching too much is better than too little. A pattern that git would never match is refused. All positions of a
//! pattern are tracked at once, so the work is bounded by the two lengths for any input.

use std::borrow::Cow;

/// One bit for each position in a pattern, and one for its end.
const PATTERN_BYTES_MAX: usize = 127;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: Cow<'static, str>,
    is_anchored: bool,
    is_folder: bool,
}

/// What a pattern in a list does with the paths it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternEffect {
    Include,
    /// `!` before a pattern.
    Except,
}

impl Glob {
    /// A pattern from our own source, known to be valid.
    pub const fn of(pattern: &'static str) -> Glob {
        Glob { pattern: Cow::Borrowed(pattern), is_anchored: false, is_folder: false }
    }

    pub fn parse(text: &str) -> Result<Glob, String> {
        let refused = |why: &str| Err(format!("{text:?} is not a pattern: {why}"));
        if text.starts_with('#') {
            return refused("gitignore reads a line with # as a comment; write \\# for the character");
        }
        let trimmed = text.trim_end_matches(' ');
        // A space at the end counts only behind a backslash.
        let given =
            if trimmed.ends_with('\\') && trimmed.len() < text.len() { &text[..=trimmed.len()] } else { trimmed };
        let (is_anchored, pattern) = match given.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, given.strip_prefix("./").unwrap_or(given)),
        };
        let is_folder = pattern.ends_with('/');
        let pattern = pattern.trim_end_matches('/');
        if pattern.is_empty() || pattern.len() > PATTERN_BYTES_MAX {
            return refused(&format!("it must have 1 to {PATTERN_BYTES_MAX} characters"));
        }
        match flaw(pattern) {
            Some(why) => refused(&why),
            None => Ok(Glob { pattern: Cow::Owned(pattern.to_string()), is_anchored, is_folder }),
        }
    }

    /// Like [`Glob::parse`], for uses where matching too much is as bad as too little. A pattern with a folder in it
    /// is a path from the top, as in git, and a pattern that matches everything is rejected.
    pub fn parse_exact(text: &str) -> Result<Glob, String> {
        let text = text.trim_start();
        if text.bytes().all(|byte| matches!(byte, b'*' | b'?' | b'/' | b'.' | b' ')) {
            return Err(format!("{text:?} matches nothing or everything; name a file or folder"));
        }
        if text.starts_with('!') {
            return Err(format!(
                "{text:?} is an exception, which needs a pattern before it; write \\! for the character"
            ));
        }
        let inner = text.strip_prefix("./").unwrap_or(text);
        let is_path = inner.trim_end_matches(['/', ' ']).contains('/') && !inner.starts_with('/');
        if is_path { Glob::parse(&format!("/{inner}")) } else { Glob::parse(inner) }
    }

    /// A value in which only `*` and `?` have a meaning, matched from its beginning.
    pub fn parse_value(value: &str) -> Result<Glob, String> {
        let mut pattern = "/".to_string();
        for c in value.chars() {
            if matches!(c, '[' | '{' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        Glob::parse(&pattern)
    }

    /// Does the pattern match this path, or a folder above it? What the path leads to is unknown, so it may be a folder.
    pub fn matches(&self, path: &str) -> bool {
        deciding(&[(self, PatternEffect::Include)], path).is_some()
    }

    /// Does the word only name a kind of file: `.env` and `*.pem`, but not `prod.pem`?
    pub fn is_named_by(&self, word: &str) -> bool {
        let word = word.trim_end_matches('/');
        let plain = self.pattern.bytes().filter(|byte| !matches!(byte, b'*' | b'?'));
        let plain: Vec<u8> = plain.collect();
        let plain = plain.strip_suffix(b"/").unwrap_or(&plain);
        word.contains('*') || word.as_bytes().eq_ignore_ascii_case(plain)
    }
}

/// The pattern because of which a path is included, as in a `.gitignore`. The last pattern that matches decides; what is
/// below an included folder is included, whatever the patterns say about it.
pub fn deciding<'g>(patterns: &[(&'g Glob, PatternEffect)], path: &str) -> Option<&'g Glob> {
    let mut all: Vec<GlobProgress> = patterns.iter().map(|(glob, _)| GlobProgress::of(glob)).collect();
    let decide = |all: &[GlobProgress], is_end: bool| {
        let is_matched = |(progress, (glob, effect)): &(&GlobProgress, &(&'g Glob, PatternEffect))| {
            // At the end it is unknown whether the path is a folder: in doubt it is included.
            progress.is_complete() && !(is_end && glob.is_folder && *effect == PatternEffect::Except)
        };
        let last = all.iter().zip(patterns).rev().find(is_matched);
        last.and_then(|(_, (glob, effect))| (*effect == PatternEffect::Include).then_some(*glob))
    };
    // An anchored pattern starts at the project's root, or at the file system's root for an absolute path.
    let below_root = path.strip_prefix('/').map_or(0, |rest| path.len() - rest.len());
    let both_readings = !path.is_ascii();
    for (at, c) in path.char_indices() {
        if c == '/'
            && let Some(glob) = decide(&all, false)
        {
            return Some(glob);
        }
        let begins = at == 0 || path.as_bytes()[at - 1] == b'/';
        for progress in &mut all {
            if begins && (!progress.glob.is_anchored || at == below_root) {
                progress.begin();
            }
            progress.read(c, both_readings);
        }
    }
    decide(&all, true)
}

/// How far a pattern has got in a path: the set of positions in the pattern.
struct GlobProgress<'g> {
    glob: &'g Glob,
    /// A path read byte by byte, as git reads it.
    by_byte: u128,
    /// The same path read character by character.
    by_char: u128,
}

impl GlobProgress<'_> {
    fn of(glob: &Glob) -> GlobProgress<'_> {
        GlobProgress { glob, by_byte: 0, by_char: 0 }
    }

    fn begin(&mut self) {
        let start = enter(self.glob.pattern.as_bytes(), 0);
        self.by_byte |= start;
        self.by_char |= start;
    }

    fn read(&mut self, c: char, both_readings: bool) {
        let pattern = &*self.glob.pattern;
        if self.by_byte != 0 {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                self.by_byte = step(pattern, self.by_byte, Unit::Byte(byte));
            }
        }
        if both_readings && self.by_char != 0 {
            self.by_char = step(pattern, self.by_char, Unit::Char(c));
        } else if !both_readings {
            self.by_char = 0;
        }
    }

    fn is_complete(&self) -> bool {
        (self.by_byte | self.by_char) & (1 << self.glob.pattern.len()) != 0
    }
}

/// What one step reads of a path.
#[derive(Clone, Copy)]
enum Unit {
    Byte(u8),
    Char(char),
}

impl Unit {
    fn code(self) -> u32 {
        match self {
            Unit::Byte(byte) => byte.into(),
            Unit::Char(c) => c.into(),
        }
    }

    fn is_slash(self) -> bool {
        self.code() == u32::from(b'/')
    }

    /// What a pattern has at this position, read in the same way, and its length in bytes.
    fn at(self, pattern: &str, position: usize) -> Option<(u32, usize)> {
        match self {
            Unit::Byte(_) => pattern.as_bytes().get(position).map(|byte| (u32::from(*byte), 1)),
            Unit::Char(_) => pattern.get(position..)?.chars().next().map(|c| (u32::from(c), c.len_utf8())),
        }
    }
}

fn folded(code: u32) -> u32 {
    u8::try_from(code).map_or(code, |byte| byte.to_ascii_lowercase().into())
}

/// The positions that follow those in `at` when `unit` is read.
fn step(pattern: &str, at: u128, unit: Unit) -> u128 {
    let bytes = pattern.as_bytes();
    let mut next = 0u128;
    let mut left = at;
    while left != 0 {
        let position = left.trailing_zeros() as usize;
        left &= left - 1;
        next |= match bytes[position.min(bytes.len())..] {
            [b'*', ..] => match stars(bytes, position) {
                // Folders; the last one ends here.
                Stars::Folders { after } if unit.is_slash() => 1 << position | enter(bytes, after),
                Stars::Folders { .. } => 1 << position,
                Stars::Rest { .. } => enter(bytes, position),
                Stars::Name { .. } if !unit.is_slash() => enter(bytes, position),
                Stars::Name { .. } => 0,
            },
            [b'?', ..] if !unit.is_slash() => enter(bytes, position + 1),
            [b'?', ..] => 0,
            [b'[', ..] if !unit.is_slash() => {
                let mut is_in = false;
                match set(pattern, position, unit, |item| is_in |= item.contains(unit.code())) {
                    Some((is_negated, end)) if is_in != is_negated => enter(bytes, end),
                    _ => 0,
                }
            }
            [b'[', ..] | [] => 0,
            [first, ..] => {
                let position = position + usize::from(first == b'\\');
                match unit.at(pattern, position) {
                    Some((code, length)) if folded(code) == folded(unit.code()) => enter(bytes, position + length),
                    _ => 0,
                }
            }
        };
    }
    next
}

/// What stars at a position of a pattern stand for.
enum Stars {
    /// Within a name.
    Name { after: usize },
    /// `**/`: any number of folders.
    Folders { after: usize },
    /// `**` at the end: everything below.
    Rest { after: usize },
}

fn stars(pattern: &[u8], position: usize) -> Stars {
    let after = position + pattern[position..].iter().take_while(|byte| **byte == b'*').count();
    let is_alone = after > position + 1 && (position == 0 || pattern[position - 1] == b'/');
    match pattern[after..] {
        [] if is_alone => Stars::Rest { after },
        [b'/', ..] if is_alone => Stars::Folders { after: after + 1 },
        _ => Stars::Name { after },
    }
}

/// A position, and the later ones that need nothing to be read: stars may match nothing, `**/` no folder at all.
fn enter(pattern: &[u8], position: usize) -> u128 {
    let (mut all, mut position) = (1u128 << position, position);
    while pattern.get(position) == Some(&b'*') {
        let (Stars::Name { after } | Stars::Folders { after } | Stars::Rest { after }) = stars(pattern, position);
        position = after;
        all |= 1 << position;
    }
    all
}

/// An item of a set.
enum SetItem<'p> {
    One(u32),
    Range(u32, u32),
    /// `[:digit:]`.
    Class(&'p str),
}

impl SetItem<'_> {
    fn contains(&self, code: u32) -> bool {
        let upper = u8::try_from(code).map_or(code, |byte| byte.to_ascii_uppercase().into());
        [code, folded(code), upper].into_iter().any(|code| match self {
            SetItem::One(one) => *one == code,
            SetItem::Range(first, last) => (*first..=*last).contains(&code),
            SetItem::Class(name) => u8::try_from(code).is_ok_and(|byte| is_of_class(name, byte) == Some(true)),
        })
    }
}

/// `None` if there is no such class.
fn is_of_class(name: &str, byte: u8) -> Option<bool> {
    Some(match name {
        "alnum" => byte.is_ascii_alphanumeric(),
        "alpha" => byte.is_ascii_alphabetic(),
        "blank" => matches!(byte, b' ' | b'\t'),
        "cntrl" => byte.is_ascii_control(),
        "digit" => byte.is_ascii_digit(),
        "graph" => byte.is_ascii_graphic(),
        "lower" => byte.is_ascii_lowercase(),
        "print" => byte.is_ascii_graphic() || byte == b' ',
        "punct" => byte.is_ascii_punctuation(),
        "space" => byte.is_ascii_whitespace() || byte == 0x0b,
        "upper" => byte.is_ascii_uppercase(),
        "xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}

/// Reads the set that opens at a position. Returns whether it is negated and where it ends; `None` if it never does.
fn set<'p>(pattern: &'p str, open: usize, unit: Unit, mut add: impl FnMut(SetItem<'p>)) -> Option<(bool, usize)> {
    let bytes = pattern.as_bytes();
    let is_negated = matches!(bytes.get(open + 1), Some(b'!' | b'^'));
    let first = open + 1 + usize::from(is_negated);
    let mut at = first;
    let character = |at: &mut usize| {
        *at += usize::from(bytes.get(*at) == Some(&b'\\'));
        let (code, length) = unit.at(pattern, *at)?;
        *at += length;
        Some(code)
    };
    loop {
        match bytes.get(at..)? {
            [] => return None,
            [b']', ..] if at > first => return Some((is_negated, at + 1)),
            [b'[', b':', ..] if class_name(pattern, at + 2).is_some() => {
                let name = class_name(pattern, at + 2)?;
                add(SetItem::Class(name));
                at += name.len() + 4;
            }
            _ => {
                let one = character(&mut at)?;
                match bytes.get(at..)? {
                    [b'-', next, ..] if *next != b']' => {
                        at += 1;
                        add(SetItem::Range(one, character(&mut at)?));
                    }
                    _ => add(SetItem::One(one)),
                }
            }
        }
    }
}

/// The name in `[:name:]`, if it ends like one.
fn class_name(pattern: &str, at: usize) -> Option<&str> {
    pattern.get(at..)?.split_once(']')?.0.strip_suffix(':')
}

/// Why git would never match the pattern, or not as it looks.
fn flaw(pattern: &str) -> Option<String> {
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if at + 1 == bytes.len() => return Some("a backslash at the end has nothing behind it".to_string()),
            b'\\' => at += 2,
            b'[' => {
                let mut wrong = None;
                let end = set(pattern, at, Unit::Char('x'), |item| match item {
                    SetItem::Range(first, last) if first > last => wrong = Some("a range runs backwards".to_string()),
                    SetItem::Class(name) if is_of_class(name, b'x').is_none() => {
                        wrong = Some(format!("there is no class [:{name}:]"));
                    }
                    _ => {}
                });
                match end {
                    None => return Some("[ is never closed; write \\[ for the character".to_string()),
                    Some(_) if wrong.is_some() => return wrong,
                    Some((_, end)) => at = end,
                }
            }
            b'{' if pattern[at..]
                .split('}')
                .next()
                .is_some_and(|inner| inner.contains(',') && inner.len() < bytes.len() - at) =>
            {
                return Some(
                    "gitignore has no braces; write one pattern for each, or \\{ for the character".to_string(),
                );
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_match_what_they_describe() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (".env*", &[".env", ".env.local", "a/b/.env", ".ENV", ".envs/x"], &["env", "a.env", "src/environment.rs"]),
            ("*.pem", &["a.pem", "certs/a.b.pem", "X.PEM", "a.pem/inside"], &["a.pem.txt", "pem", "a.pemx"]),
            (
                "secrets/**",
                &["secrets/a", "x/secrets/a/b.yaml"],
                &["secrets", "secrets.rs", "my-secrets/a", "asecrets/a"],
            ),
            ("id_rsa*", &["id_rsa", ".ssh/id_rsa.pub"], &["my_id_rsa", "id_rs"]),
            ("config/*.yml", &["config/a.yml", "x/config/a.yml"], &["config/a/b.yml", "config.yml"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b/c"], &["ab", "a/xb", "a/x"]),
            ("**/x.txt", &["x.txt", "a/x.txt"], &["ax.txt"]),
            ("/top", &["top", "top/a", "/top/a"], &["a/top"]),
            ("/home/me/client*", &["/home/me/client-x/a.rs"], &["/home/me/other", "/home/you/client"]),
            ("client", &["client", "a/client/b"], &["clients"]),
            ("a?c", &["abc"], &["ac", "a/c"]),
            ("secrets/", &["secrets/a", "secrets"], &["secretsa"]),
            ("[abc].txt", &["b.txt", "x/C.txt"], &["d.txt", "abc.txt", "[abc].txt"]),
            ("[!a-c]x", &["dx", "éx", "-x"], &["ax", "Bx", "x", "/x"]),
            ("[[:digit:]]*", &["1", "9a/b"], &["a1"]),
            ("[]-]", &["]", "-"], &["a"]),
            ("a\\*b", &["a*b"], &["axb", "a\\*b"]),
            ("\\#x\\ ", &["#x "], &["#x"]),
            ("x ", &["x"], &["x "]),
            ("?.txt", &["é.txt", "日.txt", "a.txt"], &["éé.txt", ".txt"]),
            ("??.txt", &["ab.txt", "é.txt", "éé.txt"], &["a.txt"]),
            ("gr[öo]ße", &["größe", "große"], &["grüße"]),
            ("a**b", &["ab", "axb"], &["a/b"]),
            ("a/***/b", &["a/b", "a/x/y/b"], &["ab"]),
            ("{x}", &["{x}"], &["x"]),
        ];
        for (pattern, inside, outside) in cases {
            let glob = Glob::parse(pattern).unwrap();
            inside.iter().for_each(|path| assert!(glob.matches(path), "{pattern} {path}"));
            outside.iter().for_each(|path| assert!(!glob.matches(path), "{pattern} {path}"));
        }
        let backwards: Vec<String> = ["", "/", "[a", "[!", "a\\", "{a,b}.txt", "[z-a]", "[[:word:]]", "#x", "[é"]
            .into_iter()
            .filter_map(|wrong| Glob::parse(wrong).err())
            .collect();
        assert_eq!(backwards.len(), 10, "{backwards:?}");
        assert!(backwards[5].contains("gitignore has no braces"), "{backwards:?}");
        assert!(Glob::parse_exact("!a").is_err() && Glob::parse_exact("\\!a").unwrap().matches("!a"));
        assert!(Glob::parse("").is_err() && Glob::parse("/").is_err() && Glob::parse(&"a".repeat(128)).is_err());
        // The longest pattern still has a bit for its end.
        for pattern in ["a".repeat(127), format!("{}*", "a".repeat(126)), format!("*{}", "a".repeat(126))] {
            let glob = Glob::parse(&pattern).unwrap();
            let name = "a".repeat(127);
            assert!(glob.matches(&name) && glob.matches(&format!("x/{name}/y")), "{pattern}");
            assert!(!glob.matches(&"a".repeat(125)) && !glob.matches(&"b".repeat(127)), "{pattern}");
        }
    }

    #[test]
    fn an_exact_pattern_means_what_it_means_to_git() {
        for (pattern, path, expected) in [
            ("*.pem", "keys/server.pem", true),
            ("secrets/", "a/secrets/c.txt", true),
            ("secrets/**", "secrets/a/b.txt", true),
            ("secrets/**", "my/secrets/b.txt", false),
            ("**/secrets/*.txt", "my/secrets/b.txt", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "x/src/a.rs", false),
            ("src/**/mod.rs", "src/mod.rs", true),
            ("./src/a.rs", "src/a.rs", true),
            ("/etc/hosts", "/etc/hosts", true),
            ("größe*", "größe.md", true),
        ] {
            assert_eq!(Glob::parse_exact(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
        for nothing in ["", "  ", "/", ".", "./", "*", "**", "**/*", "?"] {
            assert!(Glob::parse_exact(nothing).is_err(), "{nothing:?}");
        }
    }

    #[test]
    fn the_last_pattern_decides_unless_a_folder_above_is_included() {
        let cases: [(&[&str], &str, bool); 8] = [
            (&["*.csv", "!open.csv"], "a/open.csv", false),
            (&["*.csv", "!open.csv"], "a/b.csv", true),
            (&["!open.csv", "*.csv"], "open.csv", true),
            (&["books/", "!books/open.md"], "books/open.md", true),
            (&["books/*", "!books/open.md"], "books/open.md", false),
            (&["books/*", "!books/open/"], "books/open/a.md", false),
            (&["books/*", "!books/open/", "*.md"], "books/open/a.md", true),
            (&["books", "!books/"], "books", true),
        ];
        for (patterns, path, expected) in cases {
            let rule = |text: &&str| match text.strip_prefix('!') {
                Some(text) => (Glob::parse(text).unwrap(), PatternEffect::Except),
                None => (Glob::parse(text).unwrap(), PatternEffect::Include),
            };
            let rules: Vec<(Glob, PatternEffect)> = patterns.iter().map(rule).collect();
            let rules: Vec<(&Glob, PatternEffect)> = rules.iter().map(|(glob, effect)| (glob, *effect)).collect();
            assert_eq!(deciding(&rules, path).is_some(), expected, "{patterns:?} {path}");
        }
    }

    #[test]
    fn a_value_has_only_stars() {
        let glob = Glob::parse_value("a[b]{c,d}*").unwrap();
        assert!(glob.matches("a[b]{c,d}x") && !glob.matches("ab{c,d}") && !glob.matches("x/a[b]{c,d}"));
    }

    #[test]
    fn a_kind_of_file_is_distinguished_from_a_file() {
        for (pattern, word, is_sort) in [
            (".env*", ".env", true),
            (".env*", ".env.local", false),
            ("*.pem", "*.pem", true),
            ("*.pem", ".pem", true),
            ("*.pem", "prod.pem", false),
            ("secrets/**", "secrets/", true),
            ("secrets/**", "secrets/a.yaml", false),
        ] {
            assert_eq!(Glob::of(pattern).is_named_by(word), is_sort, "{pattern} {word}");
        }
    }

    /// A naive reference implementation; it may take exponential time.
    fn plainly(pattern: &[u8], path: &[u8]) -> bool {
        match (pattern.first(), path.first()) {
            (None, rest) => rest.is_none_or(|&byte| byte == b'/'),
            (Some(b'*'), _) => {
                plainly(&pattern[1..], path) || path.first().is_some_and(|&b| b != b'/') && plainly(pattern, &path[1..])
            }
            (Some(b'?'), Some(&byte)) => byte != b'/' && plainly(&pattern[1..], &path[1..]),
            (Some(a), Some(b)) => a.eq_ignore_ascii_case(b) && plainly(&pattern[1..], &path[1..]),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_a_naive_implementation(pattern in "[a/?]([ab?/]|\\*[ab/?]){0,6}[ab]", path in "[ab/]{0,12}") {
            let glob = Glob { pattern: Cow::Owned(pattern.clone()), is_anchored: false, is_folder: false };
            let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
            let expected = starts.into_iter().any(|at| plainly(pattern.as_bytes(), &path.as_bytes()[at..]));
            prop_assert_eq!(glob.matches(&path), expected);
        }
    }
}
