//! Files that we did not write: those of a repository, an agent or the user. They may be anything.
//!
//! Opening one never blocks: pipes, terminals and devices are refused. Reading is always bounded. Nothing here writes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::platform;

/// Opens a regular file for reading; anything else is an error.
pub fn open(path: &Path) -> io::Result<File> {
    regular(platform::open_at_once(path)?)
}

/// Passes the file through if it is a regular one.
pub fn regular(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Reads a whole file. More than `bytes_max` is an error.
pub fn bytes(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, bytes_max)
}

/// Reads a file as text. More than `bytes_max`, or anything but UTF-8, is an error.
pub fn text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, bytes_max)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}

/// Reads at most the first `bytes_max` bytes of a file.
pub fn beginning(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads at most the last `bytes_max` bytes of a file.
pub fn ending(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let start = file.metadata()?.len().saturating_sub(bytes_max);
    let mut bytes = vec![0; usize::try_from(bytes_max.min(file.metadata()?.len())).unwrap_or(0)];
    let read = platform::read_at(&file, &mut bytes, start)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// The room to begin with.
const FIRST_BYTES: u64 = 4 * 1024;

/// Reads a source to its end. More than `bytes_max` is an error; the rest is not read.
pub fn whole(source: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Most files fit, and are read with one call.
    let mut bytes = Vec::with_capacity(bytes_max.saturating_add(1).min(FIRST_BYTES) as usize);
    source.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {bytes_max} bytes"))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read_and_only_up_to_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe, link) = (dir.path().join("file"), dir.path().join("pipe"), dir.path().join("link"));
        std::fs::write(&file, "text").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::os::unix::fs::symlink("link", &link).unwrap();
        assert_eq!((text(&file, 4).unwrap().as_str(), beginning(&file, 2).unwrap().as_slice()), ("text", &b"te"[..]));
        assert_eq!(bytes(&file, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for odd in [pipe.as_path(), dir.path(), Path::new("/dev/zero"), Path::new("/dev/tty"), &link] {
            assert!(bytes(odd, 10).is_err(), "{}", odd.display());
        }
    }
}
