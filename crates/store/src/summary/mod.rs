//! Summaries: sends a session's facts, and its conversation if the user allows it, to the configured provider, then
//! checks and records the answer.
//!
//! Nothing happens unless `[summary] provider` is set; then at most two attempts of limited time. A failed attempt
//! changes nothing: sessions are told codes instead. Keys are sent to the provider only.

mod conversation;
pub mod detached;
mod http;
pub mod provider;

use std::collections::HashSet;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::brief::failing::{self, SessionRun};
use cerberus_recall::brief::{self, BriefLine, KnownFact, Settlement};
use cerberus_recall::summary::digest::Digest;
use cerberus_recall::summary::items::{key_items, next_actions};
use cerberus_recall::summary::render::action;
use cerberus_recall::summary::{SummaryMaterial, prompt, read, typed};
use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Summary, SummaryItem};
use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_record::runs;
use cerberus_record::time::Timestamp;
use provider::{Provider, ProviderError, RequestForm};

use crate::config::ProviderReads;
use crate::journal;
use crate::journal::own_record;
use crate::view::fold::{self, FoldError};
use crate::view::{FactFilter, MODEL_SOURCE, SessionRow, Store, StoreError, SummaryRow};

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
    items: Vec<BriefLine>,
    /// Those that contain no words of a prompt.
    shared: Vec<BriefLine>,
    done: Vec<String>,
    passing: Vec<(runs::Kind, String)>,
    /// Set if the provider may read it.
    digest: Option<Digest>,
}

impl SessionFacts {
    pub fn of(
        home: &Home,
        store: &Store,
        session: &SessionRow,
        reads: ProviderReads,
        now: Timestamp,
    ) -> Result<SessionFacts, SummaryError> {
        let sessions = std::slice::from_ref(session);
        let mut carried = store.carried(sessions, FactFilter::All, now)?;
        // A model is not told what a model said before.
        let known = carried.facts.into_iter().zip(carried.sources);
        (carried.facts, carried.sources) = known.filter(|(_, source)| *source != MODEL_SOURCE).unzip();
        let ran = store.runs(sessions, now)?;
        carried.add(failing::blockers(&ran, &carried.facts));
        let from_prompts = store.prompt_events(session)?;
        let is_shared =
            |known: &&KnownFact| reads == ProviderReads::Conversation || !from_prompts.contains(&known.event);
        let shared: Vec<KnownFact> = carried.facts.iter().filter(is_shared).cloned().collect();
        let digest = match reads {
            ProviderReads::Facts => None,
            ProviderReads::Conversation => Some(conversation::digest(home, store, session, now)?),
        };
        Ok(SessionFacts {
            project: session.project_name.clone(),
            items: open_items(session, &carried.facts, &carried.settlements, now),
            done: shared.iter().filter_map(|known| done(&known.fact)).collect(),
            shared: open_items(session, &shared, &carried.settlements, now),
            passing: passing(&ran),
            digest,
        })
    }

    fn material(&self) -> SummaryMaterial<'_> {
        SummaryMaterial {
            project: &self.project,
            items: &self.items,
            shared: &self.shared,
            done: &self.done,
            passing: &self.passing,
        }
    }

    /// Without anything to send, nobody is asked.
    pub fn is_empty(&self) -> bool {
        self.material().is_empty() && self.digest.as_ref().is_none_or(Digest::is_empty)
    }

    /// What the provider is sent.
    fn prompt(&self, cleaner: &Cleaner) -> Clean<'static> {
        match &self.digest {
            None => prompt(cleaner, &self.material()),
            Some(digest) => typed::prompt(cleaner, &self.material(), digest),
        }
    }

    /// What an answer is worth; `None` if nothing.
    fn read(&self, cleaner: &Cleaner, answer: &str) -> Option<CheckedSummary> {
        let material = self.material();
        let Some(digest) = &self.digest else {
            return Some(CheckedSummary { text: read(cleaner, answer, &material)?, items: Vec::new() });
        };
        let answer = typed::parse(answer);
        let items = typed::verified(cleaner, &answer, digest, &material);
        let text = read(cleaner, &answer.summary, &material);
        let is_usable = text.is_some() || !items.is_empty();
        is_usable.then(|| CheckedSummary { text: text.unwrap_or_else(|| Clean::word("")), items })
    }

    /// Identifies these facts of this session.
    fn fingerprint(&self, cleaner: &Cleaner, session: &SessionRow) -> u64 {
        fnv1a(format!("{}\n{}", session.id.as_str(), &*self.prompt(cleaner)).as_bytes())
    }
}

