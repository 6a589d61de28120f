//! The scratch area of benchmarks: homes and a git repository inside one temporary folder, removed on drop.
//!
//! Only the path of the system's programs is taken from the environment; no user's home is ever read or written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cerberus_os::home::Home;
use cerberus_store::journal;
use serde_json::Value;
use tempfile::TempDir;

use crate::measure;
use crate::programs::Programs;

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const TMPFS_MAGIC: u64 = 0x0102_1994;

#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    // Held for its Drop.
    _dir: TempDir,
}

impl Scratch {
    /// Creates one; the repository has one empty commit.
    pub fn new() -> Result<Scratch> {
        let dir = tempfile::Builder::new().prefix("cerberus-bench-").tempdir()?;
        let scratch = Scratch { root: dir.path().canonicalize()?, _dir: dir };
        fs::create_dir_all(scratch.repo())?;
        fs::create_dir_all(scratch.root.join("user"))?;
        scratch.git(&["init", "--quiet", "--initial-branch=main"])?;
        scratch.git(&["commit", "--quiet", "--allow-empty", "--message=start"])?;
        Ok(scratch)
    }

    pub fn repo(&self) -> PathBuf {
        self.root.join("hydra")
    }

    /// A home with this name; the first record creates it.
    pub fn home(&self, name: &str) -> PathBuf {
        self.path(name)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A file with input for programs.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, bytes)?;
        Ok(path)
    }

    pub fn git(&self, args: &[&str]) -> Result<()> {
        let mut command = self.clean(Path::new("git"));
        command.args(["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]);
        let output = command.args(args).output().context("git is needed")?;
        if !output.status.success() {
            bail!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    fn clean(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", SYSTEM_PATH)
            .env("HOME", self.root.join("user"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(self.repo())
            .stdin(Stdio::null());
        command
    }

    /// A program that runs silently in the repository.
    pub fn silent(&self, program: &Path) -> Command {
        let mut command = self.clean(program);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub fn cerberus(&self, programs: &Programs, home: &Path, args: &[&str]) -> Command {
        let mut command = self.silent(&programs.cerberus);
        command.env("CERBERUS_HOME", home).args(args);
        command
    }

    pub fn hook(&self, programs: &Programs, home: &Path) -> Command {
        self.cerberus(programs, home, &["hook", "claude-code"])
    }

    pub fn floor(&self, programs: &Programs, file: &Path) -> Command {
        let mut command = self.silent(&programs.floor);
        command.arg(file);
        command
    }

    /// Runs the hook once on these bytes, without measuring.
    pub fn heard(&self, programs: &Programs, home: &Path, now: Option<&str>, payload: &[u8]) -> Result<()> {
        let input = self.file("unmeasured.json", payload)?;
        let mut hook = self.hook(programs, home);
        if let Some(now) = now {
            hook.env("CERBERUS_NOW", now);
        }
        measure::spawn_to_exit(&mut hook, &input).map(drop)
    }

    /// The output of a command with `--json`.
    pub fn json(&self, programs: &Programs, home: &Path, args: &[&str]) -> Result<Value> {
        let mut command = self.cerberus(programs, home, args);
        command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.output()?;
        if !output.status.success() {
            bail!("cerberus {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// The number of complete records in a home's journal. A failure noted by a hook is an error here.
pub fn stored_records(home: &Path) -> Result<usize> {
    let home = Home::new(home.to_path_buf());
    if let Ok(failures) = fs::read_to_string(home.failures()) {
        bail!("a hook failed: {}", failures.lines().next().unwrap_or_default());
    }
    let mut records = 0;
    for segment in journal::segments(&home)? {
        let mut offset = 0;
        loop {
            let stretch = journal::read(&home, &segment.name, offset)?;
            if stretch.next_offset == offset {
                break;
            }
            records += stretch.lines().filter_map(|(_, line)| journal::decode(line)).count();
            offset = stretch.next_offset;
        }
    }
    Ok(records)
}

/// Copies a home; nothing may be running in it.
pub fn copy_home(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_home(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Where scratch folders are created, and whether a sync takes time there.
pub fn where_it_is() -> Result<String> {
    let dir = std::env::temp_dir();
    let is_memory = rustix::fs::statfs(&dir)?.f_type as u64 == TMPFS_MAGIC;
    let syncs =
        if is_memory { ", which is memory: syncs cost nothing there, set TMPDIR to a folder on a disk" } else { "" };
    Ok(format!("scratch folder in {}{syncs}", dir.display()))
}
