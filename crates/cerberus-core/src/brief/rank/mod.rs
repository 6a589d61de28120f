//! Ranks the files that the next session will most likely work on, by what sessions touched, what was committed,
//! which files the agent's last messages named, and the prompt.
//!
//! Pure functions of traces; the weights are in `weights.rs`. Every file has the reasons for its rank. Deleted files
//! are not ranked, and a renamed file keeps its traces under its new name.

mod asked;
mod renames;
pub mod terms;
mod trace;
pub mod weights;

use std::collections::{HashMap, HashSet};

use crate::model::id::SessionId;
use crate::model::time::Timestamp;

pub use renames::Renames;
pub use trace::Trace;
use weights::{AT_START, COMMITS_HALF, TRACKED_FILES_MAX, WITH_PROMPT};

/// One session's work on the project's files.
#[derive(Clone, Debug)]
pub struct SessionWork {
    pub session: SessionId,
    pub touched: Vec<Touched>,
    /// Path-like words in the messages that ended its turns, the last turn first.
    pub mentions: Vec<Vec<String>>,
}

/// One file in one session.
#[derive(Clone, Debug)]
pub struct Touched {
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
pub struct Evidence<'a> {
    pub now: Timestamp,
    /// The latest session first.
    pub sessions: &'a [SessionWork],
    /// Newest first.
    pub commits: &'a [Commit],
    /// Files tracked by git: a prompt may refer to a file that nobody touched.
    pub tracked: &'a [String],
    /// Files that differ on disk from git.
    pub changed: &'a HashSet<String>,
    /// Files that no longer exist.
    pub gone: &'a HashSet<String>,
    pub prompt: Option<&'a str>,
}

/// A file with its score.
#[derive(Clone, Debug)]
pub struct Ranked {
    pub path: String,
    pub score: f64,
    /// The part of the score that comes from the prompt.
    pub asked_score: f64,
    pub trace: Trace,
}

/// The files worth showing, the likeliest first.
pub fn files(evidence: &Evidence) -> Vec<Ranked> {
    let mut traces = Traces::default();
    trace::of_sessions(evidence, &mut traces);
    trace::of_stops(evidence, &mut traces);
    trace::of_commits(evidence, &mut traces);
    trace::of_folders(evidence, &mut traces);
    trace::of_mentions(evidence, &mut traces);
    if let Some(prompt) = evidence.prompt {
        if evidence.tracked.len() <= TRACKED_FILES_MAX {
            for path in evidence.tracked {
                traces.of(path);
            }
        }
        asked::of_prompt(prompt, &mut traces);
    }
    trace::of_kinds(evidence, &mut traces);
    let weights = if evidence.prompt.is_some() { &WITH_PROMPT } else { &AT_START };
    let known = traces.list.into_iter().filter(|(path, _)| !evidence.gone.contains(path));
    let mut ranked: Vec<Ranked> = known
        .map(|(path, trace)| {
            let (score, asked_score) = (trace.score(weights, evidence.now), trace.asked_score(weights));
            Ranked { score: score + asked_score, asked_score, path, trace }
        })
        .collect();
    // Files with equal scores are ordered by their last touch, newest first.
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.trace.last_at().cmp(&a.trace.last_at())));
    ranked
}

/// The traces of every file, in the order in which the files were found.
#[derive(Debug, Default)]
struct Traces {
    list: Vec<(String, Trace)>,
    places: HashMap<String, usize>,
}

impl Traces {
    fn of(&mut self, path: &str) -> &mut Trace {
        let place = match self.places.get(path) {
            Some(place) => *place,
            None => {
                self.places.insert(path.to_string(), self.list.len());
                self.list.push((path.to_string(), Trace::default()));
                self.list.len() - 1
            }
        };
        &mut self.list[place].1
    }
}

/// Exponential decay: what is left of one after `steps`, with `half` as the half-life.
fn faded(steps: f64, half: f64) -> f64 {
    0.5_f64.powf(steps / half)
}

/// The weight of the `place`-th newest commit.
fn commit_share(place: usize) -> f64 {
    faded(place as f64, COMMITS_HALF)
}

#[cfg(test)]
mod tests;
