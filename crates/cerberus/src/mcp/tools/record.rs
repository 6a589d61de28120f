//! `session_record`: records a fact that only the agent knows.

use cerberus_record::event::Severity;
use cerberus_record::fact::FactKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::parameters::{ToolEffect, ToolParameters};
use crate::commands::noted::RecordedFact;
use crate::commands::record::{self, KINDS, RecordArgs};
use crate::context::Context;
use crate::failure::{Hint, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRecord {
    kind: String,
    text: String,
    why: Option<String>,
    severity: Option<String>,
    resolve: Option<bool>,
}

impl ToolParameters for SessionRecord {
    const NAME: &'static str = "session_record";
    const DESCRIPTION: &'static str = "Record a fact of your own for later sessions. It is marked as the agent's.";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    const REQUIRED: &'static [&'static str] = &["kind", "text"];
    type Answer = RecordedFact;

    fn properties() -> Value {
        json!({
            "kind": {"type": "string", "enum": KINDS.map(FactKind::word)},
            "text": {"type": "string"},
            "why": {"type": "string"},
            "severity": {"type": "string", "enum": Severity::ALL.map(Severity::word)},
            "resolve": {"type": "boolean", "description": "Mark open items with this text as resolved"},
        })
    }

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
