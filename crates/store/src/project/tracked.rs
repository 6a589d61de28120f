//! The files git tracks, read from its index without starting a process or obeying any configuration. The index also
//! holds each file's last known size and time, which cheaply shows whether it changed since.
//!
//! Anything unexpected (split index, another hash, a damaged file) yields no paths; then file names are only shortened
//! as far as the sessions' own files allow.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;
use std::time::UNIX_EPOCH;

use cerberus_os::outside;

/// Enough for a million files. Reading a larger index would delay a session's start too much.
const INDEX_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Stat data, hash and flags before each name, with SHA-1.
const FIXED_BYTES: usize = 62;
const EXTENDED_FLAG: u16 = 0x4000;
/// What is left after the entries and the extensions.
const CHECKSUM_BYTES: usize = 20;

/// Everything git tracks in one worktree.
#[derive(Debug, Default)]
pub struct TrackedFiles {
    pub paths: Vec<String>,
    /// One per path, in the same order.
    stamps: Vec<Stamp>,
}

/// A file's modification time and size, as git stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    secs: u32,
    nanos: u32,
    bytes: u32,
}

impl Stamp {
    /// Of a file on disk; `None` if it is something else. Git stores the lower half of larger numbers.
    pub fn of(found: &Metadata) -> Option<Stamp> {
        let since = found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let stamp = Stamp { secs: since.as_secs() as u32, nanos: since.subsec_nanos(), bytes: found.len() as u32 };
        found.is_file().then_some(stamp)
    }
}

impl TrackedFiles {
    /// Whether the file at this index was changed since git last looked. In doubt, `false`.
    pub fn is_changed(&self, index: usize, found: Stamp) -> bool {
        let Some(stamp) = self.stamps.get(index).filter(|stamp| stamp.secs != 0) else { return false };
        stamp.bytes != found.bytes || stamp.secs != found.secs || stamp.nanos != 0 && stamp.nanos != found.nanos
    }
}

/// The tracked paths of the worktree with this git directory.
pub fn paths(git_dir: &Path) -> Vec<String> {
    read(git_dir).paths
}

/// The tracked paths, with what git knows about each.
pub fn read(git_dir: &Path) -> TrackedFiles {
    let index = outside::bytes(&git_dir.join("index"), INDEX_BYTES_MAX);
    index.ok().and_then(|bytes| parse(&bytes)).unwrap_or_default()
}

/// Whether git tracks this name at the top of the worktree, as a file or a folder; in doubt, it does.
pub fn may_hold(git_dir: &Path, name: &str) -> bool {
    let is_it = |path: &str| {
        // Where letters have no case, another spelling is the same file.
        let (top, _) = path.split_once('/').unwrap_or((path, ""));
        top.eq_ignore_ascii_case(name)
    };
    match outside::bytes(&git_dir.join("index"), INDEX_BYTES_MAX) {
        Ok(bytes) => parse(&bytes).is_none_or(|tracked| tracked.paths.iter().any(|path| is_it(path))),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

fn parse(bytes: &[u8]) -> Option<TrackedFiles> {
    let mut rest = bytes.strip_prefix(b"DIRC")?;
    let version = u32::from_be_bytes(take(&mut rest, 4)?.try_into().ok()?);
    let count = u32::from_be_bytes(take(&mut rest, 4)?.try_into().ok()?) as usize;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count_max = count.min(bytes.len() / FIXED_BYTES);
    let mut tracked = TrackedFiles { paths: Vec::with_capacity(count_max), stamps: Vec::with_capacity(count_max) };
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let fixed = take(&mut rest, FIXED_BYTES)?;
        let number = |at: usize| Some(u32::from_be_bytes(fixed.get(at..at + 4)?.try_into().ok()?));
        tracked.stamps.push(Stamp { secs: number(8)?, nanos: number(12)?, bytes: number(36)? });
        let flags = u16::from_be_bytes(fixed[60..].try_into().ok()?);
        let extended = version >= 3 && flags & EXTENDED_FLAG != 0;
        if extended {
            take(&mut rest, 2)?;
        }
        if version == 4 {
            let stripped = varint(&mut rest)?;
            name.truncate(name.len().checked_sub(stripped)?);
        } else {
            name.clear();
        }
        let end = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(take(&mut rest, end)?);
        let padding = if version == 4 { 1 } else { 8 - (FIXED_BYTES + 2 * usize::from(extended) + end) % 8 };
        take(&mut rest, padding)?;
        tracked.paths.push(String::from_utf8_lossy(&name).into_owned());
    }
    while rest.len() > CHECKSUM_BYTES {
        let signature = take(&mut rest, 4)?;
        // The other paths are in another file.
        if signature == b"link" {
            return None;
        }
        let bytes = u32::from_be_bytes(take(&mut rest, 4)?.try_into().ok()?);
        take(&mut rest, bytes as usize)?;
    }
    Some(tracked)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

/// Git's offset encoding: seven bits per byte, each further byte adding one.
fn varint(rest: &mut &[u8]) -> Option<usize> {
    let mut byte = take(rest, 1)?[0];
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = take(rest, 1)?[0];
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn reads_what_git_wrote_in_every_version() {
        let long = format!("{}x.rs", "deep/".repeat(60));
        let names = ["README.md", "src/a.rs", "src/ab.rs", "src/b/mod.rs", "ümlaut.txt", long.as_str()];
        for version in ["2", "3", "4"] {
            let dir = tempfile::tempdir().unwrap();
            let git = |args: &[&str]| {
                let run = Command::new("git").args(args).current_dir(dir.path()).output().unwrap();
                assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            };
            git(&["init", "-q"]);
            for name in names {
                let path = dir.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "x").unwrap();
            }
            git(&["add", "--intent-to-add", "src/a.rs"]);
            git(&["add", "."]);
            git(&["update-index", "--index-version", version]);
            git(&["update-index", "--skip-worktree", "src/ab.rs"]);
            let mut expected = names.to_vec();
            expected.sort_unstable_by_key(|name| name.as_bytes());
            let tracked = read(&dir.path().join(".git"));
            assert_eq!(tracked.paths, expected, "version {version}");
            let index = expected.iter().position(|name| *name == "README.md").unwrap();
            let is_changed =
                || tracked.is_changed(index, Stamp::of(&dir.path().join("README.md").metadata().unwrap()).unwrap());
            assert!(!is_changed(), "version {version}");
            std::fs::write(dir.path().join("README.md"), "longer").unwrap();
            assert!(is_changed(), "version {version}");

            for (name, is_held) in
                [("README.md", true), ("readme.MD", true), ("src", true), ("sr", false), ("a.rs", false)]
            {
                assert_eq!(may_hold(&dir.path().join(".git"), name), is_held, "{name}, version {version}");
            }
            let whole = std::fs::read(dir.path().join(".git/index")).unwrap();
            for cut in 0..whole.len() {
                parse(&whole[..cut]);
            }
            git(&["update-index", "--split-index"]);
            assert_eq!(read(&dir.path().join(".git")).paths, [""; 0], "version {version}");
            assert!(may_hold(&dir.path().join(".git"), "nobody knows"), "version {version}");
            std::fs::remove_file(dir.path().join(".git/index")).unwrap();
            assert!(!may_hold(&dir.path().join(".git"), "README.md"), "nothing is tracked yet");
        }
    }
}
