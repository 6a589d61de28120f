//! Running processes: from `/proc` on Linux, from `ps` and `lsof` elsewhere. The environment of a process is never read.
//!
//! A process may end at any time: one that cannot be read is gone.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal};

/// A process that is not a zombie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub pid: u32,
    pub group: u32,
    pub name: String,
}

const HAS_PROC: bool = cfg!(target_os = "linux");

/// All processes that run.
pub fn all() -> Vec<Found> {
    if !HAS_PROC {
        return printed("ps", &["-A", "-o", "pid=,pgid=,stat=,comm="]).lines().filter_map(of_ps_line).collect();
    }
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    pids().filter_map(|pid| of_stat_line(pid, &stat(pid)?)).collect()
}

/// The processes with a working directory inside this one.
pub fn working_below(dir: &Path) -> Vec<u32> {
    let is_below = |cwd: &Path| cwd.starts_with(dir);
    if !HAS_PROC {
        let folders = of_lsof(&printed("lsof", &["-w", "-n", "-P", "-a", "-d", "cwd", "-F", "pn"]));
        return folders.into_iter().filter(|(_, cwd)| is_below(cwd)).map(|(pid, _)| pid).collect();
    }
    pids().filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| is_below(&cwd))).collect()
}

/// The command lines of all processes, with blanks between the words.
pub fn command_lines() -> Vec<String> {
    if !HAS_PROC {
        return printed("ps", &["-A", "-ww", "-o", "args="]).lines().map(str::to_string).collect();
    }
    let line = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).ok();
    pids().filter_map(line).map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

/// Kills a process with SIGKILL if it still is what was asked for. Where the system has handles, a reused pid is never killed.
pub fn kill_if(pid: u32, is_still: impl Fn() -> bool) {
    let Some(pid) = to_pid(pid) else { return };
    #[cfg(target_os = "linux")]
    if let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
        && is_still()
    {
        let _ = rustix::process::pidfd_send_signal(handle, Signal::KILL);
    }
    #[cfg(not(target_os = "linux"))]
    if is_still() {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

pub fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").expect("running processes are read from /proc");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn printed(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap_or_else(|why| panic!("{program}: {why}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `pid (name) state ppid pgrp …`; the name may contain spaces and parentheses.
fn of_stat_line(pid: u32, line: &str) -> Option<Found> {
    let (head, rest) = line.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut words = rest.split_whitespace();
    let runs = !matches!(words.next()?, "Z" | "X");
    let group = words.nth(1)?.parse().ok()?;
    runs.then(|| Found { pid, group, name: name.to_string() })
}

/// `pid pgid stat comm`; `comm` may be a path with blanks.
fn of_ps_line(line: &str) -> Option<Found> {
    let (pid, rest) = line.trim_start().split_once(' ')?;
    let (group, rest) = rest.trim_start().split_once(' ')?;
    let (stat, comm) = rest.trim_start().split_once(' ')?;
    let name = comm.trim().rsplit('/').next()?.to_string();
    (!stat.starts_with('Z')).then_some(Found { pid: pid.parse().ok()?, group: group.parse().ok()?, name })
}

/// Lines of `p` with a pid, each followed by `f` and `n` with the working directory.
fn of_lsof(printed: &str) -> Vec<(u32, PathBuf)> {
    let (mut found, mut pid) = (Vec::new(), None);
    for line in printed.lines() {
        match line.split_at_checked(1) {
            Some(("p", number)) => pid = number.parse().ok(),
            Some(("n", folder)) => found.extend(pid.map(|pid| (pid, PathBuf::from(folder)))),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pid: u32, group: u32, name: &str) -> Option<Found> {
        Some(Found { pid, group, name: name.to_string() })
    }

    #[test]
    fn reads_stat_lines_with_odd_names() {
        assert_eq!(of_stat_line(12, "12 (a) b (c) S 1 7 7 0"), found(12, 7, "a) b (c"));
        assert_eq!(of_stat_line(12, "12 (x) Z 1 7 7 0"), None);
    }

    #[test]
    fn reads_what_ps_and_lsof_print_on_macos() {
        assert_eq!(of_ps_line("  931   930 S+   /Applications/A b.app/Contents/sleep"), found(931, 930, "sleep"));
        assert_eq!(of_ps_line("    1     1 Ss   /sbin/launchd"), found(1, 1, "launchd"));
        assert_eq!(of_ps_line("  932   930 Z    (sleep)"), None);
        let printed = "p1\nfcwd\nn/\np931\nfcwd\nn/private/tmp/a b\n";
        assert_eq!(of_lsof(printed), [(1, PathBuf::from("/")), (931, PathBuf::from("/private/tmp/a b"))]);
    }
}
