//! Decides, record by record, what forgetting removes or rewrites.
//!
//! The journal is read twice. The first pass finds the records a [`ForgetRequest`] covers and collects where else
//! their content may appear ([`Residue`]: codes in the receipts of other sessions, evidence of memories). The second
//! pass decides the [`RecordAction`] for each record. Pure: nothing here reads or writes files.

mod action;
mod mention;

use std::collections::HashSet;

pub use action::RecordAction;
pub use mention::Paths;

use cerberus_record::clean::text::{Clean, hyphenated};
use cerberus_record::event::{Event, MemoryChange, Record};
use cerberus_record::fact::{Fact, FactKind};
use cerberus_record::id::{Agent, ProjectId, SessionId};
use cerberus_record::memory::{Evidence, Memory, MemoryStatus, Scope};
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use crate::brief::BY_AGENT;
use crate::brief::failing::{self, SessionRun};
use crate::extract::{ExtractedFacts, extract};
use action::rewrite;

/// What the user wants forgotten.
#[derive(Debug)]
pub enum ForgetRequest {
    /// Sessions, identified by agent and the agent's own session name.
    Sessions(HashSet<(Agent, String)>),
    /// Sessions removed by retention. What was learned from them, or shown to other sessions, is kept.
    Expired(HashSet<(Agent, String)>),
    /// Projects by id. The name identifies memories that have no project id.
    Projects {
        ids: HashSet<ProjectId>,
        names: HashSet<String>,
    },
    Paths(Paths),
    /// A half-open time range: from the first time up to, not including, the second.
    Between(Timestamp, Timestamp),
}

impl ForgetRequest {
    /// The action for a record, based on whether the request covers it directly.
    pub fn action_for(&self, record: &Record) -> RecordAction {
        let is_covered = match self {
            ForgetRequest::Sessions(names) | ForgetRequest::Expired(names) => {
                names.contains(&(record.agent, record.session.to_string()))
            }
            ForgetRequest::Projects { ids, .. } => {
                ids.contains(&record.location.project)
                    || other_project(&record.event).is_some_and(|id| ids.contains(id))
            }
            ForgetRequest::Between(since, until) => (*since..*until).contains(&record.at),
            ForgetRequest::Paths(paths) => return paths.action_for(record),
        };
        match &record.event {
            // A check goes with its memory.
            Event::Memory(_) | Event::Check(_) => RecordAction::Keep,
            Event::Used { .. } if matches!(self, ForgetRequest::Sessions(_) | ForgetRequest::Expired(_)) => {
                RecordAction::Keep
            }
            _ if is_covered => RecordAction::Remove,
            _ => RecordAction::Keep,
        }
    }

    /// May a torn line contain covered content? Such a line cannot be parsed, so it is removed if in doubt.
    pub fn may_be_in(&self, torn_line: &str) -> bool {
        match self {
            ForgetRequest::Sessions(names) => names.iter().any(|(_, name)| torn_line.contains(name.as_str())),
            ForgetRequest::Expired(_) => false,
            ForgetRequest::Projects { ids, .. } => ids.iter().any(|id| torn_line.contains(id.as_str())),
            ForgetRequest::Paths(paths) => paths.projects.iter().any(|id| torn_line.contains(id.as_str())),
            ForgetRequest::Between(since, until) => {
                let digits = torn_line.strip_prefix("{\"at\":").and_then(|rest| rest.split(',').next());
                let at = digits.and_then(|digits| digits.parse().ok()).map(Timestamp::from_millis);
                at.is_none_or(|at| (*since..*until).contains(&at))
            }
        }
    }

    /// Is a record from a newer version covered? It cannot be rewritten, so it is removed if any part of it is
    /// covered.
    pub fn covers_newer(&self, newer: &NewerRecord) -> bool {
        match self {
            ForgetRequest::Sessions(names) | ForgetRequest::Expired(names) => {
                let agent = Agent::from_name(&newer.agent);
                agent.is_some_and(|agent| names.contains(&(agent, newer.session.clone())))
            }
            ForgetRequest::Projects { ids, .. } => ids.iter().any(|id| id.as_str() == newer.project),
            ForgetRequest::Between(since, until) => (*since..*until).contains(&newer.at),
            ForgetRequest::Paths(paths) => {
                paths.projects.iter().any(|id| id.as_str() == newer.project) && paths.are_named_in(&newer.text)
            }
        }
    }

