//! What the ranking of files reads.

use cerberus_record::clean::text::clip;
use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::terms;
use super::weights::PAST_PROMPT_BYTES_MAX;

/// One session's work on the project's files.
#[derive(Clone, Debug)]
pub struct SessionWork {
    pub session: SessionId,
    pub touched: Vec<TouchedFile>,
    /// Path-like words in the message that ended its last turn; only for the latest session.
    pub mentions: Vec<String>,
    /// What it was asked, the last prompt first.
    pub prompts: Vec<PastPrompt>,
}

/// A prompt of the past and the edits that followed it, up to the next prompt.
#[derive(Clone, Debug, Default)]
pub struct PastPrompt {
    /// Its words as [`terms::terms`], separated by blanks.
    pub terms: String,
    /// Path-like words in it.
    pub paths: Vec<String>,
    /// Places in [`SessionWork::touched`].
    pub edited: Vec<usize>,
}

impl PastPrompt {
    /// The words of a prompt and the path-like ones, as they are compared with later prompts. Sorted, each once.
    pub fn words(prompt: &str) -> (String, Vec<String>) {
        let topic = terms::topic(clip(prompt, PAST_PROMPT_BYTES_MAX));
        let mut terms: Vec<String> = terms::terms(&topic).into_iter().collect();
        terms.sort_unstable();
        let mut paths: Vec<String> = terms::path_like(&topic).into_iter().collect();
        paths.sort_unstable();
        (terms.join(" "), paths)
    }
}

/// One file in one session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TouchedFile {
    pub path: String,
    pub edits: usize,
    pub reads: usize,
    pub last_at: Timestamp,
    pub last_edit: Option<Timestamp>,
    pub last_read: Option<Timestamp>,
}

/// A commit, with the paths after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    pub at: Timestamp,
    pub files: Vec<String>,
    /// Old name, new name.
    pub renamed: Vec<(String, String)>,
    pub deleted: Vec<String>,
}

/// Input of the ranking.
#[derive(Debug)]
pub struct RankEvidence<'a> {
    pub now: Timestamp,
    /// The latest session first.
    pub sessions: &'a [SessionWork],
    /// Newest first.
    pub commits: &'a [Commit],
    /// Files tracked by git: a prompt may refer to a file that nobody touched.
    pub tracked: &'a [String],
    pub prompt: Option<&'a str>,
}

/// Exponential decay: what is left of one after `steps`, with `half` as the half-life.
pub(super) fn faded(steps: f64, half: f64) -> f64 {
    0.5_f64.powf(steps / half)
}
