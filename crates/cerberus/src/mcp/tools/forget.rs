//! `memory_forget`: memories removed for good.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Arguments, Effect};
use crate::commands::memory::DOCTOR;
use crate::commands::memory::forget::{Forget, Forgotten};
use crate::context::Context;
use crate::failure::{Hint, Result};

const IDS_MAX: usize = 100;

/// Remove memories for good. This cannot be undone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryForget {
    /// As memory_search gives them
    #[schemars(length(min = 1, max = IDS_MAX))]
    ids: Vec<String>,
}

impl Arguments for MemoryForget {
    const NAME: &'static str = "memory_forget";
    const EFFECT: Effect = Effect::Removes;
    type Answer = Forgotten;

    fn call(self, context: &Context) -> Result<Forgotten> {
        if !(1..=IDS_MAX).contains(&self.ids.len()) {
            return Err(anyhow::anyhow!("{} ids were given", self.ids.len())).hint(format!("give 1 to {IDS_MAX}"));
        }
        // The beginning of an id will do for a person who sees the list; a model names what it removes.
        let store = context.view()?;
        for id in &self.ids {
            let found = store.memory(id, context.clock.now).hint(DOCTOR)?;
            if found.is_none_or(|row| row.id.as_str() != id) {
                return Err(anyhow::anyhow!("no memory is called {id:?}; nothing was forgotten"))
                    .hint("memory_search gives the ids");
            }
        }
        drop(store);
        Forget { ids: self.ids }.forget(context)
    }
}
