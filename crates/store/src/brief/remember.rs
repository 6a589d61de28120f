//! Selects the memories that apply: reads them from the view, and lets `recall` rank and choose.

use std::collections::{HashMap, HashSet};

use cerberus_agents::install::Profile;
use cerberus_recall::brief::DroppedLine;
use cerberus_recall::brief::memories::{MemoryCandidate, MemoryItem, MemoryRequest, choose};
use cerberus_recall::learn::guide::GuideLines;
use cerberus_recall::search::rank::{CandidateMemory, PromptWords, RankContext, rank};
use cerberus_record::event::StartSource;
use cerberus_record::id::MemoryId;
use cerberus_record::language;
use cerberus_record::memory::Scope;
use cerberus_record::time::Timestamp;

use crate::brief::question::Question;
use crate::brief::subject::View;
use crate::project::guides::{self, UserFolders};
use crate::project::identity::Located;
use crate::project::tracked;
use crate::same_project::joined::JoinedProject;
use crate::view::{self, CarriedFacts, MemoryQuery, MemoryRow, SessionRow, Store};

/// How many memories of one scope are considered, most recently changed first.
const CANDIDATES_MAX: usize = 200;
/// How many more a prompt may bring up.
const SEARCHED_MAX: usize = 30;
/// The answer to a prompt stays short.
pub const PROMPT_TOKENS_MAX: usize = 300;
/// The share of a project's files that makes a language one of the project's.
const LANGUAGE_SHARE_MIN: f64 = 0.1;

/// The memories that a brief tells, and how many it leaves out.
pub fn for_brief(
    view: &View,
    carried: &CarriedFacts,
    question: &Question,
) -> view::Result<(Vec<MemoryItem>, Vec<DroppedLine>)> {
    let View { store, located, joined, .. } = *view;
    let mut dropped = Vec::new();
    if question.budget.memory_tokens == 0 {
        return Ok((Vec::new(), dropped));
    }
    let languages = languages(store, located, carried, question.now)?;
    let rows = candidates(view, &languages, question)?;
    if rows.is_empty() {
        return Ok((Vec::new(), dropped));
    }
    let mut guide_lines = GuideLines::default();
    guides::read(located, question.folders, |profile| {
        question.agent().is_none_or(|agent| agent == profile.agent.name())
    })
    .iter()
    .for_each(|guide| guide_lines.add(&guide.name, &guide.text));
    let told = told_memories(store, question)?;
    let files: Vec<&str> = carried.facts.iter().filter_map(|known| known.fact.path.as_deref()).collect();
    let languages: Vec<&str> = languages.into_iter().collect();
    let context = RankContext {
        now: question.now,
        projects: &joined.ids,
        project_names: &joined.names,
        languages: &languages,
        prompt: question.prompt.unwrap_or_default(),
        files: &files,
    };
    let ranked = ranked(&rows, &context);
    let whys: Vec<String> = ranked.iter().map(|row| why(row)).collect();
    let candidates: Vec<MemoryCandidate> =
        ranked.iter().zip(&whys).map(|(row, why)| MemoryCandidate { id: &row.id, memory: &row.memory, why }).collect();
    let request = MemoryRequest {
        candidates: &candidates,
        guides: &guide_lines,
        already_shown: &told,
        budget_tokens: question.budget.memory_tokens,
        chars_max: question.chars_max,
    };
    Ok((choose(&request, &mut dropped), dropped))
}

/// The memories that a prompt brings up and its session was not told yet: few, and only clear matches.
pub fn for_prompt(
    view: &View,
    session: &SessionRow,
    folders: &UserFolders,
    prompt: &str,
) -> view::Result<Vec<MemoryItem>> {
    let View { store, located, joined, now } = *view;
    let query = MemoryQuery { text: prompt, limit: SEARCHED_MAX, scopes: &[], category: None };
    let found: Vec<i64> = store.search(&query, now)?.iter().map(|found| found.row).collect();
    let mut rows = store.memories_at(&found, now)?;
    let here = joined.scopes();
    rows.retain(|row| {
        !row.memory.scope.starts_with("project:") || here.iter().any(|scope| *scope == *row.memory.scope)
    });
    retain_applicable(&mut rows, joined);
    if !rows.is_empty() {
        let spoken = PromptWords::of(prompt);
        rows.retain(|row| spoken.is_about(&row.memory.content));
    }
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let told = store.told_memories(session.row, now)?.into_iter().map(MemoryId::new).collect();
    let mut guide_lines = GuideLines::default();
    let has_notes = |profile: &Profile| session.agent == profile.agent.name();
    guides::read(located, folders, has_notes).iter().for_each(|guide| guide_lines.add(&guide.name, &guide.text));
    let candidates: Vec<MemoryCandidate> = rows
        .iter()
        .map(|row| MemoryCandidate { id: &row.id, memory: &row.memory, why: "matches the prompt" })
        .collect();
    let request = MemoryRequest {
        candidates: &candidates,
        guides: &guide_lines,
        already_shown: &told,
        budget_tokens: PROMPT_TOKENS_MAX,
        chars_max: usize::MAX,
    };
    Ok(choose(&request, &mut Vec::new()))
}

