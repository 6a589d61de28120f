//! Processes of macOS and Windows, through the system's own interface.
//!
//! A start time is a date there, in seconds, so a process id and its start time differ between two boots as well.

use std::ffi::OsStr;

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::kinds::{ProcessDomain, RunningProcess};
use super::naming;

/// The process with this id; `None` if there is none.
pub fn look(pid: u32) -> Option<RunningProcess> {
    let pid = Pid::from_u32(pid);
    read(ProcessesToUpdate::Some(&[pid]), ProcessRefreshKind::nothing())?.process(pid).map(running)
}

/// Every live process with its parent.
pub fn all() -> Vec<(u32, u32)> {
    let Some(system) = read(ProcessesToUpdate::All, ProcessRefreshKind::nothing()) else { return Vec::new() };
    live(&system).map(|(pid, process)| (pid, running(process).parent)).collect()
}

/// The live processes that were started with this variable, given as `NAME=VALUE`.
pub fn with_variable(wanted: &str) -> Vec<u32> {
    let what = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always);
    let Some(system) = read(ProcessesToUpdate::All, what) else { return Vec::new() };
    let carries = |process: &Process| process.environ().iter().any(|variable| variable == OsStr::new(wanted));
    live(&system).filter(|(_, process)| carries(process)).map(|(pid, _)| pid).collect()
}

/// What this computer is called; empty if it does not say.
pub fn computer_name() -> String {
    System::host_name().unwrap_or_default()
}

/// Nobody can set the clock of the program itself, so that one counts.
pub fn since_boot() -> Option<std::time::Duration> {
    None
}

pub fn domain() -> ProcessDomain {
    ProcessDomain { boot: String::new(), machine: naming::machine(&computer_name()), namespace: String::new() }
}

/// Ends a process at once.
#[cfg(windows)]
pub(super) fn kill(pid: u32) {
    let pid = Pid::from_u32(pid);
    let system = read(ProcessesToUpdate::Some(&[pid]), ProcessRefreshKind::nothing());
    if let Some(process) = system.as_ref().and_then(|system| system.process(pid)) {
        process.kill();
    }
}

/// `None` if the system does not tell.
fn read(which: ProcessesToUpdate, what: ProcessRefreshKind) -> Option<System> {
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(which, true, what);
    Some(system)
}

fn live(system: &System) -> impl Iterator<Item = (u32, &Process)> {
    system.processes().iter().map(|(pid, process)| (pid.as_u32(), process)).filter(|(_, process)| !is_dead(process))
}

fn running(process: &Process) -> RunningProcess {
    RunningProcess {
        name: naming::program(&process.name().to_string_lossy()),
        parent: process.parent().map_or(0, Pid::as_u32),
        started: process.start_time(),
        is_dead: is_dead(process),
    }
}

fn is_dead(process: &Process) -> bool {
    matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead)
}