    fn covers_memory(&self, memory: &Memory) -> bool {
        match self {
            ForgetRequest::Sessions(_) | ForgetRequest::Expired(_) => false,
            ForgetRequest::Projects { ids, names } => match (&memory.project, Scope::parse(&memory.scope)) {
                (Some(project), _) => ids.contains(project),
                (None, Some(Scope::Project(name))) => names.contains(&name),
                (None, _) => false,
            },
            ForgetRequest::Between(since, until) => (*since..*until).contains(&memory.created_at),
            ForgetRequest::Paths(paths) => paths.are_named_in(&memory.content),
        }
    }
}

/// The fields that can be read from a record that a newer version wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewerRecord {
    pub at: Timestamp,
    pub agent: String,
    pub session: String,
    pub project: String,
    /// The whole line.
    pub text: String,
}

impl NewerRecord {
    /// Parses a journal line; `None` if these fields cannot be read.
    pub fn parse(line: &[u8]) -> Option<NewerRecord> {
        #[derive(Deserialize)]
        struct Location {
            project: String,
        }
        #[derive(Deserialize)]
        struct Fields {
            at: Timestamp,
            agent: String,
            session: String,
            #[serde(rename = "place")]
            location: Location,
        }
        let Fields { at, agent, session, location } = serde_json::from_slice(line).ok()?;
        let text = String::from_utf8_lossy(line).into_owned();
        Some(NewerRecord { at, agent, session, project: location.project, text })
    }
}

/// The other project in the user's answer about two projects.
fn other_project<'a>(event: &'a Event) -> Option<&'a ProjectId> {
    match event {
        Event::SameProject { other, .. } | Event::SeparateProject { other } => Some(other),
        _ => None,
    }
}

/// Forgotten content that may still appear in records that are kept.
#[derive(Debug, Default)]
pub struct Residue {
    codes: HashSet<String>,
    /// Codes name files by the end of their path.
    paths: HashSet<String>,
    /// Agent, session and key of the events that evidence was taken from.
    sources: HashSet<(String, String, String)>,
    /// Ids of memories that are forgotten too.
    memories: HashSet<String>,
}

impl Residue {
    /// Adds the content that the request removes from a record.
    pub fn add(&mut self, request: &ForgetRequest, record: &Record) {
        if matches!(request, ForgetRequest::Expired(_)) {
            return;
        }
        let left = match &request.action_for(record) {
            RecordAction::Keep => return,
            RecordAction::Remove => HashSet::new(),
            RecordAction::Rewrite(json) => codes_of(Record::read_json(json.as_bytes()).ok().as_ref()),
        };
        for fact in facts(record) {
            if left.contains(&fact.code) {
                continue;
            }
            self.paths.extend(fact.path.filter(|_| matches!(fact.kind, FactKind::File | FactKind::Read)));
            self.codes.insert(hyphenated(&fact.code));
        }
        let name = |text: &str| text.to_string();
        self.sources.insert((name(record.agent.name()), name(&record.session), name(&record.key)));
    }

    /// Adds a memory; returns whether it is forgotten too. A proposal, or a memory approved automatically, is
    /// forgotten if all its evidence is. A memory the user approved is kept without that evidence.
    pub fn add_memory(&mut self, request: &ForgetRequest, id: &str, memory: &Memory) -> bool {
        let evidence = &memory.background.evidence;
        let is_user_approved = memory.status == MemoryStatus::Approved && !memory.background.is_automatic;
        let has_no_evidence_left = !evidence.is_empty() && evidence.iter().all(|evidence| self.is_source(evidence));
        let is_forgotten = request.covers_memory(memory) || has_no_evidence_left && !is_user_approved;
        if is_forgotten {
            self.memories.insert(id.to_string());
        }
        is_forgotten
    }

