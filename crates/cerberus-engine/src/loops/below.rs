//! Finds and ends the processes below another one, so that a loop leaves no orphans.
//!
//! An agent's tools leave its process group and even its session, so ending a group is not enough. On Linux, guard and
//! runner adopt the orphans below them, and descendants are found by their parents. Processes that neither adopted are
//! found by the token in their environment; nothing else there is read. On other systems only groups are ended.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// The variable that carries a loop's token into everything it starts.
pub const TOKEN_VARIABLE: &str = "CERBERUS_LOOP";

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// One empty look proves nothing: while it runs, a process can start another one and exit. Only several empty looks in
/// a row count.
const EMPTY_LOOKS: u32 = 3;

/// Makes this process the parent of orphans below it.
pub fn adopt() {
    #[cfg(target_os = "linux")]
    {
        // Where this is not allowed, groups are still ended.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Sends a signal to everything below this process.
pub fn signal_below(ancestor: u32, signal: Signal) {
    signal_all(&below(ancestor), signal);
}

/// Kills everything below this process until nothing is left.
pub fn kill_below(ancestor: u32, time_max: Duration) {
    kill_until_none(time_max, || below(ancestor));
}

/// Kills every process that carries this token until none is left. Returns how many there were.
pub fn kill_with_token(token: &str, time_max: Duration) -> usize {
    kill_until_none(time_max, || with_token(token))
}

fn kill_until_none(time_max: Duration, find: impl Fn() -> Vec<u32>) -> usize {
    let begun = Instant::now();
    let mut ended: HashSet<u32> = HashSet::new();
    let mut empty_looks = 0;
    loop {
        let found = find();
        empty_looks = if found.is_empty() { empty_looks + 1 } else { 0 };
        if empty_looks == EMPTY_LOOKS || begun.elapsed() > time_max {
            return ended.len();
        }
        signal_all(&found, Signal::KILL);
        ended.extend(&found);
        std::thread::sleep(LOOK_EVERY);
        // Adopted processes have no other parent to reap them.
        for pid in found.iter().filter_map(|pid| to_pid(*pid)) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

fn signal_all(pids: &[u32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| to_pid(*pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// All live descendants of a process.
fn below(ancestor: u32) -> Vec<u32> {
    let parents: HashMap<u32, u32> = running().collect();
    let leads_up = |pid: &u32| {
        let mut at = *pid;
        // The tree changes while it is read and may seem to contain a cycle, so the number of passes is limited.
        for _ in 0..parents.len() {
            match parents.get(&at) {
                Some(parent) if *parent == ancestor => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(leads_up).collect()
}

fn with_token(token: &str) -> Vec<u32> {
    let wanted = format!("{TOKEN_VARIABLE}={token}");
    let carries = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let own = std::process::id();
    running().map(|(pid, _)| pid).filter(|pid| *pid != own && carries(pid)).collect()
}

/// Every live process with its parent.
fn running() -> impl Iterator<Item = (u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| crate::os::process::parent(pid).map(|parent| (pid, parent)))
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn processes_with_the_token_are_found_in_any_session() {
        let token = format!("test-{}", std::process::id());
        let script = "setsid sleep 600 & sleep 600 & echo started; wait";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env(TOKEN_VARIABLE, &token).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        assert!(kill_with_token(&token, Duration::from_secs(60)) >= 3);
        assert!(with_token(&token).is_empty());
        // It was already reaped.
        let _ = child.wait();
        assert_eq!(kill_with_token("no such token", Duration::from_secs(60)), 0);
    }
}
