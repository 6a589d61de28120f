//! `search`: searches everything kept about sessions, and memories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arguments, Effect};
use crate::commands::log::Only;
use crate::commands::search::{Found, KINDS, hits};
use crate::context::Context;
use crate::failure::{Hint, Result};

const LIMIT: u16 = 10;
const LIMIT_MAX: u16 = 100;
const QUERY_BYTES_MAX: usize = 2_000;

/// Search past sessions and memories: what was asked, answered, decided, left open, changed, run and committed; best
/// match first.
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
    /// Only results of this kind: title, prompt, said, decision, blocker, next, done, file, function, command, commit,
    /// memory
    kind: Option<String>,
}

#[derive(Serialize)]
pub struct Results {
    results: Vec<Found>,
}

impl Arguments for SearchEverything {
    const NAME: &'static str = "search";
    const EFFECT: Effect = Effect::Reads;
    type Answer = Results;

    fn call(self, context: &Context) -> Result<Results> {
        if self.query.trim().is_empty() || self.query.len() > QUERY_BYTES_MAX {
            let what = if self.query.len() > QUERY_BYTES_MAX { "too long" } else { "empty" };
            return Err(anyhow::anyhow!("the query is {what}")).hint("give a few words");
        }
        let limit = self.limit.unwrap_or(LIMIT);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(anyhow::anyhow!("limit is {limit}")).hint(format!("give a number from 1 to {LIMIT_MAX}"));
        }
        if let Some(kind) = self.kind.as_deref().filter(|kind| !KINDS.contains(kind)) {
            return Err(anyhow::anyhow!("{kind:?} is not a kind")).hint(format!("give one of {}", KINDS.join(", ")));
        }
        let project = Some(self.project.unwrap_or_else(|| ".".to_string())).filter(|project| project != "*");
        let only = Only { project, agent: None, since: None };
        let found = hits(context, &self.query, limit, self.kind.as_deref(), &only)?;
        Ok(Results { results: found.into_iter().map(Found::of).collect() })
    }
}
