//! Where everything is kept: one folder, for its owner alone.
//!
//! Folders are 0700, files 0600. No name in here is made from anything that came from outside.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    pub fn new(root: PathBuf) -> Home {
        Home { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn journal_dir(&self) -> PathBuf {
        self.root.join("journal")
    }

    /// The view's name holds its schema, so that two versions of the program never fight over one file.
    pub fn view(&self) -> PathBuf {
        self.root.join(format!("view-{}.db", crate::store::SCHEMA_VERSION))
    }

    pub fn failures(&self) -> PathBuf {
        self.root.join("failures.jsonl")
    }

    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    pub fn loops_dir(&self) -> PathBuf {
        self.root.join("loops")
    }

    pub fn backups_dir(&self) -> PathBuf {
        self.root.join("backups")
    }

    /// Where the original tool left its sessions.
    pub fn seeds_dir(&self) -> PathBuf {
        self.root.join("memory").join("sessions")
    }
}

pub fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a file of ours for appending; a symbolic link in its place is refused.
pub fn open_append(path: &Path, create: bool) -> io::Result<File> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    OpenOptions::new().append(true).create(create).mode(0o600).custom_flags(no_follow).open(path)
}
