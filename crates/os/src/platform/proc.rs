//! Processes of Linux, read from `/proc`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::kinds::{ProcessDomain, RunningProcess};

/// The process with this id; `None` if there is none.
pub fn look(pid: u32) -> Option<RunningProcess> {
    let text = fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    parse(&String::from_utf8_lossy(&text))
}

/// Parses `/proc/PID/stat`. The name is in parentheses and may itself contain parentheses, so the other fields follow
/// the last one.
fn parse(text: &str) -> Option<RunningProcess> {
    let (before, after) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    Some(RunningProcess {
        name: before.split_once('(')?.1.to_string(),
        is_dead: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Every live process with its parent.
pub fn all() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| look(pid).filter(|seen| !seen.is_dead).map(|seen| (pid, seen.parent))).collect()
}

/// The live processes that were started with this variable, given as `NAME=VALUE`.
pub fn with_variable(wanted: &str) -> Vec<u32> {
    let carries = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    all().into_iter().map(|(pid, _)| pid).filter(carries).collect()
}

/// What this computer is called; empty if it does not say.
pub fn computer_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string()
}

/// How long the system has run, by a clock that nobody can set and that counts while the system sleeps.
pub fn since_boot() -> Option<Duration> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split(' ').next()?.parse().ok()?).ok()
}

pub fn domain() -> ProcessDomain {
    let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_string();
    let machine = match line("/etc/machine-id") {
        id if id.is_empty() => computer_name(),
        id => id,
    };
    let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned());
    ProcessDomain { boot: line("/proc/sys/kernel/random/boot_id"), machine, namespace: namespace.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_read() {
        let seen = parse("42 (a) b (c) S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 1").unwrap();
        assert_eq!((seen.name.as_str(), seen.parent, seen.started), ("a) b (c", 7, 987_654));
        assert!(parse("nothing").is_none());
    }
}
