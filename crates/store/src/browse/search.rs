//! Search over everything kept: what sessions are about, what was said and done in them, and memories.

use std::collections::{HashMap, HashSet};

use cerberus_recall::search::entry;
use cerberus_recall::search::query::Query;
use cerberus_record::clean::text::words;
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;

use crate::view::{self, EntryQuery, MemoryQuery, SessionRow, Store};

/// At most this many results of one session, so that one long session does not hide the others.
const PER_SESSION_MAX: usize = 3;
/// How many more texts are read than shown, because of the limit per session.
const SPARE: usize = 4;

/// What a teammate has open is found if it has this share of the words.
const TEAM_SHARE_MIN: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'a> {
    pub text: &'a str,
    pub limit: usize,
    /// Only these projects, and memories of these scopes; everything if empty.
    pub projects: &'a [ProjectId],
    pub scopes: &'a [String],
    pub agent: Option<&'a str>,
    /// A kind of entry, or `memory`.
    pub kind: Option<&'a str>,
    pub since: Timestamp,
}

/// A result. Memories belong to no session.
#[derive(Clone, Debug)]
pub struct SearchHit {
    pub kind: String,
    pub text: String,
    /// The part of the text that matches, as one line.
    pub snippet: String,
    pub session: Option<SessionRow>,
    pub title: Option<String>,
    /// The name of its project; of a memory, its scope.
    pub project: String,
    pub at: Timestamp,
    /// Between 0 and 1.
    pub score: f64,
    /// The id of a memory.
    pub memory: Option<String>,
    /// The teammate who has it open.
    pub author: Option<String>,
}

/// What matches best, best first. Indexes what is new; `progress` gets the number of sessions done and left.
pub fn search(
    store: &mut Store,
    query: &SearchQuery,
    now: Timestamp,
    progress: impl FnMut(usize, usize),
) -> view::Result<Vec<SearchHit>> {
    store.index_entries(progress)?;
    let asked = Query::parse(query.text);
    let mut hits = Vec::new();
    if query.kind != Some(entry::MEMORY) {
        hits.extend(in_sessions(store, query, &asked, now)?);
    }
    if query.kind.is_none_or(|kind| kind == entry::MEMORY) && query.agent.is_none() {
        hits.extend(in_memories(store, query, now)?);
    }
    if query.agent.is_none() {
        hits.extend(in_team(store, query, &asked, now)?);
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.at.cmp(&a.at)));
    hits.truncate(query.limit);
    Ok(hits)
}

fn in_sessions(store: &Store, query: &SearchQuery, asked: &Query, now: Timestamp) -> view::Result<Vec<SearchHit>> {
    let SearchQuery { text, limit, projects, agent, kind, since, .. } = *query;
    let query = EntryQuery { text, limit: limit.saturating_mul(SPARE), projects, agent, kind, since };
    let mut found = store.search_entries(&query, now)?;
    let mut shown: HashMap<i64, usize> = HashMap::new();
    found.retain(|entry| {
        let count = shown.entry(entry.session).or_default();
        *count += 1;
        *count <= PER_SESSION_MAX
    });
    found.truncate(limit);
    let mut rows: Vec<i64> = found.iter().map(|entry| entry.session).collect();
    rows.sort_unstable();
    rows.dedup();
    let sessions = store.sessions_at(&rows, now)?;
    let titles = store.titles(&sessions, now)?;
    let sessions: HashMap<i64, SessionRow> = sessions.into_iter().map(|session| (session.row, session)).collect();
    let hit = |found: view::FoundEntry| {
        let session = sessions.get(&found.session)?.clone();
        Some(SearchHit {
            snippet: asked.snippet(&found.text),
            title: titles.get(&session.row).cloned(),
            project: session.project_name.clone(),
            session: Some(session),
            kind: found.kind,
            text: found.text,
            at: found.at,
            score: found.score,
            memory: None,
            author: None,
        })
    };
    Ok(found.into_iter().filter_map(hit).collect())
}

/// What teammates have open, by the share of the query's words in it.
fn in_team(store: &Store, query: &SearchQuery, asked: &Query, now: Timestamp) -> view::Result<Vec<SearchHit>> {
    let wanted: HashSet<String> = words(query.text).collect();
    let found = store.team_facts(query.projects, now)?.into_iter().filter_map(|(project, fact)| {
        let text = fact.code.strip_prefix(fact.kind.prefix()).unwrap_or(&fact.code).to_string();
        let has: HashSet<String> = words(&text).collect();
        let shared = wanted.intersection(&has).count() as f64 / wanted.len().max(1) as f64;
        let is_meant = query.kind.is_none_or(|kind| kind == fact.kind.word()) && fact.at >= query.since;
        (is_meant && shared >= TEAM_SHARE_MIN).then(|| SearchHit {
            kind: fact.kind.word().to_string(),
            snippet: asked.snippet(&text),
            text,
            session: None,
            title: None,
            project,
            at: fact.at,
            score: shared * entry::weight(fact.kind.word()),
            memory: None,
            author: Some(fact.author),
        })
    });
    Ok(found.collect())
}

fn in_memories(store: &Store, query: &SearchQuery, now: Timestamp) -> view::Result<Vec<SearchHit>> {
    let memories = MemoryQuery { text: query.text, limit: query.limit, scopes: query.scopes, category: None };
    let found = store.search(&memories, now)?;
    let rows: Vec<i64> = found.iter().map(|found| found.row).collect();
    let rows = store.memories_at(&rows, now)?;
    let hits = found.into_iter().zip(rows).map(|(found, row)| SearchHit {
        kind: entry::MEMORY.to_string(),
        text: row.memory.content.to_string(),
        snippet: found.snippet,
        session: None,
        title: None,
        project: row.memory.scope.to_string(),
        at: row.memory.created_at,
        score: found.score * entry::weight(entry::MEMORY),
        memory: Some(row.id.to_string()),
        author: row.memory.background.author.as_ref().map(|author| author.to_string()),
    });
    Ok(hits.filter(|hit| hit.at >= query.since).collect())
}
