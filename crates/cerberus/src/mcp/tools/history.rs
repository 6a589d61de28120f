//! `session_history`: recent sessions.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::parameters::{ToolEffect, ToolParameters};
use crate::commands::memory::history::{self, PastSession};
use crate::context::Context;
use crate::failure::{Hint, Result};

const DAYS: u32 = 7;
const DAYS_MAX: u32 = 365;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryParameters {
    days: Option<u32>,
}

#[derive(Serialize)]
pub struct SessionResults {
    sessions: Vec<PastSession>,
}

impl ToolParameters for HistoryParameters {
    const NAME: &'static str = "session_history";
    const DESCRIPTION: &'static str = "Recent sessions of this project, newest first.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const REQUIRED: &'static [&'static str] = &[];
    type Answer = SessionResults;

    fn properties() -> Value {
        json!({"days": {
            "type": "integer", "minimum": 1, "maximum": DAYS_MAX,
            "description": "How many days to go back (default 7)",
        }})
    }

    fn call(self, context: &Context) -> Result<SessionResults> {
        let days = self.days.unwrap_or(DAYS);
        if !(1..=DAYS_MAX).contains(&days) {
            return Err(anyhow::anyhow!("days is {days}")).hint(format!("give a number from 1 to {DAYS_MAX}"));
        }
        Ok(SessionResults { sessions: history::MemoryHistoryArgs { days }.sessions(context)? })
    }
}
