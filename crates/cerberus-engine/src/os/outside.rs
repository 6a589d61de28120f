//! Files that we did not write: a repository's, an agent's, the user's. They may be anything.
//!
//! Opening one never waits: a pipe without a writer, a terminal or a device is refused, whatever its name promises.
//! Reading one is always bounded. Nothing here writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading; anything else is an error.
pub fn open(path: &Path) -> io::Result<File> {
    let at_once = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    regular(OpenOptions::new().read(true).custom_flags(at_once).open(path)?)
}

/// The same file, if it is a regular one.
pub fn regular(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Everything in a file; one of more than `bytes_max` is an error.
pub fn bytes(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, bytes_max)
}

/// The text of a file; one of more than `bytes_max`, or that is no UTF-8, is an error.
pub fn text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, bytes_max)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}

/// The beginning of a file, of at most `bytes_max`.
pub fn beginning(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Everything that a source gives; more than `bytes_max` is an error, and is not read.
pub fn whole(source: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
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
    fn only_regular_files_are_read_and_only_so_much_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe, link) = (dir.path().join("file"), dir.path().join("pipe"), dir.path().join("link"));
        std::fs::write(&file, "text").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        std::os::unix::fs::symlink("link", &link).unwrap();
        assert_eq!((text(&file, 4).unwrap().as_str(), beginning(&file, 2).unwrap().as_slice()), ("text", &b"te"[..]));
        assert_eq!(bytes(&file, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for odd in [pipe.as_path(), dir.path(), Path::new("/dev/zero"), Path::new("/dev/tty"), &link] {
            assert!(bytes(odd, 10).is_err(), "{}", odd.display());
        }
    }
}
