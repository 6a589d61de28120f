use std::process::Command;

use anyhow::Context as _;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::source::MemorySource;
use serde_json::json;

use super::arguments::ScopeArgument;
use super::{changed, found};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Edit a memory or proposal; `cerberus memory undo ID` reverts the change
///
/// Without a new text or an option, the current text opens in your editor.
#[derive(clap::Args)]
pub struct MemoryEditArgs {
    /// Its id, or the start of its id
    id: String,

    /// The new text
    text: Option<String>,

    /// The new category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,

    /// The new scope: universal, language:NAME, project:NAME, or project (this one)
    #[arg(long, value_name = "SCOPE")]
    scope: Option<ScopeArgument>,
}

impl MemoryEditArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let located = context.located();
        let keeper = context.keeper(&located);
        let row = found::find(&store, &self.id, context.clock.now)?;
        let mut memory = row.memory.clone();
        let text = match self.text {
            None if self.category.is_none() && self.scope.is_none() => Some(in_editor(&memory.content)?),
            text => text,
        };
        if let Some(text) = text {
            let text = text.trim();
            if text.is_empty() {
                return Err(anyhow::anyhow!("the new text is empty; nothing was changed"))
                    .hint(format!("`cerberus memory forget {}` removes it", row.id));
            }
            memory.content = context.home.cleaner().clean(text.to_string(), Keep::MEMORY);
            // Further evidence must not replace the user's own words.
            memory.source = Clean::word(MemorySource::User.word());
        }
        if let Some(category) = self.category {
            memory.category = context.home.cleaner().clean(category, Keep::SUBJECT);
        }
        if let Some(scope) = self.scope {
            let scope = scope.resolve(&located.name);
            memory.project = keeper.project_of(&scope);
            memory.scope = context.home.cleaner().clean(scope.to_string(), Keep::NAME);
        }
        let superseded = changed::changed(keeper.revise(&mut store, &row, memory))?;
        if context.json {
            render::json(&json!({"id": row.id}));
            return Ok(());
        }
        render::line(&format!("changed {}", row.id));
        changed::print_superseded(&superseded);
        Ok(())
    }
}

fn editor() -> Option<String> {
    let set = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR"))
}

pub fn has_editor() -> bool {
    editor().is_some()
}

/// Opens a text in the user's editor. Returns the edited text.
pub fn in_editor(text: &str) -> Result<String> {
    let Some(editor) = editor() else {
        return Err(anyhow::anyhow!("no editor is set")).hint("give the new text as an argument, or set EDITOR");
    };
    let edit = || -> anyhow::Result<String> {
        let file = tempfile::Builder::new().prefix("memory-").suffix(".txt").tempfile()?;
        std::fs::write(file.path(), text)?;
        // EDITOR often contains arguments; the shell splits them as the user expects.
        let status = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file.path()).status()?;
        anyhow::ensure!(status.success(), "{editor} ended with {status}");
        Ok(std::fs::read_to_string(file.path())?)
    };
    edit().context("editing").hint("nothing was changed; give the new text after the id instead")
}
