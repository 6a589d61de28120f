//! `search`: searches everything kept about sessions, and memories.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::parameters::{ToolEffect, ToolParameters, limit_schema, query_limit};
use crate::commands::log::SessionFilter;
use crate::commands::search::{KINDS, SearchResult, hits};
use crate::context::Context;
use crate::failure::{Hint, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchEverything {
    query: String,
    limit: Option<u16>,
    project: Option<String>,
    kind: Option<String>,
}

#[derive(Serialize)]
pub struct Results {
    results: Vec<SearchResult>,
}

impl ToolParameters for SearchEverything {
    const NAME: &'static str = "search";
    const DESCRIPTION: &'static str = "\
        Search past sessions and memories: what was asked, answered, decided, left open, changed, run, \
        printed and committed; best match first.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const REQUIRED: &'static [&'static str] = &["query"];
    type Answer = Results;

    fn properties() -> Value {
        json!({
            "query": {"type": "string", "description": "\"Quoted words\" must appear together; a trailing * matches any ending"},
            "limit": limit_schema(),
            "project": {"type": "string", "description": "The name of a project, or * for all (default: this one)"},
            "kind": {"type": "string", "enum": KINDS},
        })
    }

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
