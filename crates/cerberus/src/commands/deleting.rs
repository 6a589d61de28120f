//! What an agent is set to delete soon, and what of that the archive has.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use cerberus_agents::install::Surroundings;
use cerberus_agents::install::transcripts::TranscriptFiles;
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;
use cerberus_store::import::files;

use crate::context::Context;
use crate::render;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is deleted so soon is counted.
const SOON_DAYS: u64 = 7;

/// That an agent deletes its transcripts, how many of them soon, and how many of those the archive has; `None` if it
/// deletes none.
pub fn deleting(
    context: &Context,
    surroundings: &Surroundings,
    agent: Agent,
    transcripts: &TranscriptFiles,
) -> Option<String> {
    let days = (transcripts.days_kept)(surroundings)?;
    let said = format!("deletes transcripts after {}", render::count(days as usize, "day"));
    let due = due(surroundings, agent, transcripts, before(context.clock.now, days));
    if due.is_empty() {
        return Some(said);
    }
    let archived: HashSet<PathBuf> = cerberus_archive::conversations(&context.home)
        .unwrap_or_default()
        .into_iter()
        .flat_map(|conversation| conversation.sources().cloned().collect::<Vec<_>>())
        .collect();
    let has = match (due.len(), due.iter().filter(|path| archived.contains(*path)).count()) {
        (all, kept) if kept == all => "the archive has all of them".to_string(),
        (_, kept) => format!("the archive has {kept} of them, `cerberus import {agent}` adds the others"),
    };
    Some(format!("{said}, {} within {}: {has}", due.len(), render::count(SOON_DAYS as usize, "day")))
}

/// What was last written before this is deleted soon.
fn before(now: Timestamp, days_kept: u64) -> Timestamp {
    let days = days_kept.saturating_sub(SOON_DAYS);
    now.minus(DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX)))
}

/// The transcripts that were last written before a time.
fn due(surroundings: &Surroundings, agent: Agent, kept: &TranscriptFiles, before: Timestamp) -> Vec<PathBuf> {
    let written = |path: &PathBuf| {
        let since = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Timestamp::EPOCH.plus(since))
    };
    let roots = (kept.roots)(surroundings).into_iter();
    let all = roots.flat_map(|root| files::transcripts(agent, &root).unwrap_or_default());
    all.filter(|path| written(path).is_some_and(|at| at < before)).collect()
}
