//! Ranks the files that the next session will most likely work on, by what sessions touched, what was committed,
//! which files were named last, and the prompt.
//!
//! What past work says always counts; what a prompt says is added to it, so a vague prompt changes little.
//!
//! Pure functions of traces; the weights, fitted by `bench rank`, are in `weights.rs`. Every file has the reasons for its rank. Deleted files
//! are not ranked, and a renamed file keeps its traces under its new name.

mod asked;
mod evidence;
pub mod hindsight;
mod mentions;
pub mod order;
mod past;
mod renames;
mod similar;
pub mod terms;
mod trace;
pub mod weights;

use cerberus_record::map::FastSet;
use evidence::faded;
pub use evidence::{Commit, PastPrompt, RankEvidence, SessionWork, TouchedFile};
use order::ScoredFile;
pub use renames::Renames;
pub use trace::Trace;
use trace::Traces;
use weights::TRACKED_FILES_MAX;
pub use weights::{FEATURES, Feature, PAST, RankFeatures, Scoring, USUAL, WEIGHTS};

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
    past::of_sessions(evidence, &mut traces);
    past::of_stops(evidence, &mut traces);
    past::of_commits(evidence, &mut traces);
    past::of_folders(evidence, &mut traces);
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
    past::of_kinds(evidence, &mut traces);
    traces
}

#[cfg(test)]
mod tests;
