//! Labelled points at which development builds can be made to die or fail, so that tests can show what survives.
//!
//! `CERBERUS_FAULT=label=kill|panic|enospc|eio|short` names the point and what happens there; with `@3` at its end, not before
//! the point is passed for the third time. Release builds have none of it.

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

/// The points that a loop's runner passes, and its guard.
pub const LOOP_POINTS: [&str; 18] = [
    "loop-run-write",
    "loop-run-done",
    "loop-begun-write",
    "loop-begun-done",
    "loop-spawned",
    "guard-ready",
    "loop-launched-write",
    "loop-launched-done",
    "guard-launched",
    "loop-session-write",
    "loop-session-done",
    "loop-acknowledged-write",
    "loop-acknowledged-done",
    "loop-gone",
    "loop-ended-write",
    "loop-ended-done",
    "loop-stopped-write",
    "loop-stopped-done",
];

/// The points that forgetting passes.
pub const FORGETTING_POINTS: [&str; 5] =
    ["rewrite-copied", "rewrite-listed", "rewrite-line", "rewrite-removed", "rewrite-folded"];

/// What the next write shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    Whole,
    Short,
}

/// Passes a point; in a development build this may be the end.
#[cfg(debug_assertions)]
pub fn point(label: &str) -> io::Result<Writing> {
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::io::Errno;
    let Ok(fault) = std::env::var("CERBERUS_FAULT") else { return Ok(Writing::Whole) };
    let Some(what) = fault.strip_prefix(label).and_then(|rest| rest.strip_prefix('=')) else {
        return Ok(Writing::Whole);
    };
    let (what, times) = what.split_once('@').map_or((what, 1), |(what, times)| (what, times.parse().unwrap_or(1)));
    static PASSED: AtomicU32 = AtomicU32::new(0);
    if PASSED.fetch_add(1, Ordering::Relaxed) + 1 < times {
        return Ok(Writing::Whole);
    }
    match Some(what) {
        Some("kill") => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            Ok(Writing::Whole)
        }
        #[expect(clippy::panic, reason = "development builds only, when a test asks for it")]
        Some("panic") => panic!("a fault was asked for"),
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
