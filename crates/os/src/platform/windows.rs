//! Windows.
//!
//! The folder of a user is closed to other users by the system, so modes are not set and owners not compared. There are
//! no signals: to ask a process to end is to end it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Instant, SystemTime};

use cerberus_record::path::as_people_write;

use super::kinds::{Access, EntryKind, FileStamp, OutputError, ProcessEnd};
use super::table as processes;

/// The variable that names the user's folder.
pub const USER_FOLDER: &str = "USERPROFILE";

/// The shell that runs a command line, and its flag for one.
pub const SHELL: [&str; 2] = ["cmd", "/C"];

/// What the names of programs end with.
const PROGRAM_ENDINGS: [&str; 4] = ["exe", "cmd", "bat", "com"];

const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

const READABLE: u32 = 0o400;
const WRITABLE: u32 = 0o200;

// Paths

pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let resolved = fs::canonicalize(path)?;
    Ok(match resolved.to_str() {
        Some(text) => PathBuf::from(as_people_write(text).into_owned()),
        None => resolved,
    })
}

pub fn is_plain(_path: &str) -> bool {
    false
}

pub fn with_slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// The path in a form that every shell of the system takes for a program: without blanks, because PowerShell takes a quoted
/// path for a text. The system keeps a short name for each file, unless that was switched off for the disk; then the path
/// stays as it is.
pub fn for_any_shell(path: PathBuf) -> PathBuf {
    let short = path.to_str().filter(|text| text.contains(' ')).and_then(short_name);
    // Whatever was printed, it must be the same file.
    let is_same = |short: &PathBuf| matches!((real_path(short), real_path(&path)), (Ok(a), Ok(b)) if a == b);
    short.filter(is_same).unwrap_or(path)
}

fn short_name(path: &str) -> Option<PathBuf> {
    // It would print in the code page of old programs, which is not UTF-8 and lacks most signs.
    let line = format!("/D /C chcp 65001>nul & for %A in (\"{path}\") do @echo %~sA");
    let output = Command::new("cmd").raw_arg(line).creation_flags(CREATE_NO_WINDOW).output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(printed.trim())).filter(|short| !printed.trim().contains(' ') && !short.as_os_str().is_empty())
}

/// The path that git prints as these bytes.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

// Files

/// Creates a symbolic link.
pub fn link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, link)
}

pub fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(bytes, offset)
}

pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => (bytes, offset) = (&bytes[count..], offset + count as u64),
        }
    }
    Ok(())
}

/// Makes new files with this mode.
pub fn with_mode(options: &mut OpenOptions, _mode: u32) -> &mut OpenOptions {
    options
}

pub fn mode(known: &Metadata) -> u32 {
    READABLE | if known.permissions().readonly() { 0 } else { WRITABLE }
}

pub const STAMPS_ARE_EXACT: bool = false;

pub fn stamp(known: &Metadata) -> FileStamp {
    let since = known.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    let modified = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
    FileStamp { bytes: known.len(), modified, ..FileStamp::default() }
}

pub fn set_mode_of(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_readonly(mode & WRITABLE == 0);
    fs::set_permissions(path, permissions)
}

