use std::collections::BTreeMap;
use std::time::Duration;

use cerberus_record::fact::FactKind;
use cerberus_record::session::IDLE_AFTER;
use cerberus_record::time::Timestamp;
use cerberus_store::browse::find;
use cerberus_store::browse::log::{self, LogFilter};
use cerberus_store::same_project::joined::joined;
use cerberus_store::sessions::sweep::derive_state;
use cerberus_store::view::FactFilter;
use serde::Serialize;
use serde_json::json;

use super::status::CORRECTIONS_MAX;
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::style::{Line, Screen};
use crate::render::time::LocalTime;
use crate::render::{page, sessions};

/// Show this project's recent sessions
#[derive(clap::Args)]
pub struct MemoryHistoryArgs {
    /// How many days to go back
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    pub days: u32,
}

const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One line of the list.
#[derive(Serialize)]
pub struct PastSession {
    pub session_id: String,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub duration_minutes: f64,
    pub correction_count: usize,
    pub tool_count: usize,
    pub modified_files: usize,
    pub status: &'static str,
    #[serde(skip)]
    started: Timestamp,
}

impl MemoryHistoryArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let rows = self.sessions(context)?;
        if context.json {
            render::json(&json!(rows));
            return Ok(());
        }
        if rows.is_empty() {
            render::line(&format!("no session in the last {}", render::count(self.days as usize, "day")));
            return Ok(());
        }
        let mut store = context.view()?;
        let now = context.clock.now;
        let projects = joined(&store, &context.located(), now)?.ids;
        let filter = LogFilter { projects, since: self.since(now), ..LogFilter::default() };
        let listed = log::log(&mut store, &context.clock, &filter)?.sessions;
        let screen = Screen::of_stdout();
        let ids = find::id_lengths(&store, now)?;
        let mut lines = sessions::list(&screen, &LocalTime::new(now), &listed, &ids);
        let per_day = self.sparkline(context, &rows);
        lines.push(Line::new());
        lines.push(
            Line::new().faint(format!("{}; per day, oldest first: {per_day}", render::count(rows.len(), "session"))),
        );
        page::page(&screen, &lines);
        Ok(())
    }

    fn since(&self, now: Timestamp) -> Timestamp {
        now.minus(Duration::from_secs(u64::from(self.days) * 86_400))
    }

    /// Newest first.
    pub fn sessions(&self, context: &Context) -> Result<Vec<PastSession>> {
        let store = context.swept_store()?;
        let (located, now) = (context.located(), context.clock.now);
        let since = self.since(now);
        let mut sessions = store.sessions(&joined(&store, &located, now)?.ids, since, now)?;
        sessions.retain(|session| session.started_at >= since);
        sessions.reverse();
        let mut rows = Vec::new();
        for session in sessions {
            let session = derive_state(session, &context.clock, IDLE_AFTER).0;
            let facts = store.carried(std::slice::from_ref(&session), FactFilter::All, now)?.facts;
            let mut files: Vec<&str> = facts
                .iter()
                .filter(|known| known.fact.kind == FactKind::File)
                .filter_map(|known| known.fact.path.as_deref())
                .collect();
            files.sort_unstable();
            files.dedup();
            let (tools, _) = store.activity(&session, now)?;
            let ended = session.state.ended.as_ref().map(|(at, _)| *at);
            let end = ended.unwrap_or(session.last_activity).max(session.started_at);
            rows.push(PastSession {
                session_id: session.id.to_string(),
                started_at: session.started_at.to_string(),
                ended_at: ended.map(|at| at.to_string()),
                duration_minutes: (end.since(session.started_at).as_secs_f64() / 6.0).round() / 10.0,
                tool_count: tools.iter().map(|(_, count)| count).sum(),
                modified_files: files.len(),
                correction_count: store.corrections(&[session.row], CORRECTIONS_MAX, now)?.len(),
                status: session.state.status.word(),
                started: session.started_at,
            });
        }
        Ok(rows)
    }

    /// One character per day, the tallest for the busiest day.
    fn sparkline(&self, context: &Context, rows: &[PastSession]) -> String {
        let mut per_day: BTreeMap<String, usize> = BTreeMap::new();
        for day in (0..self.days.min(60)).rev() {
            per_day.insert(context.clock.now.minus(Duration::from_secs(u64::from(day) * 86_400)).day(), 0);
        }
        for row in rows {
            if let Some(count) = per_day.get_mut(&row.started.day()) {
                *count += 1;
            }
        }
        let most = per_day.values().copied().max().unwrap_or(0).max(1);
        per_day
            .values()
            .map(|count| if *count == 0 { '·' } else { SPARKS[(count * (SPARKS.len() - 1)) / most] })
            .collect()
    }
}
