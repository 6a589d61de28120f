//! Deals with a file in the view's place that is not the view.
//!
//! The view can always be rebuilt from the journal, so a wrong file is renamed; it is never repaired or waited for. Our
//! own are removed once they are of no use (`old_views.rs`). Files that are not ours are left to the user.

use std::fs;
use std::path::PathBuf;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_os::{failures, platform};

use super::content::ViewProblem;
use super::error::StoreError;
use super::files::{PARTS, view_file, with_suffix};

/// How many names are tried for a file that is set aside.
const ASIDE_MAX: usize = 100;

/// Whether one of the view's files is not a regular file. SQLite opens its logs without our checks.
pub(super) fn is_obstructed(home: &Home) -> bool {
    let view = view_file(home);
    PARTS.iter().any(|part| fs::symlink_metadata(with_suffix(&view, part)).is_ok_and(|known| !known.is_file()))
}

/// Renames what is in the view's place and notes it for `doctor`.
pub(super) fn set_aside(home: &Home, error: &StoreError) {
    let view = view_file(home);
    let is_file = fs::symlink_metadata(&view).is_ok_and(|known| known.is_file());
    let is_ours = is_file && !matches!(error, StoreError::ViewProblem { problem: ViewProblem::Foreign, .. });
    let name = if is_ours { "damaged" } else { "damaged-foreign" };
    let names = (1..=ASIDE_MAX).map(|number| if number == 1 { name.to_string() } else { format!("{name}-{number}") });
    let is_free = |aside: &PathBuf| PARTS.iter().all(|part| fs::symlink_metadata(with_suffix(aside, part)).is_err());
    let Some(aside) = names.map(|name| view.with_extension(name)).find(is_free) else { return };
    let moved = PARTS.map(|part| fs::rename(with_suffix(&view, part), with_suffix(&aside, part)));
    if moved.iter().all(Result::is_err) {
        return;
    }
    if is_ours {
        // From now on, its age counts.
        platform::touch(&aside);
    }
    let detail =
        format!("{error}; the old file was renamed to {}", aside.file_name().unwrap_or_default().to_string_lossy());
    failures::note(home, Clock::new(None).wall, "the view was rebuilt", &detail);
}
