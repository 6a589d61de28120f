//! What a tool is: its arguments with their schema, and what a call does. And arguments that several tools have.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::commands::memory::arguments::ScopeArgument;
use crate::context::Context;
use crate::failure::{CommandFailure, Hint, Result};

const LIMIT: u16 = 10;
const LIMIT_MAX: u16 = 100;
const QUERY_BYTES_MAX: usize = 2_000;

/// What a call does to stored data.
pub(super) enum ToolEffect {
    Reads,
    Adds,
    Removes,
}

pub(super) trait ToolParameters: DeserializeOwned {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const EFFECT: ToolEffect;
    const REQUIRED: &'static [&'static str];
    type Answer: Serialize;

    /// The schema of each argument. Each has one type: not every model supports more.
    fn properties() -> Value;

    fn call(self, context: &Context) -> Result<Self::Answer>;

    /// The answer for clients that only show text.
    fn text(answer: &Self::Answer) -> String {
        json!(answer).to_string()
    }
}

/// A scope as an agent writes it.
pub(super) fn scope(text: &str) -> Result<ScopeArgument> {
    text.parse().map_err(|hint| CommandFailure { error: anyhow::anyhow!("{text:?} is not a scope"), hint })
}

/// How many results are wanted; an error if the query or the number cannot be meant.
pub(super) fn query_limit(query: &str, limit: Option<u16>) -> Result<u16> {
    if query.trim().is_empty() || query.len() > QUERY_BYTES_MAX {
        let what = if query.len() > QUERY_BYTES_MAX { "too long" } else { "empty" };
        return Err(anyhow::anyhow!("the query is {what}")).hint("give a few words");
    }
    let limit = limit.unwrap_or(LIMIT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(anyhow::anyhow!("limit is {limit}")).hint(format!("give a number from 1 to {LIMIT_MAX}"));
    }
    Ok(limit)
}

pub(super) fn limit_schema() -> Value {
    json!({
        "type": "integer", "minimum": 1, "maximum": LIMIT_MAX,
        "description": format!("Maximum number of results (default {LIMIT})"),
    })
}
