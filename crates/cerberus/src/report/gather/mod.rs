//! Reads what the report shows: the sessions of the last weeks with their numbers, memories and loops.
//!
//! Projects that are private or opted out are left out, also where something was captured before they were.

mod context;
#[cfg(feature = "loop")]
mod loops;
#[cfg(not(feature = "loop"))]
#[path = "no_loops.rs"]
mod loops;
pub mod visible;

use std::collections::BTreeMap;
use std::time::Duration;

use cerberus_agents::install::Surroundings;
use cerberus_agents::meter::redline::Redline;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::id::ProjectId;
use cerberus_record::memory::MemoryStatus;
use cerberus_record::session;
use cerberus_record::time::Timestamp;
use cerberus_store::browse::page::{self, Page};
use cerberus_store::view::{SessionRow, Store, StoreError};
use context::Transcripts;
use loops::{Measured, loops};
use visible::Visible;

use crate::report::figures::ReportSession;
use crate::report::figures::context::{ContextUse, compactions};
use crate::report::figures::loops::ReportedRun;
use crate::report::figures::memories::MemoryUse;
use crate::report::figures::weeks::{WEEKS, Weeks};

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[cfg(feature = "loop")]
    #[error("{0}")]
    Loops(String),
}

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
    pub redline: Redline,
}

/// What the report is made from.
pub struct ReportSources<'a> {
    pub home: &'a Home,
    pub store: &'a Store,
    pub clock: &'a Clock,
    pub surroundings: &'a Surroundings<'a>,
    pub redline: Redline,
    /// The day of a time in the user's zone, counted from 1970-01-01.
    pub day: &'a dyn Fn(Timestamp) -> i64,
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
    rows.retain(is_recent);
    let (looped, loops) = loops(sources, &projects, weeks)?;
    let mut compacted = store.compactions(&rows, clock.now)?;
    let crashed = store.ever_crashed(&rows, clock.now)?;
    let mut transcripts = Transcripts::new(home, sources.surroundings);
    let mut sessions = Vec::with_capacity(rows.len());
    // The newest first, because they may use up what is read of transcripts.
    for (done, row) in rows.iter().rev().enumerate() {
        progress(done, rows.len());
        let (context, cost_usd) = context_of(&mut transcripts, looped.get(&row.agent_session_id), row);
        let page = page::page(store, clock, row.clone())?;
        let has_crashed =
            crashed.contains(&row.row) || page.listed.session.state.status == session::SessionStatus::Crashed;
        sessions.push(ReportSession {
            day: day(row.started_at),
            has_crashed,
            context,
            compactions: compactions(&compacted.remove(&row.row).unwrap_or_default()),
            cost_usd,
            ..counted(home, page)
        });
    }
    sessions.reverse();
    let memories = memories(store, &visible, clock.now)?;
    Ok(ReportData { weeks, today, older: all - rows.len(), sessions, memories, loops, redline: sources.redline })
}

/// The transcript knows best; a loop has measured what it ran.
fn context_of(transcripts: &mut Transcripts, looped: Option<&Measured>, row: &SessionRow) -> (ContextUse, Option<f64>) {
    let mut context = transcripts.read(row);
    if let Some(iteration) = looped {
        context.peak_percent = context.peak_percent.or(iteration.fill_percent);
        context.tokens = context.tokens.or(iteration.tokens);
    }
    (context, looped.and_then(|iteration| iteration.cost_usd))
}

/// What the page of a session says, with everything else unknown.
fn counted(home: &Home, page: Page) -> ReportSession {
    let rules = home.privacy_rules();
    let edited = page.files.into_iter().filter(|work| work.edits > 0 && !rules.is_private(&work.path));
    ReportSession {
        id: page.listed.session.id.to_string(),
        duration: page.listed.duration(),
        failing: page.listed.failing,
        status: page.listed.session.state.status,
        started_at: page.listed.session.started_at,
        title: page.listed.title,
        project: page.listed.session.project_name,
        agent: page.listed.session.agent,
        runs: page.tests.runs,
        told: page.told.into_iter().map(|line| (line.code, line.is_used)).collect(),
        edited: edited.map(|work| (work.path, work.edits)).collect(),
        asked: page.asked.into_iter().map(|said| said.text).collect(),
        left: page.left,
        day: 0,
        has_crashed: false,
        context: ContextUse::default(),
        compactions: 0,
        cost_usd: None,
    }
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
