//! Files are named by their shortest unambiguous path suffix.

use super::{Item, Section};
use crate::clean::text;
use crate::model::map::FastMap;

/// Every known file of the project, by its last component: tracked by git, or seen in a session.
#[derive(Debug, Default)]
pub struct FileNames {
    by_base: FastMap<String, Vec<String>>,
    /// How many folders every name includes.
    folders: usize,
}

/// In larger projects, agents look for a bare name in the wrong folder, and folder names repeat.
const BARE_NAMES_FILES_MAX: usize = 200;
const FOLDERS_SHOWN: usize = 2;

impl FileNames {
    /// For a project with this many files.
    pub fn of_project(files: usize) -> FileNames {
        let folders = if files > BARE_NAMES_FILES_MAX { FOLDERS_SHOWN } else { 0 };
        FileNames { folders, ..FileNames::default() }
    }

    pub fn add(&mut self, path: &str) {
        let same_base = self.by_base.entry(base(path).to_string()).or_default();
        if !same_base.iter().any(|known| known == path) {
            same_base.push(path.to_string());
        }
    }

    /// `src/store/mod.rs` is `store/mod.rs` when another `mod.rs` exists but no other `store/mod.rs`.
    pub fn shortest<'a>(&self, path: &'a str) -> &'a str {
        let same_base = self.by_base.get(base(path)).map(Vec::as_slice).unwrap_or_default();
        let starts = path.rmatch_indices('/').map(|(at, _)| at + 1).skip(self.folders);
        let unique = |suffix: &str| !same_base.iter().any(|other| other != path && ends_with_path(other, suffix));
        starts.map(|start| &path[start..]).find(|suffix| !suffix.is_empty() && unique(suffix)).unwrap_or(path)
    }
}

/// The last component of a path.
pub fn base(path: &str) -> &str {
    match memchr::memrchr(b'/', path.as_bytes()) {
        Some(at) if at + 1 < path.len() => &path[at + 1..],
        None => path,
        // It ends with a slash.
        Some(_) => path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path),
    }
}

/// Whether `suffix` is the end of `path`, in whole components.
pub(super) fn ends_with_path(path: &str, suffix: &str) -> bool {
    path.strip_suffix(suffix).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Gives every file its short name. Files outside the project keep their full path.
pub fn name_files(items: &mut [Item], files: &FileNames) {
    for item in items.iter_mut().filter(|item| item.section == Section::Files) {
        if let Some(path) = item.path.as_deref().filter(|path| !path.starts_with('/')) {
            item.code = format!("{}{}", item.kind.prefix(), text::code(files.shortest(path)));
            item.tokens = crate::language::tokens::line(&item.code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_suffix_that_tells_files_apart() {
        let mut files = FileNames::default();
        for path in
            ["src/store/mod.rs", "src/brief/mod.rs", "bench/store/mod.rs", "README.md", "docs/README.md", "src/a.rs"]
        {
            files.add(path);
            files.add(path);
        }
        for (path, short) in [
            ("src/a.rs", "a.rs"),
            ("src/brief/mod.rs", "brief/mod.rs"),
            ("src/store/mod.rs", "src/store/mod.rs"),
            ("docs/README.md", "docs/README.md"),
            ("README.md", "README.md"),
            ("unseen/b.rs", "b.rs"),
            ("b.rs", "b.rs"),
        ] {
            assert_eq!(files.shortest(path), short, "{path}");
        }
        let large = FileNames::of_project(BARE_NAMES_FILES_MAX + 1);
        for (path, short) in [("x/a/b/c.rs", "a/b/c.rs"), ("b/c.rs", "b/c.rs"), ("c.rs", "c.rs")] {
            assert_eq!(large.shortest(path), short, "{path}");
        }
    }
}
