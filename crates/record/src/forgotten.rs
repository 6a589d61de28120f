//! Lists of what was forgotten, or restored.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;
use crate::time::Timestamp;

/// What was forgotten, or restored, identified by keyed hashes. They reveal nothing without the key of the home.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Forgotten<'a> {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<ForgottenRecord<'a>>,
    /// Sessions of which nothing up to the given time may be stored again, even if it was never captured; files of which
    /// nothing was said until then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<(Clean<'a>, Timestamp)>,
    /// Times of which nothing is left in the sessions that these names are of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periods: Vec<(Timestamp, Timestamp)>,
    /// The user restored them: they are no longer forgotten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_taken_back: bool,
}

impl Forgotten<'_> {
    pub fn into_owned(self) -> Forgotten<'static> {
        let Forgotten { records, sessions, periods, is_taken_back } = self;
        let record = |ForgottenRecord { record, kept }: ForgottenRecord<'_>| ForgottenRecord {
            record: record.into_owned(),
            kept: kept.map(Clean::into_owned),
        };
        Forgotten {
            records: records.into_iter().map(record).collect(),
            sessions: sessions.into_iter().map(|(session, until)| (session.into_owned(), until)).collect(),
            periods,
            is_taken_back,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct ForgottenRecord<'a> {
    pub record: Clean<'a>,
    /// The one version that may be stored, if only part of the record was forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Clean<'a>>,
}
