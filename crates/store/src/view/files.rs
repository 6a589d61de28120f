//! The file names of views. A name contains the version of the code that makes the view, so that another version of the
//! program never reads it and folds its own view from the journal instead.

use std::path::{Path, PathBuf};

use cerberus_os::home::Home;

pub(super) const VIEW: &str = concat!("view-", env!("VIEW_VERSION"), ".db");

/// The suffixes of the files that make up one database.
pub(super) const PARTS: [&str; 3] = ["", "-wal", "-shm"];

/// The view of this version.
pub fn view_file(home: &Home) -> PathBuf {
    home.root().join(VIEW)
}

/// Views of other versions, and damaged views that were set aside. All of them can be rebuilt from the journal. Does
/// not include files that were found in the view's place but were not made by us.
pub fn other_views(home: &Home) -> Vec<PathBuf> {
    let is_other =
        |name: &str| name.starts_with("view-") && !name.starts_with(VIEW) && !name.contains(".damaged-foreign");
    let entries = std::fs::read_dir(home.root()).into_iter().flatten().flatten();
    entries.filter(|entry| is_other(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}

/// The view's path with the home resolved: SQLite refuses every symbolic link in a path, but links above the home are
/// the user's choice.
pub(super) fn resolved_view(home: &Home) -> PathBuf {
    let view = view_file(home);
    match (home.root().canonicalize(), view.file_name()) {
        (Ok(root), Some(name)) => root.join(name),
        _ => view,
    }
}

/// Appends a suffix to the last component of a path.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}
