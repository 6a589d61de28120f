//! The state of a project's files and finished tasks, by which progress is measured.
//!
//! With git, the state is the tree that is checked out and the contents of all files that differ from it, so neither an
//! empty commit nor a new time stamp is a new state. Without git, all files are read. Ignored files do not count.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::outside;
use cerberus_os::platform;
use cerberus_record::fact::FactKind;
use cerberus_record::id::fnv1a;
use cerberus_store::project::identity::Located;
use cerberus_store::sessions::find::recent_sessions;
use cerberus_store::view::FactFilter;
use cerberus_store::view::fold;

use super::worktree;
use crate::progress::Snapshot;

/// Without git, a folder with more files than this is not compared.
const FILES_MAX: usize = 50_000;
/// Of a larger file, only size and time count. The same holds for all files after this many bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
const TOTAL_BYTES_MAX: u64 = 256 * 1024 * 1024;

pub fn take(home: &Home, clock: &Clock, located: &Located) -> Snapshot {
    Snapshot { files: fingerprint(located), done: done(home, clock, located) }
}

/// How many tasks the project's sessions have finished.
fn done(home: &Home, clock: &Clock, located: &Located) -> Option<usize> {
    let store = fold::open(home).ok()?;
    let sessions = recent_sessions(&store, located, clock.now).ok()?;
    let carried = store.carried(&sessions, FactFilter::Words, clock.now).ok()?;
    Some(carried.facts.iter().filter(|known| known.fact.kind == FactKind::Done).count())
}

fn fingerprint(located: &Located) -> Option<u64> {
    let (mut bytes, mut paths) = match located.git_dir {
        Some(_) => (worktree::tree(located).unwrap_or_default().into_bytes(), worktree::differing(located)?),
        None => (Vec::new(), walk(&located.root)?),
    };
    paths.sort();
    paths.dedup();
    let mut read_bytes = 0;
    for path in &paths {
        bytes.extend_from_slice(b"\0");
        bytes.extend_from_slice(path.as_os_str().as_encoded_bytes());
        bytes.extend_from_slice(&state(&located.root.join(path), &mut read_bytes));
    }
    Some(fnv1a(&bytes))
}

/// What the state of one file is compared by: its contents if possible.
fn state(path: &Path, read_bytes: &mut u64) -> Vec<u8> {
    let Ok(known) = fs::symlink_metadata(path) else { return b"\0gone".to_vec() };
    if known.is_symlink() {
        return fs::read_link(path).map_or_else(|_| Vec::new(), |to| to.into_os_string().into_encoded_bytes());
    }
    let is_executable = platform::mode(&known) & 0o100 != 0;
    let since = known.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let by_time = format!("\0{}\0{}\0{}\0{is_executable}", known.len(), since.as_secs(), since.subsec_nanos());
    if !known.is_file() || known.len() > FILE_BYTES_MAX || *read_bytes + known.len() > TOTAL_BYTES_MAX {
        return by_time.into_bytes();
    }
    *read_bytes += known.len();
    let mut contents = Vec::new();
    match outside::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut contents)) {
        Ok(_) => format!("\0{}\0{:x}\0{is_executable}", contents.len(), fnv1a(&contents)).into_bytes(),
        Err(_) => by_time.into_bytes(),
    }
}

/// Every file below a folder except in hidden folders.
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
    Some(found)
}

#[cfg(test)]
mod tests {
    use cerberus_store::project::identity::locate;

    use super::*;
    use crate::totals::LoopProgress;

    #[test]
    fn only_new_contents_are_progress_with_git_and_without() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let (plain, repo) = (dir.path().join("plain"), dir.path().join("repo"));
        for root in [&plain, &repo] {
            fs::create_dir_all(root.join("src")).unwrap();
        }
        let git = |args: &[&str]| {
            let who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
            let ran = std::process::Command::new("git").args(who).args(args).current_dir(&repo).status().unwrap();
            assert!(ran.success());
        };
        git(&["init", "--quiet"]);
        fs::write(repo.join(".gitignore"), "ignored\n").unwrap();
        for root in [&plain, &repo] {
            let look = || take(&home, &Clock::new(None), &locate(root));
            let before = look();
            assert_eq!(look().since(&before, &[]), LoopProgress::None);
            fs::write(root.join("src/a.rs"), "x").unwrap();
            let after = look();
            assert_eq!(after.since(&before, &[]), LoopProgress::Made);
            fs::write(root.join("src/a.rs"), "y").unwrap();
            let other = look();
            assert_eq!(other.since(&after, &[]), LoopProgress::Made);
            // The same contents at another time are the state of before.
            fs::write(root.join("src/a.rs"), "x").unwrap();
            assert_eq!(look().files, after.files);
            assert_eq!(look().since(&other, &[after.files.unwrap()]), LoopProgress::None);
        }
        let look = || take(&home, &Clock::new(None), &locate(&repo));
        let before = look();
        fs::write(repo.join("ignored"), "x").unwrap();
        assert_eq!(look().since(&before, &[]), LoopProgress::None);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message=work"]);
        let committed = look();
        assert_eq!(committed.since(&before, &[]), LoopProgress::Made);
        git(&["commit", "--quiet", "--allow-empty", "--message=nothing"]);
        assert_eq!(look().since(&committed, &[]), LoopProgress::None);
    }
}
