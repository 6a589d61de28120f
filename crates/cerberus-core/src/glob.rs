//! Which paths a pattern means, as people write patterns for git: `*.pem`, `secrets/`, `src/**/mod.rs`, `.env*`.
//!
//! Without a slash in it, a pattern means a file or folder of that name anywhere; with one, a path from the project's
//! top. What means a folder means everything in it. `*` and `?` stay within a name, `**` does not. Linear in the path
//! for each `*`; it never backtracks further than the last one.

/// A pattern for paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    parts: Vec<String>,
}

/// A longer pattern is a mistake.
const PARTS_MAX: usize = 64;

impl Glob {
    /// Nothing for a pattern that means nothing, or everything.
    pub fn new(pattern: &str) -> Option<Glob> {
        let pattern = pattern.trim();
        let inner = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
        let mut parts: Vec<String> = inner.split('/').filter(|part| !part.is_empty()).map(str::to_string).collect();
        if !inner.contains('/') {
            parts.insert(0, "**".to_string());
        }
        parts.dedup_by(|a, b| a == "**" && b == "**");
        let means_something = parts.iter().any(|part| part.contains(|c| !matches!(c, '*' | '?')));
        (means_something && parts.len() <= PARTS_MAX).then_some(Glob { parts })
    }

    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        matches_parts(&self.parts, &names)
    }
}

/// Do the parts match the beginning of the path in whole names? What is below a match is matched.
fn matches_parts(parts: &[String], names: &[&str]) -> bool {
    let (mut part, mut name) = (0, 0);
    // Where to go on when it does not fit: after the last `**`, one name later.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if part == parts.len() {
            return true;
        }
        if parts[part] == "**" {
            retry = Some((part + 1, name));
            part += 1;
            // `folder/**` means what is in the folder.
            if part == parts.len() {
                return name < names.len();
            }
            continue;
        }
        if name < names.len() && matches_name(&parts[part], names[name]) {
            (part, name) = (part + 1, name + 1);
            continue;
        }
        match retry {
            Some((after, from)) if from < names.len() => {
                (part, name) = (after, from + 1);
                retry = Some((after, from + 1));
            }
            _ => return false,
        }
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match retry {
                Some((after, from)) => {
                    (p, n) = (after, from + 1);
                    retry = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        for (pattern, path, expected) in [
            ("*.pem", "keys/server.pem", true),
            ("*.pem", "server.pem.txt", false),
            (".env*", "web/.env.local", true),
            ("secrets", "a/secrets/b/c.txt", true),
            ("secrets/", "secrets/c.txt", true),
            ("secrets/**", "secrets/a/b.txt", true),
            ("secrets/**", "secrets", false),
            ("secrets/**", "my/secrets/b.txt", false),
            ("**/secrets/*.txt", "my/secrets/b.txt", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/x/a.rs", false),
            ("src/**/mod.rs", "src/mod.rs", true),
            ("src/**/mod.rs", "src/a/b/mod.rs", true),
            ("/src/a.rs", "src/a.rs", true),
            ("./src/a.rs", "src/a.rs", true),
            ("/etc/hosts", "/etc/hosts", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("größe*", "größe.md", true),
        ] {
            assert_eq!(Glob::new(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
        for nothing in ["", "  ", "/", "*", "**", "**/*", "?"] {
            assert_eq!(Glob::new(nothing), None, "{nothing:?} would mean everything");
        }
    }

    proptest! {
        #[test]
        fn any_pattern_ends(pattern in "[a*?/.]{0,40}", path in "[a/.]{0,60}") {
            if let Some(glob) = Glob::new(&pattern) {
                glob.matches(&path);
            }
        }

        #[test]
        fn a_path_means_itself(path in "[a-z]{1,5}(/[a-z.]{1,5}[a-z]){0,4}") {
            prop_assert!(Glob::new(&path).unwrap().matches(&path));
        }
    }
}
