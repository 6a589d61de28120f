use std::time::Duration;

use cerberus_core::model::span::{NotASpan, Span};
use cerberus_engine::project::privacy;
use cerberus_engine::project::privacy::PauseScope;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Store and tell nothing for a while
///
/// Hooks then leave no trace and say nothing to the agent, and an agent cannot have anything recorded. It holds for all
/// projects, also after a restart, until it is lifted or the time is over; `status` and `doctor` show it. What agents
/// write down themselves meanwhile is still there for a later `import`.
#[derive(clap::Args)]
pub struct PauseCommand {
    /// For how long: 30m, 2h, 1d [default: until `cerberus unpause`]
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    span: Option<Duration>,

    /// Only in this project
    #[arg(long)]
    project: bool,
}

/// Store and tell again after a pause
///
/// Lifts every pause; with --project only that of this project.
#[derive(clap::Args)]
pub struct Unpause {
    /// Only in this project
    #[arg(long)]
    project: bool,
}

fn span(text: &str) -> std::result::Result<Duration, String> {
    let Span(span) = text.parse().map_err(|wrong: NotASpan| wrong.to_string())?;
    if span.is_zero() { Err("it would be over at once".to_string()) } else { Ok(span) }
}

fn reach(is_project: bool) -> PauseScope {
    if is_project { PauseScope::Project } else { PauseScope::Everywhere }
}

const MEND: &str = "make room or mend the folder's permissions, then try again";

impl PauseCommand {
    pub fn run(self, context: &Context) -> Result<()> {
        let (now, located) = (context.clock.now, context.located());
        let until = self.span.map(|span| now.plus(span));
        privacy::pause(&context.home, now, &located, reach(self.project), until).hint(MEND)?;
        tell(context)
    }
}

impl Unpause {
    pub fn run(self, context: &Context) -> Result<()> {
        privacy::unpause(&context.home, context.clock.now, &context.located(), reach(self.project)).hint(MEND)?;
        tell(context)
    }
}

fn tell(context: &Context) -> Result<()> {
    let shut =
        privacy::storage_block(&context.home, context.clock.now, &context.located()).map(|shut| shut.to_string());
    match context.json {
        true => render::json(&json!({"stores_nothing": shut})),
        false => render::line(shut.as_deref().unwrap_or("storing again")),
    }
    Ok(())
}
