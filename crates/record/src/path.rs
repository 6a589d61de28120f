//! Paths as agents wrote them, possibly on another machine, made relative to a root that need not exist here.

use std::borrow::Cow;

/// Folders in which tools keep linked worktrees, one subfolder per worktree.
const WORKTREE_FOLDERS: [&str; 4] = ["/.claude/worktrees/", "/.worktrees/", "/worktrees/", "/worktree/"];

/// `path` relative to `root`, or `None` if it lies outside. A file in one of the project's worktrees belongs to the
/// project.
pub fn below(root: &str, path: &str) -> Option<String> {
    let (root, path) = (plain(root), plain(path));
    if !is_absolute(&path) {
        return Some(path.strip_prefix("./").unwrap_or(&path).to_string());
    }
    for folder in WORKTREE_FOLDERS {
        if let Some((before, after)) = path.split_once(folder)
            && let Some((_, inside)) = after.split_once('/')
            && root.starts_with(before)
        {
            return Some(inside.to_string());
        }
    }
    path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/').map(str::to_string)
}

/// `path` resolved against `cwd`.
pub fn joined<'a>(cwd: &str, path: &'a str) -> Cow<'a, str> {
    if is_absolute(path) || cwd.is_empty() {
        return Cow::Borrowed(path);
    }
    let (cwd, path) = (plain(cwd), if has_drive(cwd) { path.replace('\\', "/") } else { path.to_string() });
    let mut folders: Vec<&str> = cwd.split('/').filter(|folder| !folder.is_empty()).collect();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => drop(folders.pop()),
            part => folders.push(part),
        }
    }
    let root = if cwd.starts_with('/') { "/" } else { "" };
    Cow::Owned(format!("{root}{}", folders.join("/")))
}

/// Whether a path that was made relative where possible leads out of the project.
pub fn is_outside(path: &str) -> bool {
    is_absolute(path) || path.starts_with("~/") || path.starts_with("\\\\") || path.starts_with("../")
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
}

/// A path as people and agents write it. Windows itself names a resolved path `\\?\C:\dev` or `\\?\UNC\host\dev`.
pub fn as_people_write(resolved: &str) -> Cow<'_, str> {
    match resolved.strip_prefix("\\\\?\\") {
        Some(path) if has_drive(path) => Cow::Borrowed(path),
        Some(path) => {
            path.strip_prefix("UNC\\").map_or(Cow::Borrowed(resolved), |path| Cow::Owned(format!("\\\\{path}")))
        }
        None => Cow::Borrowed(resolved),
    }
}

/// A Windows path in the form that its Unix shells use: `/c/dev/p`.
pub fn in_unix_form(path: &str) -> Cow<'_, str> {
    match has_drive(path) {
        true => Cow::Owned(format!("/{}{}", path[..1].to_ascii_lowercase(), path[2..].replace('\\', "/"))),
        false => Cow::Borrowed(path),
    }
}

/// Whether a path below a repository is in a place for linked worktrees, which have branches of their own.
pub fn is_in_worktree(inside: &str) -> bool {
    let inside = format!("/{}/", inside.trim_matches('/'));
    inside.starts_with("/.git/") || WORKTREE_FOLDERS.iter().any(|folder| inside.contains(folder))
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

/// Backslashes are separators only in Windows paths.
fn plain(path: &str) -> String {
    if has_drive(path) { path.replace('\\', "/") } else { path.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_resolved_against_the_cwd() {
        for (cwd, path, expected) in [
            ("/home/dev/p", "src/a.rs", "/home/dev/p/src/a.rs"),
            ("/home/dev/p/", "./src//a.rs", "/home/dev/p/src/a.rs"),
            ("/home/dev/p/web", "../src/a.rs", "/home/dev/p/src/a.rs"),
            ("/", "../../a.rs", "/a.rs"),
            ("/home/dev/p", "/etc/hosts", "/etc/hosts"),
            ("C:\\dev\\p", "src\\a.rs", "C:/dev/p/src/a.rs"),
            ("C:\\dev\\p", "D:\\a.rs", "D:\\a.rs"),
            ("", "a.rs", "a.rs"),
        ] {
            assert_eq!(joined(cwd, path), expected, "{path} in {cwd}");
        }
    }

    #[test]
    fn paths_of_other_places_are_recognised() {
        for path in ["/etc/hosts", "C:\\x\\a.go", "c:/x/a.go", "\\\\host\\a.go", "~/a.go", "../a.go"] {
            assert!(is_outside(path), "{path}");
        }
        for path in ["a.go", "src/a.go", "~a.go", "c:a.go", "..a.go"] {
            assert!(!is_outside(path), "{path}");
        }
        assert_eq!(in_unix_form("C:\\dev\\p"), "/c/dev/p");
        assert_eq!(in_unix_form("/home/dev"), "/home/dev");
        assert!([".git/wt/a", ".claude/worktrees/a/src", "worktrees/a"].iter().all(|inside| is_in_worktree(inside)));
        assert!(!["", "src", ".github/x", "my.git/x"].iter().any(|inside| is_in_worktree(inside)));
    }

    #[test]
    fn a_path_that_windows_resolved_is_written_as_usual() {
        for (resolved, expected) in [
            ("\\\\?\\C:\\dev\\p", "C:\\dev\\p"),
            ("\\\\?\\UNC\\host\\dev", "\\\\host\\dev"),
            ("\\\\?\\Volume{1}\\dev", "\\\\?\\Volume{1}\\dev"),
            ("/home/dev", "/home/dev"),
        ] {
            assert_eq!(as_people_write(resolved), expected);
        }
    }

    #[test]
    fn relative_to_the_project_wherever_it_was() {
        for (root, path, expected) in [
            ("/home/dev/p", "/home/dev/p/src/a.rs", Some("src/a.rs")),
            ("/home/dev/p/", "/home/dev/p/src/a.rs", Some("src/a.rs")),
            ("/home/dev/p", "/home/dev/p2/a.rs", None),
            ("/home/dev/p", "/etc/hosts", None),
            ("/home/dev/p", "src/a.rs", Some("src/a.rs")),
            ("/home/dev/p", "./src/a.rs", Some("src/a.rs")),
            ("/home/dev/p", "/home/dev/p/.claude/worktrees/x/src/a.rs", Some("src/a.rs")),
            ("/home/dev/p/.worktrees/x", "/home/dev/p/.worktrees/x/a.rs", Some("a.rs")),
            ("/home/dev/p", "/other/.worktrees/x/a.rs", None),
            ("C:\\dev\\p", "C:\\dev\\p\\src\\a.rs", Some("src/a.rs")),
            ("/home/dev/p", "C:\\x\\a.rs", None),
            ("/home/dev/p", "odd\\name.rs", Some("odd\\name.rs")),
        ] {
            assert_eq!(below(root, path).as_deref(), expected, "{path} in {root}");
        }
    }
}
