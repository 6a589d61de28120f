//! The evidence about one file, and the reasons for its rank in words.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::weights::{
    FOLDER_SESSIONS_MAX, MENTIONING_SESSIONS_MAX, MENTIONING_TURNS_MAX, MENTIONS_HALF_SESSIONS, SESSIONS_HALF,
    SESSIONS_MAX, STOPPED_SESSIONS_MAX, STOPS_HALF_SESSIONS, UNCOMMITTED_HALF_HOURS, Weights,
};
use super::{Evidence, Touched, Traces, commit_share, faded};
use crate::brief::base;
use crate::brief::rank::asked::ends_in;
use crate::model::id::SessionId;
use crate::model::time::Timestamp;

/// Everything known about one file.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Edits, weighted by how recent their session is.
    worked: f64,
    pub sessions_edited: usize,
    pub sessions_read: usize,
    pub last_edit: Option<Timestamp>,
    /// The last touch: when, and in which session.
    pub last_touch: Option<(Timestamp, SessionId)>,
    /// Sessions that read it, weighted by how recent they are.
    read: f64,
    /// Its position among all files by last touch.
    touched_last: f64,
    /// The share of the last sessions' work in its folder.
    folder_worked: f64,
    /// Read after the last edit: where the work was heading.
    read_last: f64,
    committed: f64,
    pub commits: usize,
    /// How many commits are newer, and its time.
    last_commit: Option<(usize, Timestamp)>,
    /// Edited since its last commit.
    is_uncommitted: bool,
    /// The file on disk differs from git.
    is_changed: bool,
    mentioned: f64,
    /// The share of files of its type that sessions edited.
    of_a_kind: f64,
    /// How many words its path shares with the prompt; their weights follow.
    pub(super) shared_words: usize,
    pub(super) path_words: f64,
    pub(super) name_words: f64,
    pub(super) named: f64,
    pub(super) folder: f64,
}

pub fn of_sessions(evidence: &Evidence, traces: &mut Traces) {
    for (place, worked) in evidence.sessions.iter().take(SESSIONS_MAX).enumerate() {
        let share = faded(place as f64, SESSIONS_HALF);
        for touched in &worked.touched {
            let trace = traces.of(&touched.path);
            if trace.last_touch.as_ref().is_none_or(|(at, _)| *at < touched.last_at) {
                trace.last_touch = Some((touched.last_at, worked.session.clone()));
            }
            trace.last_edit = trace.last_edit.max(touched.last_edit);
            if touched.reads > 0 {
                trace.sessions_read += 1;
                trace.read += share;
            }
            if touched.edits > 0 {
                trace.sessions_edited += 1;
                trace.worked += (1.0 + touched.edits as f64).log2() * share;
            }
        }
    }
}

/// Where the last sessions stopped, and what they touched last.
pub fn of_stops(evidence: &Evidence, traces: &mut Traces) {
    for (place, worked) in evidence.sessions.iter().take(STOPPED_SESSIONS_MAX).enumerate() {
        let last_edit = worked.touched.iter().filter_map(|touched| touched.last_edit).max();
        for touched in worked.touched.iter().filter(|touched| touched.last_read > last_edit) {
            traces.of(&touched.path).read_last += faded(place as f64, STOPS_HALF_SESSIONS);
        }
    }
    let here = traces.list.iter_mut().filter(|(path, _)| !evidence.gone.contains(path));
    let mut touched: Vec<&mut Trace> =
        here.map(|(_, trace)| trace).filter(|trace| trace.last_touch.is_some()).collect();
    touched.sort_by_key(|trace| Reverse(trace.last_at()));
    for (place, trace) in touched.into_iter().enumerate() {
        trace.touched_last = 1.0 / (place as f64 + 1.0).sqrt();
    }
}

