//! Recognises a folder that no longer exists as a worktree of a repository that does, by three signs: a session was on a
//! branch there, the folder was named after the repository, and most files that sessions named in it are files of the
//! repository.
//!
//! With all three it is certain, with two the user is asked. One repository alone may fit. A wrong answer would show one
//! project's memories to another.

use std::collections::HashSet;

use crate::id::ProjectId;

/// A folder without git that is gone, in which sessions ran.
#[derive(Clone, Debug)]
pub struct GoneFolder {
    pub project: ProjectId,
    pub root: String,
    /// A session was on a branch there.
    pub had_branch: bool,
    /// The files that its sessions named, relative to its root.
    pub files: Vec<String>,
}

/// A repository that exists.
#[derive(Clone, Debug)]
pub struct StandingRepository {
    pub project: ProjectId,
    /// The name of its folder.
    pub name: String,
    /// The files that git or a session knows in it.
    pub files: HashSet<String>,
}

/// Fewer files in common may be chance: every repository has a README.
const SHARED_MIN: usize = 3;

/// How sure it is that a folder was a worktree of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorktreeFit {
    Likely,
    Certain,
}

/// The repository that the folder was a worktree of; `None` if none fits, or several do equally well.
pub fn owner<'r>(
    gone: &GoneFolder,
    repositories: &'r [StandingRepository],
) -> Option<(&'r StandingRepository, WorktreeFit)> {
    let fitting: Vec<_> =
        repositories.iter().filter_map(|repository| Some((repository, fit(gone, repository)?))).collect();
    let best = fitting.iter().map(|(_, fit)| *fit).max()?;
    let mut found = fitting.into_iter().filter(|(_, fit)| *fit == best);
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

fn fit(gone: &GoneFolder, repository: &StandingRepository) -> Option<WorktreeFit> {
    let shared = gone.files.iter().filter(|file| repository.files.contains(*file)).count();
    let has_files = shared >= SHARED_MIN && shared * 2 > gone.files.len();
    let has_name = gone.root.split(['/', '\\']).any(|folder| is_named_after(folder, &repository.name));
    // Files of which none is the repository's speak against it.
    let is_other = gone.project == repository.project || shared == 0 && !gone.files.is_empty();
    match [gone.had_branch, has_name, has_files].into_iter().filter(|sign| *sign).count() {
        _ if is_other => None,
        3 => Some(WorktreeFit::Certain),
        2 => Some(WorktreeFit::Likely),
        _ => None,
    }
}

/// `hydra`, `hydra-fix`, `hydra.worktrees`, but not `hydrant`.
fn is_named_after(folder: &str, name: &str) -> bool {
    let rest = folder.strip_prefix(name).filter(|_| !name.is_empty());
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::WorktreeFit::{Certain, Likely};
    use super::*;

    fn id(name: &str) -> ProjectId {
        ProjectId::from_stored(name.to_string())
    }

    fn repository(name: &str, files: &[&str]) -> StandingRepository {
        let files = files.iter().map(|file| file.to_string()).collect();
        StandingRepository { project: id(name), name: name.to_string(), files }
    }

    #[test]
    fn branch_name_and_files_say_whose_worktree_it_was() {
        const OWN: [&str; 4] = ["src/proxy.rs", "src/lib.rs", "Cargo.toml", "README.md"];
        let standing = [
            repository("hydra", &OWN),
            repository("hydra-web", &["package.json", "src/index.ts", "src/app.ts"]),
            repository("nimbus", &OWN),
        ];
        for (root, had_branch, files, expected) in [
            ("/w/hydra-fix", true, &OWN[..], Some(("hydra", Certain))),
            ("/w/worktrees/hydra/a1", true, &OWN[1..], Some(("hydra", Certain))),
            (
                "/w/hydra.worktrees/a1",
                true,
                &["src/proxy.rs", "src/lib.rs", "Cargo.toml", "src/new.rs"],
                Some(("hydra", Certain)),
            ),
            ("/w/hydra-web", true, &["package.json", "src/index.ts", "src/app.ts"], Some(("hydra-web", Certain))),
            // One sign is missing.
            ("/w/hydra-fix", false, &OWN[..], Some(("hydra", Likely))),
            ("/w/hydra-fix", true, &OWN[..2], Some(("hydra", Likely))),
            ("/w/hydra-fix", true, &[], Some(("hydra", Likely))),
            (
                "/w/hydra-fix",
                true,
                &["src/proxy.rs", "src/lib.rs", "Cargo.toml", "a.py", "b.py", "c.py"],
                Some(("hydra", Likely)),
            ),
            ("/w/conductor/tokyo", true, &["package.json", "src/index.ts", "src/app.ts"], Some(("hydra-web", Likely))),
            // Two are missing, another repository fits as well, or the files are others.
            ("/w/conductor/tokyo", false, &["package.json", "src/index.ts", "src/app.ts"], None),
            ("/w/hydra-fix", false, &OWN[..2], None),
            ("/w/hydra-fix", true, &["a.py", "b.py"], None),
            ("/w/hydrant", true, &OWN[..], None),
            ("/w/conductor/tokyo", true, &OWN[..], None),
            ("/w/nimbus/hydra", true, &OWN[..], None),
        ] {
            let files = files.iter().map(|file| file.to_string()).collect();
            let gone = GoneFolder { project: id("gone"), root: root.to_string(), had_branch, files };
            let found = owner(&gone, &standing).map(|(found, fit)| (found.name.as_str(), fit));
            assert_eq!(found, expected, "{root} {had_branch}");
        }
    }
}