/// Creates a folder and its parents, for this user only.
pub fn create_dir(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// The home of a user that a path is in. Not known here.
pub fn home_around(_path: &Path) -> Option<PathBuf> {
    None
}

/// The owner of a file, as a number. There are none here.
pub fn owner(_path: &Path) -> Option<u32> {
    None
}

/// The user whose files are the caller's own.
pub fn user(_home: Option<&Path>) -> Option<u32> {
    None
}

/// The owner of a file, if it is somebody else.
pub fn other_owner(_known: &Metadata) -> Option<u32> {
    None
}

/// Makes the names in a folder as durable as the contents of its files. The system does so itself.
pub fn sync_folder(_folder: &File) -> io::Result<()> {
    Ok(())
}

/// Opens a folder to be synced.
pub fn folder(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// Opens a file for reading, without waiting for a pipe or a terminal.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens the file `name` in the folder `inside`, a path relative to `root`. Follows no symbolic link below the root.
pub fn open_below(root: &Path, inside: &Path, name: &OsStr, access: Access) -> io::Result<File> {
    descend(root, inside)?.file(name, access)
}

/// Like [`open_below`], for a folder.
pub fn open_folder_below(root: &Path, inside: &Path, name: &OsStr) -> io::Result<File> {
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    not_a_link(OpenOptions::new().read(true).custom_flags(flags).open(descend(root, inside)?.path.join(name))?)
}

fn descend(root: &Path, inside: &Path) -> io::Result<OpenFolder> {
    let top = OpenFolder { path: root.to_path_buf() };
    inside.iter().try_fold(top, |folder, part| folder.enter(part))
}

/// A folder by its path. No symbolic link in it is followed, unless somebody puts one there between two calls.
#[derive(Debug)]
pub struct OpenFolder {
    path: PathBuf,
}

impl OpenFolder {
    /// The path itself may be a link.
    pub fn open(path: &Path) -> io::Result<OpenFolder> {
        match fs::metadata(path)?.is_dir() {
            true => Ok(OpenFolder { path: path.to_path_buf() }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub fn enter(&self, name: impl AsRef<OsStr>) -> io::Result<OpenFolder> {
        let path = self.path.join(name.as_ref());
        match fs::symlink_metadata(&path)?.is_dir() {
            true => Ok(OpenFolder { path }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Makes a folder, unless something has this name already.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        match fs::create_dir(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    pub fn file(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<File> {
        let mut options = OpenOptions::new();
        match access {
            Access::Read => options.read(true),
            Access::Overwrite => options.write(true),
            // Appending also reads the last record.
            Access::Append => options.read(true).append(true),
            Access::AppendOrCreate => options.read(true).append(true).create(true),
            Access::UpdateOrCreate => options.read(true).write(true).create(true),
        };
        let path = self.path.join(name.as_ref());
        not_a_link(options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)?)
    }

    /// Makes a file that must be new.
    pub fn new_file(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.path.join(name))
    }

    /// Gives a file a second name, which must be new.
    pub fn link(&self, name: &str, second: &str) -> io::Result<()> {
        fs::hard_link(self.path.join(name), self.path.join(second))
    }

    /// Gives a file another name. What had that name is replaced; if it was a link, the link itself.
    pub fn rename(&self, name: &str, new: &str) -> io::Result<()> {
        fs::rename(self.path.join(name), self.path.join(new))
    }

    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    /// Removes a folder, which must be empty.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    pub fn kind(&self, name: &str) -> io::Result<EntryKind> {
        let known = fs::symlink_metadata(self.path.join(name))?.file_type();
        Ok(match known {
            known if known.is_symlink() => EntryKind::Link,
            known if known.is_dir() => EntryKind::Folder,
            known if known.is_file() => EntryKind::File,
            _ => EntryKind::Other,
        })
    }

    /// The names in it, in no order.
    pub fn names(&self) -> io::Result<impl Iterator<Item = io::Result<OsString>>> {
        Ok(fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name())))
    }

    /// Makes the names in it as durable as the contents of its files. The system does so itself.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

fn not_a_link(file: File) -> io::Result<File> {
    match file.metadata()?.is_symlink() {
        true => Err(io::ErrorKind::NotADirectory.into()),
        false => Ok(file),
    }
}

/// Whether the system may have refused to open a path because of a symbolic link.
pub fn may_be_link(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotADirectory
}

/// Whether the file cannot be opened because of what it is.
pub fn is_no_file(_error: &io::Error) -> bool {
    false
}

/// Sets the modification time of a file to now. Follows no symbolic link.
pub fn touch(path: &Path) {
    let opened = OpenOptions::new().write(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path);
    let _ = opened.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Whether this user may create files in a folder.
pub fn may_create_in(dir: &Path) -> bool {
    dir.metadata().is_ok_and(|known| known.is_dir() && !known.permissions().readonly())
}

/// Whether this is a file that the system runs.
pub fn is_program(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    PROGRAM_ENDINGS.contains(&ending.as_str()) && path.is_file()
}

/// The files that a program of this name may be in.
pub fn program_files(name: &str) -> Vec<String> {
    PROGRAM_ENDINGS.iter().map(|ending| format!("{name}.{ending}")).collect()
}

// Processes

pub fn parent_id() -> u32 {
    processes::look(std::process::id()).map_or(0, |own| own.parent)
}

/// The file of this program. It cannot be replaced while the program runs, only renamed.
pub fn running_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// What lists of processes call the program: always its file.
pub fn call(_command: &mut Command, _name: &str) {}

/// Starts the program in a process group of its own, without a console window.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW)
}

/// Starts the program without the console of this one.
pub fn in_own_session(command: &mut Command) -> &mut Command {
    in_own_group(command)
}

/// Leaves the terminal and the process group of the parent.
pub fn leave_terminal() {}

/// Makes this process the parent of orphans below it, where the system can do that.
pub fn adopt_orphans() {}

pub fn end_process(pid: u32, _how: ProcessEnd) {
    processes::kill(pid);
}

/// Ends a process. Those that it started are found by the caller.
pub fn end_group(leader: u32, _how: ProcessEnd) {
    processes::kill(leader);
}

/// Reaps a child or an adopted process, if it has ended.
pub fn reap(_pid: u32) {}

/// Calls `ended` with the id and exit code of the child when it ends.
pub fn each_end(mut started: Child, mut ended: impl FnMut(u32, i32) -> bool) {
    let code = started.wait().ok().and_then(|status| status.code());
    ended(started.id(), code.unwrap_or(1));
}

/// Whether a child has ended.
pub fn has_ended(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(Some(_)))
}

/// The signal that ended a process.
pub fn signal_of(_status: &ExitStatus) -> Option<i32> {
    None
}

/// Reads the output of a child to its end, within limits of time and size.
pub fn read_output(mut output: ChildStdout, deadline: Instant, bytes_max: usize) -> Result<Vec<u8>, OutputError> {
    let (send, chunks) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = output.read(&mut chunk).map(|count| chunk[..count].to_vec());
            let is_end = read.as_ref().map_or(true, Vec::is_empty);
            if send.send(read).is_err() || is_end {
                return;
            }
        }
    });
    let mut bytes = Vec::new();
    loop {
        let left = deadline.checked_duration_since(Instant::now()).ok_or(OutputError::TimedOut)?;
        match chunks.recv_timeout(left) {
            Ok(Ok(chunk)) if chunk.is_empty() => return Ok(bytes),
            Ok(Ok(_)) if bytes.len() > bytes_max => return Err(OutputError::TooLong),
            Ok(Ok(chunk)) => bytes.extend_from_slice(&chunk),
            Err(RecvTimeoutError::Timeout) => return Err(OutputError::TimedOut),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(OutputError::Broken),
        }
    }
}

// Faults, in development builds

#[cfg(debug_assertions)]
pub fn kill_self() {
    std::process::abort();
}

#[cfg(debug_assertions)]
pub fn disk_full() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

#[cfg(debug_assertions)]
pub fn disk_broken() -> io::Error {
    io::Error::other("the disk failed")
}
