use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Show everything about a memory or proposal: evidence, uses, what it replaced, earlier versions
#[derive(clap::Args)]
pub struct MemoryShowArgs {
    /// Its id, or the start of its id
    id: String,
}

impl MemoryShowArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let row = super::find(&store, &self.id, context.clock.now)?;
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
        for (name, value) in whole.as_object().into_iter().flatten().filter(|(name, _)| *name != "content") {
            match value {
                Value::Null => {}
                Value::Array(list) if list.is_empty() => {}
                Value::Object(map) if map.is_empty() => {}
                Value::Array(list) => {
                    render::line(&format!("{name}:"));
                    list.iter().for_each(|item| render::line(&format!("  {}", plain(item))));
                }
                value => render::line(&format!("{name}: {}", plain(value))),
            }
        }
        Ok(())
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
