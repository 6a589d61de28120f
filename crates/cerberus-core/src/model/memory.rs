//! Corrections become clusters, clusters proposals, accepted proposals memories: everything that decides about them.
//!
//! A proposal and the memory it becomes are one thing with one id, seen at different moments of its life. Pure: texts
//! and times come in, decisions go out; nothing here stores, searches or asks.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clean::text::Clean;
use crate::model::id::ProjectId;
use crate::model::time::Timestamp;

/// Where a memory holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Universal,
    /// The lower-case name of a language.
    Language(String),
    /// What people call the project.
    Project(String),
}

impl Scope {
    pub fn parse(text: &str) -> Option<Scope> {
        match text.split_once(':') {
            None if text == "universal" => Some(Scope::Universal),
            Some(("language", name)) if !name.trim().is_empty() => Some(Scope::Language(name.trim().to_lowercase())),
            Some(("project", name)) if !name.trim().is_empty() => Some(Scope::Project(name.trim().to_string())),
            _ => None,
        }
    }
}

/// `universal`, `language:rust`, `project:hydra`.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Universal => f.write_str("universal"),
            Scope::Language(name) => write!(f, "language:{name}"),
            Scope::Project(name) => write!(f, "project:{name}"),
        }
    }
}

/// Where a memory stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits for the user's word.
    Proposed,
    Approved,
    /// Never comes back.
    Rejected,
}

impl Status {
    pub const ALL: [Status; 3] = [Status::Proposed, Status::Approved, Status::Rejected];

    pub fn word(self) -> &'static str {
        match self {
            Status::Proposed => "proposed",
            Status::Approved => "approved",
            Status::Rejected => "rejected",
        }
    }

    pub fn from_word(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.word() == word)
    }
}

/// A proposal or memory as it stands after a change: every change is recorded whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory<'a> {
    pub status: Status,
    #[serde(borrow)]
    pub content: Clean<'a>,
    /// `rule`, `preference`, `correction`, or any word of the user's.
    #[serde(borrow)]
    pub category: Clean<'a>,
    #[serde(borrow)]
    pub scope: Clean<'a>,
    /// The project of a `project:` scope, where it is known: names alone are shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    pub confidence: f64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Who made it: `user`, `corrections`, `import`, or what an imported line says.
    #[serde(borrow)]
    pub source: Clean<'a>,
    #[serde(borrow, default, skip_serializing_if = "Background::is_empty")]
    pub background: Background<'a>,
}

/// What stands behind a memory, beside its words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Background<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<Clean<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence<'a>>,
    /// The ids of memories that it contradicts and replaces.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Clean<'a>>,
    /// It was approved without anybody being asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_automatic: bool,
    /// Whatever came with it from outside, kept as it is.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// What was counted before it came here.
    #[serde(default, skip_serializing_if = "Uses::is_none")]
    pub uses: Uses,
}

impl Background<'_> {
    pub fn is_empty(&self) -> bool {
        *self == Background::default()
    }

    pub fn into_owned(self) -> Background<'static> {
        let Background { rationale, evidence, supersedes, is_automatic, metadata, uses } = self;
        Background {
            rationale: rationale.map(Clean::into_owned),
            evidence: evidence.into_iter().map(Evidence::into_owned).collect(),
            supersedes: supersedes.into_iter().map(Clean::into_owned).collect(),
            is_automatic,
            metadata,
            uses,
        }
    }
}

/// How often a memory was told or found, and when last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    pub count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
}

impl Uses {
    fn is_none(&self) -> bool {
        *self == Uses::default()
    }

    pub fn plus(self, other: Uses) -> Uses {
        Uses { count: self.count.saturating_add(other.count), last_at: self.last_at.max(other.last_at) }
    }
}

/// The user's own words, and where they were said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence<'a> {
    #[serde(borrow)]
    pub text: Clean<'a>,
    /// The agent, its name for the session, and the key of the event.
    #[serde(borrow)]
    pub agent: Clean<'a>,
    #[serde(borrow)]
    pub session: Clean<'a>,
    #[serde(borrow)]
    pub key: Clean<'a>,
}

impl Evidence<'_> {
    pub fn into_owned(self) -> Evidence<'static> {
        let Evidence { text, agent, session, key } = self;
        let (text, agent) = (text.into_owned(), agent.into_owned());
        Evidence { text, agent, session: session.into_owned(), key: key.into_owned() }
    }
}
