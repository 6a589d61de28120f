//! `session_context`: the brief.

use cerberus_record::clean::text::Keep;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::parameters::{ToolEffect, ToolParameters};
use crate::commands::brief::BriefArgs;
use crate::context::Context;
use crate::failure::Result;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionContext {
    query: Option<String>,
}

#[derive(Serialize)]
pub struct ContextAnswer {
    project: String,
    /// Empty if there is nothing to report
    text: String,
    tokens: usize,
    /// How many lines did not fit or were not needed
    left_out: usize,
}

impl ToolParameters for SessionContext {
    const NAME: &'static str = "session_context";
    const DESCRIPTION: &'static str =
        "What earlier sessions of this project left: open work, decisions, rules, files. One code per line.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const REQUIRED: &'static [&'static str] = &[];
    type Answer = ContextAnswer;

    fn properties() -> Value {
        json!({"query": {"type": "string", "description": "The current task"}})
    }

    fn call(self, context: &Context) -> Result<ContextAnswer> {
        // Limited to the length of a prompt.
        let query = self.query.map(|query| context.home.cleaner().clean(query, Keep::PROMPT).to_string());
        let briefing = BriefArgs::for_start(query).briefing_in_session(context)?;
        let brief = briefing.brief;
        Ok(ContextAnswer {
            project: briefing.project,
            tokens: brief.tokens,
            left_out: brief.dropped.len(),
            text: brief.text,
        })
    }

    fn text(answer: &ContextAnswer) -> String {
        match answer.text.is_empty() {
            true => format!("Earlier sessions of {} left nothing.", answer.project),
            false => answer.text.clone(),
        }
    }
}
