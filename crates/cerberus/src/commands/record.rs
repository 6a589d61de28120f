use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Note, Severity};
use cerberus_record::fact::FactKind;
use cerberus_store::project::identity;
use cerberus_store::project::opted_out::OptedOut;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use super::noted::{BUG, RecordedFact, append};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Record a fact yourself: a decision, a blocker, a next step
///
/// The fact is added to the project's live session. If there is none, a manual session is started.
#[derive(clap::Args)]
pub struct RecordArgs {
    /// done, next, decision, blocker, file, function, objective or note
    #[arg(value_parser = words_of(KINDS.map(FactKind::word)).try_map(|word| kind(&word)), hide_possible_values = true)]
    pub kind: FactKind,

    /// The text of the fact
    pub text: String,

    /// The reason for a decision
    #[arg(long, value_name = "REASON")]
    pub why: Option<String>,

    /// The type of a blocker: need, unclear, race, …
    #[arg(long = "type", value_name = "TYPE")]
    pub sort: Option<String>,

    /// How bad a blocker is: low, medium, high or critical
    #[arg(long, value_parser = words_of(Severity::ALL.map(Severity::word)).try_map(|word| severity(&word)))]
    #[arg(hide_possible_values = true)]
    pub severity: Option<Severity>,

    /// Mark open items with this text as resolved; they no longer carry over
    #[arg(long)]
    pub resolve: bool,

    /// Also tell the team that this project is shared with
    #[cfg(feature = "sync")]
    #[arg(long)]
    pub team: bool,

    /// Store the text as custom state under this key
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
}

pub const KINDS: [FactKind; 8] = [
    FactKind::Done,
    FactKind::Next,
    FactKind::Decision,
    FactKind::Blocker,
    FactKind::File,
    FactKind::Function,
    FactKind::Objective,
    FactKind::Note,
];

fn words_of<const N: usize>(words: [&'static str; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(words)
}

pub fn kind(text: &str) -> std::result::Result<FactKind, String> {
    let names = || KINDS.map(FactKind::word).join(", ");
    FactKind::from_word(text).filter(|kind| KINDS.contains(kind)).ok_or_else(|| format!("expected one of {}", names()))
}

pub fn severity(text: &str) -> std::result::Result<Severity, String> {
    Severity::from_word(text).ok_or_else(|| format!("expected one of {}", Severity::ALL.map(Severity::word).join(", ")))
}

impl RecordArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let recorded = self.record(context, false)?;
        context.answer(&json!(recorded), || render::line(&recorded.code))
    }

    /// `is_mcp`: an agent records it, whoever started this process.
    pub fn record(self, context: &Context, is_mcp: bool) -> Result<RecordedFact> {
        if self.text.trim().is_empty() {
            return Err(anyhow::anyhow!("the text is empty")).hint("give the text after the kind, in quotes");
        }
        let located = context.located();
        context.may_store(&located)?;
        let clean = |text: &str| context.home.cleaner().clean(text.to_string(), Keep::SUBJECT);
        let text = match self.kind {
            FactKind::File => identity::relative(&located, &context.cwd, &self.text),
            _ => self.text.clone(),
        };
        if self.kind == FactKind::File && context.home.privacy_rules().is_private(&text) {
            return Err(anyhow::anyhow!("this file is private"))
                .hint("to make an exception, add its pattern with a leading `!` to private.paths in config.toml");
        }
        if self.kind == FactKind::File && OptedOut::new(&context.home).is_shut(&located.root, &located.root.join(&text))
        {
            return Err(anyhow::anyhow!("nothing is stored about the project of this file"))
                .hint("change that setting, or record another file");
        }
        let note = Note {
            kind: self.kind,
            text: clean(&text),
            why: self.why.as_deref().map(clean),
            sort: self.sort.as_deref().map(clean),
            severity: self.severity,
            custom_key: self.key.as_deref().map(clean),
            resolved: self.resolve,
            for_team: self.is_for_team(context)?,
        };
        append(context, vec![note], is_mcp)?.pop().ok_or_else(|| anyhow::anyhow!("nothing was recorded")).hint(BUG)
    }
}

#[cfg(feature = "sync")]
impl RecordArgs {
    /// Fails if there is no team to tell.
    fn is_for_team(&self, context: &Context) -> Result<bool> {
        if self.team {
            super::sync::require_team(context)?;
        }
        Ok(self.team)
    }
}

#[cfg(not(feature = "sync"))]
impl RecordArgs {
    fn is_for_team(&self, _: &Context) -> Result<bool> {
        Ok(false)
    }
}
