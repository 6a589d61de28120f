//! The tools, one file each. A tool is a struct of its arguments, with the schema that clients see beside it.
//!
//! Each tool calls the same function as the corresponding command. There are few tools with small schemas, because they
//! take up context in every connected agent.

mod context;
mod everything;
mod forget;
mod history;
mod learn;
mod parameters;
mod record;
mod said;
mod search;

use cerberus_record::clean::text::printable;
use serde_json::{Map, Value, json};

use self::parameters::{ToolEffect, ToolParameters};
use crate::context::Context;
use crate::failure::{Hint, Result};

/// A tool as it is listed to clients, and the function that runs it.
pub struct Offer {
    pub name: &'static str,
    pub listed: Value,
    pub call: fn(&Context, Map<String, Value>) -> Result<Value>,
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
    let mut schema = json!({"type": "object", "properties": A::properties(), "additionalProperties": false});
    if !A::REQUIRED.is_empty() {
        schema["required"] = json!(A::REQUIRED);
    }
    let listed = json!({
        "name": A::NAME,
        "description": A::DESCRIPTION,
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": matches!(A::EFFECT, ToolEffect::Reads),
            "destructiveHint": matches!(A::EFFECT, ToolEffect::Removes),
            "openWorldHint": false,
        },
    });
    Offer { name: A::NAME, listed, call: call::<A> }
}

fn call<A: ToolParameters>(context: &Context, arguments: Map<String, Value>) -> Result<Value> {
    let parsed = serde_json::from_value::<A>(Value::Object(arguments));
    let parsed = parsed.hint(format!("call {} again with arguments that match its input schema", A::NAME))?;
    if matches!(A::EFFECT, ToolEffect::Adds) {
        context.may_agent_store()?;
    }
    let answer = parsed.call(context)?;
    let content = json!([{"type": "text", "text": printable(&A::text(&answer))}]);
    Ok(json!({"content": content, "structuredContent": harmless(json!(answer)), "isError": false}))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that fits the schema of an argument.
    fn fitting(schema: &Value) -> Value {
        match schema["type"].as_str().unwrap() {
            "integer" => schema["minimum"].clone(),
            "boolean" => json!(true),
            "array" => json!([fitting(&schema["items"])]),
            _ => schema["enum"].get(0).cloned().unwrap_or(json!("text")),
        }
    }

    fn agrees<A: ToolParameters>() {
        let properties = A::properties();
        let all: Map<String, Value> =
            properties.as_object().unwrap().iter().map(|(name, schema)| (name.clone(), fitting(schema))).collect();
        let parse = |arguments: &Map<String, Value>| serde_json::from_value::<A>(Value::Object(arguments.clone()));
        assert!(parse(&all).is_ok(), "{} takes what its schema names", A::NAME);
        for name in all.keys() {
            let mut fewer = all.clone();
            fewer.remove(name);
            assert_eq!(parse(&fewer).is_err(), A::REQUIRED.contains(&name.as_str()), "{} {name}", A::NAME);
            let mut wrong = all.clone();
            wrong.insert(name.clone(), json!({}));
            let error = parse(&wrong).err().expect(name).to_string();
            assert!(!error.contains("unknown field"), "{} has no {name}: {error}", A::NAME);
        }
    }

    #[test]
    fn a_tool_takes_what_its_schema_says() {
        agrees::<context::SessionContext>();
        agrees::<record::SessionRecord>();
        agrees::<said::UserSaid>();
        agrees::<history::HistoryParameters>();
        agrees::<everything::SearchEverything>();
        agrees::<learn::MemoryLearn>();
        agrees::<search::MemorySearch>();
        agrees::<forget::MemoryForget>();
    }
}
