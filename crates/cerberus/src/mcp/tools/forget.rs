//! `memory_forget`: deletes memories permanently.

use serde::Deserialize;
use serde_json::{Value, json};

use super::parameters::{ToolEffect, ToolParameters};
use crate::commands::memory::forget::{ForgottenMemories, MemoryForgetArgs};
use crate::context::Context;
use crate::failure::{Hint, Result};

const IDS_MAX: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryForget {
    ids: Vec<String>,
}

impl ToolParameters for MemoryForget {
    const NAME: &'static str = "memory_forget";
    const DESCRIPTION: &'static str = "\
        Take back memories that agents proposed and the user has not decided about. Only the user can delete \
        others.";
    const EFFECT: ToolEffect = ToolEffect::Removes;
    const REQUIRED: &'static [&'static str] = &["ids"];
    type Answer = ForgottenMemories;

    fn properties() -> Value {
        json!({"ids": {
            "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": IDS_MAX,
            "description": "Full ids, as returned by memory_learn",
        }})
    }

    fn call(self, context: &Context) -> Result<ForgottenMemories> {
        if !(1..=IDS_MAX).contains(&self.ids.len()) {
            return Err(anyhow::anyhow!("{} ids were given", self.ids.len())).hint(format!("give 1 to {IDS_MAX} ids"));
        }
        // A person may abbreviate an id; a model must give the full id of what it deletes.
        let store = context.view()?;
        for id in &self.ids {
            let found = store.memory(id, context.clock.now)?;
            if found.is_none_or(|row| row.id.as_str() != id) {
                return Err(anyhow::anyhow!("there is no memory {id:?}; nothing was forgotten"))
                    .hint("memory_search returns the ids");
            }
        }
        drop(store);
        MemoryForgetArgs::of(self.ids).forget(context, true)
    }
}
