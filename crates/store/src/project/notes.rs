//! What an agent wrote into its own memory about a project. It is read, and never written.

use std::fs;
use std::io;
use std::path::Path;

use cerberus_agents::install::Profile;
use cerberus_os::outside;

use crate::project::identity::Located;

/// Some agents keep one file about all projects.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// The agent's notes about the project. All worktrees share those of the main one, if it has any. A link is not followed:
/// it could lead to any file.
pub fn read(profile: &Profile, dir: &Path, located: &Located) -> io::Result<String> {
    let file = profile.notes.ok_or(io::ErrorKind::NotFound)?;
    let roots = [located.main_root.as_ref(), Some(&located.root)];
    for root in roots.into_iter().flatten() {
        let Some(path) = (file.path)(dir, root) else { continue };
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(found) if !found.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
            Ok(_) => {
                let mut bytes = outside::beginning(&path, FILE_BYTES_MAX)?;
                if bytes.len() as u64 == FILE_BYTES_MAX {
                    // The last line may have been cut.
                    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
                }
                return Ok((file.about)(&String::from_utf8_lossy(&bytes), root));
            }
        }
    }
    Err(io::ErrorKind::NotFound.into())
}
