use cerberus_recall::search::entry;
use cerberus_recall::search::query::Query;
use cerberus_record::memory::Scope;
use cerberus_store::browse::find;
use cerberus_store::browse::search::{self, SearchHit, SearchQuery};
use serde::Serialize;
use serde_json::json;

use super::archive;
use super::log::SessionFilter;
use crate::context::Context;
use crate::failure::Result;
use crate::passages::{self, OWN_KINDS};
use crate::render;
use crate::render::progress::Progress;
use crate::render::style::Screen;
use crate::render::time::LocalTime;
use crate::render::{page, sessions};

/// Search everything that was kept, best match first
///
/// Titles, decisions, blockers, files, functions, commits, memories, and in the archive every message, command, error
/// and line that a command printed. Words, parts of names and paths; misspellings are tolerated. "Quoted words" must appear together; a trailing *
/// matches any ending. `cerberus memory search` searches memories only.
#[derive(clap::Args)]
pub struct SearchArgs {
    /// What to search for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,

    /// Maximum number of results
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = LIMIT)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    /// Only results of this kind
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(KINDS))]
    kind: Option<String>,

    /// Only sessions that read or wrote this file: its path, or the end of it
    #[arg(long, value_name = "PATH")]
    file: Option<String>,

    #[command(flatten)]
    only: SessionFilter,
}

pub const LIMIT: u16 = 20;

/// The kinds of results.
pub const KINDS: [&str; 21] = [
    "title",
    "prompt",
    "said",
    "decision",
    "blocker",
    "next",
    "done",
    "file",
    "read",
    "function",
    "command",
    "error",
    "output",
    "thought",
    "test",
    "commit",
    "pull_request",
    "step",
    "objective",
    "note",
    entry::MEMORY,
];

/// A result.
#[derive(Serialize)]
pub struct SearchResult {
    pub kind: String,
    pub text: String,
    /// The id of its session; a memory has none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The title of its session
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The name of its project; empty for a memory that applies everywhere
    pub project: String,
    pub at: String,
    /// From 0 to 1; higher is better
    pub score: f64,
    /// The id of a memory
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The teammate it comes from
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

impl SearchResult {
    pub fn of(hit: SearchHit) -> SearchResult {
        let project = match (&hit.session, Scope::parse(&hit.project)) {
            (None, _) if hit.memory.is_none() => hit.project,
            (None, Some(Scope::Project(name))) => name,
            (None, _) => String::new(),
            (Some(_), _) => hit.project,
        };
        SearchResult {
            kind: hit.kind,
            text: hit.text,
            session: hit.session.map(|session| session.id.to_string()),
            title: hit.title,
            project,
            at: hit.at.to_string(),
            score: hit.score,
            id: hit.memory,
            author: hit.author,
        }
    }
}

impl SearchArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let text = self.query.join(" ");
        archive::tell_if_lost(context)?;
        let hits = hits(context, &text, self.limit, self.kind.as_deref(), self.file.as_deref(), &self.only)?;
        if context.json {
            render::json(&json!(hits.into_iter().map(SearchResult::of).collect::<Vec<_>>()));
            return Ok(());
        }
        if hits.is_empty() {
            let is_empty = context.view()?.all_projects(context.clock.now)?.is_empty();
            let next = match is_empty {
                true => "no session is known yet: `cerberus import` reads past ones",
                false => "try other or fewer words, or `cerberus log` for the newest sessions",
            };
            render::talk(&format!("nothing found for {text:?}; {next}"));
            return Ok(());
        }
        let screen = Screen::of_stdout();
        let ids = find::id_lengths(&context.view()?, context.clock.now)?;
        let local = LocalTime::new(context.clock.now);
        page::page(&screen, &sessions::hits(&screen, &local, &Query::parse(&text), &hits, &ids));
        Ok(())
    }
}

/// Best first.
pub fn hits(
    context: &Context,
    text: &str,
    limit: u16,
    kind: Option<&str>,
    file: Option<&str>,
    only: &SessionFilter,
) -> Result<Vec<SearchHit>> {
    let mut store = context.view()?;
    let (projects, names) = only.projects(context, &store)?;
    let mut scopes: Vec<String> = names.into_iter().map(|name| Scope::Project(name).to_string()).collect();
    if !scopes.is_empty() {
        scopes.push(Scope::Universal.to_string());
    }
    let query = SearchQuery {
        text,
        limit: usize::from(limit),
        projects: &projects,
        scopes: &scopes,
        agent: only.agent.as_deref(),
        kind,
        since: only.since(context.clock.now),
    };
    let mut progress = Progress::new("sessions indexed");
    let found = match kind {
        Some(kind) if OWN_KINDS.contains(&kind) => Vec::new(),
        _ => search::search(&mut store, &query, context.clock.now, |done, left| progress.at(done, done + left))?,
    };
    passages::added(context, &store, &query, file, found)
}

#[cfg(test)]
mod tests {
    use cerberus_record::fact::FactKind;

    use super::*;

    #[test]
    fn the_kinds_of_facts_can_be_asked_for() {
        let only_in_briefs = [FactKind::Last, FactKind::Asked, FactKind::Said, FactKind::Git, FactKind::Live];
        for kind in FactKind::ALL.into_iter().filter(|kind| !only_in_briefs.contains(kind)) {
            assert!(KINDS.contains(&kind.word()), "{kind:?}");
        }
    }
}
