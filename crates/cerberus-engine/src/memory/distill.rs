//! Turns corrections into proposals, and the most certain proposals into memories.
//!
//! Runs when a session ends or was recovered, and on request. Running it again changes nothing: a proposal is
//! identified by its evidence, and decisions are kept.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use cerberus_core::clean::text::{Clean, Keep};
use cerberus_core::extract::symbols::Language;
use cerberus_core::learn::proposal::{Known, Proposal, Quote, SourcedCorrection, propose};
use cerberus_core::model::id::MemoryId;
use cerberus_core::model::memory::{Background, Evidence, Memory, Status};

use crate::memory::change::{Change, MemoryWriter, superseding};
use crate::same_project::joined::Projects;
use crate::store::fold::FoldError;
use crate::store::recorder::Recorder;
use crate::store::{self, CorrectionRow, MemoryRow, Store};

/// Only this many of the last corrections count as evidence.
const CORRECTIONS_MAX: usize = 1_000;
/// New proposals are compared with this many existing ones.
const KNOWN_MAX: usize = 2_000;

/// The result of a run.
#[derive(Debug, Default)]
pub struct Distilled {
    pub proposed: Vec<MemoryId>,
    pub approved: Vec<MemoryId>,
}

/// Turns corrections that were not processed yet into proposals and memories.
pub fn distill(writer: &MemoryWriter, store: &mut Store) -> Result<Distilled, FoldError> {
    distill_into(writer, &mut Recorder::journal(writer.home, writer.clock, store))
}

/// The same, with the changes recorded by `recorder`.
pub fn distill_into(writer: &MemoryWriter, recorder: &mut Recorder) -> Result<Distilled, FoldError> {
    let now = writer.clock.now;
    let store = recorder.store();
    if !store.has_new_corrections()? {
        return Ok(Distilled::default());
    }
    let corrections = store.corrections(&[], CORRECTIONS_MAX, now)?;
    let known = store.own_memories(KNOWN_MAX, now)?;
    let languages = languages(store, &corrections)?;
    let projects = Projects::load(store, now)?;
    let said: Vec<SourcedCorrection> = corrections.iter().map(|row| evidence(row, &projects, &languages)).collect();
    let existing: Vec<Known> = known.iter().map(existing).collect();
    let mut distilled = Distilled::default();
    let mut changes = Vec::new();
    for proposal in propose(&said, &existing) {
        let current = known.iter().find(|row| row.id == proposal.id);
        let memory = to_memory(writer, &proposal, &corrections, current);
        if current.is_some_and(|row| row.memory.background.evidence == memory.background.evidence) {
            continue;
        }
        // Propose first, even if it is certain: then the user can undo an automatic approval like any other change.
        let based_on = current.map_or(0, |row| row.version);
        let parent = current.map(|row| row.version_key.clone());
        changes.push(Change { id: proposal.id.clone(), based_on, parent, memory: Some(memory.clone()) });
        if !proposal.is_sure() {
            distilled.proposed.push(proposal.id);
            continue;
        }
        let mut approved = Memory { status: Status::Approved, ..memory };
        approved.background.is_automatic = true;
        let (approved, _) = superseding(writer.home, &projects, &proposal.id, approved, known.clone());
        changes.push(Change { id: proposal.id.clone(), based_on: based_on + 1, parent: None, memory: Some(approved) });
        distilled.approved.push(proposal.id);
    }
    recorder.record(&writer.records(changes))?;
    recorder.store().set_distilled()?;
    Ok(distilled)
}

/// Processes new corrections, then lists what waits for a decision and what was approved automatically, newest first.
pub fn proposals(writer: &MemoryWriter, store: &mut Store) -> Result<Vec<MemoryRow>, FoldError> {
    distill(writer, store)?;
    let mut rows = store.own_memories(KNOWN_MAX, writer.clock.now)?;
    rows.retain(|row| match row.memory.status {
        Status::Proposed => true,
        Status::Approved => row.memory.background.is_automatic,
        Status::Rejected => false,
    });
    Ok(rows)
}