/// What a fact says was done.
fn done(fact: &Fact) -> Option<String> {
    match fact.kind {
        FactKind::Done | FactKind::Commit | FactKind::Step => Some(fact.text.clone()),
        FactKind::PullRequest => {
            let number = fact.reference.as_deref()?.trim_start_matches("pull ");
            let is_address = fact.text.starts_with("https://");
            Some(if is_address { format!("opened the pull request {number}") } else { fact.text.clone() })
        }
        _ => None,
    }
}

/// What a provider said, checked.
struct CheckedSummary {
    text: Clean<'static>,
    items: Vec<SummaryItem<'static>>,
}

/// The open items of a session, as in a brief of that session alone.
fn open_items(session: &SessionRow, facts: &[KnownFact], settlements: &[Settlement], now: Timestamp) -> Vec<BriefLine> {
    brief::everything(&session.project_name, facts, settlements, now).items
}

/// The commands whose last run was green.
fn passing(ran: &[SessionRun]) -> Vec<(runs::Kind, String)> {
    let mut seen = HashSet::new();
    let last = ran.iter().rev().filter(|ran| seen.insert(ran.command.key.as_str()));
    let green = last.filter(|ran| ran.run.verdict == runs::RunVerdict::Green);
    green.map(|ran| (ran.command.kind, ran.command.key.clone())).collect()
}

/// Has the summary of this session written, and records it.
pub fn write(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    session: &SessionRow,
    provider: &Provider,
) -> Result<RecordedSummary, SummaryError> {
    let facts = SessionFacts::of(home, store, session, provider.reads(), clock.now)?;
    if facts.is_empty() {
        return Err(SummaryError::Nothing);
    }
    let CheckedSummary { text, items } = ask(home.cleaner(), provider, &facts)?;
    let clean = |text: String| home.cleaner().clean(text, Keep::SUBJECT);
    let summary = Summary {
        text,
        provider: Clean::word(provider.word()),
        key_context: key_items(&facts.items).iter().map(|item| clean(item.code.clone())).collect(),
        next_actions: next_actions(&facts.items).iter().map(|item| clean(action(item))).collect(),
        items,
    };
    let row = SummaryRow {
        at: clock.now,
        provider: provider.word().to_string(),
        text: summary.text.to_string(),
        key_context: summary.key_context.iter().map(|code| code.to_string()).collect(),
        next_actions: summary.next_actions.iter().map(|action| action.to_string()).collect(),
    };
    let items = summary.items.clone();
    let key = format!("summary-{}-{:016x}", clock.now.millis(), fnv1a(row.text.as_bytes()));
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let event = Event::Summary(summary);
    let record = own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event);
    journal::append(home, clock.wall, &record).map_err(FoldError::from)?;
    fold::fold(home, store)?;
    Ok(RecordedSummary { row, items })
}

/// A summary that was recorded.
#[derive(Debug)]
pub struct RecordedSummary {
    pub row: SummaryRow,
    /// What the model found in the conversation.
    pub items: Vec<SummaryItem<'static>>,
}

/// Makes at most two attempts. An answer without usable content counts as a failure.
fn ask(cleaner: &Cleaner, provider: &Provider, facts: &SessionFacts) -> Result<CheckedSummary, ProviderError> {
    let prompt = facts.prompt(cleaner);
    let mut failed = ProviderError::Unusable;
    for form in [RequestForm::Full, RequestForm::Plain] {
        match provider.ask(&prompt, form) {
            Ok(answer) => match facts.read(cleaner, &answer) {
                Some(said) => return Ok(said),
                None => failed = ProviderError::Unusable,
            },
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