    /// The action for a record that the request does not cover directly.
    pub fn action_for(&self, request: &ForgetRequest, record: &Record) -> RecordAction {
        match &record.event {
            Event::Memory(change) if self.memories.contains(&*change.id) => RecordAction::Remove,
            Event::Check(change) if self.memories.contains(&*change.memory) => RecordAction::Remove,
            Event::Memory(change) => self.memory_action(request, record, change),
            Event::Quote(quotation) if self.is_source_of(record, &quotation.prompt) => RecordAction::Remove,
            // It retells the session, and it was written after what it retells.
            Event::Summary(_) if matches!(request, ForgetRequest::Between(..)) && self.has_lost(record) => {
                RecordAction::Remove
            }
            Event::Receipt { codes, .. } if codes.iter().any(|code| self.may_name(code)) => {
                let mut kept = record.clone();
                if let Event::Receipt { codes, .. } = &mut kept.event {
                    codes.retain(|code| !self.may_name(code));
                }
                rewrite(&kept)
            }
            // Old lists may hold what is forgotten, in other words; the next one holds what is open now.
            Event::Open(_) if !self.sources.is_empty() => RecordAction::Remove,
            _ => RecordAction::Keep,
        }
    }

    fn memory_action(&self, request: &ForgetRequest, record: &Record, change: &MemoryChange) -> RecordAction {
        let evidence = change.memory.iter().flat_map(|memory| &memory.background.evidence);
        let has_forgotten_evidence = evidence.into_iter().any(|evidence| self.is_source(evidence));
        let is_in_project =
            matches!(request, ForgetRequest::Projects { ids, .. } if ids.contains(&record.location.project));
        if !has_forgotten_evidence && !is_in_project {
            return RecordAction::Keep;
        }
        let mut kept = record.clone();
        if is_in_project {
            let location = &mut kept.location;
            (location.name, location.root, location.cwd) = (Clean::word(""), Clean::word(""), Clean::word(""));
            location.branch = None;
        }
        if let Event::Memory(MemoryChange { memory: Some(memory), .. }) = &mut kept.event
            && has_forgotten_evidence
        {
            memory.background.evidence.retain(|evidence| !self.is_source(evidence));
            // It quotes the evidence.
            memory.background.rationale = None;
        }
        rewrite(&kept)
    }

    /// Whether anything of the record's session is forgotten.
    fn has_lost(&self, record: &Record) -> bool {
        let is_same = |(agent, session, _): &(String, String, String)| {
            agent == record.agent.name() && *session == *record.session
        };
        self.sources.iter().any(is_same)
    }

    /// Whether the prompt that a record of the same session quotes is forgotten.
    fn is_source_of(&self, record: &Record, prompt: &str) -> bool {
        let name = |text: &str| text.to_string();
        self.sources.contains(&(name(record.agent.name()), name(&record.session), name(prompt)))
    }

    fn is_source(&self, evidence: &Evidence) -> bool {
        let name = |text: &Clean| text.to_string();
        self.sources.contains(&(name(&evidence.agent), name(&evidence.session), name(&evidence.key)))
    }

    fn may_name(&self, code: &str) -> bool {
        let name = code.split_once(':').map_or(code, |(_, name)| name);
        // The code of a decision may end with the branch it was made on.
        let plain = code.rsplit_once('@').map_or(code, |(plain, _)| plain);
        // What an agent stated is marked where it is told.
        let unmarked = code.replacen(BY_AGENT, "", 1);
        [code, plain, &unmarked].into_iter().any(|code| self.codes.contains(&hyphenated(code)))
            || self.paths.iter().any(|path| {
                path.strip_suffix(name)
                    .is_some_and(|before| !name.is_empty() && (before.is_empty() || before.ends_with('/')))
            })
    }
}

fn codes_of(record: Option<&Record>) -> HashSet<String> {
    record.map(facts).unwrap_or_default().into_iter().map(|fact| fact.code).collect()
}

/// Every fact that a brief may list because of this record.
fn facts(record: &Record) -> Vec<Fact> {
    let ExtractedFacts { mut facts, run, .. } = extract(&record.event);
    if let Some((command, run)) = run {
        let ran = SessionRun { command, run, session: SessionId::new(""), at: record.at, event: 0 };
        facts.extend(failing::blockers(&[ran], &[]).into_iter().map(|known| known.fact));
    }
    facts
}

#[cfg(test)]
mod tests;
