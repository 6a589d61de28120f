//! Turns what the user said into proposals, and the most certain proposals into memories.
//!
//! It takes what the user said outright, what agents quoted, and what the user had to type again. Runs when a session ends
//! or was recovered, when an agent quotes, and on request. Running it again changes nothing: a proposal is
//! identified by its evidence, and decisions are kept.

use std::collections::{HashMap, HashSet};

use cerberus_agents::install::Surroundings;
use cerberus_recall::learn::correction::{Correction, CorrectionKind};
use cerberus_recall::learn::proposal::{KnownMemory, Proposal, ProposedQuote, SaidSentence, propose};
use cerberus_recall::learn::repeated;
use cerberus_recall::learn::repeated::repeated;
use cerberus_recall::said::pasted;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::id::{MemoryId, ProjectId};
use cerberus_record::memory::{Background, Evidence, Memory, MemoryStatus, Scope};
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;

use crate::memory::change::{MemoryWriter, NewVersion, superseding};
use crate::memory::guides;
use crate::memory::senders::{self, Answers, PromptId};
use crate::same_project::joined::Projects;
use crate::view::fold::FoldError;
use crate::view::recorder::Recorder;
use crate::view::{CorrectionRow, EventOrigin, MemoryRow, PromptRow, Store};

/// Only this many of the last corrections count as evidence.
const CORRECTIONS_MAX: usize = 1_000;
/// New proposals are compared with this many existing ones.
const KNOWN_MAX: usize = 2_000;
/// Repetitions are looked for among this many of the last prompts.
const PROMPTS_MAX: usize = 600;
/// So many sentences of one session may wait for the user's decision.
const PROPOSED_MAX: usize = 3;

/// The result of a run.
#[derive(Debug, Default)]
pub struct DistillResult {
    pub proposed: Vec<MemoryId>,
    pub approved: Vec<MemoryId>,
}

/// Turns what was not processed yet into proposals and memories.
pub fn distill(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &mut Store,
) -> Result<DistillResult, FoldError> {
    distill_into(writer, surroundings, &mut Recorder::journal(writer.home, writer.clock, store))
}

