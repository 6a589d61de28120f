//! Which process an agent runs in, and whether it is still running. Processes are only looked at; no signal is sent.
//!
//! Process ids are reused, so a process is identified by its id together with its start time, the boot id, the machine
//! and the pid namespace.

use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::AgentProcess;
use cerberus_record::session::Process;

use super::platform;
use super::platform::processes::{domain, look};

/// How many levels up the process tree an agent may be.
const ANCESTORS_MAX: usize = 16;

/// A longer chain of processes is not examined to its end.
const CHAIN_MAX: usize = 1_000;

/// Shells that run between an agent and its hooks.
const SHELLS: [&str; 15] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "mksh",
    "tcsh",
    "csh",
    "ash",
    "busybox",
    "nu",
    "pwsh",
    "powershell",
    "cmd",
];

/// Processes that adopt orphans.
const REAPERS: [&str; 7] = ["init", "systemd", "tini", "dumb-init", "s6-svscan", "catatonit", "launchd"];

/// The nearest ancestor of this process that is not a shell, or the next one above it if that is only the agent's process
/// for plugins.
pub fn agent(has_plugin_process: bool) -> Option<AgentProcess<'static>> {
    let mut pid = platform::parent_id();
    let mut above = usize::from(has_plugin_process);
    for _ in 0..ANCESTORS_MAX {
        let seen = look(pid)?;
        if REAPERS.contains(&seen.name.as_str()) {
            return None;
        }
        if !SHELLS.contains(&seen.name.trim_start_matches('-')) {
            if above == 0 {
                return Some(identify(pid, seen.started));
            }
            above -= 1;
        }
        pid = seen.parent;
    }
    None
}

/// All ancestors of this process, the nearest first.
pub fn ancestors() -> Vec<AgentProcess<'static>> {
    let mut found = Vec::new();
    let mut pid = platform::parent_id();
    while let Some(seen) = look(pid).filter(|_| found.len() < CHAIN_MAX) {
        found.push(identify(pid, seen.started));
        pid = seen.parent;
    }
    found
}

/// This process itself.
pub fn own() -> Option<AgentProcess<'static>> {
    of(std::process::id())
}

/// The process with this id, as it is now.
pub fn of(pid: u32) -> Option<AgentProcess<'static>> {
    Some(identify(pid, look(pid)?.started))
}

fn identify(pid: u32, started_ticks: u64) -> AgentProcess<'static> {
    let here = domain();
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
    let here = domain();
    if here.machine != *process.machine || (here.boot == *process.boot && here.namespace != *process.namespace) {
        return Process::Elsewhere;
    }
    // The machine has rebooted since.
    if here.boot != *process.boot {
        return Process::Gone;
    }
    match look(process.pid) {
        Some(seen) if seen.started == process.started_ticks && !seen.is_dead => Process::Running,
        _ => Process::Gone,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use cerberus_record::clean::text::Clean;

    use super::*;

    #[test]
    fn a_process_is_identified_by_more_than_its_id() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let seen = look(child.id()).unwrap();
        assert_eq!((seen.name.as_str(), seen.parent), ("sleep", std::process::id()));
        let running = identify(child.id(), seen.started);
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
        while look(child.id()).is_some_and(|seen| !seen.is_dead) {
            std::thread::yield_now();
        }
        assert_eq!(probe(&running), Process::Gone);
        child.wait().unwrap();
        assert_eq!(probe(&running), Process::Gone);
    }
}
