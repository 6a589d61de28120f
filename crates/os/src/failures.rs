//! A log of what a hook failed to do. `status` and `doctor` show it, because a hook prints nothing.
//!
//! Best effort: noting a failure never fails. The file is bounded; the newest lines are kept.

use std::fs;
use std::io::Write;
use std::time::Duration;

use cerberus_record::clean::text::Keep;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::home::{Access, Home, create_dir};

const FILE_BYTES_MAX: u64 = 256 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub at: Timestamp,
    /// What was being attempted.
    pub what: String,
    pub detail: String,
}

pub fn note(home: &Home, at: Timestamp, what: &str, detail: &dyn std::fmt::Display) {
    let [what, detail] =
        [what.to_string(), detail.to_string()].map(|text| home.cleaner().clean(text, Keep::SUBJECT).to_string());
    let Ok(mut line) = serde_json::to_vec(&Failure { at, what, detail }) else {
        return;
    };
    line.push(b'\n');
    let path = home.failures();
    if fs::metadata(&path).is_ok_and(|known| known.len() > FILE_BYTES_MAX) {
        let _ = fs::rename(&path, path.with_extension("old.jsonl"));
    }
    let file = home.open(&path, Access::AppendOrCreate).or_else(|_| {
        create_dir(home.root())?;
        home.open(&path, Access::AppendOrCreate)
    });
    if let Ok(mut file) = file {
        let _ = file.write_all(&line);
    }
}

/// Removes the failures for which `is_meant` holds: an error message may quote text that has to be forgotten.
pub fn forget(home: &Home, is_meant: impl Fn(&Failure) -> bool) -> std::io::Result<()> {
    let path = home.failures();
    for path in [path.with_extension("old.jsonl"), path] {
        let Ok(text) = home.text(&path, 2 * FILE_BYTES_MAX) else { continue };
        let is_meant = |line: &str| serde_json::from_slice(line.as_bytes()).is_ok_and(|failure| is_meant(&failure));
        let kept: String = text.lines().filter(|line| !is_meant(line)).map(|line| format!("{line}\n")).collect();
        if kept != text {
            home.replace(&path, kept.as_bytes())?;
        }
    }
    Ok(())
}

/// The failures of the last week. Older ones say nothing about the current state.
pub fn recent(home: &Home, now: Timestamp) -> Vec<Failure> {
    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    list(home, now).into_iter().filter(|failure| now.since(failure.at) <= WEEK).collect()
}

/// The recorded failures up to `now`, oldest first.
pub fn list(home: &Home, now: Timestamp) -> Vec<Failure> {
    let path = home.failures();
    let files = [path.with_extension("old.jsonl"), path];
    let text = files.map(|path| home.text(&path, 2 * FILE_BYTES_MAX).unwrap_or_default());
    let lines = text.iter().flat_map(|text| text.lines());
    lines
        .filter_map(|line| serde_json::from_slice(line.as_bytes()).ok())
        .filter(|failure: &Failure| failure.at <= now)
        .collect()
}
