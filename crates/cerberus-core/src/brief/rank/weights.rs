//! Every number that ranking was given by measurement, in one place. `docs/continuity.md` says how.
//!
//! A file's score is the sum over its traces of `weight · ln(1 + trace)`: more of a trace never counts against a file, and
//! each further bit of the same counts less.

/// How much each trace of a file says.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    pub worked: f64,
    pub sessions: f64,
    pub committed: f64,
    pub last_commit: f64,
    pub uncommitted: f64,
    /// Not measured: in sessions that are replayed nobody left anything on disk.
    pub changed: f64,
    pub read: f64,
    pub touched_last: f64,
    pub folder_worked: f64,
    pub looked_at_last: f64,
    pub mentioned: f64,
    pub of_a_kind: f64,
    pub path_words: f64,
    pub name_words: f64,
    pub named: f64,
    pub folder: f64,
}

/// At a session's start, when nobody knows yet what it is about.
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
    looked_at_last: 2.75,
    mentioned: 1.0,
    of_a_kind: 2.45,
    path_words: 0.0,
    name_words: 0.0,
    named: 0.0,
    folder: 0.0,
};

/// With a prompt its words say most; the traces of work decide among what it speaks of.
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
    looked_at_last: 0.0,
    mentioned: 0.28,
    of_a_kind: 0.65,
    path_words: 0.92,
    name_words: 1.75,
    named: 2.95,
    folder: 3.0,
};

/// After so many further sessions, or commits, or mentions, a trace counts half.
pub const SESSIONS_HALF: f64 = 8.0;
pub const COMMITS_HALF: f64 = 20.0;
pub const MENTIONS_HALF_SESSIONS: f64 = 3.0;
/// Where one of the last sessions stopped counts half as much as where the next one did.
pub const STOPS_HALF_SESSIONS: f64 = 1.0;
pub const STOPPED_SESSIONS_MAX: usize = 6;
pub const FOLDER_SESSIONS_MAX: usize = 4;
/// An edit that was not committed yet counts half a day later.
pub const UNCOMMITTED_HALF_HOURS: f64 = 24.0;

/// How far back traces are looked for.
pub const SESSIONS_MAX: usize = 120;
pub const COMMITS_MAX: usize = 150;
pub const MENTIONING_SESSIONS_MAX: usize = 8;
pub const MENTIONING_TURNS_MAX: usize = 6;

/// A prompt's words are compared with every tracked file only in repositories of ordinary size.
pub const TRACKED_FILES_MAX: usize = 10_000;

/// More than these only hide the likely ones.
pub const FILES_MAX: usize = 20;
pub const FUNCTIONS_MAX: usize = 16;

/// As much of a prompt as tells what it is about.
pub const PROMPT_BYTES_MAX: usize = 6_000;

/// What a prompt may add; a file whose name it says less of is not meant.
pub const PROMPT_FILES_MAX: usize = 8;
pub const PROMPT_SAID_MAX: usize = 4;
pub const PROMPT_NAME_SHARE_MIN: f64 = 0.6;
