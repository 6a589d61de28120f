//! `session_context`: the brief.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use cerberus_core::clean::text::Keep;

use super::{Arguments, Effect};
use crate::commands::brief::BriefCommand;
use crate::context::Context;
use crate::failure::Result;

/// What earlier sessions of this project left: changed files and functions, decisions, blockers, next steps, failing
/// tests, and remembered rules. Short codes, one a line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionContext {
    /// The task at hand; what fits it comes first
    query: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Told {
    project: String,
    /// Empty when there is nothing to tell
    text: String,
    tokens: usize,
    /// How many lines had no room or were not needed
    left_out: usize,
}

impl Arguments for SessionContext {
    const NAME: &'static str = "session_context";
    const EFFECT: Effect = Effect::Reads;
    type Answer = Told;

    fn call(self, context: &Context) -> Result<Told> {
        // As much of it as of any prompt.
        let query = self.query.map(|query| context.home.cleaner().clean(query, Keep::PROMPT).to_string());
        let (briefing, _) = BriefCommand::for_start(query).briefing(context)?;
        let brief = briefing.brief;
        Ok(Told { project: briefing.project, tokens: brief.tokens, left_out: brief.dropped.len(), text: brief.text })
    }

    fn text(told: &Told) -> String {
        match told.text.is_empty() {
            true => format!("Earlier sessions of {} left nothing.", told.project),
            false => told.text.clone(),
        }
    }
}
