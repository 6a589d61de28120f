//! What every system is asked for, and what it answers.

/// The purpose for which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Writes over existing bytes.
    Overwrite,
    Append,
    /// Like `Append`, but creates a missing file.
    AppendOrCreate,
    /// Reads and writes; creates a missing file.
    UpdateOrCreate,
}

/// Why the output is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputError {
    TimedOut,
    TooLong,
    Broken,
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

/// What a system says about a file besides its contents. If nothing of it has changed, and the system is exact, the
/// contents have not changed either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    pub bytes: u64,
    /// When the contents were changed, in nanoseconds; anybody can set it.
    pub modified: i64,
    /// When anything was changed; nobody can set it.
    pub changed: i64,
    pub inode: u64,
    pub device: u64,
}

/// How a process is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It may finish what it is doing.
    Ask,
    Kill,
}

/// A running process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningProcess {
    pub name: String,
    pub parent: u32,
    /// When it was started, in the system's unit. Together with its id, this identifies it until the next boot.
    pub started: u64,
    /// It has ended, but its parent was not told yet.
    pub is_dead: bool,
}

/// Where a process id has a meaning: nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessDomain {
    /// Empty where start times alone tell boots apart.
    pub boot: String,
    pub machine: String,
    pub namespace: String,
}
