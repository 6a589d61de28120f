//! Labelled points at which development builds can be made to die or fail, so that tests can show what survives.
//!
//! `CERBERUS_FAULT=label=kill|enospc|eio|short` names the point and what happens there. Release builds have none of it.

use std::io;

/// Every labelled point, in the order in which a session's start passes them.
pub const POINTS: [&str; 8] = [
    "journal-open",
    "journal-write",
    "journal-sync",
    "journal-done",
    "fold-apply",
    "fold-commit",
    "fold-done",
    "answer-given",
];

/// The points that forgetting passes.
pub const FORGETTING_POINTS: [&str; 5] =
    ["forget-marked", "forget-copied", "forget-rewritten", "forget-blanked", "forget-folded"];

/// What the next write shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    Whole,
    Short,
}

/// Passes a point; in a development build this may be the end.
#[cfg(debug_assertions)]
pub fn point(label: &str) -> io::Result<Writing> {
    use rustix::io::Errno;
    let Ok(fault) = std::env::var("CERBERUS_FAULT") else { return Ok(Writing::Whole) };
    match fault.strip_prefix(label).and_then(|rest| rest.strip_prefix('=')) {
        Some("kill") => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            Ok(Writing::Whole)
        }
        Some("enospc") => Err(Errno::NOSPC.into()),
        Some("eio") => Err(Errno::IO.into()),
        Some("short") => Ok(Writing::Short),
        _ => Ok(Writing::Whole),
    }
}

#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn point(_label: &str) -> io::Result<Writing> {
    Ok(Writing::Whole)
}
