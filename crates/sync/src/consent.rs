//! Whether a shared project is exchanged here and now. One that the user opted out or made private ends its sharing; while
//! something is paused, or somebody else opted it out, nothing of it is sent or stored.

use std::path::Path;

use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;
use cerberus_store::project::identity;
use cerberus_store::project::privacy::{self, StorageBlock};
use cerberus_store::same_project::joined::Projects;
use cerberus_store::view::Store;

use super::Result;
use super::files::Files;
use super::local::{Shared, Space, Spaces};

/// Ends the sharing of projects of which the user wants nothing stored any more. What was stored before stays.
pub fn end_sharing(home: &Home, store: &Store, spaces: &mut Spaces, number: u32) -> Result<()> {
    let mut has_ended = false;
    for shared in &mut spaces.numbered(number)?.projects {
        if shared.is_space() || shared.is_ending || shared.ended.is_some() {
            continue;
        }
        if let Some(block) = block(store, shared, |root| privacy::users_block(home, &identity::locate(root)))? {
            (shared.is_ending, shared.ended) = (true, Some(block.to_string()));
            has_ended = true;
        }
    }
    if has_ended { Files::new(home).save_spaces(spaces) } else { Ok(()) }
}

/// Why nothing of this is sent or stored now; `None` if it may be.
pub fn pause(home: &Home, now: Timestamp, store: &Store, shared: &Shared) -> Result<Option<StorageBlock>> {
    match shared.is_space() {
        true => Ok(privacy::paused_everywhere(home, now)),
        false => block(store, shared, |root| privacy::storage_block(home, now, &identity::locate(root))),
    }
}

/// What `is_blocked` says about the folder of a project. If that folder is gone, about the folders that hold the same
/// project: it may have been moved.
fn block(
    store: &Store,
    shared: &Shared,
    is_blocked: impl Fn(&Path) -> Option<StorageBlock>,
) -> Result<Option<StorageBlock>> {
    let root = Path::new(&shared.root);
    let found = is_blocked(root);
    if found.is_some() || root.symlink_metadata().is_ok() {
        return Ok(found);
    }
    let others = Projects::load(store, Timestamp::LAST)?.joined(store, &shared.project())?;
    let mut others =
        others.iter().map(|other| Path::new(&other.root)).filter(|root| root.is_absolute() && root.exists());
    Ok(others.find_map(is_blocked))
}

/// That a project is no longer shared, for people.
pub fn ended_line(space: &Space, shared: &Shared) -> Option<String> {
    let why = shared.ended.as_ref()?;
    Some(format!("{} is no longer shared with {}: {why}", shared.name, space.label()))
}
