//! Baselines that need no Cerberus: the previous session's edits, git's log, frecency.

use std::collections::HashMap;

use cerberus_record::time::Timestamp;

use super::Commit;
use super::session::Session;

pub const NAMES: [&str; 3] = ["previous session's edits", "git log, newest first", "frecency of edits and reads"];

const FILES_MAX: usize = 60;
const SESSIONS_HALF: f64 = 3.0;
/// Keeps the first places of a list from deciding alone.
const FUSED_FROM: f64 = 20.0;

/// Files in the order in which each baseline would list them.
pub fn all(past: &[Session], commits: &[Commit], start: &str) -> Vec<(&'static str, Vec<(String, f64)>)> {
    let lists = [previous(past, start), log(commits, start), frecency(past, start)];
    let told = |files: Vec<String>| files.into_iter().map(|file| (file, 1.0)).collect();
    NAMES.into_iter().zip(lists.into_iter().map(told)).collect()
}

/// Frecency and git's log, each place counting by its rank.
pub fn frecency_and_log(past: &[Session], commits: &[Commit], start: &str) -> Vec<String> {
    let mut scores: HashMap<String, (f64, usize)> = HashMap::new();
    for list in [frecency(past, start), log(commits, start)] {
        for (place, file) in list.into_iter().take(FILES_MAX).enumerate() {
            let met = scores.len();
            scores.entry(file).or_insert((0.0, met)).0 += 1.0 / (FUSED_FROM + place as f64);
        }
    }
    let mut order: Vec<(String, (f64, usize))> = scores.into_iter().collect();
    order.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(path, _)| path).collect()
}

fn previous(past: &[Session], start: &str) -> Vec<String> {
    let edits = past.last().into_iter().flat_map(|session| session.before(start).rev()).filter(|used| used.is_edit);
    distinct(edits.map(|used| used.path.clone()))
}

fn log(commits: &[Commit], start: &str) -> Vec<String> {
    let before = commits.iter().rev().filter(|commit| commit.t < seconds(start));
    let mut files = distinct(before.flat_map(|commit| commit.files.iter().cloned()));
    files.truncate(FILES_MAX);
    files
}

fn frecency(past: &[Session], start: &str) -> Vec<String> {
    let mut scores: HashMap<&str, (f64, usize)> = HashMap::new();
    let active = past.iter().rev().filter(|session| session.before(start).next().is_some());
    for (age, session) in active.enumerate() {
        for used in session.before(start) {
            let met = scores.len();
            let score = &mut scores.entry(&used.path).or_insert((0.0, met)).0;
            *score += if used.is_edit { 3.0 } else { 1.0 } * 0.5_f64.powf(age as f64 / SESSIONS_HALF);
        }
    }
    let mut order: Vec<(&str, (f64, usize))> = scores.into_iter().collect();
    order.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(path, _)| path.to_string()).collect()
}

fn distinct(files: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    files.filter(|file| seen.insert(file.clone())).collect()
}

/// Seconds since the epoch; a start that cannot be parsed has nothing before it.
pub fn seconds(start: &str) -> i64 {
    Timestamp::parse(start).map_or(0, |at| at.millis() / 1_000)
}
