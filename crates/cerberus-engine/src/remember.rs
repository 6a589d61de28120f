//! Which memories hold here and now: asks the view, lets core rank and choose.

use std::collections::HashSet;

use cerberus_core::brief::Dropped;
use cerberus_core::brief::memories::{MemoryItem, MemoryRequest, Remembered, choose};
use cerberus_core::event::StartSource;
use cerberus_core::extract::symbols::Language;
use cerberus_core::id::MemoryId;
use cerberus_core::memory::Scope;
use cerberus_core::memory::guide::GuideLines;
use cerberus_core::memory::rank::{Candidate, RankContext, rank};
use cerberus_core::time::Timestamp;

use crate::guides;
use crate::identity::Located;
use crate::recall::{Question, project_ids};
use crate::store::{self, Carried, MemoryQuery, MemoryRow, Store};
use crate::tracked;

/// More of one scope than anybody reads; the latest changed are looked at.
const CANDIDATES_MAX: usize = 300;
/// What a prompt may bring up beside them.
const SEARCHED_MAX: usize = 30;
/// A project speaks a language when this share of its files does.
const LANGUAGE_SHARE_MIN: f64 = 0.1;

/// What a brief tells of memories, and what it leaves out.
pub fn for_brief(
    store: &Store,
    located: &Located,
    carried: &Carried,
    question: &Question,
) -> store::Result<(Vec<MemoryItem>, Vec<Dropped>)> {
    let mut dropped = Vec::new();
    let languages = languages(store, located, carried, question.now)?;
    let rows = candidates(store, located, &languages, question)?;
    if rows.is_empty() {
        return Ok((Vec::new(), dropped));
    }
    let mut guide_lines = GuideLines::default();
    guides::read(located, question.folders).iter().for_each(|guide| guide_lines.add(&guide.name, &guide.text));
    let told = told(store, question)?;
    let files: Vec<&str> = carried.facts.iter().filter_map(|known| known.fact.path.as_deref()).collect();
    let ranked = ranked(&rows, &RankContext { now: question.now, prompt: question.prompt, files: &files });
    let whys: Vec<String> = ranked.iter().map(|row| why(row)).collect();
    let candidates: Vec<Remembered> = ranked
        .iter()
        .zip(&whys)
        .map(|(row, why)| Remembered { id: &row.id, memory: &row.memory, why })
        .collect();
    let request = MemoryRequest {
        candidates: &candidates,
        guides: &guide_lines,
        told: &told,
        budget_tokens: question.budget.memory_tokens,
        chars_max: question.chars_max,
    };
    Ok((choose(&request, &mut dropped), dropped))
}

fn ranked<'a>(rows: &'a [MemoryRow], context: &RankContext) -> Vec<&'a MemoryRow> {
    let candidates: Vec<Candidate> = rows
        .iter()
        .map(|row| Candidate {
            content: &row.memory.content,
            category: &row.memory.category,
            scope: Scope::parse(&row.memory.scope).unwrap_or(Scope::Universal),
            confidence: row.memory.confidence,
            updated_at: row.memory.updated_at,
            uses: row.uses,
        })
        .collect();
    rank(&candidates, context).into_iter().filter_map(|index| rows.get(index)).collect()
}

fn why(row: &MemoryRow) -> String {
    let used = match row.uses.count {
        0 => String::new(),
        1 => ", used once".to_string(),
        count => format!(", used {count} times"),
    };
    format!("{} since {}{used}", &*row.memory.scope, row.memory.created_at)
}

/// Every memory that holds here and no newer one contradicts.
fn candidates(
    store: &Store,
    located: &Located,
    languages: &HashSet<&str>,
    question: &Question,
) -> store::Result<Vec<MemoryRow>> {
    let mut scopes = vec![Scope::Universal.to_string(), Scope::Project(located.name.clone()).to_string()];
    scopes.extend(languages.iter().map(|name| Scope::Language(name.to_string()).to_string()));
    scopes.sort();
    let mut rows = store.memories_in(&scopes, CANDIDATES_MAX, question.now)?;
    if let Some(prompt) = question.prompt {
        let query = MemoryQuery { text: prompt, limit: SEARCHED_MAX, scope: None, category: None };
        let found: Vec<i64> = store.search(&query, question.now)?.iter().map(|found| found.row).collect();
        let known: HashSet<i64> = rows.iter().map(|row| row.row).collect();
        let found: Vec<i64> = found.into_iter().filter(|row| !known.contains(row)).collect();
        let found = store.memories_at(&found, question.now)?;
        rows.extend(found.into_iter().filter(|row| scopes.iter().any(|scope| *scope == *row.memory.scope)));
    }
    let here = project_ids(located);
    rows.retain(|row| row.superseded_by.is_none());
    // Two projects may have one name.
    rows.retain(|row| row.memory.project.as_ref().is_none_or(|project| here.contains(project)));
    Ok(rows)
}

/// The languages at hand: of what sessions touched, and of the repository itself.
fn languages<'a>(
    store: &Store,
    located: &Located,
    carried: &'a Carried,
    now: Timestamp,
) -> store::Result<HashSet<&'a str>> {
    if !store.has_language_memories(now)? {
        return Ok(HashSet::new());
    }
    let touched = carried.facts.iter().filter_map(|known| known.fact.path.as_deref());
    let mut found: HashSet<&str> = touched.filter_map(Language::of_path).map(Language::name).collect();
    let tracked = located.git_dir.as_ref().map(|git_dir| tracked::paths(git_dir)).unwrap_or_default();
    let spoken: Vec<&str> = tracked.iter().filter_map(|path| Language::of_path(path)).map(Language::name).collect();
    for name in &spoken {
        let share = spoken.iter().filter(|other| *other == name).count() as f64 / spoken.len() as f64;
        if share >= LANGUAGE_SHARE_MIN {
            found.insert(name);
        }
    }
    Ok(found)
}

/// What stands in the asking session's context already. A fresh or emptied context holds nothing.
fn told(store: &Store, question: &Question) -> store::Result<HashSet<MemoryId>> {
    let is_fresh = matches!(question.source, StartSource::Startup | StartSource::Clear | StartSource::Compact);
    match question.session {
        Some(session) if !is_fresh => {
            let told = store.told_memories(session.row, question.now)?;
            Ok(told.into_iter().map(MemoryId::new).collect())
        }
        _ => Ok(HashSet::new()),
    }
}
