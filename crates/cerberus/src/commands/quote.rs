use cerberus_record::quotation::QuoteKind;
use cerberus_store::memory::quote::{KeptQuote, QuoteOutcome, quote};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Quote the user, for later sessions: a rule, a decision, a next step, a blocker
///
/// The words are looked for in the prompts that the user typed in this project, and kept as whole sentences. Quotation
/// marks, blanks and emphasis may differ, and an ellipsis may stand for a gap. Words that the user did not type are
/// refused. A rule that says that it lasts, or that the user said before in another session, is told from the next
/// session on; any other rule waits for the user's decision.
#[derive(clap::Args)]
pub struct QuoteArgs {
    /// What the words are: rule, decision, next or blocker
    #[arg(long, default_value = "rule", value_parser = kinds(), hide_possible_values = true)]
    pub kind: QuoteKind,

    /// The user's words, verbatim
    pub words: String,

    /// Why they matter, for the user who decides about a rule
    #[arg(long, value_name = "REASON")]
    pub why: Option<String>,
}

fn kinds() -> impl TypedValueParser<Value = QuoteKind> {
    PossibleValuesParser::new(QuoteKind::ALL.map(QuoteKind::word)).try_map(|word| kind(&word))
}

pub fn kind(word: &str) -> std::result::Result<QuoteKind, String> {
    let names = || QuoteKind::ALL.map(QuoteKind::word).join(", ");
    QuoteKind::from_word(word).ok_or_else(|| format!("expected one of {}", names()))
}

/// What became of a quotation.
#[derive(Serialize)]
pub struct QuotedWords {
    /// told: from the next session on. waits: for the user's decision. rejected: the user decided against it
    pub status: String,
    /// The whole sentences
    pub text: String,
}

impl QuoteArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let quoted = self.quote(context)?;
        context.answer(&json!(quoted), || render::sentence(&quoted.line()))
    }

    pub fn quote(self, context: &Context) -> Result<QuotedWords> {
        if self.words.trim().is_empty() {
            return Err(anyhow::anyhow!("the words are empty")).hint("give the user's words, in quotes");
        }
        let located = context.located();
        context.may_store(&located)?;
        let mut store = context.store()?;
        let keeper = context.keeper(&located);
        let (surroundings, why) = (context.agent_surroundings(), self.why.as_deref());
        let found = quote(&keeper, &surroundings, &mut store, self.kind, &self.words, why);
        let KeptQuote { outcome, text } = found.hint("nothing was recorded; run `cerberus doctor`")?;
        let status = match outcome {
            QuoteOutcome::Told => "told",
            QuoteOutcome::Waits => "waits",
            QuoteOutcome::Rejected => "rejected",
            QuoteOutcome::Refused(refusal) => {
                return Err(anyhow::anyhow!("{}", refusal.message())).hint(refusal.advice());
            }
        };
        Ok(QuotedWords { status: status.to_string(), text })
    }
}

impl QuotedWords {
    pub fn line(&self) -> String {
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        match self.status.as_str() {
            "told" => format!("told from the next session on: \"{text}\""),
            "rejected" => format!("the user decided against it earlier: \"{text}\""),
            _ => format!("waits for the user's decision: \"{text}\" (cerberus memory review)"),
        }
    }
}
