//! Every number that was set by measurement. `docs/continuity.md` describes how.
//!
//! A file's score is the sum of `weight · ln(1 + trace)` over its traces. More of a trace never lowers the score, and
//! each further unit counts less.

/// The weight of each trace.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    pub worked: f64,
    pub sessions: f64,
    pub committed: f64,
    pub last_commit: f64,
    pub uncommitted: f64,
    /// Not measured: replayed sessions leave nothing on disk.
    pub changed: f64,
    pub read: f64,
    pub touched_last: f64,
    pub folder_worked: f64,
    pub read_last: f64,
    pub mentioned: f64,
    pub of_a_kind: f64,
    pub path_words: f64,
    pub name_words: f64,
    pub named: f64,
    pub folder: f64,
}

/// At the start of a session, when its topic is unknown.
pub const AT_START: Weights = Weights {
    worked: 0.29,
    sessions: 0.12,
    committed: 0.86,
    last_commit: 0.25,
    uncommitted: 0.29,
    changed: 0.8,
    read: 0.72,
    touched_last: 2.5,
    folder_worked: 0.52,
    read_last: 2.75,
    mentioned: 1.0,
    of_a_kind: 2.45,
    path_words: 0.0,
    name_words: 0.0,
    named: 0.0,
    folder: 0.0,
};

/// With a prompt, its words count most; past work decides among the files they match.
pub const WITH_PROMPT: Weights = Weights {
    worked: 0.36,
    sessions: 0.05,
    committed: 0.0,
    last_commit: 1.5,
    uncommitted: 0.82,
    changed: 0.8,
    read: 0.0,
    touched_last: 0.0,
    folder_worked: 0.0,
    read_last: 0.0,
    mentioned: 0.28,
    of_a_kind: 0.65,
    path_words: 0.92,
    name_words: 1.75,
    named: 2.95,
    folder: 3.0,
};

/// Half-lives in sessions, commits and sessions.
pub const SESSIONS_HALF: f64 = 8.0;
pub const COMMITS_HALF: f64 = 20.0;
pub const MENTIONS_HALF_SESSIONS: f64 = 3.0;
/// Half-life in sessions of where a session stopped.
pub const STOPS_HALF_SESSIONS: f64 = 1.0;
pub const STOPPED_SESSIONS_MAX: usize = 6;
pub const FOLDER_SESSIONS_MAX: usize = 4;
/// Half-life of an uncommitted edit.
pub const UNCOMMITTED_HALF_HOURS: f64 = 24.0;

/// How far back to look for traces.
pub const SESSIONS_MAX: usize = 120;
pub const COMMITS_MAX: usize = 150;
pub const MENTIONING_SESSIONS_MAX: usize = 8;
pub const MENTIONING_TURNS_MAX: usize = 6;

/// A prompt is compared with all tracked files only in repositories up to this size.
pub const TRACKED_FILES_MAX: usize = 10_000;

/// More files would only hide the likely ones.
pub const FILES_MAX: usize = 10;
pub const ONLY_SESSION_FILES_MAX: usize = 20;
pub const FUNCTIONS_MAX: usize = 6;
pub const FUNCTIONS_PER_FILE_MAX: usize = 2;
pub const BLOCKERS_MAX: usize = 3;
pub const NEXT_MAX: usize = 4;
pub const DECISIONS_MAX: usize = 2;

/// The start of a prompt is enough to find its topic.
pub const PROMPT_BYTES_MAX: usize = 6_000;

/// What a prompt may add. A file needs at least this share of its name mentioned.
pub const PROMPT_FILES_MAX: usize = 8;
pub const PROMPT_ITEMS_MAX: usize = 4;
pub const PROMPT_NAME_SHARE_MIN: f64 = 0.6;
