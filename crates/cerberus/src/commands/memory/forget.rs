use cerberus_record::memory::MemoryStatus;
use cerberus_record::source::MemorySource;
use cerberus_store::erase::forget;
use cerberus_store::sessions::caller::CalledBy;
use cerberus_store::view::{MemoryRow, Store};
use serde::Serialize;
use serde_json::json;

use super::{arguments, found};
use crate::capabilities;
use crate::context::{Context, only_the_user};
use crate::failure::Result;
use crate::render;

/// Delete memories permanently: from the journal, the view, the index, and the prompts they were learned from
#[derive(clap::Args)]
pub struct MemoryForgetArgs {
    /// The ids, or the start of each id
    #[arg(required_unless_present = "source", conflicts_with = "source")]
    pub ids: Vec<String>,

    /// All memories and proposals of this source: mcp, agent, pasted, import, … (see `cerberus memory list --source`)
    #[arg(long, value_name = "SOURCE", value_parser = arguments::sources(), hide_possible_values = true)]
    pub source: Option<MemorySource>,

    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,

    /// Only show what would be forgotten
    #[arg(long)]
    pub dry_run: bool,
}

/// The ids of the deleted memories.
#[derive(Serialize)]
pub struct ForgottenMemories {
    pub forgotten: Vec<String>,
}

impl MemoryForgetArgs {
    pub fn of(ids: Vec<String>) -> MemoryForgetArgs {
        MemoryForgetArgs { ids, source: None, yes: true, dry_run: false }
    }

    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let rows = self.rows(context, &store)?;
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        if self.dry_run || rows.is_empty() {
            match context.json {
                true => render::json(&json!({"forgotten": [], "would_forget": ids, "dry_run": self.dry_run})),
                false if rows.is_empty() => render::line("nothing to forget"),
                false => rows.iter().for_each(|row| {
                    render::line(&format!("would forget {}", render::memory::line(row, context.clock.now)));
                }),
            }
            return Ok(());
        }
        let by_agent = context.called_by(&store)? == CalledBy::Agent;
        drop(store);
        if self.source.is_some() {
            rows.iter().for_each(|row| render::talk(&render::memory::line(row, context.clock.now)));
            let memories = render::counted(rows.len(), "memory", "memories");
            render::confirm(&format!("Permanently forget {memories}?"), self.yes)?;
        }
        let gone = forget(context, &rows, by_agent)?;
        context.answer(&json!(gone), || gone.forgotten.iter().for_each(|id| render::line(&format!("forgotten {id}"))))
    }

    /// Deletes all of them, or none if one is not found.
    pub fn forget(self, context: &Context, by_agent: bool) -> Result<ForgottenMemories> {
        let store = context.store()?;
        let rows = self.rows(context, &store)?;
        drop(store);
        forget(context, &rows, by_agent)
    }

    fn rows(&self, context: &Context, store: &Store) -> Result<Vec<MemoryRow>> {
        let now = context.clock.now;
        let Some(source) = self.source else {
            return self.ids.iter().map(|id| found::find(store, id, now)).collect();
        };
        let mut rows = found::all(store, true, now)?;
        rows.retain(|row| row.is_from(source));
        Ok(rows)
    }
}

/// An agent may only take back what agents suggested and nobody has decided about.
fn forget(context: &Context, rows: &[MemoryRow], by_agent: bool) -> Result<ForgottenMemories> {
    let is_agents = |row: &MemoryRow| row.origin().is_agents() && row.memory.status == MemoryStatus::Proposed;
    let ids: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
    if by_agent && !rows.iter().all(is_agents) {
        return Err(only_the_user("forget these memories", &format!("cerberus memory forget {}", ids.join(" "))));
    }
    forget::memories(&context.home, &context.clock, &mut context.store()?, rows, capabilities::ALL)?;
    Ok(ForgottenMemories { forgotten: ids })
}
