//! Finds and ends the processes below another one, so that a loop leaves no orphans.
//!
//! An agent's tools leave its process group and even its session, so ending a group is not enough. On Linux, guard and
//! runner adopt the orphans below them, and descendants are found by their parents. Processes that neither adopted are
//! found by the token in their environment; nothing else there is read. Other systems adopt nothing: there, what has
//! lost its parent is found by the token alone.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use cerberus_os::platform::processes;
use cerberus_os::platform::{self, ProcessEnd};
use cerberus_store::sessions::caller::LOOP_VARIABLE;

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// One empty look proves nothing: while it runs, a process can start another one and exit. Only several empty looks in
/// a row count.
const EMPTY_LOOKS: u32 = 3;

/// Makes this process the parent of orphans below it.
pub fn adopt() {
    platform::adopt_orphans();
}

/// Ends everything below this process.
pub fn end_below(ancestor: u32, how: ProcessEnd) {
    end_all(&below(ancestor), how);
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
        end_all(&found, ProcessEnd::Kill);
        ended.extend(&found);
        std::thread::sleep(LOOK_EVERY);
        // Adopted processes have no other parent to reap them.
        found.iter().for_each(|pid| platform::reap(*pid));
    }
}

fn end_all(pids: &[u32], how: ProcessEnd) {
    pids.iter().for_each(|pid| platform::end_process(*pid, how));
}

/// All live descendants of a process.
fn below(ancestor: u32) -> Vec<u32> {
    let parents: HashMap<u32, u32> = processes::all().into_iter().collect();
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
    let wanted = format!("{LOOP_VARIABLE}={token}");
    let own = std::process::id();
    processes::with_variable(&wanted).into_iter().filter(|pid| *pid != own).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "setsid is a program of Linux")]
    fn processes_with_the_token_are_found_in_any_session() {
        let token = format!("test-{}", std::process::id());
        let script = "setsid sleep 600 & sleep 600 & echo started; wait";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env(LOOP_VARIABLE, &token).stdout(Stdio::piped());
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
