//! The tools, one file each. A tool is a struct of its arguments; its doc comment is its description.
//!
//! Each tool calls the same function as the corresponding command. There are few tools with small schemas, because they
//! take up context in every connected agent.

mod context;
mod everything;
mod forget;
mod history;
mod learn;
mod record;
mod said;
mod search;

use cerberus_record::clean::text::printable;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::commands::memory::ScopeArgument;
use crate::context::Context;
use crate::failure::{CommandFailure, Hint, Result};

/// What a call does to stored data.
enum ToolEffect {
    Reads,
    Adds,
    Removes,
}

trait ToolParameters: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const EFFECT: ToolEffect;
    type Answer: Serialize;

    fn call(self, context: &Context) -> Result<Self::Answer>;

    /// The answer for clients that only show text.
    fn text(answer: &Self::Answer) -> String {
        json!(answer).to_string()
    }
}

/// A tool as it is listed to clients, and the function that runs it.
pub struct Offer {
    pub tool: Tool,
    pub call: fn(&Context, JsonObject) -> Result<CallToolResult>,
}

/// The first of [`all`] are listed. The others are answered too; agents that know them may call them.
pub const LISTED: usize = 3;

/// Always in this order: clients cache the list, and models cache their prompts.
pub fn all() -> Vec<Offer> {
    vec![
        offer::<context::SessionContext>(),
        offer::<record::SessionRecord>(),
        offer::<said::UserSaid>(),
        offer::<history::HistoryParameters>(),
        offer::<everything::SearchEverything>(),
        offer::<learn::MemoryLearn>(),
        offer::<search::MemorySearch>(),
        offer::<forget::MemoryForget>(),
    ]
}

fn offer<A: ToolParameters>() -> Offer {
    let (description, input) = schema::<A>(without_null);
    let hints = ToolAnnotations::new()
        .read_only(matches!(A::EFFECT, ToolEffect::Reads))
        .destructive(matches!(A::EFFECT, ToolEffect::Removes))
        .open_world(false);
    let tool = Tool::new(A::NAME, description, input).with_annotations(hints);
    Offer { tool, call: call::<A> }
}

fn call<A: ToolParameters>(context: &Context, arguments: JsonObject) -> Result<CallToolResult> {
    let parsed = serde_json::from_value::<A>(Value::Object(arguments));
    let parsed = parsed.hint(format!("call {} again with arguments that match its input schema", A::NAME))?;
    if matches!(A::EFFECT, ToolEffect::Adds) {
        context.may_agent_store()?;
    }
    let answer = parsed.call(context)?;
    let mut result = CallToolResult::structured(harmless(json!(answer)));
    result.content = vec![ContentBlock::text(printable(&A::text(&answer)))];
    Ok(result)
}

/// Replaces invisible characters in everything the model reads.
fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable(&text).into_owned()),
        Value::Array(list) => list.into_iter().map(harmless).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(name, value)| (printable(&name).into_owned(), harmless(value))).collect()
        }
        value => value,
    }
}

/// A scope as an agent writes it.
fn scope(text: &str) -> Result<ScopeArgument> {
    text.parse().map_err(|hint| CommandFailure { error: anyhow::anyhow!("{text:?} is not a scope"), hint })
}

const LIMIT: u16 = 10;
const LIMIT_MAX: u16 = 100;
const QUERY_BYTES_MAX: usize = 2_000;

/// How many results are wanted; an error if the query or the number cannot be meant.
fn query_limit(query: &str, limit: Option<u16>) -> Result<u16> {
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

/// The doc comment of a type, and its schema without what clients do not need.
fn schema<T: JsonSchema>(also: fn(&mut Schema)) -> (String, JsonObject) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let settings = settings.with_transform(RecursiveTransform(without_format)).with_transform(RecursiveTransform(also));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    let description = schema.remove("description").and_then(|text| Some(text.as_str()?.replace('\n', " ")));
    (description.unwrap_or_default(), schema.as_object().cloned().unwrap_or_default())
}

/// Formats such as `uint16` are specific to Rust; strict clients reject them.
fn without_format(schema: &mut Schema) {
    schema.remove("format");
}

/// An optional argument does not need to accept `null`; not every model supports schemas with two types.
fn without_null(schema: &mut Schema) {
    if let Some(types) = schema.get_mut("type")
        && let Some([first, _]) = types.as_array().map(Vec::as_slice)
    {
        *types = first.clone();
    }
}
