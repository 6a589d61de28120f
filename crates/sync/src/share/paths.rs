//! Paths in words: relative where they lie in the project, without the home of the user otherwise.

use std::borrow::Cow;

use cerberus_record::path::below;

use super::replaced::replaced;
use super::windows::{self, Outside};

/// Homes of users: the parts before the name, and whether a name follows.
const HOMES: [(&str, bool); 5] =
    [("/home/", true), ("/Users/", true), ("/var/home/", true), ("/root/", false), ("/var/root/", false)];
/// Where a drive of Windows lies for programs that know none: `/mnt/c/Users/ann`, `/c/Users/ann`.
const DRIVES: [&str; 3] = ["mnt/", "cygdrive/", ""];

/// The text with its absolute paths made relative to `root`, to the home (`~`), or shortened.
pub fn relative<'t>(text: &'t str, root: &str, outside: Outside) -> Cow<'t, str> {
    match windows::relative(text, root, outside) {
        Cow::Borrowed(text) => of_unix(text, root, outside),
        Cow::Owned(text) => Cow::Owned(of_unix(&text, root, outside).into_owned()),
    }
}

fn of_unix<'t>(text: &'t str, root: &str, outside: Outside) -> Cow<'t, str> {
    if !text.contains('/') {
        return Cow::Borrowed(text);
    }
    replaced(text, |at| {
        let is_path = text[at..].starts_with('/') && is_start(text, at, root);
        let path = is_path.then(|| path_at(text, at, root))?;
        Some((path.len(), told(path, root, outside)?))
    })
}

/// Does an absolute path begin at this slash?
fn is_start(text: &str, at: usize, root: &str) -> bool {
    let (before, rest) = (&text[..at], &text[at..]);
    if before.ends_with("file://") || is_in(rest, root) {
        return true;
    }
    let Some(last) = before.chars().next_back() else { return true };
    match last {
        // The host of a URL follows two slashes.
        ':' => !rest.starts_with("//"),
        '.' | '_' | '-' | '~' | '/' | '}' | ')' | ']' | '*' | '@' | '%' | '\\' | '$' => false,
        last if last.is_ascii_alphanumeric() => is_flag(before),
        _ => true,
    }
}

/// `-I/usr/include`.
fn is_flag(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`')).next().unwrap_or_default();
    matches!(word.as_bytes(), [b'-', letter] if letter.is_ascii_alphabetic())
}

/// The path that begins here. The root may contain blanks; elsewhere a path ends at the first one.
fn path_at<'t>(text: &'t str, at: usize, root: &str) -> &'t str {
    let rest = &text[at..];
    let skipped = if is_in(rest, root) { root.trim_end_matches('/').len() } else { 0 };
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '<' | '>' | '|' | ';' | ',' | ':')
            || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '&' | '=' | '?' | '#' | '!' | '*' | '$')
    };
    let end = rest[skipped..].find(ends).map_or(rest.len(), |end| skipped + end);
    let path = rest[..end].trim_end_matches('.');
    &rest[..path.len().max(skipped)]
}

/// Does the text begin with a path in the root, or with the root itself?
fn is_in(text: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    root.len() > 1
        && text.strip_prefix(root).is_some_and(|rest| {
            let mut rest = rest.chars();
            // A sentence may end after the name of the root.
            match rest.next() {
                Some('.') => !rest.next().is_some_and(is_name),
                next => !next.is_some_and(is_name),
            }
        })
}

/// How a path is told; `None` if it stays as it is.
fn told(path: &str, root: &str, outside: Outside) -> Option<String> {
    if is_in(path, root) {
        let inside = below(root, path).unwrap_or_default();
        let inside = inside.trim_start_matches('/');
        return Some(if inside.is_empty() { ".".to_string() } else { inside.to_string() });
    }
    let path = on_drive(path.trim_start_matches('/'));
    let parts = path.split('/').filter(|part| !part.is_empty()).count();
    for (home, has_name) in HOMES {
        if let Some(rest) = path.strip_prefix(&home[1..]) {
            let rest = if has_name { rest.split_once('/').map_or("", |(_, rest)| rest) } else { rest };
            return Some(if rest.is_empty() { "~".to_string() } else { format!("~/{rest}") });
        }
    }
    let base = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    (outside == Outside::Shortened && parts > 1).then(|| format!("…/{base}"))
}

/// A path in a home on a drive of Windows, from the drive on.
fn on_drive(path: &str) -> &str {
    let from_drive = |mount: &str| {
        let (drive, rest) = path.strip_prefix(mount)?.split_once('/')?;
        (drive.len() == 1 && rest.starts_with("Users/")).then_some(rest)
    };
    DRIVES.iter().find_map(|mount| from_drive(mount)).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_relative_and_everything_else_stays() {
        let root = "/home/ana/code/shop";
        for (text, kept, shortened) in [
            ("fix /home/ana/code/shop/src/a.rs:12 now", "fix src/a.rs:12 now", "fix src/a.rs:12 now"),
            ("cd /home/ana/code/shop && ls", "cd . && ls", "cd . && ls"),
            ("It is in /home/ana/code/shop.", "It is in ..", "It is in .."),
            ("/home/ana/code/shop2/a", "~/code/shop2/a", "~/code/shop2/a"),
            ("see '/Users/bo/x y' and /root/.ssh", "see '~/x y' and ~/.ssh", "see '~/x y' and ~/.ssh"),
            ("cat /etc/hosts /tmp", "cat /etc/hosts /tmp", "cat …/hosts /tmp"),
            ("-I/home/ana/code/shop/inc", "-Iinc", "-Iinc"),
            ("-L/usr/lib x", "-L/usr/lib x", "-L…/lib x"),
            ("file:///home/bo/a.txt", "file://~/a.txt", "file://~/a.txt"),
            ("PATH=/usr/bin:/home/bo/bin", "PATH=/usr/bin:~/bin", "PATH=…/bin:~/bin"),
            (
                "https://example.com/home/x/y and/or 1/2",
                "https://example.com/home/x/y and/or 1/2",
                "https://example.com/home/x/y and/or 1/2",
            ),
            (
                "src/home/x/y.rs ./a/b ~/c/d **/e/f",
                "src/home/x/y.rs ./a/b ~/c/d **/e/f",
                "src/home/x/y.rs ./a/b ~/c/d **/e/f",
            ),
            ("看/home/ana/x", "看~/x", "看~/x"),
            ("/home/ana", "~", "~"),
            ("/mnt/c/Users/bo/x /c/Users/bo/y", "~/x ~/y", "~/x ~/y"),
            ("/mnt/data/Users", "/mnt/data/Users", "…/Users"),
            (r"C:\Users\bo\x", "~/x", "~/x"),
            ("/review // a comment", "/review // a comment", "/review // a comment"),
            ("//home/ana/x", "~/x", "~/x"),
        ] {
            assert_eq!(relative(text, root, Outside::Kept), kept, "{text}");
            assert_eq!(relative(text, root, Outside::Shortened), shortened, "{text}");
        }
    }

    #[test]
    fn a_root_may_contain_blanks_or_be_unknown() {
        assert_eq!(relative("rm '/srv/my shop/a b'", "/srv/my shop", Outside::Kept), "rm 'a b'");
        for root in ["", "/"] {
            assert_eq!(relative("/srv/x/y", root, Outside::Kept), "/srv/x/y");
        }
    }
}
