//! Which files the next session will most likely work on: what sessions touched, what git says was committed, what the
//! agent's last words named, and what a prompt speaks of.
//!
//! Pure functions of traces; the weights are in `weights.rs`. Every file has the reasons for its place. Nothing is ranked
//! that is known to be gone, and a renamed file keeps its traces under its new name.

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

/// What one session did with the project's files.
#[derive(Clone, Debug)]
pub struct Worked {
    pub session: SessionId,
    pub touched: Vec<Touched>,
    /// What looks like a path in the words that closed its turns, the last turn first.
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

/// A commit, with the paths as it left them.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    pub at: Timestamp,
    pub files: Vec<String>,
    /// Old name, new name.
    pub renamed: Vec<(String, String)>,
    pub deleted: Vec<String>,
}

/// What ranking is made from.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub now: Timestamp,
    /// The session last at work first.
    pub sessions: &'a [Worked],
    /// Newest first.
    pub commits: &'a [Commit],
    /// What git tracks: a prompt may bring up a file that nobody touched.
    pub tracked: &'a [String],
    /// Files that differ on disk from what git holds.
    pub changed: &'a HashSet<String>,
    /// Files that are known not to exist any more.
    pub gone: &'a HashSet<String>,
    pub prompt: Option<&'a str>,
}

/// A file and its place in the order.
#[derive(Clone, Debug)]
pub struct Ranked {
    pub path: String,
    pub score: f64,
    /// What the prompt alone gave it.
    pub asked_score: f64,
    pub trace: Trace,
}

/// The files worth telling, the likeliest first.
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
    // What is equally likely stays in the order in which it was met: the last touched first.
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.trace.last_at().cmp(&a.trace.last_at())));
    ranked
}

/// The traces of every file, in the order in which the files were met.
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

/// What is left of one after `steps`, when `half` steps leave half.
fn faded(steps: f64, half: f64) -> f64 {
    0.5_f64.powf(steps / half)
}

/// How much the `place`-th newest commit counts.
fn commit_share(place: usize) -> f64 {
    faded(place as f64, COMMITS_HALF)
}

#[cfg(test)]
mod tests;
