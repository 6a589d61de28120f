//! Collects what a status line shows. It runs after every message, so it reads the view as it is and folds nothing.

use std::path::Path;

use cerberus_agents::meter::status_line::StatusLine;
use cerberus_agents::meter::{Certainty, MeterReading};
use cerberus_agents::status::AgentStatus;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_record::id::Agent;

use crate::brief::limit;
use crate::config;
use crate::project::identity;
use crate::project::privacy;
use crate::view::{self, Caller, Store};

/// The line for a session of `agent`. A view that cannot be read says nothing about what was told.
pub fn status_line(home: &Home, clock: &Clock, agent: Agent, status: &AgentStatus) -> String {
    let located = identity::locate(Path::new(status.cwd.as_deref().unwrap_or(".")));
    if let Some(block) = privacy::storage_block(home, clock.now, &located) {
        return format!("cerberus: {block}");
    }
    if !view::view_file(home).exists() {
        return "cerberus: nothing captured yet; `cerberus doctor` says more".to_string();
    }
    let (told, proposals, limited) = from_view(home, clock, agent, status).unwrap_or_default();
    let redline = config::load(home).map(|config| config.redline()).unwrap_or_default();
    let tokens = status.percent.zip(status.window).map(|(percent, window)| (percent / 100.0 * window as f64) as u64);
    let reading = MeterReading { tokens, window: status.window, percent: status.percent, certainty: Certainty::Direct };
    let cost_usd = status.cost_usd;
    StatusLine { project: &located.name, told, proposals, reading, redline, cost_usd, limited }.text()
}

type ToldCounts = (usize, usize);

/// What the session was told, what waits for review, and how it goes on if its agent's limit is reached.
type FromView = (ToldCounts, usize, Option<String>);

fn from_view(home: &Home, clock: &Clock, agent: Agent, status: &AgentStatus) -> view::Result<FromView> {
    let store = Store::open(home, Caller::Hook)?;
    let session = match &status.session {
        Some(id) => store.agent_session(agent, id, clock.now)?,
        None => None,
    };
    let limited = session.as_ref().and_then(limit::command);
    let told = match session {
        Some(session) => store.told(&session, clock.now)?,
        None => (0, 0),
    };
    Ok((told, store.count_proposals(clock.now)?, limited))
}
