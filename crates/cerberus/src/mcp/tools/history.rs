//! `session_history`: recent sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ToolEffect, ToolParameters};
use crate::commands::memory::history::{self, PastSession};
use crate::context::Context;
use crate::failure::{Hint, Result};

const DAYS: u32 = 7;
const DAYS_MAX: u32 = 365;

/// Recent sessions of this project, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryParameters {
    /// How many days to go back (default 7)
    #[schemars(range(min = 1, max = DAYS_MAX))]
    days: Option<u32>,
}

#[derive(Serialize)]
pub struct SessionResults {
    sessions: Vec<PastSession>,
}

impl ToolParameters for HistoryParameters {
    const NAME: &'static str = "session_history";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Answer = SessionResults;

    fn call(self, context: &Context) -> Result<SessionResults> {
        let days = self.days.unwrap_or(DAYS);
        if !(1..=DAYS_MAX).contains(&days) {
            return Err(anyhow::anyhow!("days is {days}")).hint(format!("give a number from 1 to {DAYS_MAX}"));
        }
        Ok(SessionResults { sessions: history::MemoryHistoryArgs { days }.sessions(context)? })
    }
}