/// Removes memories that a newer one contradicts, and those of another project with the same name.
pub(crate) fn retain_applicable(rows: &mut Vec<MemoryRow>, joined: &JoinedProject) {
    rows.retain(|row| row.superseded_by.is_none());
    rows.retain(|row| row.memory.project.as_ref().is_none_or(|project| joined.has(project)));
}

fn ranked<'a>(rows: &'a [MemoryRow], context: &RankContext) -> Vec<&'a MemoryRow> {
    let scopes: Vec<Scope> = rows.iter().map(MemoryRow::scope).collect();
    let candidates: Vec<CandidateMemory> = rows.iter().zip(&scopes).map(|(row, scope)| row.candidate(scope)).collect();
    rank(&candidates, context).into_iter().filter_map(|ranked| rows.get(ranked.index)).collect()
}

fn why(row: &MemoryRow) -> String {
    let used = match row.uses.count {
        0 => String::new(),
        1 => ", used once".to_string(),
        count => format!(", used {count} times"),
    };
    let source = row.origin().title();
    format!("{} since {}{used}, {source}", &*row.memory.scope, row.memory.created_at)
}

/// Every memory that applies here and that no newer one contradicts.
fn candidates(view: &View, languages: &HashSet<&str>, question: &Question) -> view::Result<Vec<MemoryRow>> {
    let View { store, joined, .. } = *view;
    let mut scopes = joined.scopes();
    scopes.push(Scope::Universal.to_string());
    scopes.extend(languages.iter().map(|name| Scope::Language(name.to_string()).to_string()));
    scopes.sort();
    let mut rows = store.memories_in(&scopes, CANDIDATES_MAX, question.now)?;
    if let Some(prompt) = question.prompt {
        let query = MemoryQuery { text: prompt, limit: SEARCHED_MAX, scopes: &[], category: None };
        let found: Vec<i64> = store.search(&query, question.now)?.iter().map(|found| found.row).collect();
        let known: HashSet<i64> = rows.iter().map(|row| row.row).collect();
        let found: Vec<i64> = found.into_iter().filter(|row| !known.contains(row)).collect();
        let found = store.memories_at(&found, question.now)?;
        rows.extend(found.into_iter().filter(|row| scopes.iter().any(|scope| *scope == *row.memory.scope)));
    }
    retain_applicable(&mut rows, joined);
    Ok(rows)
}

/// The languages of the files that sessions touched, and of the repository.
fn languages<'a>(
    store: &Store,
    located: &Located,
    carried: &'a CarriedFacts,
    now: Timestamp,
) -> view::Result<HashSet<&'a str>> {
    if !store.has_language_memories(now)? {
        return Ok(HashSet::new());
    }
    let touched = carried.facts.iter().filter_map(|known| known.fact.path.as_deref());
    let mut found: HashSet<&str> = touched.filter_map(language::of_path).collect();
    let tracked = located.git_dir.as_ref().map(|git_dir| tracked::paths(git_dir)).unwrap_or_default();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    tracked.iter().filter_map(|path| language::of_path(path)).for_each(|spoken| {
        *counts.entry(spoken).or_default() += 1;
    });
    let all: usize = counts.values().sum();
    let is_spoken = |count: usize| count as f64 >= LANGUAGE_SHARE_MIN * all as f64;
    found.extend(counts.into_iter().filter(|(_, count)| is_spoken(*count)).map(|(name, _)| name));
    Ok(found)
}

/// The memories that the asking session's context already contains. A fresh or emptied context contains none.
fn told_memories(store: &Store, question: &Question) -> view::Result<HashSet<MemoryId>> {
    let is_fresh = matches!(question.source, StartSource::Startup | StartSource::Clear | StartSource::Compact);
    match question.session {
        Some(session) if !is_fresh => {
            let told = store.told_memories(session.row, question.now)?;
            Ok(told.into_iter().map(MemoryId::new).collect())
        }
        _ => Ok(HashSet::new()),
    }
}
