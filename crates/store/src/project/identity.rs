//! Which project a folder belongs to. Reads the file system itself and does not start git, so a hook can use it.
//!
//! A project is a git common directory: worktrees, subfolders and symbolic links lead to the same project, two
//! repositories of the same name to two. Without git, the folder is the project. A folder that points at a git directory
//! elsewhere belongs to that project only if the git directory points back; otherwise a downloaded folder could ask for
//! what is known about any other project.

use std::fs;
use std::path::{Component, Path, PathBuf};

use cerberus_os::outside;
use cerberus_os::platform::{is_plain, real_path, with_slashes};
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::Location;
use cerberus_record::id::ProjectId;
use cerberus_record::project::config;

/// A pointer file (`.git`, `HEAD`, `commondir`) is one short line.
const POINTER_BYTES_MAX: u64 = 8 * 1024;

/// The configuration of a submodule, which is read for its worktree.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// The project of a folder.
#[derive(Debug)]
pub struct Located {
    pub project: ProjectId,
    pub name: String,
    /// The top of the worktree, with symbolic links resolved.
    pub root: PathBuf,
    /// The folder asked about, with symbolic links resolved.
    pub cwd: PathBuf,
    /// The worktree's own git directory.
    pub git_dir: Option<PathBuf>,
    /// The git directory shared by all worktrees.
    pub common_dir: Option<PathBuf>,
    /// For a linked worktree: the top of the main one.
    pub main_root: Option<PathBuf>,
    /// The git directory that this folder points at and that does not point back. The folder is a project of its own.
    pub disowned_by: Option<PathBuf>,
}

impl Located {
    pub fn branch(&self) -> Option<String> {
        branch(self.git_dir.as_ref()?)
    }

    pub fn location(&self, cleaner: &Cleaner) -> Location<'static> {
        let clean = |path: &Path| cleaner.clean(path.to_string_lossy().into_owned(), Keep::NAME);
        let root = clean(&self.root);
        Location {
            project: self.project.clone(),
            name: cleaner.clean(self.name.clone(), Keep::NAME),
            // Usually they are the same.
            cwd: if self.cwd == self.root { root.clone() } else { clean(&self.cwd) },
            root,
            branch: self.branch().map(|branch| cleaner.clean(branch, Keep::NAME)),
        }
    }
}

pub fn locate(cwd: &Path) -> Located {
    // A deleted folder can still be named.
    let cwd = real_path(cwd).unwrap_or_else(|_| normal(cwd));
    for root in cwd.ancestors() {
        if let Some(git) = git_dirs(root) {
            if !git.agrees(root) {
                return Located { disowned_by: Some(git.own), ..folder(root, cwd.clone()) };
            }
            let name = git.name(root);
            let main_root = git.is_linked.then(|| git.common.parent().map(Path::to_path_buf)).flatten();
            return Located {
                main_root,
                project: ProjectId::of_anchor(git.common.as_os_str().as_encoded_bytes()),
                name,
                root: root.to_path_buf(),
                git_dir: Some(git.own),
                common_dir: Some(git.common),
                disowned_by: None,
                cwd,
            };
        }
    }
    folder(&cwd, cwd.clone())
}

/// A project without git.
fn folder(root: &Path, cwd: PathBuf) -> Located {
    let anchor = [b"folder:", root.as_os_str().as_encoded_bytes()].concat();
    let (project, name, root) = (ProjectId::of_anchor(&anchor), base_name(root), root.to_path_buf());
    Located { project, name, root, cwd, git_dir: None, common_dir: None, main_root: None, disowned_by: None }
}

/// `path` as the project spells it: relative to its worktree, or absolute if outside.
pub fn relative(located: &Located, said_cwd: &Path, path: &str) -> String {
    let said = Path::new(path);
    // Fast path: most paths are plainly inside.
    if is_plain(path)
        && let Ok(inside) = said.strip_prefix(&located.root)
    {
        return with_slashes(inside);
    }
    // The agent spells a path like its own folder, symbolic links included.
    let absolute = match said.strip_prefix(said_cwd) {
        Ok(inside) if said_cwd.is_absolute() => normal(&located.cwd.join(inside)),
        _ => normal(&located.cwd.join(said)),
    };
    if let Ok(inside) = absolute.strip_prefix(&located.root) {
        return with_slashes(inside);
    }
    let (parent, file) = (absolute.parent().unwrap_or(&absolute), absolute.file_name().unwrap_or_default());
    if let Ok(real) = real_path(parent) {
        if let Ok(inside) = real.join(file).strip_prefix(&located.root) {
            return with_slashes(inside);
        }
        let other = locate(&real);
        if other.project == located.project
            && let Ok(inside) = real.join(file).strip_prefix(&other.root)
        {
            return with_slashes(inside);
        }
    }
    with_slashes(&absolute)
}

/// Turns `a/./b/../c` into `a/c` without reading the disk.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::with_capacity(path.as_os_str().len());
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

struct GitDirs {
    own: PathBuf,
    common: PathBuf,
    is_linked: bool,
}

