//! What a model wrote about a session: sentences, and items with the words that bear them out.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;
use crate::fact::FactKind;

/// What a model wrote about a session, with the facts known at that time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Summary<'a> {
    pub text: Clean<'a>,
    /// The provider's name, never its address or credentials.
    pub provider: Clean<'a>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_context: Vec<Clean<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<Clean<'a>>,
    /// What the model found in the session's own words, if the user lets it read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<SummaryItem<'a>>,
}

/// One item that a model found, with the words of the session that bear it out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct SummaryItem<'a> {
    pub sort: ItemSort,
    pub text: Clean<'a>,
    pub quote: Clean<'a>,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ItemSort {
        Stopped = "stopped",
        Open = "open",
        Settled = "settled",
        Decisions = "decisions",
        Rules = "rules",
    }
}

impl ItemSort {
    /// The kind of fact that it becomes.
    pub fn kind(self) -> FactKind {
        match self {
            ItemSort::Stopped => FactKind::Note,
            ItemSort::Open => FactKind::Next,
            ItemSort::Settled => FactKind::Done,
            ItemSort::Decisions | ItemSort::Rules => FactKind::Decision,
        }
    }
}
