//! The tools, one file each: a tool is a struct of its arguments, and its doc comment is its description.
//!
//! Each does what a command does, through the same function. They are few and their schemas small, since every agent
//! that is connected pays for them with its context.

mod context;
mod forget;
mod history;
mod learn;
mod record;
mod search;

use cerberus_core::clean::text::printable;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::commands::memory::ScopeArgument;
use crate::context::Context;
use crate::failure::{Failure, Hint, Result};

/// What a call does to what is kept.
enum Effect {
    Reads,
    Adds,
    Removes,
}

trait Arguments: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const EFFECT: Effect;
    type Answer: Serialize + JsonSchema;

    fn call(self, context: &Context) -> Result<Self::Answer>;

    /// The answer for clients that show text alone.
    fn text(answer: &Self::Answer) -> String {
        json!(answer).to_string()
    }
}

/// A tool as clients are told of it, and how it is called.
pub struct Offer {
    pub tool: Tool,
    pub call: fn(&Context, JsonObject) -> Result<CallToolResult>,
}

/// Always in this order: clients keep lists, and models keep their caches.
pub fn all() -> Vec<Offer> {
    vec![
        offer::<context::SessionContext>(),
        offer::<record::SessionRecord>(),
        offer::<history::SessionHistory>(),
        offer::<learn::MemoryLearn>(),
        offer::<search::MemorySearch>(),
        offer::<forget::MemoryForget>(),
    ]
}

fn offer<A: Arguments>() -> Offer {
    let (description, input) = schema::<A>(without_null);
    let (_, output) = schema::<A::Answer>(|_| {});
    let hints = ToolAnnotations::new()
        .read_only(matches!(A::EFFECT, Effect::Reads))
        .destructive(matches!(A::EFFECT, Effect::Removes))
        .open_world(false);
    let tool = Tool::new(A::NAME, description, input).with_raw_output_schema(output.into()).with_annotations(hints);
    Offer { tool, call: call::<A> }
}

fn call<A: Arguments>(context: &Context, arguments: JsonObject) -> Result<CallToolResult> {
    let parsed = serde_json::from_value::<A>(Value::Object(arguments));
    let parsed = parsed.hint(format!("call {} again as its input schema says", A::NAME))?;
    if matches!(A::EFFECT, Effect::Adds) {
        context.may_agent_store()?;
    }
    let answer = parsed.call(context)?;
    let mut result = CallToolResult::structured(harmless(json!(answer)));
    result.content = vec![ContentBlock::text(printable(&A::text(&answer)))];
    Ok(result)
}

/// What the model reads holds no character that nobody would see.
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
    text.parse().map_err(|hint| Failure { error: anyhow::anyhow!("{text:?} is no scope"), hint })
}

/// A type's doc comment, and its schema in as few words as clients need.
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

/// Formats such as `uint16` are Rust's own; strict clients stumble over them.
fn without_format(schema: &mut Schema) {
    schema.remove("format");
}

/// An argument that may be left out need not be `null` too; not every model's schema language knows two types at once.
fn without_null(schema: &mut Schema) {
    if let Some(types) = schema.get_mut("type")
        && let Some([first, _]) = types.as_array().map(Vec::as_slice)
    {
        *types = first.clone();
    }
}
