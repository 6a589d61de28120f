//! Compares the claimed changes with git: only files that really differ are listed.

use std::collections::{HashMap, HashSet};

use cerberus_record::clean::Cleaner;

use super::state::{FileDifference, ModifiedFile, PreservedState};
use crate::texts::OneLine;

/// One changed file, under its current name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentFile {
    pub path: String,
    pub change: FileDifference,
    pub was: Option<String>,
}

impl DifferentFile {
    fn new(path: &str, change: FileDifference) -> DifferentFile {
        DifferentFile { path: path.to_string(), change, was: None }
    }
}

/// Parses the output of `git status --porcelain=v2 -z`. Paths are never quoted; a rename is followed by the old name.
pub fn read_status(printed: &str) -> Vec<DifferentFile> {
    let mut entries = printed.split('\0');
    let mut changed = Vec::new();
    while let Some(entry) = entries.next() {
        let (kind, rest) = entry.split_at_checked(2).unwrap_or_default();
        let after = |fields: usize| rest.splitn(fields + 1, ' ').nth(fields).filter(|path| !path.is_empty());
        match kind {
            "1 " => changed.extend(after(7).map(|path| DifferentFile::new(path, change(rest)))),
            "2 " => {
                let was = entries.next().map(str::to_string);
                let is_copy = after(7).is_some_and(|rest| rest.starts_with('C'));
                let change = if is_copy { FileDifference::Added } else { FileDifference::Renamed };
                let was = was.filter(|_| !is_copy);
                changed.extend(after(8).map(|path| DifferentFile { was, ..DifferentFile::new(path, change) }));
            }
            "u " => changed.extend(after(9).map(|path| DifferentFile::new(path, FileDifference::Conflicted))),
            "? " => changed.push(DifferentFile::new(rest, FileDifference::Added)),
            _ => {}
        }
    }
    changed
}

/// The two status letters: index and worktree.
fn change(entry: &str) -> FileDifference {
    let letters = entry.as_bytes().get(..2).unwrap_or_default();
    match letters {
        // Deleted, or added to the index but missing on disk.
        [_, b'D'] | [b'D', b'.'] => FileDifference::Deleted,
        [b'A', _] => FileDifference::Added,
        _ => FileDifference::Modified,
    }
}

/// Parses the output of `git diff --name-status -z`.
pub fn read_diff(printed: &str) -> Vec<DifferentFile> {
    let mut fields = printed.split('\0');
    let mut changed = Vec::new();
    while let (Some(status), Some(path)) = (fields.next().filter(|status| !status.is_empty()), fields.next()) {
        match status.as_bytes()[0] {
            b'R' => {
                let Some(new) = fields.next() else { break };
                changed.push(DifferentFile {
                    was: Some(path.to_string()),
                    ..DifferentFile::new(new, FileDifference::Renamed)
                });
            }
            b'C' => {
                let Some(new) = fields.next() else { break };
                changed.push(DifferentFile::new(new, FileDifference::Added));
            }
            b'A' => changed.push(DifferentFile::new(path, FileDifference::Added)),
            b'D' => changed.push(DifferentFile::new(path, FileDifference::Deleted)),
            b'U' => changed.push(DifferentFile::new(path, FileDifference::Conflicted)),
            _ => changed.push(DifferentFile::new(path, FileDifference::Modified)),
        }
    }
    changed
}

/// The state of the worktree.
#[derive(Clone, Debug, Default)]
pub struct Worktree {
    /// What changed since the loop started: committed, modified or new. A later entry for a path replaces an earlier
    /// one.
    pub changed: Vec<DifferentFile>,
    /// Existing files that git does not track; whether they changed is unknown.
    pub unfollowed: HashSet<String>,
}

impl PreservedState {
    /// Replaces the list of modified files by those that really differ: wrong claims are dropped, missing files
    /// added. The files worked on last come first.
    pub fn check(&mut self, cleaner: &Cleaner, worktree: &Worktree) {
        let item = |text: &str| OneLine::new(cleaner, text);
        let mut differing: HashMap<&str, &DifferentFile> = HashMap::new();
        let mut order = Vec::new();
        for changed in &worktree.changed {
            if differing.insert(&changed.path, changed).is_none() {
                order.push(changed.path.as_str());
            }
        }
        let claimed: Vec<String> = self.modified_files.iter().map(|file| file.path.to_string()).collect();
        let renamed: HashMap<&str, &str> = differing
            .values()
            .filter_map(|changed| Some((changed.was.as_deref()?, changed.path.as_str())))
            .filter(|(was, _)| !differing.contains_key(was))
            .collect();
        let mut listed = HashSet::new();
        let mut files = Vec::new();
        let claimed = claimed.iter().map(|path| renamed.get(path.as_str()).copied().unwrap_or(path));
        for path in claimed.chain(order.iter().copied()) {
            let file = match differing.get(path) {
                Some(changed) => {
                    ModifiedFile { path: item(path), change: changed.change, was: changed.was.as_deref().map(item) }
                }
                None if worktree.unfollowed.contains(path) => {
                    ModifiedFile { path: item(path), change: FileDifference::Modified, was: None }
                }
                None => continue,
            };
            if listed.insert(path) {
                files.push(file);
            }
        }
        self.modified_files = files;
    }
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;
    use crate::texts::one_line;

