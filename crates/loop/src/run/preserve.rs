//! What a context leaves to the next one: the facts of the loop's sessions, the agent's words and the state of git.
//!
//! Besides the loop's own sessions, manual records count, because a person made them on purpose. Other agents that work
//! in the same project at the same time do not count.

use cerberus_os::outside;
use cerberus_os::platform::real_path;
use cerberus_record::clean::Cleaner;
use cerberus_record::id::Agent;
use cerberus_record::private::PrivacyRules;
use cerberus_record::time::Timestamp;
use cerberus_store::project::identity::Located;
use cerberus_store::sessions::find::recent_sessions;
use cerberus_store::view::{self, SessionRow, Store};

use super::worktree;
use crate::handoff::messages::AgentMessages;
use crate::handoff::state::{IncludedFile, PreservedState};
use crate::handoff::{HandoffEvidence, gather};
use crate::preserve::Preserve;
use crate::texts::{OneLine, Passage};

/// What to preserve, and from where.
#[derive(Debug)]
pub struct PreserveRequest<'a> {
    pub located: &'a Located,
    pub now: Timestamp,
    /// The loop's own sessions, by the ids of their agents.
    pub sessions: &'a [(Agent, String)],
    /// The commit that was checked out when the loop began.
    pub base: Option<&'a str>,
    /// The loop's prompt; it serves as objective if none is recorded.
    pub prompt: Option<&'a str>,
    /// Then the objective that the last session named is no longer valid.
    pub task_has_changed: bool,
    /// The last message of the last session.
    pub heard: &'a AgentMessages,
    pub rules: &'a Preserve,
    /// Private files are left out.
    pub privacy_rules: &'a PrivacyRules,
    pub cleaner: &'a Cleaner,
}

/// The state, and the requested files that are missing from it.
#[derive(Debug)]
pub struct Preservation {
    pub state: PreservedState,
    /// A file's name, and why it was left out.
    pub missing: Vec<(String, String)>,
}

/// The state for the next context. The view must be up to date.
pub fn preserve(store: &Store, wanted: &PreserveRequest) -> view::Result<Preservation> {
    let sessions = sessions(store, wanted)?;
    let carried = store.carried(&sessions, view::FactFilter::All, wanted.now)?;
    let runs = store.runs(&sessions, wanted.now)?;
    let evidence = HandoffEvidence { facts: &carried.facts, settlements: &carried.settlements, runs: &runs };
    Ok(completed(gather(evidence), wanted))
}

/// The same without the view: only the agent's output and git.
pub fn without_view(wanted: &PreserveRequest) -> Preservation {
    completed(PreservedState::default(), wanted)
}

fn completed(mut state: PreservedState, wanted: &PreserveRequest) -> Preservation {
    let item = |text: &str| OneLine::new(wanted.cleaner, text);
    let recorded = state.current_objective.clone();
    state.add_messages(wanted.cleaner, wanted.heard);
    if wanted.task_has_changed {
        (state.current_objective, state.task_has_changed) = (recorded, true);
    }
    state.check_claims(worktree::existing(wanted.located));
    if state.current_objective.is_none() {
        state.current_objective = wanted.prompt.and_then(first_paragraph).map(item);
    }
    let claimed: Vec<String> = state.modified_files.iter().map(|file| file.path.to_string()).collect();
    let mut worktree = worktree::inspect(wanted.located, wanted.base, &claimed);
    worktree.changed.retain(|changed| !wanted.privacy_rules.is_private(&changed.path));
    worktree.unfollowed.retain(|path| !wanted.privacy_rules.is_private(path));
    state.check(wanted.cleaner, &worktree);
    let commits = worktree::recent_commits(wanted.located, wanted.rules.commits);
    state.recent_commits = commits.iter().map(|commit| item(commit)).collect();
    let mut missing = Vec::new();
    for path in &wanted.rules.include_files {
        match included(wanted, path) {
            Ok(file) => state.included_files.push(file),
            Err(why) => missing.push((path.clone(), why)),
        }
    }
    state.keep(wanted.rules);
    Preservation { state, missing }
}

/// The loop's sessions and manual ones, oldest first.
fn sessions(store: &Store, wanted: &PreserveRequest) -> view::Result<Vec<SessionRow>> {
    let mut found = Vec::new();
    for (agent, id) in wanted.sessions {
        found.extend(store.agent_session(*agent, id, wanted.now)?);
    }
    let recent = recent_sessions(store, wanted.located, wanted.now)?;
    let by_hand = |session: &SessionRow| {
        session.agent == Agent::MANUAL.name()
            && session.state.status.carries_over()
            && !found.iter().any(|known| known.row == session.row)
    };
    let by_hand: Vec<SessionRow> = recent.into_iter().filter(by_hand).collect();
    found.extend(by_hand);
    found.sort_by_key(|session| (session.started_at, session.row));
    Ok(found)
}

fn first_paragraph(prompt: &str) -> Option<&str> {
    prompt.split("\n\n").map(str::trim).find(|paragraph| !paragraph.is_empty())
}

/// A handoff has no room for more of one file.
const FILE_BYTES_MAX: u64 = 128 * 1024;

/// A file's text, or why it is left out.
fn included(wanted: &PreserveRequest, path: &str) -> Result<IncludedFile, String> {
    let (root, privacy_rules) = (&wanted.located.root, wanted.privacy_rules);
    if privacy_rules.is_private(path) {
        return Err("it is private".to_string());
    }
    let real = real_path(&root.join(path)).map_err(|error| error.to_string())?;
    // A link must not expose files outside the project.
    if !real.starts_with(root) {
        return Err("it is outside the project".to_string());
    }
    if privacy_rules.is_private(&real.to_string_lossy()) {
        return Err("it is private".to_string());
    }
    let bytes = outside::beginning(&real, FILE_BYTES_MAX).map_err(|error| error.to_string())?;
    if bytes.contains(&0) {
        return Err("it is not text".to_string());
    }
    Ok(IncludedFile {
        path: OneLine::new(wanted.cleaner, path),
        text: Passage::new(wanted.cleaner, &String::from_utf8_lossy(&bytes)),
    })
}

#[cfg(test)]
mod tests;
