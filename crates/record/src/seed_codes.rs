//! What a session file of the original tool says.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;

/// The codes of a seed file by section, as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct SeedCodes<'a> {
    #[serde(default)]
    pub files: Vec<Clean<'a>>,
    #[serde(default)]
    pub functions: Vec<Clean<'a>>,
    #[serde(default)]
    pub decisions: Vec<Clean<'a>>,
    #[serde(default)]
    pub blockers: Vec<Clean<'a>>,
    #[serde(default)]
    pub next_actions: Vec<Clean<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Clean<'a>>,
}

impl<'a> SeedCodes<'a> {
    /// Keeps the codes of every section that may stay.
    pub fn retain(&mut self, mut may_stay: impl FnMut(&Clean<'a>) -> bool) {
        let SeedCodes { files, functions, decisions, blockers, next_actions, summary: _ } = self;
        for codes in [files, functions, decisions, blockers, next_actions] {
            codes.retain(&mut may_stay);
        }
    }
}
