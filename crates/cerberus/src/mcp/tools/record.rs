//! `session_record`: records a fact that only the agent knows.

use cerberus_record::event::Severity;
use cerberus_record::fact::FactKind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolEffect, ToolParameters};
use crate::commands::record::{self, KINDS, RecordArgs, RecordedFact};
use crate::context::Context;
use crate::failure::{Hint, Result};

/// Record a fact of your own for later sessions. It is marked as the agent's.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRecord {
    #[schemars(extend("enum" = KINDS.map(FactKind::word)))]
    kind: String,
    text: String,
    why: Option<String>,
    #[schemars(extend("enum" = Severity::ALL.map(Severity::word)))]
    severity: Option<String>,
    /// Mark open items with this text as resolved
    resolve: Option<bool>,
}

impl ToolParameters for SessionRecord {
    const NAME: &'static str = "session_record";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Answer = RecordedFact;

    fn call(self, context: &Context) -> Result<RecordedFact> {
        let kind =
            record::kind(&self.kind).map_err(anyhow::Error::msg).hint("call it again with one of these kinds")?;
        let severity = self.severity.as_deref().map(record::severity).transpose();
        let severity = severity.map_err(anyhow::Error::msg).hint("call it again with one of these severities")?;
        let resolve = self.resolve.unwrap_or(false);
        let (text, why) = (self.text, self.why);
        RecordArgs {
            kind,
            text,
            why,
            sort: None,
            severity,
            resolve,
            #[cfg(feature = "sync")]
            team: false,
            key: None,
        }
        .record(context, true)
    }

    fn text(recorded: &RecordedFact) -> String {
        recorded.code.clone()
    }
}
