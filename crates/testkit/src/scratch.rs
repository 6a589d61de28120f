//! A scratch area for one test: a home and a git repository inside one temporary directory.
//!
//! Dropping it kills processes that still work there and removes everything. The home of the user who runs the tests is
//! never read or written.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::kill_below;

/// The PATH for programs that tests and agents call.
pub const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A scratch home and a scratch git repository.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    // Held for its Drop, which runs after ours.
    _dir: TempDir,
}

impl Scratch {
    /// Creates both; the repository has one empty commit on `main`.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("cerberus-").tempdir().expect("makes a temporary directory");
        // Agents report resolved paths.
        let root = dir.path().canonicalize().expect("a new directory has a real path");
        let scratch = Self { root, _dir: dir };
        for made in [scratch.home(), scratch.repo()] {
            std::fs::create_dir(&made).expect("makes a directory in a new one");
        }
        scratch.git(&["init", "--quiet", "--initial-branch=main"]);
        scratch.git(&["commit", "--quiet", "--allow-empty", "--message=start"]);
        scratch
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn repo(&self) -> PathBuf {
        self.root.join("repo")
    }

    /// Runs git in the repository, with a fixed author and without any user configuration.
    pub fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .env_clear()
            .envs([("PATH", SYSTEM_PATH), ("GIT_CONFIG_NOSYSTEM", "1")])
            .env("HOME", self.home())
            .args(["-c", "user.name=Test", "-c", "user.email=test@localhost"])
            .args(args)
            .current_dir(self.repo())
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        kill_below(&self.root);
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}
