//! Memories and the proposals they begin as.
//!
//! A proposal and the memory it becomes are one object with one id and a changing status. Types only: nothing here
//! stores, searches or asks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;
use crate::id::ProjectId;
use crate::metadata::Metadata;
use crate::time::Timestamp;

/// Where a memory applies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Universal,
    /// The name of a language in lower case.
    Language(String),
    /// The display name of a project.
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

words! {
    /// The status of a memory.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MemoryStatus {
        /// Waiting for the user's decision.
        Proposed = "proposed",
        Approved = "approved",
        /// Never proposed again.
        Rejected = "rejected",
    }
}

/// A proposal or memory after a change. Every change records all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Memory<'a> {
    pub status: MemoryStatus,
    pub content: Clean<'a>,
    /// `rule`, `preference`, `correction`, or any other word the user chose.
    pub category: Clean<'a>,
    pub scope: Clean<'a>,
    /// The project of a `project:` scope, if known. Several projects may share a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    pub confidence: f64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Where it came from: the word of a [`MemorySource`](super::source::MemorySource), or any text given in an imported line.
    pub source: Clean<'a>,
    #[serde(default, skip_serializing_if = "Background::is_empty")]
    pub background: Background<'a>,
}

/// A change to a memory. Each change is complete in one record, so it is never half applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct MemoryChange<'a> {
    pub id: Clean<'a>,
    /// The memory after the change. `None` undoes the last change.
    #[serde(rename = "stands", default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Box<Memory<'a>>>,
    /// How many versions of the memory existed when this change was made. If there are more by now, another change
    /// came first and this one is rejected. Records of earlier versions of the program lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub based_on: Option<usize>,
    /// The version that was changed: the key of the record that made it. Two devices may change the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Clean<'a>>,
}

/// Why a memory exists and what else is known about it, besides its content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Background<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<Clean<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence<'a>>,
    /// The ids of memories that this one contradicts and replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Clean<'a>>,
    /// Approved without asking the user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_automatic: bool,
    /// Metadata from an import, kept unchanged.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// Uses counted before it was imported.
    #[serde(default, skip_serializing_if = "Uses::is_none")]
    pub uses: Uses,
    /// The teammate who shared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Clean<'a>>,
    /// The memory that was changed on two devices; this is the text that did not come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_of: Option<Clean<'a>>,
    /// The user has said that the teams of the project are told this text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_team: bool,
}

impl Background<'_> {
    pub fn is_empty(&self) -> bool {
        *self == Background::default()
    }

    pub fn into_owned(self) -> Background<'static> {
        let Background { rationale, evidence, supersedes, is_automatic, metadata, uses, author, other_of, for_team } =
            self;
        Background {
            rationale: rationale.map(Clean::into_owned),
            evidence: evidence.into_iter().map(Evidence::into_owned).collect(),
            supersedes: supersedes.into_iter().map(Clean::into_owned).collect(),
            is_automatic,
            metadata,
            uses,
            author: author.map(Clean::into_owned),
            other_of: other_of.map(Clean::into_owned),
            for_team,
        }
    }
}

/// How often a memory was shown or found, and when it was last.
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

/// The user's own words, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Evidence<'a> {
    pub text: Clean<'a>,
    /// The agent, the agent's name for the session, and the key of the event.
    pub agent: Clean<'a>,
    pub session: Clean<'a>,
    pub key: Clean<'a>,
}

impl Evidence<'_> {
    pub fn into_owned(self) -> Evidence<'static> {
        let Evidence { text, agent, session, key } = self;
        let (text, agent) = (text.into_owned(), agent.into_owned());
        Evidence { text, agent, session: session.into_owned(), key: key.into_owned() }
    }
}
