//! Whether a context made progress: a commit, a changed file or a finished task.
//!
//! Files are compared by size and time and not read, because a project may be large. Ignored files do not count.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cerberus_core::loops::totals::Progress;
use cerberus_core::model::fact::Kind;
use cerberus_core::model::id::fnv1a;

use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::project::git;
use crate::project::identity::Located;
use crate::sessions::find::recent_sessions;
use crate::store::FactFilter;
use crate::store::fold;

/// Without git, a folder with more files than this is not compared.
const FILES_MAX: usize = 50_000;

/// The state of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    head: Option<String>,
    files: Option<u64>,
    done: Option<usize>,
}

impl Snapshot {
    pub fn take(home: &Home, clock: &Clock, located: &Located) -> Snapshot {
        Snapshot { head: git::head(located), files: fingerprint(located), done: done(home, clock, located) }
    }

    /// The progress since an earlier state.
    pub fn since(&self, earlier: &Snapshot) -> Progress {
        if self == earlier {
            // If the files could not be compared, they may have changed.
            return if self.files.is_none() { Progress::Unknown } else { Progress::None };
        }
        Progress::Made
    }
}

/// How many tasks the project's sessions have finished.
fn done(home: &Home, clock: &Clock, located: &Located) -> Option<usize> {
    let store = fold::open(home).ok()?;
    let sessions = recent_sessions(&store, located, clock.now).ok()?;
    let carried = store.carried(&sessions, FactFilter::Words, clock.now).ok()?;
    Some(carried.facts.iter().filter(|known| known.fact.kind == Kind::Done).count())
}

fn fingerprint(located: &Located) -> Option<u64> {
    let paths = match located.git_dir {
        Some(_) => git::files(located)?.split('\0').map(PathBuf::from).collect(),
        None => walk(&located.root)?,
    };
    let mut bytes = Vec::new();
    for path in paths.iter().filter(|path| !path.as_os_str().is_empty()) {
        let known = fs::symlink_metadata(located.root.join(path));
        let (size, secs, nanos) = known.map_or((0, 0, 0), |known| (known.size(), known.mtime(), known.mtime_nsec()));
        bytes.extend_from_slice(path.as_os_str().as_encoded_bytes());
        bytes.extend_from_slice(format!("\0{size}\0{secs}\0{nanos}\0").as_bytes());
    }
    Some(fnv1a(&bytes))
}

/// Every file below a folder except in hidden folders, in a fixed order.
fn walk(root: &Path) -> Option<Vec<PathBuf>> {
    let (mut dirs, mut found) = (vec![root.to_path_buf()], Vec::new());
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).ok()?.flatten() {
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_hidden => dirs.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path().strip_prefix(root).ok()?.to_path_buf()),
                _ => {}
            }
        }
        if found.len() > FILES_MAX {
            return None;
        }
    }
    found.sort();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::identity::locate;

    #[test]
    fn a_changed_file_is_progress_with_git_and_without() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let (plain, repo) = (dir.path().join("plain"), dir.path().join("repo"));
        for root in [&plain, &repo] {
            fs::create_dir_all(root.join("src")).unwrap();
        }
        let init = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(&repo).status().unwrap();
        assert!(init.success());
        fs::write(repo.join(".gitignore"), "ignored\n").unwrap();
        for root in [&plain, &repo] {
            let look = || Snapshot::take(&home, &Clock::new(None), &locate(root));
            let before = look();
            assert_eq!(look().since(&before), Progress::None);
            fs::write(root.join("src/a.rs"), "x").unwrap();
            let after = look();
            assert_eq!(after.since(&before), Progress::Made);
            fs::write(root.join("src/a.rs"), "longer").unwrap();
            assert_eq!(look().since(&after), Progress::Made);
        }
        let look = || Snapshot::take(&home, &Clock::new(None), &locate(&repo));
        let before = look();
        fs::write(repo.join("ignored"), "x").unwrap();
        assert_eq!(look().since(&before), Progress::None);
    }
}