    fn changed(path: &str, change: FileDifference, was: Option<&str>) -> DifferentFile {
        DifferentFile { path: path.into(), change, was: was.map(str::to_string) }
    }

    #[test]
    fn renames_spaces_quotes_and_torn_ends_are_read() {
        let entry = |letters: &str| format!("{letters} N... 100644 100644 100644 1a2b 1a2b");
        let printed = [
            format!("1 {} src/a b.rs", entry(".M")),
            format!("1 {} gone.rs", entry(" D").replace("  D", ".D").replace(" D", ".D")),
            format!("1 {} staged.rs", entry("A.")),
            format!("1 {} added then gone", entry("AD")),
            format!("2 {} R100 new \"quoted\".rs", entry("R.")),
            "old name.rs".to_string(),
            format!("2 {} C75 copy.rs", entry("C.")),
            "source.rs".to_string(),
            "u UU N... 100644 100644 100644 100644 a b c both.rs".to_string(),
            "? new dir/ümlaut.txt".to_string(),
            "! ignored".to_string(),
            "1 .M N... torn".to_string(),
            "?".to_string(),
        ]
        .join("\0");
        assert_eq!(
            read_status(&printed),
            [
                changed("src/a b.rs", FileDifference::Modified, None),
                changed("gone.rs", FileDifference::Deleted, None),
                changed("staged.rs", FileDifference::Added, None),
                changed("added then gone", FileDifference::Deleted, None),
                changed("new \"quoted\".rs", FileDifference::Renamed, Some("old name.rs")),
                changed("copy.rs", FileDifference::Added, None),
                changed("both.rs", FileDifference::Conflicted, None),
                changed("new dir/ümlaut.txt", FileDifference::Added, None),
            ]
        );
    }

    #[test]
    fn committed_changes_are_read_too() {
        let printed = "M\0a.rs\0A\0b.rs\0D\0c.rs\0R097\0old.rs\0new.rs\0C100\0x\0copy\0T\0link\0R100\0torn";
        assert_eq!(
            read_diff(printed),
            [
                changed("a.rs", FileDifference::Modified, None),
                changed("b.rs", FileDifference::Added, None),
                changed("c.rs", FileDifference::Deleted, None),
                changed("new.rs", FileDifference::Renamed, Some("old.rs")),
                changed("copy", FileDifference::Added, None),
                changed("link", FileDifference::Modified, None),
            ]
        );
    }

    #[test]
    fn only_changed_files_are_listed_and_each_once() {
        let claim = |path: &str| ModifiedFile { path: one_line(path), change: FileDifference::Modified, was: None };
        let mut state = PreservedState {
            modified_files: ["reverted.rs", "old.rs", "ignored/notes.txt", "a.rs", "a.rs"].map(claim).to_vec(),
            ..PreservedState::default()
        };
        state.check(
            &BUILT_IN,
            &Worktree {
                changed: vec![
                    changed("a.rs", FileDifference::Added, None),
                    changed("unclaimed.rs", FileDifference::Deleted, None),
                    changed("new.rs", FileDifference::Renamed, Some("old.rs")),
                    changed("a.rs", FileDifference::Modified, None),
                ],
                unfollowed: HashSet::from(["ignored/notes.txt".to_string()]),
            },
        );
        let listed: Vec<(&str, FileDifference, Option<&str>)> =
            state.modified_files.iter().map(|file| (&*file.path, file.change, file.was.as_deref())).collect();
        assert_eq!(
            listed,
            [
                ("new.rs", FileDifference::Renamed, Some("old.rs")),
                ("ignored/notes.txt", FileDifference::Modified, None),
                ("a.rs", FileDifference::Modified, None),
                ("unclaimed.rs", FileDifference::Deleted, None),
            ]
        );
    }
}
