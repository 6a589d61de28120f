//! Paths of Windows in words: `C:\Users\ann\shop\a.rs`, `C:/Users/…`, `\\server\share\…`, `\\?\C:\…`, also with every
//! backslash doubled, as JSON has them. Made relative like other paths, see `paths.rs`.

use std::borrow::Cow;

use super::replaced::replaced;

/// What becomes of an absolute path that is neither in the project nor in a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// `/etc/hosts` is the same on every machine.
    Kept,
    /// `…/hosts`.
    Shortened,
}

/// The text with its Windows paths made relative to `root`, to the home (`~`), or shortened.
pub fn relative<'t>(text: &'t str, root: &str, outside: Outside) -> Cow<'t, str> {
    if !text.contains('\\') && !text.contains(":/") {
        return Cow::Borrowed(text);
    }
    replaced(text, |at| {
        let path = is_start(text, at).then(|| path_at(&text[at..], root))?;
        Some((path.len(), told(path, root, outside)?))
    })
}

fn is_separator(c: char) -> bool {
    matches!(c, '\\' | '/')
}

/// Does a path with a drive or a server begin here?
fn is_start(text: &str, at: usize) -> bool {
    let is_in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\\');
    let rest = &text[at..];
    !text[..at].ends_with(is_in_word) && (has_drive(rest) || server(rest).is_some())
}

/// `C:\` or `C:/`, but not `c://`.
fn has_drive(rest: &str) -> bool {
    match rest.as_bytes() {
        [letter, b':', b'\\', ..] => letter.is_ascii_alphabetic(),
        [letter, b':', b'/', next @ ..] => letter.is_ascii_alphabetic() && next.first() != Some(&b'/'),
        _ => false,
    }
}

/// What follows the server of `\\server\share`, or the prefix of `\\?\C:\`.
fn server(rest: &str) -> Option<&str> {
    let name = rest.trim_start_matches('\\');
    let end = name.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '?')))?;
    let share = name[end..].trim_start_matches('\\');
    let is_share = name[end..].starts_with('\\') && share.starts_with(|c: char| c.is_alphanumeric());
    let is_server = rest.len() - name.len() >= 2 && (end > 1 || &name[..end] == "?");
    (is_server && is_share).then_some(share)
}

/// The path that text begins with. The root and the name of a user may contain blanks; elsewhere a path ends at the first.
fn path_at<'t>(rest: &'t str, root: &str) -> &'t str {
    let skipped = [in_root(rest, root), in_home(rest)].into_iter().flatten().max().unwrap_or(0).max(drive_bytes(rest));
    let ends = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '|' | ';' | ',' | ':' | '(' | ')' | '*')
    };
    let end = rest[skipped..].find(ends).map_or(rest.len(), |end| skipped + end);
    &rest[..rest[..end].trim_end_matches('.').len().max(skipped)]
}

/// How much of a path its drive takes.
fn drive_bytes(path: &str) -> usize {
    let drive = server(path).filter(|share| has_drive(share)).unwrap_or(path);
    path.len() - drive.len() + if has_drive(drive) { 2 } else { 0 }
}

/// How much of a path leads to the root, if it lies there. Upper and lower case are the same, and so are separators.
fn in_root(path: &str, root: &str) -> Option<usize> {
    let root = root.trim_end_matches(is_separator);
    let skipped = if has_drive(root) { drive_bytes(path).saturating_sub(2) } else { 0 };
    let end = skipped + prefixed(&path[skipped..], root)?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    (root.len() > 2 && !path[end..].starts_with(is_name)).then_some(end)
}

/// How much of a path a beginning takes.
fn prefixed(path: &str, beginning: &str) -> Option<usize> {
    let mut rest = path;
    let mut wanted = beginning.chars().peekable();
    while let Some(c) = wanted.next() {
        if is_separator(c) {
            while wanted.next_if(|next| is_separator(*next)).is_some() {}
            rest = rest.strip_prefix(is_separator)?.trim_start_matches(is_separator);
        } else {
            let first = rest.chars().next().filter(|first| first.to_lowercase().eq(c.to_lowercase()))?;
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(path.len() - rest.len())
}

/// How much of a path leads to the home of a user, if it lies in one.
fn in_home(path: &str) -> Option<usize> {
    let drive = drive_bytes(path);
    let users = drive + prefixed(path.get(drive..)?, "/Users/")?;
    let is_end =
        |c: char| is_separator(c) || c.is_control() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '|' | ';' | ':');
    let name = &path[users..];
    let name = &name[..name.find(is_end).unwrap_or(name.len())];
    let mut end = name.find(' ').unwrap_or(name.len());
    // Only a folder may go on after a blank, and words of a sentence do not all begin with a capital.
    let is_folder = path[users + name.len()..].starts_with(is_separator);
    if is_folder && name.split(' ').skip(1).all(|word| word.starts_with(char::is_uppercase)) {
        end = name.len();
    }
    Some(users + end)
}

/// How a path is told; `None` if it stays as it is.
fn told(path: &str, root: &str, outside: Outside) -> Option<String> {
    let parts = |path: &str| -> Vec<String> {
        path.split(is_separator).filter(|part| !part.is_empty()).map(str::to_string).collect()
    };
    if let Some(inside) = in_root(path, root) {
        let inside = parts(&path[inside..]).join("/");
        return Some(if inside.is_empty() { ".".to_string() } else { inside });
    }
    if let Some(home) = in_home(path) {
        return Some(std::iter::once("~".to_string()).chain(parts(&path[home..])).collect::<Vec<_>>().join("/"));
    }
    let names = parts(&path[drive_bytes(path)..]);
    let is_told = outside == Outside::Shortened && names.len() > 1;
    Some(format!("…/{}", names.last().filter(|_| is_told)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_paths_become_relative_and_everything_else_stays() {
        let root = r"C:\Users\Ann Smith\shop";
        for (text, kept, shortened) in [
            (r"fix C:\Users\Ann Smith\shop\src\a.rs now", "fix src/a.rs now", "fix src/a.rs now"),
            (r"in c:/users/ann smith/shop.", "in ..", "in .."),
            (r"C:\\Users\\Ann Smith\\shop\\b.rs", "b.rs", "b.rs"),
            (r"\\?\C:\Users\Ann Smith\shop\b.rs", "b.rs", "b.rs"),
            (r"see C:\Users\Bo Lee\x.txt and D:\a\b", r"see ~/x.txt and D:\a\b", "see ~/x.txt and …/b"),
            (r"copy C:\Users\bo to backup\x", r"copy ~ to backup\x", r"copy ~ to backup\x"),
            (r"C:\Users\bo", "~", "~"),
            (r"from \\nas-7\team\plan.doc", r"from \\nas-7\team\plan.doc", "from …/plan.doc"),
            (r#"{"at":"\\\\nas\\salaries\\q3"}"#, r#"{"at":"\\\\nas\\salaries\\q3"}"#, r#"{"at":"…/q3"}"#),
            (r"C:\Users\Ann Smith\shop2\a", "~/shop2/a", "~/shop2/a"),
            (r"C:\x", r"C:\x", r"C:\x"),
            (r"split at \n or \\ and \d+", r"split at \n or \\ and \d+", r"split at \n or \\ and \d+"),
            ("https://host/a and s3://b/c", "https://host/a and s3://b/c", "https://host/a and s3://b/c"),
        ] {
            assert_eq!(relative(text, root, Outside::Kept), kept, "{text}");
            assert_eq!(relative(text, root, Outside::Shortened), shortened, "{text}");
        }
    }
}
