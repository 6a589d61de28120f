//! The evidence about one file, and the reasons for its rank in words.

use std::ops::Range;

use cerberus_record::id::SessionId;
use cerberus_record::map::FastMap;
use cerberus_record::time::Timestamp;

use super::order::ScoredFile;
use super::weights::{
    CHANGED, COMMITS_HALF, EDIT_WORTH, EDITED_HALF_HOURS, FOLDER_SESSIONS_MAX, Feature, PAST, PROMPT_NAME_SHARE_MIN,
    RankFeatures, SESSIONS_HALF, SESSIONS_MAX, STOPPED_SESSIONS_MAX, STOPS_HALF_SESSIONS, UNCOMMITTED_HALF_HOURS,
};
use super::{RankEvidence, TouchedFile, Traces, faded};
use crate::brief::base;

/// Everything known about one file.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub features: RankFeatures,
    pub sessions_edited: usize,
    pub sessions_read: usize,
    pub last_edit: Option<Timestamp>,
    /// The last touch: when, and in which session.
    pub last_touch: Option<(Timestamp, SessionId)>,
    last_commit: Option<Timestamp>,
    /// Edited since its last commit.
    is_uncommitted: bool,
    /// The file on disk differs from git.
    pub(super) is_changed: bool,
    /// How many words its path shares with the prompt.
    pub(super) shared_words: usize,
}

pub fn of_sessions<'a>(evidence: &RankEvidence<'a>, traces: &mut Traces<'a>) {
    for (place, worked) in evidence.sessions.iter().take(SESSIONS_MAX).enumerate() {
        let share = faded(place as f64, SESSIONS_HALF);
        for touched in &worked.touched {
            let trace = traces.of(&touched.path);
            if trace.last_touch.as_ref().is_none_or(|(at, _)| *at < touched.last_at) {
                trace.last_touch = Some((touched.last_at, worked.session.clone()));
            }
            trace.last_edit = trace.last_edit.max(touched.last_edit);
            trace.add(Feature::Worked, (EDIT_WORTH * touched.edits as f64 + touched.reads as f64) * share);
            if touched.reads > 0 {
                trace.sessions_read += 1;
                trace.add(Feature::Read, share);
            }
            if touched.edits > 0 {
                trace.sessions_edited += 1;
                trace.add(Feature::SessionsEdited, 1.0);
            }
        }
    }
    for (_, trace) in &mut traces.list {
        if let Some(at) = trace.last_edit {
            trace.add(Feature::EditedLately, faded(hours(evidence.now, at), EDITED_HALF_HOURS));
        }
    }
}

fn hours(now: Timestamp, at: Timestamp) -> f64 {
    now.since(at).as_secs_f64() / 3600.0
}

/// Where the last sessions stopped.
pub fn of_stops<'a>(evidence: &RankEvidence<'a>, traces: &mut Traces<'a>) {
    for (place, worked) in evidence.sessions.iter().take(STOPPED_SESSIONS_MAX).enumerate() {
        let last_edit = worked.touched.iter().filter_map(|touched| touched.last_edit).max();
        for touched in worked.touched.iter().filter(|touched| touched.last_read > last_edit) {
            traces.of(&touched.path).at_least(Feature::ReadLast, faded(place as f64, STOPS_HALF_SESSIONS));
        }
    }
}

/// Files in the same folder as those that the last sessions edited.
pub fn of_folders<'a>(evidence: &RankEvidence<'a>, traces: &mut Traces<'a>) {
    let mut folders: FastMap<&str, f64> = FastMap::default();
    for (place, worked) in evidence.sessions.iter().take(FOLDER_SESSIONS_MAX).enumerate() {
        let edited: Vec<&TouchedFile> = worked.touched.iter().filter(|touched| touched.edits > 0).collect();
        for touched in &edited {
            let share = faded(place as f64, STOPS_HALF_SESSIONS) / edited.len() as f64;
            *folders.entry(folder(&touched.path)).or_default() += share;
        }
    }
    for (path, trace) in &mut traces.list {
        trace.add(Feature::FolderWorked, folders.get(folder(path)).copied().unwrap_or_default());
    }
}

pub fn folder(path: &str) -> &str {
    memchr::memrchr(b'/', path.as_bytes()).map_or("", |end| &path[..end])
}

pub fn of_commits<'a>(evidence: &RankEvidence<'a>, traces: &mut Traces<'a>) {
    // If no examined commit contains the file, only an edit after the oldest of them is surely uncommitted.
    let oldest = evidence.commits.last().map(|commit| commit.at);
    for (_, trace) in &mut traces.list {
        trace.is_uncommitted = trace.last_edit > oldest;
    }
    for (place, commit) in evidence.commits.iter().enumerate() {
        let share = faded(place as f64, COMMITS_HALF) / (commit.files.len().max(1) as f64).sqrt();
        for path in &commit.files {
            let trace = traces.of(path);
            trace.add(Feature::Committed, share);
            if trace.last_commit.is_none() {
                trace.last_commit = Some(commit.at);
                trace.add(Feature::LastCommit, 1.0 / (place as f64 + 1.0).sqrt());
                trace.is_uncommitted = trace.last_edit > Some(commit.at);
            }
        }
    }
    // Adds no trace to files without any.
    for (_, trace) in &mut traces.list {
        if let Some(at) = trace.last_edit.filter(|_| trace.is_uncommitted) {
            trace.add(Feature::Uncommitted, faded(hours(evidence.now, at), UNCOMMITTED_HALF_HOURS));
        }
    }
}