/// Files in the same folder as those that the last sessions edited.
pub fn of_folders(evidence: &Evidence, traces: &mut Traces) {
    let mut folders: HashMap<&str, f64> = HashMap::new();
    for (place, worked) in evidence.sessions.iter().take(FOLDER_SESSIONS_MAX).enumerate() {
        let edited: Vec<&Touched> = worked.touched.iter().filter(|touched| touched.edits > 0).collect();
        for touched in &edited {
            let share = faded(place as f64, STOPS_HALF_SESSIONS) / edited.len() as f64;
            *folders.entry(folder(&touched.path)).or_default() += share;
        }
    }
    for (path, trace) in &mut traces.list {
        trace.folder_worked = folders.get(folder(path)).copied().unwrap_or_default();
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub fn of_commits(evidence: &Evidence, traces: &mut Traces) {
    // If no examined commit contains the file, only an edit after the oldest of them is surely uncommitted.
    let oldest = evidence.commits.last().map(|commit| commit.at);
    for (_, trace) in &mut traces.list {
        trace.is_uncommitted = trace.last_edit > oldest;
    }
    for (place, commit) in evidence.commits.iter().enumerate() {
        for path in &commit.files {
            let trace = traces.of(path);
            trace.committed += commit_share(place);
            trace.commits += 1;
            if trace.last_commit.is_none() {
                trace.last_commit = Some((place, commit.at));
                trace.is_uncommitted = trace.last_edit > Some(commit.at);
            }
        }
    }
    // Adds no trace to files without any.
    for (path, trace) in &mut traces.list {
        trace.is_changed = evidence.changed.contains(path);
    }
}

/// Files that the agent named at the end of a turn; the latest turns of the latest sessions count most.
pub fn of_mentions(evidence: &Evidence, traces: &mut Traces) {
    let sessions = evidence.sessions.iter().take(MENTIONING_SESSIONS_MAX);
    let tokens = sessions.clone().flat_map(|worked| worked.mentions.iter().take(MENTIONING_TURNS_MAX)).flatten();
    let mut by_base: HashMap<&str, Vec<String>> = tokens.map(|token| (base(token), Vec::new())).collect();
    // A name means less if untouched files share it.
    let known: BTreeSet<&String> = traces.list.iter().map(|(path, _)| path).chain(evidence.tracked).collect();
    for path in known {
        if let Some(same_base) = by_base.get_mut(base(path).to_lowercase().as_str()) {
            same_base.push(path.clone());
        }
    }
    for (place, worked) in sessions.enumerate() {
        for (turn, mentions) in worked.mentions.iter().take(MENTIONING_TURNS_MAX).enumerate() {
            let share = faded(place as f64, MENTIONS_HALF_SESSIONS) / (turn + 1) as f64;
            let mut certain: HashMap<&String, f64> = HashMap::new();
            for token in mentions {
                let same_base = by_base.get(base(token)).map(Vec::as_slice).unwrap_or_default();
                let meant: Vec<&String> = same_base.iter().filter(|path| is_meant(token, path)).collect();
                for path in &meant {
                    let best = certain.entry(path).or_default();
                    *best = best.max(1.0 / meant.len() as f64);
                }
            }
            for (path, certainty) in certain {
                if let Some(place) = traces.places.get(path) {
                    traces.list[*place].1.mentioned += certainty * share;
                }
            }
        }
    }
}

fn is_meant(token: &str, path: &str) -> bool {
    let path = path.to_lowercase();
    ends_in(&path, token) || ends_in(token, &path)
}

/// Some types of files are edited, others are not; each project's history shows which.
pub fn of_kinds(evidence: &Evidence, traces: &mut Traces) {
    let mut kinds: HashMap<&str, (f64, f64)> = HashMap::new();
    let untouched = evidence.tracked.iter().filter(|path| !traces.places.contains_key(*path));
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
    traces.list.iter_mut().zip(shares).for_each(|((_, trace), share)| trace.of_a_kind = share);
}

fn kind(path: &str) -> &str {
    let name = base(path);
    name.rsplit_once('.').map_or(name, |(_, ending)| ending)
}

impl Trace {
    pub fn last_at(&self) -> Option<Timestamp> {
        self.last_touch.as_ref().map(|(at, _)| *at)
    }

    /// When it was last touched by anyone.
    pub fn last_known(&self) -> Option<Timestamp> {
        self.last_at().max(self.last_commit.map(|(_, at)| at))
    }

    /// Whether the prompt names it outright.
    pub fn is_named(&self) -> bool {
        self.named > 0.0
    }

    /// The share of its name that the prompt mentions.
    pub fn name_share(&self) -> f64 {
        self.name_words
    }

    /// How many words its path shares with the prompt.
    pub fn shared_words(&self) -> usize {
        self.shared_words
    }

    /// The score from past work.
    pub fn score(&self, weights: &Weights, now: Timestamp) -> f64 {
        let part = |weight: f64, trace: f64| weight * trace.ln_1p();
        let last_commit = self.last_commit.map_or(0.0, |(newer, _)| 1.0 / (newer as f64 + 1.0).sqrt());
        let hours = |at: Timestamp| now.since(at).as_secs_f64() / 3600.0;
        let uncommitted = match self.last_edit {
            Some(at) if self.is_uncommitted => faded(hours(at), UNCOMMITTED_HALF_HOURS),
            _ => 0.0,
        };
        part(weights.worked, self.worked)
            + part(weights.sessions, self.sessions_edited as f64)
            + part(weights.committed, self.committed)
            + part(weights.last_commit, last_commit)
            + part(weights.uncommitted, uncommitted)
            + part(weights.changed, if self.is_changed { 1.0 } else { 0.0 })
            + part(weights.read, self.read)
            + part(weights.touched_last, self.touched_last)
            + part(weights.folder_worked, self.folder_worked)
            + part(weights.read_last, self.read_last)
            + part(weights.mentioned, self.mentioned)
            + part(weights.of_a_kind, self.of_a_kind)
    }

    /// The score from the prompt.
    pub fn asked_score(&self, weights: &Weights) -> f64 {
        weights.path_words * self.path_words.ln_1p()
            + weights.name_words * self.name_words.ln_1p()
            + weights.named * self.named.ln_1p()
            + weights.folder * self.folder.ln_1p()
    }

    /// `edited in 3 sessions, last 2 h ago; committed yesterday; named by the prompt`.
    pub fn why(&self, now: Timestamp) -> String {
        let mut reasons = Vec::new();
        if self.named > 0.0 {
            reasons.push("named by the prompt".to_string());
        } else if self.name_words > 0.0 || self.path_words > 0.0 {
            reasons.push("shares words with the prompt".to_string());
        } else if self.folder > 0.0 {
            reasons.push("in a folder that the prompt names".to_string());
        }
        if let Some(at) = self.last_edit {
            let saved = match (self.is_uncommitted, self.is_changed) {
                (true, _) => ", not committed since",
                (false, true) => ", changed on disk since",
                (false, false) => "",
            };
            reasons.push(format!("edited in {}, last {}{saved}", sessions(self.sessions_edited), ago(at, now)));
        } else if let Some((at, _)) = &self.last_touch {
            reasons.push(format!("read in {}, last {}", sessions(self.sessions_read), ago(*at, now)));
        }
        if self.read_last > 0.0 {
            reasons.push("read after the last edits".to_string());
        }
        if let Some((_, at)) = self.last_commit {
            reasons.push(format!("committed {}", ago(at, now)));
        }
        if self.mentioned > 0.0 {
            reasons.push("mentioned in the agent's last message".to_string());
        }
        reasons.join("; ")
    }
}

fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_string() } else { format!("{count} sessions") }
}

/// `now`, `5 min ago`, `2 h ago`, `yesterday`, `9 days ago`.
fn ago(at: Timestamp, now: Timestamp) -> String {
    let minutes = now.since(at).as_secs() / 60;
    match (minutes, minutes / 60, minutes / (24 * 60)) {
        (0, ..) => "now".to_string(),
        (1..60, ..) => format!("{minutes} min ago"),
        (_, hours @ ..24, _) => format!("{hours} h ago"),
        (_, _, 1) => "yesterday".to_string(),
        (_, _, days) => format!("{days} days ago"),
    }
}