/// The same, with the changes recorded by `recorder`.
pub fn distill_into(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    recorder: &mut Recorder,
) -> Result<DistillResult, FoldError> {
    if !recorder.store().has_new_words()? {
        return Ok(DistillResult::default());
    }
    let written = guides::quotations(writer, surroundings, recorder.store())?;
    if !written.is_empty() {
        recorder.record(&written)?;
    }
    let mut material = ProposalMaterial::load(recorder.store(), writer.clock.now)?;
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
struct ProposalMaterial {
    corrections: Vec<CorrectionRow>,
    known: Vec<MemoryRow>,
    projects: Projects,
}

impl ProposalMaterial {
    fn load(store: &Store, now: Timestamp) -> Result<ProposalMaterial, FoldError> {
        let projects = Projects::load(store, now)?;
        let mut corrections = store.corrections(&[], CORRECTIONS_MAX, now)?;
        corrections.extend(wishes(&projects, store.prompts(PROMPTS_MAX, now, |_| true)?));
        let known = store.own_memories(KNOWN_MAX, now)?;
        Ok(ProposalMaterial { corrections, known, projects })
    }

    /// Applies what the transcripts say.
    fn correct(&mut self, answers: &Answers) {
        self.corrections.retain_mut(|row| {
            let prompt = (row.origin.session, row.origin.key.clone());
            row.source = answers.untyped.get(&prompt).copied().unwrap_or(row.source);
            !answers.unseen.contains(&prompt)
        });
    }

    /// Proposals that are new or have new evidence, each with its memory.
    fn fresh(&self, writer: &MemoryWriter) -> Vec<(Proposal, Memory<'static>)> {
        let said: Vec<SaidSentence> = self.corrections.iter().map(|row| said(row, &self.projects)).collect();
        let group = |row: &MemoryRow| row.memory.project.as_ref().map(|one| self.projects.representative(one).clone());
        let groups: Vec<Option<ProjectId>> = self.known.iter().map(group).collect();
        let known = self.known.iter().zip(&groups);
        let existing: Vec<KnownMemory> = known.map(|(row, project)| existing(row, project.as_ref())).collect();
        let with_memory = |proposal: Proposal| {
            let current = self.current(&proposal);
            let memory = to_memory(writer, &proposal, &self.corrections, current);
            let is_known = current.is_some_and(|row| row.memory.background.evidence == memory.background.evidence);
            (!is_known).then_some((proposal, memory))
        };
        let mut fresh: Vec<_> = propose(&said, &existing).into_iter().filter_map(with_memory).collect();
        let mut waiting = self.waiting();
        fresh.retain(|(proposal, _)| {
            let last = proposal.evidence.last().map_or(0, |at| self.corrections[*at].origin.session);
            let count = waiting.entry(last).or_default();
            let is_kept = proposal.is_sure || self.current(proposal).is_some() || *count < PROPOSED_MAX;
            *count += usize::from(is_kept && !proposal.is_sure);
            is_kept
        });
        fresh
    }

    /// How many sentences of each session waited for the user's decision, or still do.
    fn waiting(&self) -> HashMap<i64, usize> {
        let asked = self.known.iter().filter(|row| !row.memory.background.is_automatic);
        let last = asked.filter_map(|row| row.memory.background.evidence.last());
        let mut waiting: HashMap<i64, usize> = HashMap::new();
        for said in last {
            if let Some(row) = self.corrections.iter().find(|row| row.origin.is_of(said)) {
                *waiting.entry(row.origin.session).or_default() += 1;
            }
        }
        waiting
    }

    fn current(&self, proposal: &Proposal) -> Option<&MemoryRow> {
        self.known.iter().find(|row| row.id == proposal.id)
    }

    /// The prompts among the evidence that seem to be typed.
    fn typed(&self, fresh: &[(Proposal, Memory)]) -> impl Iterator<Item = PromptId> {
        let rows = fresh.iter().flat_map(|(proposal, _)| &proposal.evidence).map(|index| &self.corrections[*index]);
        rows.filter(|row| row.source == MemorySource::Prompt).map(|row| (row.origin.session, row.origin.key.clone()))
    }
}

/// The changes that propose and approve, and which memories they concern.
fn changes(
    writer: &MemoryWriter,
    material: &ProposalMaterial,
    fresh: Vec<(Proposal, Memory<'static>)>,
) -> (DistillResult, Vec<NewVersion>) {
    let mut distilled = DistillResult::default();
    let mut changes = Vec::new();
    for (proposal, memory) in fresh {
        // Propose first, even if it is certain: then the user can undo an automatic approval like any other change.
        let current = material.current(&proposal);
        let based_on = current.map_or(0, |row| row.version);
        let parent = current.map(|row| row.version_key.clone());
        changes.push(NewVersion { id: proposal.id.clone(), based_on, parent, memory: Some(memory.clone()) });
        if !proposal.is_sure {
            distilled.proposed.push(proposal.id);
            continue;
        }
        let mut approved = Memory { status: MemoryStatus::Approved, ..memory };
        approved.background.is_automatic = true;
        let known = material.known.clone();
        let (approved, _) = superseding(writer.home, &material.projects, &proposal.id, approved, known);
        changes.push(NewVersion {
            id: proposal.id.clone(),
            based_on: based_on + 1,
            parent: None,
            memory: Some(approved),
        });
        distilled.approved.push(proposal.id);
    }
    (distilled, changes)
}

/// Processes what is new, then lists what waits for a decision and what was approved automatically, newest first.
pub fn proposals(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &mut Store,
) -> Result<Vec<MemoryRow>, FoldError> {
    distill(writer, surroundings, store)?;
    let mut rows = store.own_memories(KNOWN_MAX, writer.clock.now)?;
    rows.retain(|row| match row.memory.status {
        MemoryStatus::Proposed => true,
        MemoryStatus::Approved => row.memory.background.is_automatic,
        MemoryStatus::Rejected => false,
    });
    Ok(rows)
}

/// What waits for the user's decision, the newest first.
pub fn pending(
    writer: &MemoryWriter,
    surroundings: &Surroundings,
    store: &mut Store,
) -> Result<Vec<MemoryRow>, FoldError> {
    let mut rows = proposals(writer, surroundings, store)?;
    rows.retain(|row| row.memory.status == MemoryStatus::Proposed);
    rows.sort_by_key(|row| std::cmp::Reverse(row.memory.updated_at));
    Ok(rows)
}

/// The sentences that the user had to type again, in their order.
fn wishes(projects: &Projects, mut prompts: Vec<PromptRow>) -> Vec<CorrectionRow> {
    prompts.retain(|prompt| !prompt.is_untyped);
    prompts.reverse();
    let mut by_project: HashMap<ProjectId, Vec<PromptRow>> = HashMap::new();
    for prompt in prompts {
        by_project.entry(projects.representative(&prompt.origin.project).clone()).or_default().push(prompt);
    }
    let mut found = Vec::new();
    for prompts in by_project.values() {
        let compared: Vec<repeated::Prompt> =
            prompts.iter().map(|one| repeated::Prompt { session: one.origin.session, text: &one.text }).collect();
        for wish in repeated(&compared) {
            let prompt = &prompts[wish.prompt];
            if pasted::is_typed(&prompt.text, &wish.text) {
                found.push(wished(prompt, wish.text));
            }
        }
    }
    found
}

fn wished(prompt: &PromptRow, text: String) -> CorrectionRow {
    let correction = Correction { kind: CorrectionKind::Fix, text };
    CorrectionRow { origin: prompt.origin.clone(), correction, source: MemorySource::Prompt, quoted: None }
}

fn said<'a>(row: &'a CorrectionRow, projects: &Projects) -> SaidSentence<'a> {
    let EventOrigin { agent, agent_session_id: session, project, key, at, .. } = &row.origin;
    SaidSentence {
        quote: ProposedQuote { agent, session, key, text: &row.correction.text },
        kind: row.correction.kind,
        at: *at,
        source: row.source,
        project: projects.representative(project).clone(),
        quoted: row.quoted.as_deref(),
    }
}

