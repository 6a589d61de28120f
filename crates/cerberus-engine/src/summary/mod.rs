//! Summaries: sends a session's facts to the configured provider, then checks and records the answer.
//!
//! Nothing happens unless `[summary] provider` is set; then at most two attempts of limited time. A failed attempt
//! changes nothing: sessions are told codes instead. Keys are sent to the provider only.

pub mod detached;
mod http;
pub mod provider;

use cerberus_core::brief::{self, FileNames, Item, Likely, Request, failing};
use cerberus_core::clean::Cleaner;
use cerberus_core::clean::text::{Clean, Keep};
use cerberus_core::model::event::{Event, Summary};
use cerberus_core::model::fact::Kind;
use cerberus_core::model::id::{Agent, fnv1a};
use cerberus_core::model::time::Timestamp;
use cerberus_core::summary::items::{key_items, next_actions};
use cerberus_core::summary::render::action;
use cerberus_core::summary::{Material, prompt, read};

use crate::journal::{self, own_record};
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::store::fold;
use crate::store::fold::FoldError;
use crate::store::{self, FactFilter, SessionRow, Store, StoreError, SummaryRow};
use provider::{Provider, ProviderError, RequestForm};

/// The name of this operation in the log of failures.
pub const FAILURE: &str = "summarize";

#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    #[error("the session has nothing to summarize")]
    Nothing,
    #[error("cannot write {path}: {source}")]
    Claim { path: String, source: std::io::Error },
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Fold(#[from] FoldError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What one session left.
#[derive(Debug)]
pub struct SessionFacts {
    project: String,
    items: Vec<Item>,
    done: Vec<String>,
}

impl SessionFacts {
    pub fn of(store: &Store, session: &SessionRow, now: Timestamp) -> store::Result<SessionFacts> {
        let sessions = std::slice::from_ref(session);
        let mut carried = store.carried(sessions, FactFilter::All, now)?;
        carried.add(failing::blockers(&store.runs(sessions, now)?, &carried.facts));
        let is_done = |kind| matches!(kind, Kind::Done | Kind::Commit);
        let done = carried.facts.iter().filter(|known| is_done(known.fact.kind)).map(|known| known.fact.text.clone());
        let done = done.collect();
        let brief = brief::compose(&Request {
            project: &session.project_name,
            facts: &carried.facts,
            settlements: &carried.settlements,
            files: &FileNames::default(),
            likely: &Likely::default(),
            now,
            budget_tokens: usize::MAX,
            chars_max: usize::MAX,
            prompt: None,
            memories: &[],
            known: None,
            turns: &[],
            worked: &[],
        });
        Ok(SessionFacts { project: session.project_name.clone(), items: brief.items, done })
    }

    pub fn material(&self) -> Material<'_> {
        Material { project: &self.project, items: &self.items, done: &self.done }
    }

    /// Identifies these facts of this session.
    fn digest(&self, cleaner: &Cleaner, session: &SessionRow) -> u64 {
        fnv1a(format!("{}\n{}", session.id.as_str(), &*prompt(cleaner, &self.material())).as_bytes())
    }
}

/// Has the summary of this session written, and records it.
pub fn write(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    session: &SessionRow,
    provider: &Provider,
) -> Result<SummaryRow, SummaryError> {
    let facts = SessionFacts::of(store, session, clock.now)?;
    let material = facts.material();
    if material.is_empty() {
        return Err(SummaryError::Nothing);
    }
    let said = ask(home.cleaner(), provider, &prompt(home.cleaner(), &material), &material)?;
    let clean = |text: String| home.cleaner().clean(text, Keep::SUBJECT);
    let summary = Summary {
        text: said,
        provider: Clean::word(provider.word()),
        key_context: key_items(&facts.items).iter().map(|item| clean(item.code.clone())).collect(),
        next_actions: next_actions(&facts.items).iter().map(|item| clean(action(item))).collect(),
    };
    let row = SummaryRow {
        at: clock.now,
        provider: provider.word().to_string(),
        text: summary.text.to_string(),
        key_context: summary.key_context.iter().map(|code| code.to_string()).collect(),
        next_actions: summary.next_actions.iter().map(|action| action.to_string()).collect(),
    };
    let key = format!("summary-{}-{:016x}", clock.now.millis(), fnv1a(row.text.as_bytes()));
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let event = Event::Summary(summary);
    let record = own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event);
    journal::append(home, clock.wall, &record).map_err(FoldError::from)?;
    fold::fold(home, store)?;
    Ok(row)
}

/// Makes at most two attempts. An answer without usable content counts as a failure.
fn ask(
    cleaner: &Cleaner,
    provider: &Provider,
    prompt: &Clean,
    material: &Material,
) -> Result<Clean<'static>, ProviderError> {
    let mut failed = ProviderError::Unusable;
    for form in [RequestForm::Full, RequestForm::Plain] {
        match provider.ask(prompt, form) {
            Ok(answer) => match read(cleaner, &answer, material) {
                Some(text) => return Ok(text),
                None => failed = ProviderError::Unusable,
            },
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
