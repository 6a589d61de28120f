//! What past work says about files: sessions, stops, commits, folders.

use cerberus_record::map::FastMap;

use super::trace::{folder, hours, kind};
use super::weights::{
    COMMITS_HALF, EDIT_WORTH, EDITED_HALF_HOURS, FOLDER_SESSIONS_MAX, Feature, SESSIONS_HALF, SESSIONS_MAX,
    STOPPED_SESSIONS_MAX, STOPS_HALF_SESSIONS, UNCOMMITTED_HALF_HOURS,
};
use super::{RankEvidence, TouchedFile, Traces, faded};

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

/// Where the last sessions stopped.
pub fn of_stops<'a>(evidence: &RankEvidence<'a>, traces: &mut Traces<'a>) {
    for (place, worked) in evidence.sessions.iter().take(STOPPED_SESSIONS_MAX).enumerate() {
        let last_edit = worked.touched.iter().filter_map(|touched| touched.last_edit).max();
        for touched in worked.touched.iter().filter(|touched| touched.last_read > last_edit) {
            traces.of(&touched.path).at_least(Feature::ReadLast, faded(place as f64, STOPS_HALF_SESSIONS));
        }
    }
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
