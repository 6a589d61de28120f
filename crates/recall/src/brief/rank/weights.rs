//! Every number that was set by measurement. `docs/continuity.md` describes how.
//!
//! A file's score is the sum of `weight · ln(1 + feature)`. No weight is negative: more of a feature never lowers the
//! score, and each further unit counts less.

use cerberus_record::lesson::WHOLE;

/// What is known about a file. The first [`PAST`] are about past work and always count. The others compare the file
/// with a prompt and are added if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Edits and reads, weighted by how recent their session is. An edit counts three times.
    Worked,
    /// How long ago it was edited.
    EditedLately,
    /// The number of sessions that edited it.
    SessionsEdited,
    /// Sessions that read it, weighted by how recent they are.
    Read,
    /// Read after the last edit of its session: where the work was heading.
    ReadLast,
    /// Commits, weighted by how recent they are and how few files they changed.
    Committed,
    /// How many commits are newer than its last one.
    LastCommit,
    /// Edited since its last commit.
    Uncommitted,
    /// The share of the last sessions' work in its folder.
    FolderWorked,
    /// The share of files of its type that sessions edited.
    OfAKind,
    /// Named in the agent's last message.
    Mentioned,
    /// Named in the last prompts of the last sessions.
    Requested,
    /// The prompt names it.
    Named,
    /// The prompt names a folder above it.
    NamedFolder,
    /// The words that the prompt shares with its path, weighted by how few paths contain them.
    PathWords,
    /// The share of its name that the prompt contains.
    NameWords,
    /// Words of its path that begin like words of the prompt.
    SimilarWords,
    /// It has the name of a file that the prompt names, such as the test of a source file.
    SameName,
    /// The share of the files that the prompt names that are in its folder.
    BesideNamed,
    /// How like this prompt the most similar one was that led to an edit of it.
    MostSimilar,
}

/// The names of the features, in the order of their weights.
pub const FEATURES: [&str; 20] = [
    "worked",
    "edited lately",
    "sessions that edited it",
    "read",
    "read last",
    "committed",
    "last commit",
    "uncommitted",
    "folder worked in",
    "kind of file",
    "named by the agent",
    "named in earlier prompts",
    "named",
    "named folder",
    "words of the path",
    "words of the name",
    "beginnings of words",
    "name of a named file",
    "folder of named files",
    "most similar prompt",
];

/// How many features are about past work.
pub const PAST: usize = Feature::Named as usize;

pub type RankFeatures = [f64; FEATURES.len()];

/// Fitted by `bench rank` on 671 starts of sessions by 27 people. Fitted on all people but one and scored on that one,
/// 36.8 % of the files that a session edits are among the first ten, and 45.7 % if its first prompt is known.
pub const WEIGHTS: RankFeatures = [
    0.25, 0.72, 0.28, 0.28, 0.47, 1.01, 1.19, 0.99, 0.34, 2.31, 0.72, 0.20, // past work
    3.83, 1.44, 1.78, 1.21, 1.21, 1.19, 1.03, 1.20, // the prompt
];

/// How files are ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scoring {
    pub weights: RankFeatures,
    /// How many of the first ten may be files that the prompt only hints at (see [`order`](super::order)).
    pub hinted_max: usize,
}

pub const USUAL: Scoring = Scoring { weights: WEIGHTS, hinted_max: 1 };

/// The prompt counts double, and its hints as well. For projects in which that tells more (see [`learned`]).
pub const PROMPT_DOUBLED: Scoring = {
    let mut weights = WEIGHTS;
    let mut place = PAST;
    while place < weights.len() {
        weights[place] *= 2.0;
        place += 1;
    }
    Scoring { weights, hinted_max: FILES_MAX }
};

/// From this gain on, a prompt counts double: as much as all files of one session.
pub const LEARNED_MIN: i64 = WHOLE;

/// The ranking in a project whose ended sessions would have gained this much from a prompt that counts double.
pub fn learned(gain: i64) -> &'static Scoring {
    if gain >= LEARNED_MIN { &PROMPT_DOUBLED } else { &USUAL }
}

/// A file that differs on disk from git. Not measured: replayed sessions leave nothing on disk.
pub const CHANGED: f64 = 0.8;

/// What an edit counts beside a read.
pub const EDIT_WORTH: f64 = 3.0;
/// Half-lives in sessions and commits.
pub const SESSIONS_HALF: f64 = 3.0;
pub const COMMITS_HALF: f64 = 20.0;
/// Half-life in sessions of where a session stopped.
pub const STOPS_HALF_SESSIONS: f64 = 1.0;
pub const STOPPED_SESSIONS_MAX: usize = 6;
pub const FOLDER_SESSIONS_MAX: usize = 4;
/// Half-lives of an edit, and of one that is not committed.
pub const EDITED_HALF_HOURS: f64 = 48.0;
pub const UNCOMMITTED_HALF_HOURS: f64 = 24.0;

/// How far back to look.
pub const SESSIONS_MAX: usize = 120;
pub const COMMITS_MAX: usize = 150;
/// The last prompts of the last sessions, for the files they name.
pub const REQUESTING_SESSIONS_MAX: usize = 8;
pub const REQUESTS_MAX: usize = 6;
/// The sessions and prompts of the past that are compared with the current prompt, and how many of the most similar
/// count.
pub const PROMPTED_SESSIONS_MAX: usize = 60;
pub const PAST_PROMPTS_MAX: usize = 600;
pub const SIMILAR_PROMPTS_MAX: usize = 20;
pub const PAST_PROMPT_BYTES_MAX: usize = 3_000;
/// Words that begin with the same letters are similar.
pub const SIMILAR_WORD_CHARS: usize = 5;

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
