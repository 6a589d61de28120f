//! The evidence about one file, and the reasons for its rank in words.

use std::ops::Range;

use cerberus_record::id::SessionId;
use cerberus_record::map::FastMap;
use cerberus_record::time::Timestamp;

use super::order::ScoredFile;
use super::weights::{CHANGED, Feature, PAST, PROMPT_NAME_SHARE_MIN, RankFeatures};
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
    pub(super) last_commit: Option<Timestamp>,
    /// Edited since its last commit.
    pub(super) is_uncommitted: bool,
    /// The file on disk differs from git.
    pub(super) is_changed: bool,
    /// How many words its path shares with the prompt.
    pub(super) shared_words: usize,
}

pub(super) fn hours(now: Timestamp, at: Timestamp) -> f64 {
    now.since(at).as_secs_f64() / 3600.0
}

pub fn folder(path: &str) -> &str {
    memchr::memrchr(b'/', path.as_bytes()).map_or("", |end| &path[..end])
}

pub(super) fn kind(path: &str) -> &str {
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

pub(super) fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_string() } else { format!("{count} sessions") }
}

/// The traces of every file, in the order in which the files were found.
#[derive(Debug, Default)]
pub(super) struct Traces<'a> {
    pub(super) list: Vec<(&'a str, Trace)>,
    pub(super) places: FastMap<&'a str, usize>,
}

impl<'a> Traces<'a> {
    /// A trace is large, so the list should not have to grow.
    pub(super) fn for_files(count: usize) -> Traces<'a> {
        let places = FastMap::with_capacity_and_hasher(count, Default::default());
        Traces { list: Vec::with_capacity(count), places }
    }

    pub(super) fn of(&mut self, path: &'a str) -> &mut Trace {
        let place = *self.places.entry(path).or_insert(self.list.len());
        if place == self.list.len() {
            self.list.push((path, Trace::default()));
        }
        &mut self.list[place].1
    }
}
