//! Linux, macOS and other Unix systems.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Timestamps, UTIME_NOW, fchmod, fstat, linkat, mkdirat, openat,
    readlinkat_raw, renameat, statat, unlinkat, utimensat,
};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus};

use super::kinds::{Access, EntryKind, FileStamp, OutputError, ProcessEnd};

/// The variable that names the user's folder.
pub const USER_FOLDER: &str = "HOME";

/// The shell that runs a command line, and its flag for one.
pub const SHELL: [&str; 2] = ["/bin/sh", "-c"];

// Paths

/// The path without symbolic links. Most have none, and then nothing is allocated but the result: the C library would set
/// up an allocator of its own in every hook. Elsewhere the system may also write names in another case.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") && is_real(path.as_os_str().as_bytes()) {
        return Ok(path.to_path_buf());
    }
    fs::canonicalize(path)
}

/// Whether this is a full path of something that exists, and no part of it is a link.
fn is_real(path: &[u8]) -> bool {
    let is_written_out = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    let is_no_link = |end: usize| readlinkat_raw(CWD, &path[..end], &mut [0_u8]) == Err(Errno::INVAL);
    let Some(parts) = path.strip_prefix(b"/") else { return false };
    let mut end = 0;
    parts.split(|byte| *byte == b'/').all(|part| {
        end += 1 + part.len();
        is_written_out(part) && is_no_link(end)
    })
}

/// Whether the path is certainly written as [`real_path`] would write it, if there are no links.
pub fn is_plain(path: &str) -> bool {
    !path.contains("/.") && !path.contains("//")
}

/// The path with slashes between its parts.
pub fn with_slashes(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The path in a form that every shell of the system takes for a program.
pub fn for_any_shell(path: PathBuf) -> PathBuf {
    path
}

/// The path that git prints as these bytes.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

// Files

/// Creates a symbolic link.
pub fn link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

pub fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Makes new files with this mode.
pub fn with_mode(options: &mut OpenOptions, mode: u32) -> &mut OpenOptions {
    options.mode(mode)
}

pub fn mode(known: &Metadata) -> u32 {
    known.mode() & 0o7777
}

/// Whether a change of a file always shows in its [`FileStamp`].
pub const STAMPS_ARE_EXACT: bool = true;

pub fn stamp(known: &Metadata) -> FileStamp {
    let nanos = |secs: i64, nanos: i64| secs.saturating_mul(1_000_000_000).saturating_add(nanos);
    FileStamp {
        bytes: known.len(),
        modified: nanos(known.mtime(), known.mtime_nsec()),
        changed: nanos(known.ctime(), known.ctime_nsec()),
        inode: known.ino(),
        device: known.dev(),
    }
}

pub fn set_mode_of(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(mode))
}

pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Creates a folder and its parents, for this user only.
pub fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Folders that contain the homes of users, and homes that are elsewhere.
const HOMES: [&str; 2] = ["/home", "/Users"];
const OTHER_HOMES: [&str; 2] = ["/root", "/var/root"];

/// The home of a user that a path is in, judged by where systems keep homes.
pub fn home_around(path: &Path) -> Option<PathBuf> {
    let is_home = |folder: &Path| {
        let is_named = |names: &[&str], folder: Option<&Path>| names.iter().any(|name| folder == Some(Path::new(name)));
        is_named(&HOMES, folder.parent()) || is_named(&OTHER_HOMES, Some(folder))
    };
    path.ancestors().skip(1).find(|folder| is_home(folder)).map(Path::to_path_buf)
}

/// The owner of a file, as a number.
pub fn owner(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|known| known.uid())
}

/// The user whose files are the caller's own. For root it is the owner of its home, which `sudo` may leave as it was.
pub fn user(home: Option<&Path>) -> Option<u32> {
    let caller = rustix::process::geteuid();
    let of_home = || home.and_then(owner);
    if caller.is_root() { of_home().or(Some(caller.as_raw())) } else { Some(caller.as_raw()) }
}

/// The owner of a file, if it is somebody else.
pub fn other_owner(known: &Metadata) -> Option<u32> {
    Some(known.uid()).filter(|owner| *owner != rustix::process::geteuid().as_raw())
}

/// Makes the names in a folder as durable as the contents of its files.
pub fn sync_folder(folder: &File) -> io::Result<()> {
    folder.sync_all()
}

