//! Reads what the report shows: the sessions of the last weeks with their numbers, memories and loops.
//!
//! Projects that are private or opted out are left out, also where something was captured before they were.

#[cfg(feature = "loop")]
mod loops;
#[cfg(not(feature = "loop"))]
#[path = "no_loops.rs"]
mod loops;
mod sources;
pub mod visible;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use cerberus_agents::meter::price::Prices;
use cerberus_agents::meter::redline::Redline;
use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use cerberus_record::memory::MemoryStatus;
use cerberus_record::session;
use cerberus_record::time::Timestamp;
use cerberus_store::browse::page::{self, Page};
use cerberus_store::view::{SessionRow, Store};
use loops::{Measured, loops};

pub use sources::{ReportError, ReportSources};

use crate::report::figures::ContextUse;
use crate::report::figures::ReportSession;
use crate::report::figures::context::compactions;
use crate::report::figures::loops::ReportedRun;
use crate::report::figures::memories::MemoryUse;
use crate::report::figures::weeks::{WEEKS, Weeks};
use crate::report::gather::visible::Visible;
use crate::usage::UsedSession;
use crate::usage::gather::{self as usage, UsageSources};
use crate::usage::money::{Money, Spent, money};
use crate::usage::started::{Started, started};

/// Everything that the report shows.
#[derive(Debug)]
pub struct ReportData {
    pub weeks: Weeks,
    pub today: i64,
    /// The sessions that began in these weeks, oldest first.
    pub sessions: Vec<ReportSession>,
    /// How many older ones there are.
    pub older: usize,
    pub memories: Vec<MemoryUse>,
    /// Runs that began in these weeks, oldest first.
    pub loops: Vec<ReportedRun>,
    /// What getting started took, in all sessions that are known.
    pub started: Vec<Started>,
    /// What the sessions of these weeks cost.
    pub money: Money,
    /// Whether the user has set prices.
    pub has_own_prices: bool,
    pub redline: Redline,
}

/// A week more than is shown, for every time zone.
const READ: Duration = Duration::from_secs((WEEKS as u64 + 1) * 7 * 24 * 60 * 60);

/// Reads everything; `progress` gets the number of sessions done and of all.
pub fn report(sources: &ReportSources, mut progress: impl FnMut(usize, usize)) -> Result<ReportData, ReportError> {
    let ReportSources { home, store, clock, day, .. } = *sources;
    let today = day(clock.now);
    let weeks = Weeks::until(today);
    let mut visible = Visible::new(home);
    let mut rows = store.sessions(&[], Timestamp::EPOCH, clock.now)?;
    rows.retain(|row| visible.shows(row));
    let all = rows.len();
    let is_recent =
        |row: &SessionRow| clock.now.since(row.started_at) < READ && weeks.of(day(row.started_at)).is_some();
    let projects = projects(&rows);
    let used = UsageSources { home, store, clock, surroundings: sources.surroundings };
    let mut used = usage::sessions(&used, rows, &mut progress)?;
    let started = started(&used);
    used.retain(|session| is_recent(&session.row));
    let money = money(&used, sources.prices, day);
    let rows: Vec<SessionRow> = used.iter().map(|session| session.row.clone()).collect();
    let (looped, loops) = loops(sources, &projects, weeks)?;
    let mut compacted = store.compactions(&rows, clock.now)?;
    let crashed = store.ever_crashed(&rows, clock.now)?;
    let archived = archived(home);
    let mut sessions = Vec::with_capacity(rows.len());
    for session in used {
        let row = &session.row;
        let (context, cost_usd) = spent(&session, looped.get(&row.agent_session_id), sources.prices);
        let page = page::page(store, clock, row.clone())?;
        let has_crashed =
            crashed.contains(&row.row) || page.listed.session.state.status == session::SessionStatus::Crashed;
        sessions.push(ReportSession {
            project: session.project.clone(),
            day: day(row.started_at),
            has_crashed,
            context,
            compactions: compactions(&compacted.remove(&row.row).unwrap_or_default()),
            cost_usd,
            is_archived: archived.contains(&(row.agent.clone(), row.agent_session_id.clone())),
            ..counted(home, page)
        });
    }
    let memories = memories(store, &visible, clock.now)?;
    let (older, redline) = (all - rows.len(), sources.redline);
    let has_own_prices = !sources.prices.is_empty();
    Ok(ReportData { weeks, today, older, sessions, memories, loops, started, money, has_own_prices, redline })
}

/// The transcript knows best; a loop has measured what it ran, and heard what its agent says that it cost.
fn spent(session: &UsedSession, looped: Option<&Measured>, prices: &Prices) -> (ContextUse, Option<f64>) {
    let (mut context, spent) = (session.context, Spent::of(&session.calls, prices));
    context.tokens = Some(spent.tokens).filter(|tokens| *tokens > 0).or(context.tokens);
    if let Some(iteration) = looped {
        context.peak_percent = context.peak_percent.or(iteration.fill_percent);
        context.tokens = context.tokens.or(iteration.tokens);
    }
    // What a loop counted at the highest price is no figure for a session.
    let has_price = |iteration: &&Measured| iteration.priced_by.as_ref().is_none_or(|by| by.unknown.is_empty());
    (context, looped.filter(has_price).and_then(|iteration| iteration.cost_usd).or(spent.known_usd()))
}

/// What the page of a session says, with everything else unknown.
fn counted(home: &Home, page: Page) -> ReportSession {
    let rules = home.privacy_rules();
    let edited = page.files.into_iter().filter(|work| work.edits > 0 && !rules.is_private(&work.path));
    ReportSession {
        id: page.listed.session.id.to_string(),
        duration: page.listed.active,
        failing: page.listed.failing,
        status: page.listed.session.state.status,
        started_at: page.listed.session.started_at,
        title: page.listed.title,
        project: String::new(),
        agent: page.listed.session.agent,
        runs: page.tests.runs,
        told: page.told.len(),
        edited: edited.map(|work| (work.path, work.edits)).collect(),
        asked: page.asked.into_iter().map(|said| said.text).collect(),
        left: page.left,
        day: 0,
        has_crashed: false,
        context: ContextUse::default(),
        compactions: 0,
        cost_usd: None,
        is_archived: false,
    }
}

/// The sessions whose conversations are in the archive, each by its agent and the agent's name for it.
fn archived(home: &Home) -> HashSet<(String, String)> {
    let all = cerberus_archive::conversations(home).unwrap_or_default();
    all.into_iter().map(|kept| (kept.agent.to_string(), kept.session)).collect()
}

/// The name of every project.
fn projects(rows: &[SessionRow]) -> BTreeMap<ProjectId, String> {
    rows.iter().map(|row| (row.project.clone(), row.project_name.clone())).collect()
}

fn memories(store: &Store, visible: &Visible, now: Timestamp) -> Result<Vec<MemoryUse>, ReportError> {
    let mut found = Vec::new();
    for status in MemoryStatus::ALL {
        let rows = store.memories(status, now)?;
        found.extend(rows.into_iter().filter(|row| visible.shows_memory(row)).map(|row| MemoryUse {
            source: row.origin(),
            status,
            uses: row.uses.count,
            scope: row.memory.scope.to_string(),
            content: row.memory.content.to_string(),
        }));
    }
    Ok(found)
}
