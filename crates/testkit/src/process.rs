//! Programs under test: each runs in its own process group, is waited for with a limit, and is killed with its group.
//!
//! Dropping a [`Running`] that has not ended kills its group. An agent's children may leave that group (the shell of
//! Claude Code's Bash tool has its own session and outlives a killed client): [`running_in`] finds them, and dropping a
//! scratch directory kills them. Output goes to unnamed files, never to pipes, so that a surviving grandchild cannot
//! block a reader.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process_group};

use crate::processes::{self, to_pid};

/// How long to wait for anything: what takes longer has hung, even on a slow machine.
pub const LIMIT: Duration = Duration::from_secs(600);

const PROBE_EVERY: Duration = Duration::from_millis(5);
const OUTPUT_MAX_BYTES: usize = 64 * 1024 * 1024;

/// Writes a program that can be started at once, with the folders above it.
///
/// Another process writes it. If this one did, a child that another test starts at that moment would inherit the open
/// file, and until that child has become its own program the system refuses to start a file that is open for writing.
pub fn write_program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().expect("a program is in a folder")).expect("makes a directory");
    let mut command = Command::new("sh");
    command.args(["-c", r#"cat >"$0" && chmod 755 "$0""#]).arg(path).stdin(Stdio::piped());
    let mut writer = command.spawn().expect("starts a shell");
    let mut input = writer.stdin.take().expect("its input is a pipe");
    input.write_all(script.as_bytes()).expect("writes to a shell");
    drop(input);
    assert!(writer.wait().expect("waits for a shell").success(), "{} is not written", path.display());
}

/// Copies a program so that the copy can be started at once, for the same reason by another process.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status().expect("starts cp");
    assert!(copied.success(), "{} is not copied", from.display());
}

/// A program in its own process group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: File,
    stderr: File,
    state: Reaped,
}

#[derive(Debug, PartialEq, Eq)]
enum Reaped {
    NotYet,
    /// The pid may have been reused.
    Yes,
}

/// The result of a program that ended.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    /// Starts the command with no stdin, as the leader of a new process group.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let child = command
            .stdin(Stdio::null())
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .process_group(0)
            .spawn()?;
        Ok(Self { child, stdout, stderr, state: Reaped::NotYet })
    }

    /// Its pid, which is also the id of its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub fn printed(&self) -> String {
        contents(&self.stdout)
    }

    /// Waits until it ends. After `limit` its group is killed, and the error carries what it printed.
    pub fn wait(&mut self, limit: Duration) -> Result<Finished, String> {
        let child = &mut self.child;
        let ended = wait_until("the program to end", limit, || child.try_wait().transpose());
        let ended = match ended {
            Ok(Ok(status)) => {
                self.state = Reaped::Yes;
                Ok(status)
            }
            Ok(Err(error)) => Err(format!("the program cannot be waited for: {error}")),
            Err(late) => Err(late),
        };
        self.end();
        let (stdout, stderr) = (contents(&self.stdout), contents(&self.stderr));
        match ended {
            Ok(status) => Ok(Finished { status, stdout, stderr }),
            Err(why) => Err(format!("{why}\nstdout: {stdout}\nstderr: {stderr}")),
        }
    }

    /// Afterwards no process of its group is running.
    fn end(&mut self) {
        if self.state == Reaped::NotYet {
            let _ = kill_group(self.pid());
            let _ = self.child.wait();
            self.state = Reaped::Yes;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Kills every process of the group with SIGKILL; only for groups whose leader was not waited for yet.
pub fn kill_group(pid: u32) -> io::Result<()> {
    let group = to_pid(pid).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no process has this pid"))?;
    Ok(kill_process_group(group, Signal::KILL)?)
}

/// Kills all processes that work inside this directory with SIGKILL. The test must have created the directory.
pub(crate) fn kill_below(dir: &Path) {
    let shared = std::env::temp_dir().canonicalize().expect("there is a temporary directory");
    assert!(dir.starts_with(&shared) && dir != shared, "{} is not a scratch directory", dir.display());
    for pid in processes::working_below(dir).into_iter().filter(|pid| *pid != std::process::id()) {
        processes::kill_if(pid, || processes::working_below(dir).contains(&pid));
    }
}

/// Waits until the probe finds something, and returns it.
pub fn wait_until<T>(what: &str, limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Result<T, String> {
    let start = Instant::now();
    loop {
        if let Some(found) = probe() {
            return Ok(found);
        }
        if start.elapsed() >= limit {
            return Err(format!("timed out after {limit:?} waiting for {what}"));
        }
        std::thread::sleep(PROBE_EVERY);
    }
}

/// The processes, as `pid name`, in this group or with a working directory inside this one. Zombies do not count.
pub fn running_in(group: u32, dir: &Path) -> Vec<String> {
    let below = processes::working_below(dir);
    let counts = |found: &processes::Found| found.group == group || below.contains(&found.pid);
    processes::all().into_iter().filter(counts).map(|found| format!("{} {}", found.pid, found.name)).collect()
}

/// Everything written to the file so far, regardless of its position.
fn contents(file: &File) -> String {
    let length = file.metadata().map_or(0, |found| found.len());
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(OUTPUT_MAX_BYTES)];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => format!("(output cannot be read: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn keeps_status_and_output() {
        let mut running = Running::spawn(&mut sh("echo out; echo err >&2; exit 3")).unwrap();
        let finished = running.wait(LIMIT).unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn dropping_kills_the_whole_group() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let running = Running::spawn(sh("sleep 600 & sleep 600").current_dir(&dir)).unwrap();
        let group = running.pid();
        let has_started = || (running_in(group, &dir).len() >= 3).then_some(());
        wait_until("three processes", LIMIT, has_started).unwrap();
        drop(running);
        wait_until("none", LIMIT, || running_in(group, &dir).is_empty().then_some(())).unwrap();
    }

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "setsid is a program of Linux")]
    fn what_left_the_group_is_found_and_killed_by_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let mut running = Running::spawn(sh("setsid sleep 600 &").current_dir(&dir)).unwrap();
        running.wait(LIMIT).unwrap();
        let group = running.pid();
        let sleeps = || running_in(group, &dir).iter().any(|one| one.ends_with(" sleep")).then_some(());
        wait_until("the sleeper", LIMIT, sleeps).unwrap();
        kill_below(&dir);
        wait_until("none", LIMIT, || running_in(group, &dir).is_empty().then_some(())).unwrap();
    }

    #[test]
    fn a_late_program_is_killed_and_its_output_told() {
        let mut running = Running::spawn(&mut sh("echo started; exec sleep 600")).unwrap();
        let (stdout, started) = (running.stdout.try_clone().unwrap(), "started\n");
        wait_until("output", LIMIT, || (contents(&stdout) == started).then_some(())).unwrap();
        let told = running.wait(Duration::ZERO).unwrap_err();
        assert!(told.contains("timed out") && told.contains("started"), "{told}");
    }
}
