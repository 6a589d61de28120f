//! Words of the user that an agent quoted, and that were found in a prompt.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;
use crate::fact::FactKind;

words! {
    /// What the agent understood the words as.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum QuoteKind {
        Rule = "rule",
        Decision = "decision",
        Next = "next",
        Blocker = "blocker",
    }
}

impl QuoteKind {
    /// The kind of fact that it is; a rule becomes a memory instead.
    pub fn fact(self) -> Option<FactKind> {
        match self {
            QuoteKind::Rule => None,
            QuoteKind::Decision => Some(FactKind::Decision),
            QuoteKind::Next => Some(FactKind::Next),
            QuoteKind::Blocker => Some(FactKind::Blocker),
        }
    }
}

/// It belongs to the session of the prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Quotation<'a> {
    pub kind: QuoteKind,
    /// The whole sentences, as they were typed.
    pub text: Clean<'a>,
    /// The key of the prompt's event.
    pub prompt: Clean<'a>,
    /// Why the agent quoted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Clean<'a>>,
    /// The user pasted them; they are somebody else's, such as an error message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_pasted: bool,
}

/// The user's words in the error of a rejected tool use.
pub fn feedback(error: &str) -> Option<&str> {
    let (_, text) = error.split_once("the user said:")?;
    Some(text.trim()).filter(|text| !text.is_empty())
}