impl GitDirs {
    /// Whether the git directory takes this folder for a worktree of its own. A linked worktree is registered in the
    /// main repository; a submodule and a separate git directory name their worktree in their configuration.
    fn agrees(&self, root: &Path) -> bool {
        let own = root.join(".git");
        if self.is_linked {
            let is_registered = self.own.parent() == Some(&self.common.join("worktrees"));
            return is_registered
                && pointer(&self.own.join("gitdir"))
                    .and_then(|back| real_path(&self.own.join(back.trim())).ok())
                    .is_some_and(|back| back == own);
        }
        if self.own == own {
            return true;
        }
        ["config", "config.worktree"].iter().any(|name| {
            outside::text(&self.own.join(name), CONFIG_BYTES_MAX)
                .ok()
                .and_then(|text| config::worktree(&text))
                .and_then(|folder| real_path(&self.own.join(folder)).ok())
                .is_some_and(|folder| folder == root)
        })
    }

    /// A linked worktree is named after its main one. Both `repo/.git` and `repo.git` give `repo`.
    fn name(&self, root: &Path) -> String {
        if !self.is_linked {
            return base_name(root);
        }
        match self.common.file_name().is_some_and(|name| name == ".git") {
            true => self.common.parent().map(base_name).unwrap_or_default(),
            false => base_name(&self.common).trim_end_matches(".git").to_string(),
        }
    }
}

fn git_dirs(root: &Path) -> Option<GitDirs> {
    let dot_git = root.join(".git");
    let kind = fs::metadata(&dot_git).ok()?;
    let own = if kind.is_dir() {
        dot_git
    } else {
        let pointer = pointer(&dot_git)?;
        real_path(&root.join(pointer.strip_prefix("gitdir:")?.trim())).ok()?
    };
    // A `.git` folder without a HEAD is not a repository, for git either.
    fs::symlink_metadata(own.join("HEAD")).ok()?;
    match pointer(&own.join("commondir")) {
        Some(common) => Some(GitDirs { common: real_path(&own.join(common.trim())).ok()?, own, is_linked: true }),
        None => Some(GitDirs { common: own.clone(), own, is_linked: false }),
    }
}

fn pointer(path: &Path) -> Option<String> {
    outside::text(path, POINTER_BYTES_MAX).ok()
}

fn branch(git_dir: &Path) -> Option<String> {
    let head = pointer(&git_dir.join("HEAD"))?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    // The reftable format has a placeholder here.
    (branch != ".invalid").then(|| branch.to_string())
}

fn base_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "/".to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, args: &[&str]) {
        let run = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .unwrap();
        assert!(run.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&run.stderr));
    }

    fn repository(dir: &Path) -> PathBuf {
        fs::create_dir_all(dir).unwrap();
        git(dir, &["init", "-q", "-b", "main"]);
        git(dir, &["commit", "-q", "--allow-empty", "-m", "x"]);
        fs::canonicalize(dir).unwrap()
    }

    #[test]
    fn worktrees_subfolders_and_links_are_one_project() {
        let dir = tempfile::tempdir().unwrap();
        let repo = repository(&dir.path().join("hydra"));
        git(&repo, &["worktree", "add", "-q", "-b", "side", "../wt"]);
        fs::create_dir_all(repo.join("src/deep")).unwrap();
        std::os::unix::fs::symlink(&repo, dir.path().join("link")).unwrap();
        let main = locate(&repo);
        assert_eq!((main.name.as_str(), main.root.as_path()), ("hydra", repo.as_path()));
        assert_eq!(main.branch().as_deref(), Some("main"));
        for other in ["hydra/src/deep", "link/src", "wt"] {
            let found = locate(&dir.path().join(other));
            assert_eq!((&found.project, found.name.as_str()), (&main.project, "hydra"), "{other}");
        }
        assert_eq!(locate(&dir.path().join("wt")).branch().as_deref(), Some("side"));
    }

    #[test]
    fn same_names_submodules_and_plain_folders_are_separate_projects() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (repository(&dir.path().join("a/hydra")), repository(&dir.path().join("b/hydra")));
        assert_ne!(locate(&a).project, locate(&b).project);
        git(&a, &["submodule", "add", "-q", b.to_str().unwrap(), "sub"]);
        let sub = locate(&a.join("sub"));
        assert_ne!(sub.project, locate(&a).project);
        assert_eq!(sub.name, "sub");
        let plain = dir.path().join("plain");
        fs::create_dir_all(plain.join(".git")).unwrap();
        assert_eq!((locate(&plain).name.as_str(), locate(&plain).git_dir), ("plain", None));
        assert_eq!(locate(Path::new("/nowhere/../gone")).name, "gone");
    }

    #[test]
    fn file_paths_are_relative_to_the_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let repo = repository(&dir.path().join("hydra"));
        git(&repo, &["worktree", "add", "-q", "-b", "side", "../wt"]);
        fs::create_dir_all(repo.join("src")).unwrap();
        fs::create_dir_all(dir.path().join("wt/lib")).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&repo, &link).unwrap();
        let said = |cwd: &Path, path: &Path| relative(&locate(cwd), cwd, path.to_str().unwrap());
        assert_eq!(said(&repo, &repo.join("src/a.rs")), "src/a.rs");
        assert_eq!(said(&repo.join("src"), &repo.join("b.rs")), "b.rs");
        assert_eq!(said(&link, &link.join("src/a.rs")), "src/a.rs");
        assert_eq!(said(&repo, &link.join("src/a.rs")), "src/a.rs");
        assert_eq!(said(&repo, Path::new("src/../c.rs")), "c.rs");
        let real = fs::canonicalize(dir.path()).unwrap();
        assert_eq!(said(&repo, &real.join("wt/lib/x.rs")), "lib/x.rs");
        assert_eq!(said(&repo, &real.join("else.txt")), real.join("else.txt").to_str().unwrap());
    }
}
