use cerberus_record::session::SessionStatus;
use cerberus_store::erase::forget;
use cerberus_store::sessions::recover;
use cerberus_store::sessions::sweep;
use cerberus_store::view::fold;
use cerberus_store::view::recorder::Recorder;
use cerberus_store::view::{FactFilter, SessionRow};
use serde_json::json;

use super::status::CORRECTIONS_MAX;
use crate::capabilities;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;
use crate::render::time::LocalTime;

/// List, recover or discard crashed sessions
///
/// The next session of a project recovers its crashed sessions automatically. Use this command to inspect them and
/// decide yourself.
#[derive(clap::Args)]
pub struct MemoryRecoverArgs {
    /// The session to recover
    #[arg(value_name = "ID", required_unless_present = "list")]
    id: Option<String>,

    /// List crashed sessions of all projects that are not recovered yet
    #[arg(long, conflicts_with = "id")]
    list: bool,

    /// Permanently delete everything captured from the session
    #[arg(long, requires = "id")]
    pub(in crate::commands) discard: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl MemoryRecoverArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        match &self.id {
            None => list(context),
            Some(id) if self.discard => discard(context, id, self.yes),
            Some(id) => recover_one(context, id),
        }
    }
}

fn list(context: &Context) -> Result<()> {
    let store = context.swept_store()?;
    let crashed = sweep::crashed(&store, &context.clock)?;
    let mut shown = Vec::new();
    for session in &crashed {
        let facts = store.carried(std::slice::from_ref(session), FactFilter::All, context.clock.now)?.facts.len();
        let corrections = store.corrections(&[session.row], CORRECTIONS_MAX, context.clock.now)?.len();
        shown.push((session, facts, corrections));
    }
    if context.json {
        let rows = shown.iter().map(|(session, facts, corrections)| {
            json!({"session_id": session.id, "project": session.project_name, "crashed_at": crashed_at(session),
                "last_activity": session.last_activity.to_string(), "corrections": corrections, "facts": facts})
        });
        render::json(&rows.collect::<Vec<_>>());
        return Ok(());
    }
    if shown.is_empty() {
        render::line("no crashed sessions");
    }
    let local = LocalTime::new(context.clock.now);
    for (session, facts, corrections) in shown {
        let evidence = session.state.ended.as_ref().map_or("", |(_, evidence)| evidence);
        let line = format!("{}  {}  active {}", session.id, session.project_name, local.ago(session.last_activity));
        let (facts, corrections) = (render::count(facts, "fact"), render::count(corrections, "correction"));
        render::line(&format!("{line}, {facts}, {corrections}: {evidence}"));
    }
    Ok(())
}

fn crashed_at(session: &SessionRow) -> String {
    session.state.ended.as_ref().map_or(session.last_activity, |(at, _)| *at).to_string()
}

fn recover_one(context: &Context, id: &str) -> Result<()> {
    let mut store = context.swept_store()?;
    let session = context.session(&store, id)?;
    let mut recorder = Recorder::journal(&context.home, &context.clock, &mut store);
    let recovered = recover::recover(&mut recorder, &context.agent_surroundings(), &session, false)?;
    drop(recorder);
    if recovered.is_some() {
        context.ended(std::slice::from_ref(&session))?;
    }
    let actions = match (recovered, session.state.status) {
        (Some(recovered), _) => recovered.actions,
        (None, SessionStatus::Recovered) => vec!["was already recovered".to_string()],
        (None, status) => {
            return Err(anyhow::anyhow!("session {id} did not crash: it is {}", status.word()))
                .hint("`cerberus memory recover --list` lists the crashed sessions");
        }
    };
    if context.json {
        let is_automatic = store.was_recovered_automatically(&session, context.clock.now)?;
        render::json(
            &json!({"session_id": session.id, "crashed_at": crashed_at(&session), "recovery_actions": actions,
            "auto_recovered": is_automatic}),
        );
        return Ok(());
    }
    render::line(&format!("recovered session {id}"));
    actions.iter().for_each(|action| render::line(&format!("  {action}")));
    Ok(())
}

fn discard(context: &Context, id: &str, yes: bool) -> Result<()> {
    let mut store = context.swept_store()?;
    let session = context.session(&store, id)?;
    if !matches!(session.state.status, SessionStatus::Crashed | SessionStatus::Recovered) {
        return Err(anyhow::anyhow!("session {id} did not crash: it is {}", session.state.status.word()))
            .hint("`cerberus session complete ID` removes its items from the brief");
    }
    let facts = store.carried(std::slice::from_ref(&session), FactFilter::All, context.clock.now)?.facts;
    let what = render::count(facts.len(), "fact");
    render::confirm(&format!("Permanently delete session {id} and its {what}?"), yes)?;
    let request = forget::of_sessions(std::slice::from_ref(&session));
    forget::forget(&context.home, &context.clock, &mut store, &request, capabilities::ALL)
        .hint("some of it may already be deleted; run the command again")?;
    fold::fold(&context.home, &mut store)?;
    if context.json {
        let codes: Vec<&str> = facts.iter().map(|known| known.fact.code.as_str()).collect();
        render::json(&json!({"session_id": id, "discarded": true, "dropped": codes}));
        return Ok(());
    }
    render::line(&format!("discarded session {id} with {what}"));
    facts.iter().for_each(|known| render::line(&format!("  {}", known.fact.code)));
    Ok(())
}
