//! Recognises a folder that no longer exists as a worktree of a repository that does: it had a branch, it was named after
//! the repository, and most files that sessions named in it are files of the repository.
//!
//! All three are needed, and one repository alone may fit. A wrong answer would show one project's memories to another.

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

/// The repository that the folder was a worktree of; `None` if none fits, or several do.
pub fn owner<'r>(gone: &GoneFolder, repositories: &'r [StandingRepository]) -> Option<&'r StandingRepository> {
    let mut fitting = repositories.iter().filter(|repository| gone.had_branch && fits(gone, repository));
    let found = fitting.next()?;
    fitting.next().is_none().then_some(found)
}

fn fits(gone: &GoneFolder, repository: &StandingRepository) -> bool {
    let shared = gone.files.iter().filter(|file| repository.files.contains(*file)).count();
    gone.project != repository.project
        && shared >= SHARED_MIN
        && shared * 2 > gone.files.len()
        && gone.root.split(['/', '\\']).any(|folder| is_named_after(folder, &repository.name))
}

/// `hydra`, `hydra-fix`, `hydra.worktrees`, but not `hydrant`.
fn is_named_after(folder: &str, name: &str) -> bool {
    let rest = folder.strip_prefix(name).filter(|_| !name.is_empty());
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ProjectId {
        ProjectId::from_stored(name.to_string())
    }

    fn repository(name: &str, files: &[&str]) -> StandingRepository {
        let files = files.iter().map(|file| file.to_string()).collect();
        StandingRepository { project: id(name), name: name.to_string(), files }
    }

    #[test]
    fn branch_name_and_files_must_fit_one_repository() {
        const OWN: [&str; 4] = ["src/proxy.rs", "src/lib.rs", "Cargo.toml", "README.md"];
        let standing = [
            repository("hydra", &OWN),
            repository("hydra-web", &["package.json", "src/index.ts", "src/app.ts"]),
            repository("nimbus", &OWN),
        ];
        for (root, had_branch, files, expected) in [
            ("/w/hydra-fix", true, &OWN[..], Some("hydra")),
            ("/w/worktrees/hydra/a1", true, &OWN[1..], Some("hydra")),
            ("/w/hydra.worktrees/a1", true, &["src/proxy.rs", "src/lib.rs", "Cargo.toml", "src/new.rs"], Some("hydra")),
            ("/w/hydra-web", true, &["package.json", "src/index.ts", "src/app.ts"], Some("hydra-web")),
            ("/w/hydra-fix", false, &OWN[..], None),
            ("/w/hydra-fix", true, &OWN[..2], None),
            ("/w/hydra-fix", true, &["src/proxy.rs", "src/lib.rs", "Cargo.toml", "a.py", "b.py", "c.py"], None),
            ("/w/hydrant", true, &OWN[..], None),
            ("/w/conductor/tokyo", true, &OWN[..], None),
            ("/w/nimbus/hydra", true, &OWN[..], None),
        ] {
            let files = files.iter().map(|file| file.to_string()).collect();
            let gone = GoneFolder { project: id("gone"), root: root.to_string(), had_branch, files };
            let found = owner(&gone, &standing).map(|found| found.name.as_str());
            assert_eq!(found, expected, "{root} {had_branch}");
        }
    }
}
