//! The commits of branches, read without git. `packed-refs` may be large, so it is read once.

use std::cell::OnceCell;
use std::path::Path;

use cerberus_os::outside;

use crate::project::identity::Located;

/// Limit for files of branch names and packed references. A larger one is not searched.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A branch of this name in a remote repository, as of the last fetch or push.
pub enum RemoteBranch {
    NoRemote,
    Missing,
    At(String),
}

/// The references of a repository, as files have them. A folder without git has none.
#[derive(Debug)]
pub struct References<'a> {
    located: &'a Located,
    packed: OnceCell<String>,
    remotes: OnceCell<Vec<String>>,
}

impl<'a> References<'a> {
    pub fn of(located: &'a Located) -> References<'a> {
        References { located, packed: OnceCell::new(), remotes: OnceCell::new() }
    }

    /// The commit that is checked out. `None` if the repository stores its references differently.
    pub fn head(&self) -> Option<String> {
        let head = small_file(&self.located.git_dir.as_ref()?.join("HEAD"))?;
        match head.trim().strip_prefix("ref: ") {
            Some(reference) => self.commit(reference),
            None => Some(head.trim().to_string()).filter(|name| is_commit(name)),
        }
    }

    /// The commit of a local branch, if there is one of this name.
    pub fn branch(&self, name: &str) -> Option<String> {
        self.commit(&format!("refs/heads/{name}"))
    }

    /// The commit of a remote branch named like `origin/main`. Nothing for a local one.
    pub fn upstream(&self, name: &str) -> Option<String> {
        self.commit(&format!("refs/remotes/{name}"))
    }

    /// Looks a branch up in the remote repositories, in `origin` first.
    pub fn remote_branch(&self, name: &str) -> RemoteBranch {
        let remotes = self.remotes();
        match remotes.iter().find_map(|remote| self.upstream(&format!("{remote}/{name}"))) {
            Some(commit) => RemoteBranch::At(commit),
            None if remotes.is_empty() => RemoteBranch::NoRemote,
            None => RemoteBranch::Missing,
        }
    }

    /// The commits of the main branch, here and in `origin`. Nothing if nobody knows which branch that is.
    pub fn main_tips(&self) -> Vec<String> {
        let named = self.shared("refs/remotes/origin/HEAD");
        let named = named.as_deref().and_then(|head| head.trim().strip_prefix("ref: refs/remotes/origin/"));
        let tips = |name: &str| -> Vec<String> {
            [self.upstream(&format!("origin/{name}")), self.branch(name)].into_iter().flatten().collect()
        };
        let mut found = named.into_iter().chain(["main", "master"]).map(tips);
        found.find(|tips| !tips.is_empty()).unwrap_or_default()
    }

    /// The remote repositories that something was fetched from or pushed to, `origin` first.
    fn remotes(&self) -> &[String] {
        self.remotes.get_or_init(|| {
            let packed = self.packed().lines();
            let packed = packed.filter_map(|line| line.split_once(" refs/remotes/")?.1.split('/').next());
            let folder = self.located.common_dir.as_ref().map(|dir| dir.join("refs/remotes"));
            let loose = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
            let loose = loose.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let mut names: Vec<String> = packed.map(str::to_string).chain(loose).collect();
            names.sort_unstable_by_key(|name| (name != "origin", name.clone()));
            names.dedup();
            names
        })
    }

    fn commit(&self, reference: &str) -> Option<String> {
        // A name that leads out of the folder is not a reference.
        if reference.split('/').any(|part| part.is_empty() || part == "..") {
            return None;
        }
        let own = self.located.git_dir.as_ref().filter(|own| Some(*own) != self.located.common_dir.as_ref());
        let own = own.and_then(|own| small_file(&own.join(reference)));
        if let Some(name) = own.or_else(|| self.shared(reference)) {
            return Some(name.trim().to_string()).filter(|name| is_commit(name));
        }
        let packed = self.packed();
        let lines = packed.match_indices(reference).filter_map(|(at, _)| {
            let is_whole = packed[at + reference.len()..].starts_with(['\n', '\r']);
            let line = packed[..at].strip_suffix(' ').filter(|_| is_whole)?;
            Some(line.rsplit('\n').next().unwrap_or(line))
        });
        lines.filter(|name| is_commit(name)).map(str::to_string).next()
    }

    fn packed(&self) -> &str {
        self.packed.get_or_init(|| self.shared("packed-refs").unwrap_or_default())
    }

    /// A file that all worktrees share.
    fn shared(&self, path: &str) -> Option<String> {
        small_file(&self.located.common_dir.as_ref()?.join(path))
    }
}

pub(super) fn is_commit(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn small_file(path: &Path) -> Option<String> {
    outside::text(path, BYTES_MAX).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::project::identity::locate;

    const LOOSE: &str = "1111111111111111111111111111111111111111";
    const PACKED: &str = "2222222222222222222222222222222222222222";

    fn repository(packed: &str) -> (tempfile::TempDir, Located) {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join(".git");
        fs::create_dir_all(git.join("refs/heads/side")).unwrap();
        fs::create_dir_all(git.join("objects")).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("refs/heads/main"), format!("{LOOSE}\n")).unwrap();
        fs::write(git.join("packed-refs"), packed).unwrap();
        let located = locate(dir.path());
        (dir, located)
    }

    #[test]
    fn a_branch_is_found_in_its_file_or_among_the_packed_ones() {
        let packed = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{PACKED} refs/heads/main\n{PACKED} refs/heads/side/open\n\
             {PACKED} refs/heads/side/open-later\n^{LOOSE}\n{PACKED} refs/remotes/origin/main\n{PACKED} refs/tags/refs/heads/tag"
        );
        let (_dir, located) = repository(&packed);
        let references = References::of(&located);
        assert_eq!(references.branch("main").as_deref(), Some(LOOSE), "the file is newer");
        assert_eq!(references.branch("side/open").as_deref(), Some(PACKED));
        for missing in ["side", "open", "side/open-lat", "tag", "../HEAD", ""] {
            assert_eq!(references.branch(missing), None, "{missing:?}");
        }
        assert_eq!(references.head().as_deref(), Some(LOOSE));
        assert_eq!(references.main_tips(), [PACKED, LOOSE]);
        assert!(matches!(references.remote_branch("main"), RemoteBranch::At(commit) if commit == PACKED));
        assert!(matches!(references.remote_branch("side/open"), RemoteBranch::Missing));
    }

    #[test]
    fn without_git_or_with_a_damaged_file_there_is_nothing() {
        let (_dir, damaged) = repository("2222 refs/heads/side\nrefs/heads/side\n refs/heads/side");
        assert_eq!(References::of(&damaged).branch("side"), None);
        let dir = tempfile::tempdir().unwrap();
        let located = locate(dir.path());
        let references = References::of(&located);
        assert_eq!((references.head(), references.branch("main"), references.main_tips().len()), (None, None, 0));
        assert!(matches!(references.remote_branch("main"), RemoteBranch::NoRemote));
    }
}
