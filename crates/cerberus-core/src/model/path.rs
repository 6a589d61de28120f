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

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
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
