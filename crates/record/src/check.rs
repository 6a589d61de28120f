//! Checks of memories, as records. What a rule means is decided in `checks`.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;
use crate::time::Timestamp;

words! {
    /// How much a rule binds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CheckLevel {
        /// Sessions are told the memory, nothing more.
        Tell = "tell",
        /// The first try is denied with a reason; the identical retry passes.
        Remind = "remind",
        /// The user is asked, where the agent can do that; elsewhere like `Remind`.
        Ask = "ask",
        Block = "block",
    }
}

/// The user gave a memory a check, changed its level, let it pass once, or removed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct CheckChange<'a> {
    /// The id of the memory.
    pub memory: Clean<'a>,
    /// The rule as options. Empty if the check was removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rule: Vec<Clean<'a>>,
    pub level: CheckLevel,
    /// A hash of the memory's words. If those change, the check no longer binds.
    pub content: Clean<'a>,
    /// The device on which the user did this. On no other one does the check bind.
    pub device: Clean<'a>,
    /// The next violation passes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allows_once: bool,
}

/// The user paused while checks were on, so that they are off from then on, or lifted a pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PauseChange {
    /// In all projects, not only in the one of the record.
    pub everywhere: bool,
    /// `None`: until it is lifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lifted: bool,
}

/// What was decided about a tool use that breaks a rule. What was tried is not part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct CheckDecision<'a> {
    /// The id of the memory.
    pub memory: Clean<'a>,
    pub verdict: CheckVerdict,
    /// Identifies what was tried, so that an identical retry is recognized.
    pub tried: Clean<'a>,
    /// Identifies this one try: two hooks may report it.
    pub call: Clean<'a>,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CheckVerdict {
        Denied = "denied",
        /// The user was asked by the agent.
        Asked = "asked",
        /// The identical retry after a reminder.
        Overridden = "overridden",
        /// The user had said so before.
        Allowed = "allowed",
    }
}
