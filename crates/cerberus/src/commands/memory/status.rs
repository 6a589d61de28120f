use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use cerberus_recall::brief::KnownFact;
use cerberus_recall::brief::failing::{self, SessionRun};
use cerberus_record::fact::FactKind;
use cerberus_record::language;
use cerberus_record::runs::RunLedger;
use cerberus_record::session::IDLE_AFTER;
use cerberus_record::time::Timestamp;
use cerberus_store::same_project::joined::joined;
use cerberus_store::sessions::sweep::derive_state;
use cerberus_store::view::{CarriedFacts, FactFilter, SessionRow, Store};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::time::LocalTime;
use crate::render::{sessions, words};

/// Show this project's live sessions and what was captured from them
#[derive(clap::Args)]
pub struct SessionStatusArgs {
    /// Also show ended sessions
    #[arg(long)]
    all: bool,

    /// Show only this session
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

/// More than any session contains.
pub const CORRECTIONS_MAX: usize = 10_000;

impl SessionStatusArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        session_status(context, self.all, self.id)
    }
}

fn session_status(context: &Context, all: bool, id: Option<String>) -> Result<()> {
    let store = context.swept_store()?;
    let located = context.located();
    let now = context.clock.now;
    let sessions = match id {
        Some(id) => vec![context.session(&store, &id)?],
        None => {
            let mut sessions = store.sessions(&joined(&store, &located, now)?.ids, Timestamp::EPOCH, now)?;
            sessions =
                sessions.into_iter().map(|session| derive_state(session, &context.clock, IDLE_AFTER).0).collect();
            sessions.retain(|session| all || session.state.status.is_live());
            sessions.reverse();
            sessions
        }
    };
    let shown: Result<Vec<Value>> = sessions.iter().map(|session| session_json(&store, session, now)).collect();
    let shown = shown?;
    if context.json {
        let project = json!({"name": located.name, "root": render::path(&located.root)});
        render::json(&json!({"project": project, "sessions": shown}));
        return Ok(());
    }
    if shown.is_empty() {
        render::line("no live sessions; --all also shows ended ones");
    }
    let local = LocalTime::new(now);
    for (session, row) in shown.iter().zip(&sessions) {
        let text = |name: &str| session[name].as_str().unwrap_or_default().to_string();
        render::line(&format!(
            "{}  {}  {}  active {}",
            text("id"),
            text("agent"),
            sessions::state(row).word(),
            local.ago(row.last_activity)
        ));
        session["summary"].as_str().iter().for_each(|summary| render::line(&format!("  {summary}")));
        for fact in session["facts"].as_array().into_iter().flatten() {
            let text = |name: &str| fact[name].as_str().unwrap_or_default();
            let kind = FactKind::from_word(text("kind")).map(words::kind).unwrap_or_default();
            render::line(&format!("  {kind:<11} {}", text("text")));
        }
        for said in session["corrections"].as_array().into_iter().flatten() {
            let text = |name: &str| said[name].as_str().unwrap_or_default();
            render::line(&format!("  you said ({}): {}", text("kind"), text("text")));
        }
    }
    Ok(())
}

fn session_json(store: &Store, session: &SessionRow, now: Timestamp) -> Result<Value> {
    let mut carried = store.carried(std::slice::from_ref(session), FactFilter::All, now)?;
    let (tools, turns) = store.activity(session, now)?;
    let tools: BTreeMap<String, usize> = tools.into_iter().collect();
    let runs = store.runs(std::slice::from_ref(session), now)?;
    carried.add(failing::blockers(&runs, &carried.facts));
    let corrections = store.corrections(&[session.row], CORRECTIONS_MAX, now)?;
    let corrections: Vec<Value> = corrections
        .iter()
        .map(|row| {
            let said = &row.correction;
            let (kind, at) = (said.kind.word(), row.origin.at.to_string());
            json!({"text": said.text, "kind": kind, "confidence": row.confidence(), "at": at})
        })
        .collect();
    let mut value = json!({
        "id": session.id, "agent": session.agent, "agent_session_id": session.agent_session_id,
        "status": session.state.status, "started_at": session.started_at.to_string(),
        "last_activity": session.last_activity.to_string(), "cwd": session.cwd, "turn_count": turns,
        "facts": facts_json(&carried), "corrections": corrections, "tools_used": tools,
        "tests": tests_json(&runs),
    });
    let mut add = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            value[name] = json!(text);
        }
    };
    add("ended_at", session.state.ended.as_ref().map(|(at, _)| at.to_string()));
    add("end_trigger", session.state.ended.as_ref().map(|(_, trigger)| trigger.clone()));
    add("phase", session.phase.clone());
    add("branch", session.branch.clone());
    add("device", session.device.clone());
    add("language", language(&carried.facts));
    add("summary", store.summary(session, now)?.map(|row| row.text));
    if let Some(process) = &session.process {
        value["pid"] = json!(process.pid);
    }
    Ok(value)
}

/// The language of most of the session's edits.
fn language(facts: &[KnownFact]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for known in facts.iter().filter(|known| known.fact.kind == FactKind::File) {
        if let Some(language) = known.fact.path.as_deref().and_then(language::of_path) {
            *counts.entry(language).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name.to_string())
}

/// Each fact once, in the order of first mention, with the time of its last mention.
fn facts_json(carried: &CarriedFacts) -> Vec<Value> {
    let mut shown: Vec<Value> = Vec::new();
    let mut place: HashMap<(FactKind, &str), usize> = HashMap::new();
    for (known, source) in carried.facts.iter().zip(&carried.sources) {
        let fact = &known.fact;
        let mut value = json!({
            "kind": fact.kind, "code": fact.code, "text": fact.text, "at": known.at.to_string(), "source": source,
        });
        if let Some(path) = &fact.path {
            value["path"] = json!(path);
        }
        if let Some(severity) = fact.severity {
            value["severity"] = json!(severity);
        }
        if let Some(key) = &fact.custom_key {
            value["key"] = json!(key);
        }
        match place.entry((fact.kind, fact.code.as_str())) {
            Entry::Occupied(known) => shown[*known.get()] = value,
            Entry::Vacant(new) => {
                new.insert(shown.len());
                shown.push(value);
            }
        }
    }
    shown
}

fn tests_json(runs: &[SessionRun]) -> Value {
    let mut ledger = RunLedger::default();
    runs.iter().for_each(|ran| ledger.add(&ran.command, &ran.run));
    let (passing, failing): (Vec<_>, Vec<_>) = (ledger.passing().collect(), ledger.failing().collect());
    let (fixed, regressed): (Vec<_>, Vec<_>) = (ledger.fixed().collect(), ledger.regressed().collect());
    json!({"passing": passing, "failing": failing, "fixed": fixed, "regressed": regressed})
}
