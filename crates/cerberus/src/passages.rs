//! What the archive adds to a search: passages of conversations, beside what the view has found.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use cerberus_agents::conversation::PartKind;
use cerberus_archive::search::{FoundPassage, PassageQuery};
use cerberus_recall::search::query::Query;
use cerberus_record::clean::text::line;
use cerberus_record::id::SessionId;
use cerberus_record::time::Timestamp;
use cerberus_store::browse::search::{self, SearchHit, SearchQuery};
use cerberus_store::project::{identity, privacy};
use cerberus_store::sessions::caller;
use cerberus_store::view::{SessionRow, Store};

use crate::context::Context;
use crate::failure::Result;

/// How many results of one session are shown.
const PER_SESSION_MAX: usize = 3;

/// Of so many sessions the text is shown beside the list.
const SESSIONS_MAX: usize = 50;

/// How much earlier than its hook the agent writes a prompt at most.
const SLACK: Duration = Duration::from_secs(5);

/// How many more passages are read than shown.
const SPARE: usize = 4;

/// The words for the kinds of passages, and what a passage of the kind is worth.
const KINDS: [(PartKind, &str, f64); 6] = [
    (PartKind::Prompt, "prompt", 0.95),
    (PartKind::Message, "said", 0.95),
    (PartKind::Call, "command", 0.95),
    (PartKind::Error, "error", 0.95),
    (PartKind::Output, "output", 0.9),
    (PartKind::Thought, "thought", 0.85),
];

/// The kinds that only the archive has.
pub const OWN_KINDS: [&str; 3] = ["error", "output", "thought"];

/// The passages that match best.
fn find(context: &Context, store: &Store, query: &SearchQuery, file: Option<&str>) -> Result<Vec<SearchHit>> {
    let kinds: Vec<PartKind> =
        KINDS.iter().filter(|(_, word, _)| query.kind == Some(word)).map(|(kind, ..)| *kind).collect();
    if query.kind.is_some() && kinds.is_empty() {
        return Ok(Vec::new());
    }
    let found = cerberus_archive::search::search(
        &context.home,
        &PassageQuery {
            text: query.text,
            limit: query.limit.saturating_mul(SPARE),
            projects: query.projects,
            agent: query.agent,
            kinds: &kinds,
            file,
            since: query.since,
            until: context.clock.now,
        },
    )?;
    let mut sessions: HashMap<(String, String), Option<SessionRow>> = HashMap::new();
    for FoundPassage { agent, session, .. } in &found {
        if let Entry::Vacant(unknown) = sessions.entry((agent.to_string(), session.clone())) {
            unknown.insert(store.agent_session(*agent, session, context.clock.now)?);
        }
    }
    let rows: Vec<SessionRow> = sessions.values().flatten().cloned().collect();
    let titles = store.titles(&rows, context.clock.now)?;
    let asked = Query::parse(query.text);
    let hit = |passage: FoundPassage| {
        let session = sessions.get(&(passage.agent.to_string(), passage.session))?.clone()?;
        let (_, word, worth) = KINDS.iter().find(|(kind, ..)| *kind == passage.kind)?;
        Some(SearchHit {
            kind: (*word).to_string(),
            snippet: asked.snippet(&passage.text),
            text: passage.text,
            title: titles.get(&session.row).cloned(),
            project: session.project_name.clone(),
            session: Some(session),
            at: passage.at,
            score: passage.score * worth,
            memory: None,
            author: None,
        })
    };
    Ok(found.into_iter().filter_map(hit).collect())
}

/// Adds passages to what was found in the view, best first, and leaves out the question itself and projects that the user
/// opted out since.
pub fn added(
    context: &Context,
    store: &Store,
    query: &SearchQuery,
    file: Option<&str>,
    mut hits: Vec<SearchHit>,
) -> Result<Vec<SearchHit>> {
    let passages = find(context, store, query, file)?;
    let kept: HashSet<SessionId> = passages.iter().filter_map(|hit| Some(hit.session.as_ref()?.id.clone())).collect();
    if file.is_some() {
        hits.retain(|hit| hit.session.as_ref().is_some_and(|session| kept.contains(&session.id)));
    }
    // The view has the beginning and the end of a text, the archive all of it.
    let beginning = |hit: &SearchHit| {
        (hit.session.as_ref().map(|session| session.id.clone()), hit.kind.clone(), line(&hit.text, 60))
    };
    let known: HashSet<_> = hits.iter().map(beginning).collect();
    hits.extend(passages.into_iter().filter(|hit| !known.contains(&beginning(hit))));
    if let Some((row, since)) = this_turn(context, store)? {
        // The agent may write the question down before its hook reports it.
        let is_earlier = |hit: &SearchHit| match hit.kind.as_str() {
            "prompt" => hit.at < since.minus(SLACK),
            _ => hit.at < since,
        };
        hits.retain(|hit| is_earlier(hit) || hit.session.as_ref().is_none_or(|session| session.row != row));
    }
    let mut shut: HashMap<String, bool> = HashMap::new();
    hits.retain(|hit| {
        let Some(session) = &hit.session else { return true };
        let is_shut =
            |root: &str| privacy::permanent_block(&context.home, &identity::locate(Path::new(root))).is_some();
        !*shut.entry(session.root.clone()).or_insert_with_key(|root| is_shut(root))
    });
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.at.cmp(&a.at)));
    let mut shown: HashMap<i64, usize> = HashMap::new();
    hits.retain(|hit| {
        let Some(session) = &hit.session else { return true };
        let count = shown.entry(session.row).or_default();
        *count += 1;
        *count <= PER_SESSION_MAX
    });
    hits.truncate(query.limit);
    Ok(hits)
}

/// The session that asks, and when it was asked: its question is no answer.
fn this_turn(context: &Context, store: &Store) -> Result<Option<(i64, Timestamp)>> {
    let Some(row) = caller::own_session(store)? else { return Ok(None) };
    let Some(session) = store.sessions_at(&[row], context.clock.now)?.pop() else { return Ok(None) };
    let asked_at = store.last_turn(&session, context.clock.now)?.map(|turn| turn.prompted);
    Ok(Some((row, asked_at.unwrap_or(session.started_at))))
}

/// Where the words of a search are in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundText {
    pub kind: String,
    pub text: String,
    pub at: Timestamp,
}

/// The sessions that have the words, and of each the text that has them best. A title needs no showing.
pub fn by_session(context: &Context, store: &mut Store, text: &str) -> Result<HashMap<i64, FoundText>> {
    let query = SearchQuery {
        text,
        limit: SESSIONS_MAX * PER_SESSION_MAX,
        projects: &[],
        scopes: &[],
        agent: None,
        kind: None,
        since: Timestamp::EPOCH,
    };
    let hits = search::search(store, &query, context.clock.now, |_, _| {})?;
    let mut found = HashMap::new();
    for hit in added(context, store, &query, None, hits)? {
        if let Some(session) = hit.session.filter(|_| hit.kind != "title") {
            found.entry(session.row).or_insert(FoundText { kind: hit.kind, text: hit.text, at: hit.at });
        }
    }
    Ok(found)
}
