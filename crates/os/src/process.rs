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
use super::platform::{ProcessDomain, RunningProcess};

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
    let (pid, seen) = agent_above(platform::parent_id(), has_plugin_process, look)?;
    Some(identify(pid, seen.started))
}

fn agent_above(
    mut pid: u32,
    has_plugin_process: bool,
    look: impl Fn(u32) -> Option<RunningProcess>,
) -> Option<(u32, RunningProcess)> {
    let mut above = usize::from(has_plugin_process);
    for _ in 0..ANCESTORS_MAX {
        let seen = look(pid)?;
        if REAPERS.contains(&seen.name.as_str()) {
            return None;
        }
        let parent = seen.parent;
        if !SHELLS.contains(&seen.name.trim_start_matches('-')) {
            if above == 0 {
                return Some((pid, seen));
            }
            above -= 1;
        }
        pid = parent;
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
    state(process, &domain(), look)
}

fn state(process: &AgentProcess, here: &ProcessDomain, look: impl Fn(u32) -> Option<RunningProcess>) -> Process {
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

    /// A process table as the systems give it: id, parent, name as it is read from there, start.
    type Table = &'static [(u32, u32, &'static str, u64)];

    const MACOS: Table = &[
        (1, 0, "launchd", 1_763_000_000),
        (310, 1, "iterm2", 1_763_000_100),
        (311, 310, "login", 1_763_000_101),
        (312, 311, "-zsh", 1_763_000_101),
        (400, 312, "claude", 1_763_000_200),
        (401, 400, "sh", 1_763_000_201),
        (500, 1, "zsh", 1_763_000_300),
        (600, 312, "cline", 1_763_000_400),
        (601, 600, "node", 1_763_000_401),
    ];
    const WINDOWS: Table = &[
        (4, 0, "system", 1_763_000_000),
        (900, 4, "explorer", 1_763_000_050),
        (910, 900, "windowsterminal", 1_763_000_100),
        (920, 910, "pwsh", 1_763_000_101),
        (930, 920, "codex", 1_763_000_200),
        (931, 930, "cmd", 1_763_000_201),
        (932, 931, "bash", 1_763_000_201),
        (940, 777, "powershell", 1_763_000_300),
        // Each is the parent of the other: ids that were given again.
        (950, 951, "cmd", 1_763_000_400),
        (951, 950, "cmd", 1_763_000_401),
    ];

    fn look_in(table: Table) -> impl Fn(u32) -> Option<RunningProcess> {
        move |pid| {
            let &(_, parent, name, started) = table.iter().find(|(id, ..)| *id == pid)?;
            Some(RunningProcess { name: name.to_string(), parent, started, is_dead: false })
        }
    }

    #[test]
    fn the_agent_is_found_in_the_process_tables_of_other_systems() {
        for (table, hook_parent, has_plugin_process, agent) in [
            (MACOS, 401, false, Some(400)),
            (MACOS, 400, false, Some(400)),
            (MACOS, 500, false, None),
            (MACOS, 601, true, Some(600)),
            (MACOS, 601, false, Some(601)),
            (WINDOWS, 932, false, Some(930)),
            (WINDOWS, 940, false, None),
            (WINDOWS, 950, false, None),
            (WINDOWS, 12, false, None),
        ] {
            let found = agent_above(hook_parent, has_plugin_process, look_in(table)).map(|(pid, _)| pid);
            assert_eq!(found, agent, "above {hook_parent}");
        }
    }

    /// There, start times are dates, so no boot is told apart.
    #[test]
    fn a_process_of_another_system_runs_while_its_start_is_the_same() {
        let here = ProcessDomain { boot: String::new(), machine: "mac-1".to_string(), namespace: String::new() };
        let claude = AgentProcess {
            pid: 400,
            started_ticks: 1_763_000_200,
            boot: Clean::word(""),
            machine: Clean::word("mac-1"),
            namespace: Clean::word(""),
        };
        let after_a_boot = AgentProcess { started_ticks: 1_762_000_200, ..claude.clone() };
        let elsewhere = AgentProcess { machine: Clean::word("mac-2"), ..claude.clone() };
        for (process, expected) in
            [(&claude, Process::Running), (&after_a_boot, Process::Gone), (&elsewhere, Process::Elsewhere)]
        {
            assert_eq!(state(process, &here, look_in(MACOS)), expected);
        }
        assert_eq!(state(&claude, &here, |_| None), Process::Gone);
        let dead = |pid| look_in(MACOS)(pid).map(|seen| RunningProcess { is_dead: true, ..seen });
        assert_eq!(state(&claude, &here, dead), Process::Gone);
    }

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
