//! The runs of loops, and what a loop measured of the sessions that it ran.

use std::collections::{BTreeMap, HashMap};

use cerberus_loop::history::{self, Iteration};
use cerberus_loop::run::ledger::LoopLedger;
use cerberus_record::id::ProjectId;

use super::{ReportError, ReportSources};
use crate::report::figures::loops::{ReportedRun, runs};
use crate::report::figures::weeks::Weeks;

pub type Measured = Iteration;

/// The iterations of all loops by the agent's id of their session, and the runs of these weeks.
pub fn loops(
    sources: &ReportSources,
    projects: &BTreeMap<ProjectId, String>,
    weeks: Weeks,
) -> Result<(HashMap<String, Measured>, Vec<ReportedRun>), ReportError> {
    let (mut by_session, mut found) = (HashMap::new(), Vec::new());
    for ledger in LoopLedger::all(sources.home).unwrap_or_default() {
        let Some(name) = projects.get(ledger.project()) else { continue };
        let entries = ledger.read(sources.clock.until()).map_err(|error| ReportError::Loops(error.to_string()))?;
        let iterations = history::iterations(&entries);
        found.extend(runs(name, &iterations));
        let named = |iteration: Iteration| Some((iteration.session_id.clone()?, iteration));
        by_session.extend(iterations.into_iter().filter_map(named));
    }
    found.retain(|run| weeks.of((sources.day)(run.started_at)).is_some());
    found.sort_by_key(|run| run.started_at);
    Ok((by_session, found))
}
