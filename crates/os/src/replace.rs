//! Replaces a file atomically: writes a temporary file beside it, syncs it and renames it over the original.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::platform;

const OWNER_WRITE: u32 = 0o200;

/// Whether the file's mode lets its owner write. A rename would not check that.
pub fn is_writable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|known| platform::mode(&known) & OWNER_WRITE != 0)
}

/// Writes `bytes` to `path`, or to the target of a symbolic link. An existing file keeps its mode.
pub fn replace(path: &Path, bytes: &[u8], mode_if_new: u32) -> io::Result<()> {
    let target = resolve(path)?;
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = fs::metadata(&target).map_or(mode_if_new, |known| platform::mode(&known));
    if mode & OWNER_WRITE == 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let temporary = dir.join(format!(".{}.{}.tmp", file_name(&target), std::process::id()));
    let written = write_new(&temporary, bytes, mode).and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    platform::sync_folder(&platform::folder(dir)?)
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = platform::with_mode(OpenOptions::new().write(true).create_new(true), mode).open(path)?;
    file.write_all(bytes)?;
    platform::set_mode_of(&file, mode)?;
    file.sync_all()
}

/// Resolves symbolic links, so that the target is replaced and not the link. The target need not exist.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn links_modes_and_read_only_files_are_respected() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        replace(&link, b"one", 0o640).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"one");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        replace(&real, b"two", 0o600).unwrap();
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::set_permissions(&real, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(replace(&real, b"three", 0o600).is_err());
        assert_eq!(fs::read(&link).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
