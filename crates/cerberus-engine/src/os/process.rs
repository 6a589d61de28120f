//! Which process an agent runs in, and whether it is still running. Read from `/proc`; no signal is sent.
//!
//! Process ids are reused, so a process is identified by its id together with its start time, the boot id, the machine
//! and the pid namespace. Without `/proc`, no process is known.

use std::fs;
use std::path::Path;

use cerberus_core::clean::BUILT_IN;
use cerberus_core::clean::text::Keep;
use cerberus_core::model::event::AgentProcess;
use cerberus_core::model::session::Process;

/// How many levels up the process tree an agent may be.
const ANCESTORS_MAX: usize = 16;

/// A longer chain of processes is not examined to its end.
const CHAIN_MAX: usize = 1_000;

/// Shells that run between an agent and its hooks.
const SHELLS: [&str; 13] =
    ["sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "ash", "busybox", "nu", "pwsh"];

/// Processes that adopt orphans.
const REAPERS: [&str; 7] = ["init", "systemd", "tini", "dumb-init", "s6-svscan", "catatonit", "launchd"];

/// The nearest ancestor of this process that is not a shell, or the next one above it if that is only the agent's process
/// for plugins.
pub fn agent(has_plugin_process: bool) -> Option<AgentProcess<'static>> {
    let mut pid = std::os::unix::process::parent_id();
    let mut above = usize::from(has_plugin_process);
    for _ in 0..ANCESTORS_MAX {
        let stat = Stat::of(pid)?;
        if REAPERS.contains(&stat.name.as_str()) {
            return None;
        }
        if !SHELLS.contains(&stat.name.trim_start_matches('-')) {
            if above == 0 {
                return Some(identify(pid, stat.started_ticks));
            }
            above -= 1;
        }
        pid = stat.parent;
    }
    None
}

/// All ancestors of this process, the nearest first.
pub fn ancestors() -> Vec<AgentProcess<'static>> {
    let mut found = Vec::new();
    let mut pid = std::os::unix::process::parent_id();
    while let Some(stat) = Stat::of(pid).filter(|_| found.len() < CHAIN_MAX) {
        found.push(identify(pid, stat.started_ticks));
        pid = stat.parent;
    }
    found
}

/// This process itself.
pub fn own() -> Option<AgentProcess<'static>> {
    let pid = std::process::id();
    Some(identify(pid, Stat::of(pid)?.started_ticks))
}

/// The process with this id, as it is now.
pub fn of(pid: u32) -> Option<AgentProcess<'static>> {
    Some(identify(pid, Stat::of(pid)?.started_ticks))
}

/// The parent of a live process.
pub fn parent(pid: u32) -> Option<u32> {
    Stat::of(pid).filter(|stat| !stat.is_dead).map(|stat| stat.parent)
}

fn identify(pid: u32, started_ticks: u64) -> AgentProcess<'static> {
    let here = ProcessDomain::read();
    // These ids come from the system; the user's rules do not apply to them.
    let clean = |text: String| BUILT_IN.clean(text, Keep::NAME);
    AgentProcess {
        pid,
        started_ticks,
        boot: clean(here.boot),
        machine: clean(here.machine),
        namespace: clean(here.namespace),
    }
}

/// Whether the process is still running.
pub fn probe(process: &AgentProcess) -> Process {
    let here = ProcessDomain::read();
    if here.machine != *process.machine || (here.boot == *process.boot && here.namespace != *process.namespace) {
        return Process::Elsewhere;
    }
    // The machine has rebooted since.
    if here.boot != *process.boot {
        return Process::Gone;
    }
    match Stat::of(process.pid) {
        Some(stat) if stat.started_ticks == process.started_ticks && !stat.is_dead => Process::Running,
        _ => Process::Gone,
    }
}

/// The machine, boot and namespace of this process. A process id means nothing outside of them.
struct ProcessDomain {
    boot: String,
    machine: String,
    namespace: String,
}

impl ProcessDomain {
    fn read() -> ProcessDomain {
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_string();
        let machine = match line("/etc/machine-id") {
            id if id.is_empty() => line("/proc/sys/kernel/hostname"),
            id => id,
        };
        let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned());
        ProcessDomain {
            boot: line("/proc/sys/kernel/random/boot_id"),
            machine,
            namespace: namespace.unwrap_or_default(),
        }
    }
}

/// The contents of `/proc/PID/stat`.
struct Stat {
    name: String,
    parent: u32,
    started_ticks: u64,
    is_dead: bool,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        let text = fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
        Stat::parse(&String::from_utf8_lossy(&text))
    }

    /// The name is in parentheses and may itself contain parentheses, so the other fields follow the last one.
    fn parse(text: &str) -> Option<Stat> {
        let (before, after) = text.rsplit_once(')')?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        Some(Stat {
            name: before.split_once('(')?.1.to_string(),
            is_dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            started_ticks: fields.get(19)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use cerberus_core::clean::text::Clean;

    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_identified_by_more_than_its_id() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let stat = Stat::of(child.id()).unwrap();
        assert_eq!((stat.name.as_str(), stat.parent), ("sleep", std::process::id()));
        let running = identify(child.id(), stat.started_ticks);
        assert_eq!(probe(&running), Process::Running);
        let reused = AgentProcess { started_ticks: running.started_ticks + 1, ..running.clone() };
        assert_eq!(probe(&reused), Process::Gone);
        let rebooted = AgentProcess { boot: Clean::word("another"), ..running.clone() };
        assert_eq!(probe(&rebooted), Process::Gone);
        let other_machine = AgentProcess { machine: Clean::word("another"), ..running.clone() };
        assert_eq!(probe(&other_machine), Process::Elsewhere);
        let container = AgentProcess { namespace: Clean::word("pid:[1]"), ..running.clone() };
        assert_eq!(probe(&container), Process::Elsewhere);
        child.kill().unwrap();
        // A zombie counts as dead.
        while Stat::of(child.id()).is_some_and(|stat| !stat.is_dead) {
            std::thread::yield_now();
        }
        assert_eq!(probe(&running), Process::Gone);
        child.wait().unwrap();
        assert_eq!(probe(&running), Process::Gone);
    }

    #[test]
    fn odd_names_are_read() {
        let stat = Stat::parse("42 (a) b (c) S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 1").unwrap();
        assert_eq!((stat.name.as_str(), stat.parent, stat.started_ticks), ("a) b (c", 7, 987_654));
        assert!(Stat::parse("nothing").is_none());
    }
}
