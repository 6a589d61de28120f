//! Ranks the files that the next session will most likely work on, by what sessions touched, what was committed,
//! which files were named last, and the prompt.
//!
//! What past work says always counts; what a prompt says is added to it, so a vague prompt changes little.
//!
//! Pure functions of traces; the weights, fitted by `bench rank`, are in `weights.rs`. Every file has the reasons for its rank. Deleted files
//! are not ranked, and a renamed file keeps its traces under its new name.

mod asked;
pub mod hindsight;
mod mentions;
pub mod order;
mod renames;
mod similar;
pub mod terms;
mod trace;
pub mod weights;

use cerberus_record::clean::text::clip;
use cerberus_record::id::SessionId;
use cerberus_record::map::{FastMap, FastSet};
use cerberus_record::time::Timestamp;
use order::ScoredFile;
pub use renames::Renames;
pub use trace::Trace;
pub use weights::{FEATURES, Feature, PAST, RankFeatures, Scoring, USUAL, WEIGHTS};
use weights::{PAST_PROMPT_BYTES_MAX, TRACKED_FILES_MAX};

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
#[derive(Clone, Debug)]
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

/// A file with its score.
#[derive(Clone, Debug)]
pub struct RankedFile {
    pub path: String,
    pub score: f64,
    pub trace: Trace,
}

/// Every file that could be told, with what is known about it.
#[derive(Debug)]
pub struct Candidates<'a>(Vec<(&'a str, Trace)>);

impl<'a> Candidates<'a> {
    pub fn new(evidence: &RankEvidence<'a>) -> Candidates<'a> {
        Candidates(traces(evidence).list)
    }

    /// Only those whose names the prompt mentions.
    pub fn mentioned(mut self) -> Candidates<'a> {
        self.0.retain(|(_, trace)| trace.is_mentioned());
        self
    }

    pub fn paths(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().map(|(path, _)| *path)
    }

    /// The files that are not gone, the likeliest first; those that are changed differ from git.
    pub fn ranked(mut self, by: &Scoring, changed: &FastSet<String>, gone: &FastSet<String>) -> Vec<RankedFile> {
        self.0.retain(|(path, _)| !gone.contains(*path));
        self.0.iter_mut().for_each(|(path, trace)| trace.is_changed = changed.contains(*path));
        let scored: Vec<ScoredFile> = self.0.iter().map(|(_, trace)| trace.scored(&by.weights)).collect();
        // A trace is large, so it is moved only once.
        let mut ranked = |place: usize| {
            let (path, trace) = &mut self.0[place];
            RankedFile { path: path.to_string(), score: scored[place].score, trace: std::mem::take(trace) }
        };
        order::order(&scored, by.hinted_max).into_iter().map(&mut ranked).collect()
    }
}

fn traces<'a>(evidence: &RankEvidence<'a>) -> Traces<'a> {
    // Sessions and commits also name files that are gone or were never committed.
    let mut traces = Traces::for_files(2 * evidence.tracked.len().min(TRACKED_FILES_MAX));
    trace::of_sessions(evidence, &mut traces);
    trace::of_stops(evidence, &mut traces);
    trace::of_commits(evidence, &mut traces);
    trace::of_folders(evidence, &mut traces);
    // A bare slash command says nothing about files.
    if let Some(topic) = evidence.prompt.map(terms::topic).filter(|topic| !topic.is_empty()) {
        if evidence.tracked.len() <= TRACKED_FILES_MAX {
            for path in evidence.tracked {
                traces.of(path);
            }
        }
        asked::of_prompt(&topic, &mut traces);
        similar::of_past_prompts(&topic, evidence.sessions, &mut traces);
    }
    mentions::of_mentions(evidence, &mut traces);
    trace::of_kinds(evidence, &mut traces);
    traces
}

/// The traces of every file, in the order in which the files were found.
#[derive(Debug, Default)]
struct Traces<'a> {
    list: Vec<(&'a str, Trace)>,
    places: FastMap<&'a str, usize>,
}

impl<'a> Traces<'a> {
    /// A trace is large, so the list should not have to grow.
    fn for_files(count: usize) -> Traces<'a> {
        let places = FastMap::with_capacity_and_hasher(count, Default::default());
        Traces { list: Vec::with_capacity(count), places }
    }

    fn of(&mut self, path: &'a str) -> &mut Trace {
        let place = *self.places.entry(path).or_insert(self.list.len());
        if place == self.list.len() {
            self.list.push((path, Trace::default()));
        }
        &mut self.list[place].1
    }
}

/// Exponential decay: what is left of one after `steps`, with `half` as the half-life.
fn faded(steps: f64, half: f64) -> f64 {
    0.5_f64.powf(steps / half)
}

#[cfg(test)]
mod tests;
