//! Labelled points at which development builds can be made to crash or fail, so that tests can show what survives.
//!
//! `CERBERUS_FAULT=label=kill|panic|enospc|eio|short` names the point and the fault. A suffix such as `@3` delays the
//! fault until the point is reached for the third time. Release builds contain none of this.

use std::io;

/// The labelled points of a session start, in order.
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

/// The labelled points of a loop's runner and its guard.
pub const LOOP_POINTS: [&str; 20] = [
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
    "loop-files-write",
    "loop-files-done",
    "loop-ended-write",
    "loop-ended-done",
    "loop-stopped-write",
    "loop-stopped-done",
];

/// The labelled points of keeping a checkpoint and of putting one back.
pub const CHECKPOINT_POINTS: [&str; 8] = [
    "checkpoint-listed",
    "checkpoint-hashed",
    "checkpoint-tree",
    "checkpoint-tagged",
    "checkpoint-kept",
    "checkpoint-seen",
    "restore-checked",
    "restore-removed",
];

/// The labelled points of forgetting.
pub const FORGETTING_POINTS: [&str; 5] =
    ["rewrite-copied", "rewrite-listed", "rewrite-line", "rewrite-removed", "rewrite-folded"];

/// The labelled points of writing the archive.
pub const ARCHIVE_POINTS: [&str; 4] = ["archive-write", "archive-written", "archive-synced", "archive-done"];

/// The labelled points of an exchange with a folder.
pub const SYNC_POINTS: [&str; 11] = [
    "sync-state",
    "sync-seal",
    "sync-sealed",
    "sync-send",
    "hub-write",
    "hub-link",
    "sync-sent",
    "hub-replace",
    "sync-published",
    "sync-append",
    "sync-appended",
];

/// How the next write behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    Whole,
    Short,
}

/// Marks a point. In a development build, the process may die here.
#[cfg(debug_assertions)]
pub fn point(label: &str) -> io::Result<WriteFault> {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::platform;
    let Ok(fault) = std::env::var("CERBERUS_FAULT") else { return Ok(WriteFault::Whole) };
    let Some(what) = fault.strip_prefix(label).and_then(|rest| rest.strip_prefix('=')) else {
        return Ok(WriteFault::Whole);
    };
    let (what, times) = what.split_once('@').map_or((what, 1), |(what, times)| (what, times.parse().unwrap_or(1)));
    static PASSED: AtomicU32 = AtomicU32::new(0);
    if PASSED.fetch_add(1, Ordering::Relaxed) + 1 < times {
        return Ok(WriteFault::Whole);
    }
    match Some(what) {
        Some("kill") => {
            platform::kill_self();
            Ok(WriteFault::Whole)
        }
        #[expect(clippy::panic, reason = "development builds only, when a test asks for it")]
        Some("panic") => panic!("a fault was asked for"),
        Some("enospc") => Err(platform::disk_full()),
        Some("eio") => Err(platform::disk_broken()),
        Some("short") => Ok(WriteFault::Short),
        _ => Ok(WriteFault::Whole),
    }
}

#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn point(_label: &str) -> io::Result<WriteFault> {
    Ok(WriteFault::Whole)
}
