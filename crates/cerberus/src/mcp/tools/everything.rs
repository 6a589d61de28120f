//! `search`: searches everything kept about sessions, and memories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LIMIT_MAX, ToolEffect, ToolParameters, query_limit};
use crate::commands::log::SessionFilter;
use crate::commands::search::{KINDS, SearchResult, hits};
use crate::context::Context;
use crate::failure::{Hint, Result};

/// Search past sessions and memories: what was asked, answered, decided, left open, changed, run, printed and committed;
/// best match first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchEverything {
    /// "Quoted words" must appear together; a trailing * matches any ending
    query: String,
    /// Maximum number of results (default 10)
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    limit: Option<u16>,
    /// The name of a project, or * for all (default: this one)
    project: Option<String>,
    /// Only results of this kind: title, prompt, said, decision, blocker, next, done, file, function, command, error,
    /// output, commit, memory
    kind: Option<String>,
}

#[derive(Serialize)]
pub struct Results {
    results: Vec<SearchResult>,
}

impl ToolParameters for SearchEverything {
    const NAME: &'static str = "search";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Answer = Results;

    fn call(self, context: &Context) -> Result<Results> {
        let limit = query_limit(&self.query, self.limit)?;
        if let Some(kind) = self.kind.as_deref().filter(|kind| !KINDS.contains(kind)) {
            return Err(anyhow::anyhow!("{kind:?} is not a kind")).hint(format!("give one of {}", KINDS.join(", ")));
        }
        let project = Some(self.project.unwrap_or_else(|| ".".to_string())).filter(|project| project != "*");
        let only = SessionFilter { project, agent: None, since: None };
        let found = hits(context, &self.query, limit, self.kind.as_deref(), None, &only)?;
        Ok(Results { results: found.into_iter().map(SearchResult::of).collect() })
    }
}