/// What waits for the user's decision, most certain first.
pub fn pending(writer: &MemoryWriter, store: &mut Store) -> Result<Vec<MemoryRow>, FoldError> {
    let mut rows = proposals(writer, store)?;
    rows.retain(|row| row.memory.status == Status::Proposed);
    rows.sort_by(|a, b| b.memory.confidence.total_cmp(&a.memory.confidence));
    Ok(rows)
}

/// The languages of the files that each session edited.
fn languages(store: &Store, corrections: &[CorrectionRow]) -> store::Result<HashMap<i64, Vec<&'static str>>> {
    let mut languages: HashMap<i64, Vec<&'static str>> = HashMap::new();
    for row in corrections {
        if let Entry::Vacant(vacant) = languages.entry(row.session) {
            let paths = store.edited_paths(row.session)?;
            let mut found: Vec<&str> =
                paths.iter().filter_map(|path| Language::of_path(path)).map(Language::name).collect();
            found.sort_unstable();
            found.dedup();
            vacant.insert(found);
        }
    }
    Ok(languages)
}

fn evidence<'a>(
    row: &'a CorrectionRow,
    projects: &Projects,
    languages: &HashMap<i64, Vec<&'static str>>,
) -> SourcedCorrection<'a> {
    SourcedCorrection {
        quote: Quote { agent: &row.agent, session: &row.agent_session_id, key: &row.key, text: &row.correction.text },
        kind: row.correction.kind,
        confidence: row.correction.confidence,
        at: row.at,
        source: row.source,
        project: projects.representative(&row.project).clone(),
        project_name: &row.project_name,
        languages: languages.get(&row.session).cloned().unwrap_or_default(),
    }
}

fn existing(row: &MemoryRow) -> Known<'_> {
    let evidence = row.memory.background.evidence.iter();
    let evidence =
        evidence.map(|said| Quote { agent: &said.agent, session: &said.session, key: &said.key, text: &said.text });
    let (content, status, source) = (&*row.memory.content, row.memory.status, row.origin());
    Known { id: &row.id, content, status, source, evidence: evidence.collect() }
}

/// The memory that a proposal becomes. Keeps words that the user chose.
fn to_memory(
    writer: &MemoryWriter,
    proposal: &Proposal,
    corrections: &[CorrectionRow],
    current: Option<&MemoryRow>,
) -> Memory<'static> {
    let clean = |text: &str, keep| writer.home.cleaner().clean(text.to_string(), keep);
    let rows = || proposal.evidence.iter().filter_map(|index| corrections.get(*index));
    let evidence = rows().map(|row| Evidence {
        text: clean(&row.correction.text, Keep::PROMPT),
        agent: clean(&row.agent, Keep::NAME),
        session: clean(&row.agent_session_id, Keep::NAME),
        key: clean(&row.key, Keep::NAME),
    });
    // The proposal has the id that represents all folders of the project; the memory gets the id of the last correction.
    let project = proposal.project.as_ref().map(|group| rows().next_back().map_or(group, |row| &row.project).clone());
    let background = Background {
        rationale: Some(clean(&proposal.rationale, Keep::PROMPT)),
        evidence: evidence.collect(),
        ..Background::default()
    };
    let created_at = current.map_or(writer.clock.now, |row| row.memory.created_at);
    let memory = Memory {
        status: Status::Proposed,
        content: clean(&proposal.content, Keep::MEMORY),
        category: Clean::word(proposal.category.word()),
        scope: clean(&proposal.scope.to_string(), Keep::NAME),
        project,
        confidence: proposal.confidence,
        created_at,
        updated_at: writer.clock.now,
        source: Clean::word(proposal.source.word()),
        background,
    };
    match current.filter(|row| &*row.memory.source == "user").map(|row| row.memory.clone()) {
        Some(worded) => Memory {
            content: worded.content,
            category: worded.category,
            scope: worded.scope,
            project: worded.project,
            source: worded.source,
            ..memory
        },
        None => memory,
    }
}
