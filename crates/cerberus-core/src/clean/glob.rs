//! File patterns with `.gitignore` syntax: `*` and `?` within a name, `**` across folders.
//!
//! A pattern matches at the start of any path component and covers everything below the match. A pattern that begins
//! with `/` matches only at the top. Matching ignores case: matching too much is better than too little. All positions
//! of a pattern are tracked at once, so the work is bounded by the two lengths for any input.

use std::borrow::Cow;

/// One bit for each position in a pattern, and one for its end.
const PATTERN_BYTES_MAX: usize = 127;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: Cow<'static, str>,
    is_anchored: bool,
}

impl Glob {
    /// A pattern from our own source, known to be valid.
    pub const fn of(pattern: &'static str) -> Glob {
        Glob { pattern: Cow::Borrowed(pattern), is_anchored: false }
    }

    pub fn parse(text: &str) -> Result<Glob, String> {
        let (is_anchored, pattern) = match text.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("./").unwrap_or(text)),
        };
        let pattern = pattern.trim_end_matches('/');
        if pattern.is_empty() || pattern.len() > PATTERN_BYTES_MAX {
            return Err(format!("{text:?} is not a pattern: it must have 1 to {PATTERN_BYTES_MAX} characters"));
        }
        Ok(Glob { pattern: Cow::Owned(pattern.to_string()), is_anchored })
    }

    /// Like [`Glob::parse`], for uses where matching too much is as bad as too little. A pattern with a folder in it
    /// is a path from the top, as in git, and a pattern that matches everything is rejected.
    pub fn parse_exact(text: &str) -> Result<Glob, String> {
        let text = text.trim();
        if text.bytes().all(|byte| matches!(byte, b'*' | b'?' | b'/' | b'.')) {
            return Err(format!("{text:?} matches nothing or everything; name a file or folder"));
        }
        let inner = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        let is_path = inner.contains('/') && !inner.starts_with('/');
        Glob::parse(&if is_path { format!("/{inner}") } else { inner.to_string() })
    }

    /// Does the pattern match this path, or a folder above it?
    pub fn matches(&self, path: &str) -> bool {
        let (pattern, path) = (self.pattern.as_bytes(), path.as_bytes());
        // An anchored pattern starts at the project's root, or at the file system's root for an absolute path.
        let path = if self.is_anchored { path.strip_prefix(b"/").unwrap_or(path) } else { path };
        let end = 1u128 << pattern.len();
        let mut at = 0u128;
        let mut begins = true;
        for &byte in path {
            if byte == b'/' && at & end != 0 {
                return true;
            }
            if begins {
                at |= enter(pattern, 0);
            }
            if at != 0 {
                at = step(pattern, at, byte);
            }
            begins = byte == b'/' && !self.is_anchored;
        }
        at & end != 0
    }

    /// A cheap test before [`Glob::matches`]: nearly every path lacks a letter that the pattern has.
    pub fn may_match(&self, path_letters: Letters) -> bool {
        let plain = self.pattern.bytes().filter(|byte| !matches!(byte, b'*' | b'?' | b'/'));
        plain.fold(0, |all, byte| all | letter(byte)) & !path_letters.0 == 0
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

/// The set of letters in a path, ignoring case. Bytes that are not ASCII count as none.
#[derive(Clone, Copy, Debug)]
pub struct Letters(u128);

impl Letters {
    pub fn of(path: &str) -> Letters {
        Letters(path.bytes().fold(0, |all, byte| all | letter(byte)))
    }
}

fn letter(byte: u8) -> u128 {
    if byte.is_ascii() { 1 << byte.to_ascii_lowercase() } else { 0 }
}

/// The positions that follow those in `at` when `byte` is read.
fn step(pattern: &[u8], at: u128, byte: u8) -> u128 {
    let mut next = 0u128;
    let mut left = at;
    while left != 0 {
        let position = left.trailing_zeros() as usize;
        left &= left - 1;
        next |= match pattern[position.min(pattern.len())..] {
            // Folders; the last one ends here.
            [b'*', b'*', b'/', ..] if byte == b'/' => 1 << position | enter(pattern, position + 3),
            [b'*', b'*', b'/', ..] => 1 << position,
            [b'*', b'*', ..] => enter(pattern, position),
            [b'*', ..] if byte != b'/' => enter(pattern, position),
            [b'?', ..] if byte != b'/' => enter(pattern, position + 1),
            [wanted, ..] if wanted.eq_ignore_ascii_case(&byte) && wanted != b'*' => enter(pattern, position + 1),
            _ => 0,
        };
    }
    next
}

/// A position, and the later ones that need no byte: stars may match nothing, `**/` no folder at all.
fn enter(pattern: &[u8], position: usize) -> u128 {
    let (mut all, mut position) = (1u128 << position, position);
    loop {
        position += match pattern[position..] {
            [b'*', b'*', b'/', ..] => 3,
            [b'*', b'*', ..] => 2,
            [b'*', ..] => 1,
            _ => return all,
        };
        all |= 1 << position;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        ];
        for (pattern, inside, outside) in cases {
            let glob = Glob::parse(pattern).unwrap();
            inside.iter().for_each(|path| assert!(glob.matches(path), "{pattern} {path}"));
            outside.iter().for_each(|path| assert!(!glob.matches(path), "{pattern} {path}"));
            inside.iter().for_each(|path| assert!(glob.may_match(Letters::of(path)), "{pattern} {path}"));
        }
        assert!(!Glob::of("*.pem").may_match(Letters::of("src/main.rs")));
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
            let glob = Glob { pattern: Cow::Owned(pattern.clone()), is_anchored: false };
            let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
            let expected = starts.into_iter().any(|at| plainly(pattern.as_bytes(), &path.as_bytes()[at..]));
            prop_assert_eq!(glob.matches(&path), expected);
            prop_assert!(!expected || glob.may_match(Letters::of(&path)));
        }
    }
}
