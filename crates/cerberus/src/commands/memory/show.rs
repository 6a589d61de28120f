use serde_json::{Value, json};

use super::found;
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::time::LocalTime;
use crate::render::words;

/// Show everything about a memory or proposal: evidence, uses, what it replaced, earlier versions
#[derive(clap::Args)]
pub struct MemoryShowArgs {
    /// Its id, or the start of its id
    id: String,
}

impl MemoryShowArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let row = found::find(&store, &self.id, context.clock.now)?;
        let mut whole = render::memory::whole(&row, context.clock.now);
        let versions = store.memory_versions(row.id.as_str())?;
        let history = versions.iter().filter(|(at, _)| *at <= context.clock.now);
        let history = history
            .map(|(at, memory)| json!({"at": at.to_string(), "status": memory.status, "content": memory.content}));
        whole["history"] = Value::Array(history.collect());
        if context.json {
            render::json(&whole);
            return Ok(());
        }
        render::block(&row.memory.content);
        let local = LocalTime::new(context.clock.now);
        let shown = |name: &str, value: &Value| match name {
            "scope" => words::scope(&row.scope()),
            _ => local.in_words(&plain(value)),
        };
        for (name, value) in whole.as_object().into_iter().flatten().filter(|(name, _)| *name != "content") {
            match value {
                Value::Null => {}
                Value::Array(list) if list.is_empty() => {}
                Value::Object(map) if map.is_empty() => {}
                Value::Array(list) => {
                    render::line(&format!("{}:", name.replace('_', " ")));
                    list.iter().for_each(|item| render::line(&format!("  {}", version(&local, item))));
                }
                value => render::line(&format!("{}: {}", name.replace('_', " "), shown(name, value))),
            }
        }
        Ok(())
    }
}

/// An earlier version of a memory, or anything else in a list.
fn version(local: &LocalTime, item: &Value) -> String {
    match (item["at"].as_str(), item["status"].as_str(), item["content"].as_str()) {
        (Some(at), Some(status), Some(content)) => format!("{}, {status}: {content}", local.in_words(at)),
        _ => plain(item),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
