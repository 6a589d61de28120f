//! `session_record`: records a fact that only the agent knows.

use cerberus_record::event::Severity;
use cerberus_record::fact::Kind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Arguments, Effect};
use crate::commands::record::{self, KINDS, RecordCommand, Recorded};
use crate::context::Context;
use crate::failure::{Hint, Result};

/// Record a fact of your own for later sessions. It is marked as the agent's.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRecord {
    #[schemars(extend("enum" = KINDS.map(Kind::word)))]
    kind: String,
    text: String,
    why: Option<String>,
    #[schemars(extend("enum" = Severity::ALL.map(Severity::word)))]
    severity: Option<String>,
    /// Mark open items with this text as resolved
    resolve: Option<bool>,
}

impl Arguments for SessionRecord {
    const NAME: &'static str = "session_record";
    const EFFECT: Effect = Effect::Adds;
    type Answer = Recorded;

    fn call(self, context: &Context) -> Result<Recorded> {
        let kind =
            record::kind(&self.kind).map_err(anyhow::Error::msg).hint("call it again with one of these kinds")?;
        let severity = self.severity.as_deref().map(record::severity).transpose();
        let severity = severity.map_err(anyhow::Error::msg).hint("call it again with one of these severities")?;
        let resolve = self.resolve.unwrap_or(false);
        let (text, why) = (self.text, self.why);
        RecordCommand { kind, text, why, sort: None, severity, resolve, key: None }.record(context, true)
    }

    fn text(recorded: &Recorded) -> String {
        recorded.code.clone()
    }
}
