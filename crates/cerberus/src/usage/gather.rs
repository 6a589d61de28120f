//! Reads what sessions used, session by session.

use std::collections::{HashMap, HashSet};

use cerberus_agents::install::Surroundings;
use cerberus_agents::model_calls::{ModelCall, merge};
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::time::Timestamp;
use cerberus_store::same_project::joined::Projects;
use cerberus_store::view::{SessionRow, Store, StoreError};

use super::UsedSession;
use super::beginning::KnownFiles;
use super::transcripts::Transcripts;
use crate::usage::Side;

pub struct UsageSources<'a> {
    pub home: &'a Home,
    pub store: &'a Store,
    pub clock: &'a Clock,
    pub surroundings: &'a Surroundings<'a>,
}

/// How many sessions are asked for by one query.
const SESSIONS_PER_QUERY: usize = 500;

/// What these sessions used, oldest first. `progress` gets the number of sessions done and of all.
pub fn sessions(
    sources: &UsageSources,
    mut rows: Vec<SessionRow>,
    mut progress: impl FnMut(usize, usize),
) -> Result<Vec<UsedSession>, StoreError> {
    let UsageSources { home, store, clock, surroundings } = *sources;
    rows.sort_by_key(|row| (row.started_at, row.row));
    let projects = Projects::load(store, clock.now)?;
    let names = projects.names();
    let mut touched = HashMap::new();
    let mut hooked = HashSet::new();
    for rows in rows.chunks(SESSIONS_PER_QUERY) {
        touched.extend(store.touched_paths(rows, clock.now)?);
        hooked.extend(store.hooked(rows)?);
    }
    let mut first_hooked: HashMap<&str, Timestamp> = HashMap::new();
    for row in rows.iter().filter(|row| hooked.contains(&row.row)) {
        first_hooked.entry(&row.agent).or_insert(row.started_at);
    }
    let side = |row: &SessionRow| match (hooked.contains(&row.row), first_hooked.get(row.agent.as_str())) {
        (true, _) => Some(Side::Since),
        (false, Some(first)) if row.started_at >= *first => None,
        (false, _) => Some(Side::Before),
    };
    // The files of the session before, in the same project.
    let mut last: HashMap<&str, usize> = HashMap::new();
    let before: Vec<Option<KnownFiles>> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let earlier = last.insert(names.of(row).0.as_str(), at)?;
            let paths = touched.get(&rows[earlier].row).cloned().unwrap_or_default();
            Some(KnownFiles::new(&row.root, paths))
        })
        .collect();
    let mut transcripts = Transcripts::new(home, surroundings);
    let mut found = Vec::with_capacity(rows.len());
    // The newest first, because they may use up what is read of transcripts.
    for (done, (row, before)) in rows.iter().zip(&before).rev().enumerate() {
        progress(done, rows.len());
        let read = transcripts.read(row, before.as_ref());
        found.push(UsedSession {
            project: names.of(row).1.to_string(),
            side: side(row),
            row: row.clone(),
            context: read.context,
            calls: read.calls,
            beginning: read.beginning,
        });
    }
    found.reverse();
    count_once(&mut found);
    Ok(found)
}

/// Leaves each call to the first session that has it: a fork repeats what it began with.
fn count_once(sessions: &mut [UsedSession]) {
    let mut known: HashMap<String, (usize, usize)> = HashMap::new();
    for at in 0..sessions.len() {
        let calls: Vec<ModelCall> = std::mem::take(&mut sessions[at].calls);
        for call in calls {
            if let Some((session, place)) = call.key.as_ref().and_then(|key| known.get(key)) {
                merge(&mut sessions[*session].calls[*place], call);
                continue;
            }
            if let Some(key) = &call.key {
                known.insert(key.clone(), (at, sessions[at].calls.len()));
            }
            sessions[at].calls.push(call);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use cerberus_agents::stream::TokenUsage;
    use cerberus_record::id::{ProjectId, SessionId};
    use cerberus_record::session::SessionState;

    use super::*;
    use crate::report::figures::ContextUse;

    pub(crate) fn used(id: &str, row: i64) -> UsedSession {
        let row = SessionRow {
            row,
            id: SessionId::new(id),
            agent: "a".to_string(),
            agent_session_id: id.to_string(),
            project: ProjectId::from_stored("p".to_string()),
            project_name: "hydra".to_string(),
            root: "/p".to_string(),
            cwd: "/p".to_string(),
            branch: None,
            phase: None,
            started_at: Timestamp::from_millis(row),
            last_activity: Timestamp::from_millis(row),
            process: None,
            transcript: None,
            device: None,
            state: SessionState::NEW,
        };
        let (project, context) = ("hydra".to_string(), ContextUse::default());
        UsedSession { row, project, context, calls: Vec::new(), beginning: None, side: None }
    }

    #[test]
    fn what_a_fork_repeats_counts_for_the_session_it_came_from() {
        let call = |key: Option<&str>, output| ModelCall {
            key: key.map(str::to_string),
            tokens: TokenUsage { output, ..TokenUsage::default() },
            ..ModelCall::default()
        };
        let (mut first, mut fork) = (used("first", 1), used("fork", 2));
        first.calls = vec![call(Some("a"), 1), call(None, 2)];
        fork.calls = vec![call(Some("a"), 9), call(None, 2), call(Some("b"), 3)];
        let mut sessions = [first, fork];
        count_once(&mut sessions);
        let outputs = sessions.map(|session| session.calls.iter().map(|call| call.tokens.output).collect::<Vec<_>>());
        assert_eq!(outputs, [vec![9, 2], vec![2, 3]]);
    }
}
