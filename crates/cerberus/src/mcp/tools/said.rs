//! `user_said`: quotes the user for later sessions.

use cerberus_record::quotation::QuoteKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::parameters::{ToolEffect, ToolParameters};
use crate::commands::quote::{self, QuoteArgs, QuotedWords};
use crate::context::Context;
use crate::failure::{Hint, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSaid {
    kind: String,
    quote: String,
    why: Option<String>,
}

impl ToolParameters for UserSaid {
    const NAME: &'static str = "user_said";
    const DESCRIPTION: &'static str = "\
        Quote the user verbatim when they state a lasting rule, a decision, a next step or a blocker. Words \
        they did not type are refused.";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    const REQUIRED: &'static [&'static str] = &["kind", "quote"];
    type Answer = QuotedWords;

    fn properties() -> Value {
        json!({
            "kind": {"type": "string", "enum": QuoteKind::ALL.map(QuoteKind::word)},
            "quote": {"type": "string"},
            "why": {"type": "string"},
        })
    }

    fn call(self, context: &Context) -> Result<QuotedWords> {
        let kind = quote::kind(&self.kind).map_err(anyhow::Error::msg).hint("call it again with one of these kinds")?;
        QuoteArgs { kind, words: self.quote, why: self.why }.quote(context)
    }

    fn text(quoted: &QuotedWords) -> String {
        quoted.line()
    }
}
