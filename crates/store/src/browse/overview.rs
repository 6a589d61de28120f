//! All projects at a glance.

use std::collections::BTreeMap;
use std::time::Duration;

use cerberus_os::clock::Clock;
use cerberus_record::time::Timestamp;

use super::log::{self, ListedSession};
use crate::same_project::joined::Projects;
use crate::view::{self, Store};

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// One project and its newest session.
#[derive(Clone, Debug)]
pub struct ProjectWork {
    pub name: String,
    pub sessions: usize,
    pub last: ListedSession,
}

/// Everything that is known, by project, the project with the newest session first.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    pub projects: Vec<ProjectWork>,
    pub sessions: usize,
    /// By agent, sorted by name.
    pub agents: Vec<(String, usize)>,
    /// When the first session began and the last was active.
    pub period: Option<(Timestamp, Timestamp)>,
    /// How many sessions began in each week up to now, oldest first.
    pub weeks: Vec<usize>,
}

/// How many weeks are counted.
pub const WEEKS_MAX: usize = 26;

pub fn overview(store: &Store, clock: &Clock) -> view::Result<Overview> {
    let sessions = store.sessions(&[], Timestamp::EPOCH, clock.now)?;
    let mut overview = Overview { sessions: sessions.len(), ..Overview::default() };
    let first = sessions.iter().map(|session| session.started_at).min();
    overview.period = first.zip(sessions.iter().map(|session| session.last_activity).max());
    let mut agents: BTreeMap<String, usize> = BTreeMap::new();
    let mut weeks = vec![0; WEEKS_MAX];
    let projects = Projects::load(store, clock.now)?;
    let names = projects.names();
    let mut by_project: BTreeMap<String, (usize, view::SessionRow)> = BTreeMap::new();
    for session in sessions {
        *agents.entry(session.agent.clone()).or_default() += 1;
        let age = (clock.now.since(session.started_at).as_secs() / WEEK.as_secs()) as usize;
        if let Some(count) = WEEKS_MAX.checked_sub(age + 1).and_then(|week| weeks.get_mut(week)) {
            *count += 1;
        }
        let name = names.of(&session).1.to_string();
        let count = by_project.get(&name).map_or(0, |(count, _)| *count);
        by_project.insert(name, (count + 1, session));
    }
    let idle = weeks.iter().position(|count| *count > 0).unwrap_or(weeks.len());
    overview.weeks = weeks.split_off(idle);
    overview.agents = agents.into_iter().collect();
    let (names, last): (Vec<(String, usize)>, Vec<_>) =
        by_project.into_iter().map(|(name, (count, last))| ((name, count), last)).unzip();
    let listed = log::described(store, clock, last)?;
    let work = |((name, sessions), last)| ProjectWork { name, sessions, last };
    overview.projects = names.into_iter().zip(listed).map(work).collect();
    overview.projects.sort_by_key(|work| std::cmp::Reverse(work.last.session.last_activity));
    Ok(overview)
}