fn existing<'a>(row: &'a MemoryRow, project: Option<&'a ProjectId>) -> KnownMemory<'a> {
    let evidence = row.memory.background.evidence.iter();
    let evidence = evidence.map(|said| ProposedQuote {
        agent: &said.agent,
        session: &said.session,
        key: &said.key,
        text: &said.text,
    });
    let (content, status, source) = (&*row.memory.content, row.memory.status, row.origin());
    KnownMemory { id: &row.id, content, status, source, project, evidence: evidence.collect() }
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
        agent: clean(&row.origin.agent, Keep::NAME),
        session: clean(&row.origin.agent_session_id, Keep::NAME),
        key: clean(&row.origin.key, Keep::NAME),
    });
    // The proposal has the id that represents all folders of the project; the memory gets the folder it was said in.
    let last = rows().next_back();
    let project = last.map_or(&proposal.project, |row| &row.origin.project).clone();
    let scope = Scope::Project(last.map_or_else(String::new, |row| row.origin.project_name.clone()));
    let background = Background {
        rationale: Some(clean(&proposal.rationale, Keep::PROMPT)),
        evidence: evidence.collect(),
        ..Background::default()
    };
    // It is as old as the words.
    let said_at = last.map_or(writer.clock.now, |row| row.origin.at);
    let created_at = current.map_or(said_at, |row| row.memory.created_at);
    let memory = Memory {
        status: MemoryStatus::Proposed,
        content: clean(&proposal.content, Keep::MEMORY),
        category: Clean::word(proposal.category.word()),
        scope: clean(&scope.to_string(), Keep::NAME),
        project: Some(project),
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
