//! The list of what is open in a project, as teammates are told it: decisions, blockers and next steps, nothing else.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;
use crate::fact::FactKind;
use crate::time::Timestamp;

/// All of it. What is missing here was settled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct OpenFacts<'a> {
    #[serde(default)]
    pub facts: Vec<OpenFact<'a>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct OpenFact<'a> {
    pub kind: FactKind,
    pub code: Clean<'a>,
    /// When it was last stated.
    pub at: Timestamp,
    /// Identifies the session that stated it, without naming it.
    pub session: Clean<'a>,
}

impl OpenFacts<'_> {
    /// The kinds that teammates are told.
    pub const KINDS: [FactKind; 3] = [FactKind::Decision, FactKind::Blocker, FactKind::Next];

    pub fn into_owned(self) -> OpenFacts<'static> {
        let owned = |fact: OpenFact<'_>| OpenFact {
            kind: fact.kind,
            code: fact.code.into_owned(),
            at: fact.at,
            session: fact.session.into_owned(),
        };
        OpenFacts { facts: self.facts.into_iter().map(owned).collect() }
    }
}