/// Some types of files are edited, others are not; each project's history shows which.
pub fn of_kinds<'a>(evidence: &RankEvidence<'a>, traces: &mut Traces<'a>) {
    let mut kinds: FastMap<&str, (f64, f64)> = FastMap::default();
    let untouched = evidence.tracked.iter().filter(|path| !traces.places.contains_key(path.as_str()));
    untouched.for_each(|path| kinds.entry(kind(path)).or_default().1 += 1.0);
    for (path, trace) in &traces.list {
        let (edited, all) = kinds.entry(kind(path)).or_default();
        *edited += if trace.sessions_edited > 0 { 1.0 } else { 0.0 };
        *all += 1.0;
    }
    // Smoothed, as if three more files were known with half an edit among them: one file proves nothing.
    let shares: Vec<f64> = traces
        .list
        .iter()
        .map(|(path, _)| kinds.get(kind(path)).map_or(0.0, |(edited, all)| (edited + 0.5) / (all + 3.0)))
        .collect();
    traces.list.iter_mut().zip(shares).for_each(|((_, trace), share)| trace.add(Feature::OfAKind, share));
}

fn kind(path: &str) -> &str {
    let name = base(path);
    memchr::memrchr(b'.', name.as_bytes()).map_or(name, |dot| &name[dot + 1..])
}

impl Trace {
    pub fn last_at(&self) -> Option<Timestamp> {
        self.last_touch.as_ref().map(|(at, _)| *at)
    }

    /// When it was last touched by anyone.
    pub fn last_known(&self) -> Option<Timestamp> {
        self.last_at().max(self.last_commit)
    }

    /// Whether anybody worked on it.
    pub fn has_past(&self) -> bool {
        self.last_known().is_some()
    }

    /// Whether the prompt names it outright.
    pub fn is_named(&self) -> bool {
        self.value(Feature::Named) > 0.0
    }

    /// Whether the prompt names it, or most of its name.
    pub fn is_mentioned(&self) -> bool {
        self.is_named() || self.value(Feature::NameWords) >= PROMPT_NAME_SHARE_MIN
    }

    /// How many words its path shares with the prompt.
    pub fn shared_words(&self) -> usize {
        self.shared_words
    }

    pub fn value(&self, feature: Feature) -> f64 {
        self.features[feature as usize]
    }

    pub(super) fn add(&mut self, feature: Feature, value: f64) {
        self.features[feature as usize] += value;
    }

    pub(super) fn at_least(&mut self, feature: Feature, value: f64) {
        let before = &mut self.features[feature as usize];
        *before = before.max(value);
    }

    pub fn scored(&self, weights: &RankFeatures) -> ScoredFile {
        let changed = if self.is_changed { CHANGED * 1_f64.ln_1p() } else { 0.0 };
        let sum = |places: Range<usize>| {
            let features = self.features[places.clone()].iter().zip(&weights[places]);
            // Most are zero, and so is their logarithm.
            let known = features.filter(|(feature, _)| **feature != 0.0);
            known.map(|(feature, weight)| weight * feature.ln_1p()).sum::<f64>()
        };
        let past = changed + sum(0..PAST);
        let score = past + sum(PAST..weights.len());
        ScoredFile { past, score, is_mentioned: self.is_mentioned(), last_at: self.last_at() }
    }

    /// `edited in 3 sessions, last 2 h ago; committed yesterday; named by the prompt`.
    pub fn why(&self, now: Timestamp) -> String {
        let mut reasons = Vec::new();
        let of_prompt = [
            (Feature::Named, "named by the prompt"),
            (Feature::PathWords, "shares words with the prompt"),
            (Feature::NamedFolder, "in a folder that the prompt names"),
            (Feature::SameName, "has the name of a file that the prompt names"),
            (Feature::MostSimilar, "edited after a similar prompt"),
        ];
        let found = of_prompt.iter().find(|(feature, _)| self.value(*feature) > 0.0);
        reasons.extend(found.map(|(_, reason)| reason.to_string()));
        if let Some(at) = self.last_edit {
            let saved = match (self.is_uncommitted, self.is_changed) {
                (true, _) => ", not committed since",
                (false, true) => ", changed on disk since",
                (false, false) => "",
            };
            reasons.push(format!("edited in {}, last {}{saved}", sessions(self.sessions_edited), at.ago(now)));
        } else if let Some((at, _)) = &self.last_touch {
            reasons.push(format!("read in {}, last {}", sessions(self.sessions_read), at.ago(now)));
        }
        if self.value(Feature::ReadLast) > 0.0 {
            reasons.push("read after the last edits".to_string());
        }
        if let Some(at) = self.last_commit {
            reasons.push(format!("committed {}", at.ago(now)));
        }
        if self.value(Feature::Mentioned) > 0.0 {
            reasons.push("mentioned in the agent's last message".to_string());
        }
        reasons.join("; ")
    }
}

fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_string() } else { format!("{count} sessions") }
}
