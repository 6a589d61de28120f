//! Turns corrections into proposals, and the most certain proposals into memories.
//!
//! Runs when a session ends or was recovered, and on request. Running it again changes nothing: a proposal is
//! identified by its evidence, and decisions are kept.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use cerberus_core::clean::text::{Clean, Keep};
use cerberus_core::extract::symbols::Language;
use cerberus_core::learn::proposal::{Known, Proposal, Quote, SourcedCorrection, propose};
use cerberus_core::model::id::MemoryId;
use cerberus_core::model::memory::{Background, Evidence, Memory, Status};
use cerberus_core::model::source::Source;
use cerberus_core::model::time::Timestamp;

use crate::agents::Surroundings;
use crate::memory::change::{Change, MemoryWriter, superseding};
use crate::memory::senders::{self, Answers, PromptId};
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
pub fn distill(writer: &MemoryWriter, surroundings: &Surroundings, store: &mut Store) -> Result<Distilled, FoldError> {
    distill_into(writer, surroundings, &mut Recorder::journal(writer.home, writer.clock, store))
}

/// The same, with the changes recorded by `recorder`.
pub fn distill_into(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    recorder: &mut Recorder,
) -> Result<Distilled, FoldError> {
    if !recorder.store().has_new_corrections()? {
        return Ok(Distilled::default());
    }
    let mut material = Material::load(recorder.store(), writer.clock.now)?;
    // Before anything is proposed as the user's words, the transcripts are asked who sent them.
    let (mut asked, mut records, mut is_complete) = (HashSet::new(), Vec::new(), true);
    let fresh = loop {
        let fresh = material.fresh(writer);
        let typed: HashSet<PromptId> = material.typed(&fresh).filter(|prompt| !asked.contains(prompt)).collect();
        if typed.is_empty() {
            break fresh;
        }
        let answers = senders::ask(writer, surroundings, recorder.store(), &typed)?;
        material.correct(&answers);
        is_complete &= answers.unseen.is_empty();
        records.extend(answers.records);
        asked.extend(typed);
    };
    let (distilled, changes) = changes(writer, &material, fresh);
    records.extend(writer.records(changes));
    recorder.record(&records)?;
    // What a transcript does not have yet is looked at again.
    if is_complete {
        recorder.store().set_distilled()?;
    }
    Ok(distilled)
}

/// What proposals are made of.
struct Material {
    corrections: Vec<CorrectionRow>,
    known: Vec<MemoryRow>,
    languages: HashMap<i64, Vec<&'static str>>,
    projects: Projects,
}

impl Material {
    fn load(store: &Store, now: Timestamp) -> Result<Material, FoldError> {
        let corrections = store.corrections(&[], CORRECTIONS_MAX, now)?;
        let known = store.own_memories(KNOWN_MAX, now)?;
        let languages = languages(store, &corrections)?;
        Ok(Material { corrections, known, languages, projects: Projects::load(store, now)? })
    }

    /// Applies what the transcripts say.
    fn correct(&mut self, answers: &Answers) {
        self.corrections.retain_mut(|row| {
            let prompt = (row.session, row.key.clone());
            row.source = answers.untyped.get(&prompt).copied().unwrap_or(row.source);
            !answers.unseen.contains(&prompt)
        });
    }

    /// Proposals that are new or have new evidence, each with its memory.
    fn fresh(&self, writer: &MemoryWriter) -> Vec<(Proposal, Memory<'static>)> {
        let said = |row| evidence(row, &self.projects, &self.languages);
        let said: Vec<SourcedCorrection> = self.corrections.iter().map(said).collect();
        let existing: Vec<Known> = self.known.iter().map(existing).collect();
        let with_memory = |proposal: Proposal| {
            let current = self.current(&proposal);
            let memory = to_memory(writer, &proposal, &self.corrections, current);
            let is_known = current.is_some_and(|row| row.memory.background.evidence == memory.background.evidence);
            (!is_known).then_some((proposal, memory))
        };
        propose(&said, &existing).into_iter().filter_map(with_memory).collect()
    }

    fn current(&self, proposal: &Proposal) -> Option<&MemoryRow> {
        self.known.iter().find(|row| row.id == proposal.id)
    }

    /// The prompts among the evidence that seem to be typed.
    fn typed(&self, fresh: &[(Proposal, Memory)]) -> impl Iterator<Item = PromptId> {
        let rows = fresh.iter().flat_map(|(proposal, _)| &proposal.evidence).map(|index| &self.corrections[*index]);
        rows.filter(|row| row.source == Source::Prompt).map(|row| (row.session, row.key.clone()))
    }
}

/// The changes that propose and approve, and which memories they concern.
fn changes(
    writer: &MemoryWriter,
    material: &Material,
    fresh: Vec<(Proposal, Memory<'static>)>,
) -> (Distilled, Vec<Change>) {
    let mut distilled = Distilled::default();
    let mut changes = Vec::new();
    for (proposal, memory) in fresh {
        // Propose first, even if it is certain: then the user can undo an automatic approval like any other change.
        let current = material.current(&proposal);
        let based_on = current.map_or(0, |row| row.version);
        let parent = current.map(|row| row.version_key.clone());
        changes.push(Change { id: proposal.id.clone(), based_on, parent, memory: Some(memory.clone()) });
        if !proposal.is_sure() {
            distilled.proposed.push(proposal.id);
            continue;
        }
        let mut approved = Memory { status: Status::Approved, ..memory };
        approved.background.is_automatic = true;
        let known = material.known.clone();
        let (approved, _) = superseding(writer.home, &material.projects, &proposal.id, approved, known);
        changes.push(Change { id: proposal.id.clone(), based_on: based_on + 1, parent: None, memory: Some(approved) });
        distilled.approved.push(proposal.id);
    }
    (distilled, changes)
}

/// Processes new corrections, then lists what waits for a decision and what was approved automatically, newest first.
pub fn proposals(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &mut Store,
) -> Result<Vec<MemoryRow>, FoldError> {
    distill(writer, surroundings, store)?;
    let mut rows = store.own_memories(KNOWN_MAX, writer.clock.now)?;
    rows.retain(|row| match row.memory.status {
        Status::Proposed => true,
        Status::Approved => row.memory.background.is_automatic,
        Status::Rejected => false,
    });
    Ok(rows)
}

/// What waits for the user's decision, most certain first.
pub fn pending(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &mut Store,
) -> Result<Vec<MemoryRow>, FoldError> {
    let mut rows = proposals(writer, surroundings, store)?;
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