/// Opens a folder to be synced.
pub fn folder(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a file for reading, without waiting for a pipe or a terminal.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    let at_once = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    OpenOptions::new().read(true).custom_flags(at_once).open(path)
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens the file `name` in the folder `inside`, a path relative to `root`. Follows no symbolic link below the root.
pub fn open_below(root: &Path, inside: &Path, name: &OsStr, access: Access) -> io::Result<File> {
    descend(root, inside)?.file(name, access)
}

/// Like [`open_below`], for a folder.
pub fn open_folder_below(root: &Path, inside: &Path, name: &OsStr) -> io::Result<File> {
    Ok(File::from(descend(root, inside)?.enter(name)?.fd))
}

fn descend(root: &Path, inside: &Path) -> io::Result<OpenFolder> {
    inside.iter().try_fold(OpenFolder::open(root)?, |folder, part| folder.enter(part))
}

/// An open folder. It stays the same one, whatever its path leads to later. Names are those of things in it, and no
/// symbolic link among them is followed.
#[derive(Debug)]
pub struct OpenFolder {
    fd: OwnedFd,
}

impl OpenFolder {
    /// The path itself may be a link.
    pub fn open(path: &Path) -> io::Result<OpenFolder> {
        Ok(OpenFolder { fd: openat(CWD, path, FOLDER, Mode::empty())? })
    }

    pub fn enter(&self, name: impl AsRef<OsStr>) -> io::Result<OpenFolder> {
        Ok(OpenFolder { fd: openat(&self.fd, name.as_ref(), FOLDER | OFlags::NOFOLLOW, Mode::empty())? })
    }

    /// Makes a folder, unless something has this name already. Whoever may write here may write there: the mask of the
    /// process would keep the others of a team out.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        match mkdirat(&self.fd, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Err(Errno::EXIST) => return Ok(()),
            made => made?,
        }
        let others = Mode::RWXG | Mode::RWXO;
        let here = Mode::from_raw_mode(fstat(&self.fd)?.st_mode) & others;
        let made = self.enter(name)?;
        let known = Mode::from_raw_mode(fstat(&made.fd)?.st_mode);
        // Some file systems have no modes.
        let _ = fchmod(&made.fd, (known - others) | here);
        Ok(())
    }

    pub fn file(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<File> {
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Overwrite => OFlags::WRONLY,
            // Appending also reads the last record.
            Access::Append => OFlags::RDWR | OFlags::APPEND,
            Access::AppendOrCreate => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE,
            Access::UpdateOrCreate => OFlags::RDWR | OFlags::CREATE,
        };
        // If the path is a pipe, opening must not block.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(File::from(openat(&self.fd, name.as_ref(), flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Makes a file that must be new.
    pub fn new_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Gives a file a second name, which must be new.
    pub fn link(&self, name: &str, second: &str) -> io::Result<()> {
        Ok(linkat(&self.fd, name, &self.fd, second, AtFlags::empty())?)
    }

    /// Gives a file another name. What had that name is replaced; if it was a link, the link itself.
    pub fn rename(&self, name: &str, new: &str) -> io::Result<()> {
        Ok(renameat(&self.fd, name, &self.fd, new)?)
    }

    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes a folder, which must be empty.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    pub fn kind(&self, name: &str) -> io::Result<EntryKind> {
        let known = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(match FileType::from_raw_mode(known.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        })
    }

    /// The names in it, in no order.
    pub fn names(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
        let names = Dir::read_from(&self.fd)?.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
        let is_own = |name: &io::Result<Vec<u8>>| !name.as_ref().is_ok_and(|name| name == b"." || name == b"..");
        Ok(names.filter(is_own).map(|name| name.map(OsString::from_vec)))
    }

    /// Makes the names in it as durable as the contents of its files.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }
}

/// Whether the system may have refused to open a path because of a symbolic link.
pub fn may_be_link(error: &io::Error) -> bool {
    [Errno::LOOP, Errno::NOTDIR].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Whether the file cannot be opened because of what it is: a socket.
pub fn is_no_file(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NXIO.raw_os_error())
}

/// Sets the modification time of a file to now. Follows no symbolic link.
pub fn touch(path: &Path) {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let _ = utimensat(CWD, path, &Timestamps { last_access: now, last_modification: now }, AtFlags::SYMLINK_NOFOLLOW);
}

/// Whether this user may create files in a folder.
pub fn may_create_in(dir: &Path) -> bool {
    use rustix::fs::Access;
    rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Whether this is a file that the system runs.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|known| known.is_file() && known.mode() & 0o111 != 0)
}

/// The files that a program of this name may be in.
pub fn program_files(name: &str) -> Vec<String> {
    vec![name.to_string()]
}

// Processes

pub fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

/// The file of this program, even if it has been replaced since the program was started.
pub fn running_program() -> io::Result<PathBuf> {
    match cfg!(target_os = "linux") {
        true => Ok(PathBuf::from("/proc/self/exe")),
        false => std::env::current_exe(),
    }
}

/// What lists of processes call the program.
pub fn call(command: &mut Command, name: &str) {
    command.arg0(name);
}

/// Starts the program in a process group of its own.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Prepares a process that will leave the terminal. It does so itself: the leader of a group could not.
pub fn in_own_session(command: &mut Command) -> &mut Command {
    command
}

/// Leaves the terminal and the process group of the parent.
pub fn leave_terminal() {
    let _ = rustix::process::setsid();
}

/// Makes this process the parent of orphans below it, where the system can do that.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

pub fn end_process(pid: u32, how: ProcessEnd) {
    if let Some(pid) = to_pid(pid) {
        let _ = rustix::process::kill_process(pid, signal_for(how));
    }
}

/// Ends a process group, which has the id of its leader.
pub fn end_group(leader: u32, how: ProcessEnd) {
    if let Some(leader) = to_pid(leader) {
        let _ = rustix::process::kill_process_group(leader, signal_for(how));
    }
}

fn signal_for(how: ProcessEnd) -> Signal {
    match how {
        ProcessEnd::Ask => Signal::TERM,
        ProcessEnd::Kill => Signal::KILL,
    }
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Reaps a child or an adopted process, if it has ended.
pub fn reap(pid: u32) {
    if let Some(pid) = to_pid(pid) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Calls `ended` with the id and exit code of every child and adopted process that ends, until none is left or it
/// returns false.
pub fn each_end(_started: Child, mut ended: impl FnMut(u32, i32) -> bool) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let pid = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0);
                if !ended(pid, exit_code(status)) {
                    return;
                }
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// The exit code that a shell would report.
fn exit_code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// Whether a child has ended. It is not reaped: while it exists, no other group can get its id.
pub fn has_ended(child: &mut Child) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(rustix::process::waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(Some(_)))
}

/// The signal that ended a process.
pub fn signal_of(status: &ExitStatus) -> Option<i32> {
    status.signal()
}

/// Reads the output of a child to its end, within limits of time and size.
pub fn read_output(mut output: ChildStdout, deadline: Instant, bytes_max: usize) -> Result<Vec<u8>, OutputError> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 64 * 1024];
    loop {
        let left = deadline.checked_duration_since(Instant::now()).ok_or(OutputError::TimedOut)?;
        let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&limit)) {
            Ok(0) => return Err(OutputError::TimedOut),
            Err(Errno::INTR) => continue,
            Err(_) => return Err(OutputError::Broken),
            Ok(_) => {}
        }
        match output.read(&mut chunk).map_err(|_| OutputError::Broken)? {
            0 => return Ok(bytes),
            _ if bytes.len() > bytes_max => return Err(OutputError::TooLong),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

// Faults, in development builds

#[cfg(debug_assertions)]
pub fn kill_self() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
}

#[cfg(debug_assertions)]
pub fn disk_full() -> io::Error {
    Errno::NOSPC.into()
}

#[cfg(debug_assertions)]
pub fn disk_broken() -> io::Error {
    Errno::IO.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_path_is_what_the_c_library_says() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/.b")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        link(Path::new("a"), &root.join("short")).unwrap();
        link(Path::new("nowhere"), &root.join("broken")).unwrap();
        let long = format!("a/{}", "x".repeat(300));
        let names =
            ["a", "a/.b", "a/file", "short", "short/.b", "short/file", "broken", "a/../a", "a/./file", "a//file", "a/"];
        for name in names.into_iter().chain(["missing", "a/file/x", "a/file/", "a/missing/..", "", &long]) {
            let path = PathBuf::from(format!("{}/{name}", root.display()));
            let (ours, theirs) = (real_path(&path), fs::canonicalize(&path));
            assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{name}");
            assert_eq!(ours.map_err(|error| error.kind()).err(), theirs.map_err(|error| error.kind()).err(), "{name}");
        }
        assert_eq!(real_path(Path::new("/")).unwrap(), Path::new("/"));
        assert_eq!(real_path(Path::new(".")).unwrap(), fs::canonicalize(".").unwrap());
        assert!(
            is_real(root.join("a/.b").as_os_str().as_bytes()) && !is_real(root.join("short/.b").as_os_str().as_bytes())
        );
    }
}
