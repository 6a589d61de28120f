//! The summaries that models wrote, as rows of the view.

use std::collections::HashSet;

use cerberus_record::clean::text::Clean;
use cerberus_record::event::{SeedCodes, Summary};
use cerberus_record::fact::FactKind;
use cerberus_record::seed;
use cerberus_record::time::Timestamp;
use rusqlite::params;

use super::read::time;
use super::write::{FoldTransaction, RowSource, json};
use super::{Result, SessionRow, Store};

/// A stored summary.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    pub at: Timestamp,
    pub provider: String,
    pub text: String,
    pub key_context: Vec<String>,
    pub next_actions: Vec<String>,
}

impl FoldTransaction<'_> {
    pub(super) fn summary(&self, source: &RowSource, said: &Summary) -> Result<()> {
        // Its items may be all that was usable.
        if said.text.is_empty() {
            return Ok(());
        }
        let sql = "INSERT INTO summary (event, session, at, provider, text, key_context, next_actions)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let (context, next) = (json(&said.key_context), json(&said.next_actions));
        self.run(
            sql,
            params![source.event, source.session, source.at.millis(), &*said.provider, &*said.text, context, next],
        )?;
        Ok(())
    }

    /// A file of the original tool may contain a summary.
    pub(super) fn seed_summary(&self, source: &RowSource, codes: &SeedCodes) -> Result<()> {
        let Some(text) = codes.summary.as_ref().filter(|text| !text.trim().is_empty()) else { return Ok(()) };
        let sections = seed::sections(codes).into_iter();
        let context = sections.filter(|(kind, _)| *kind != FactKind::Next).flat_map(|(_, codes)| codes.iter().cloned());
        let said = Summary {
            text: text.clone(),
            provider: Clean::word("seed"),
            key_context: context.collect(),
            next_actions: codes.next_actions.clone(),
            items: Vec::new(),
        };
        self.summary(source, &said)
    }
}

impl Store {
    /// The newest summary of a session up to `now`.
    pub fn summary(&self, session: &SessionRow, now: Timestamp) -> Result<Option<SummaryRow>> {
        let sql = "SELECT at, provider, text, key_context, next_actions FROM summary
            WHERE session = ?1 AND at <= ?2 ORDER BY at DESC, event DESC LIMIT 1";
        let list = |text: String| serde_json::from_slice(text.as_bytes()).unwrap_or_default();
        let found = self.rows(sql, params![session.row, now.millis()], |row| {
            Ok(SummaryRow {
                at: time(row, 0)?,
                provider: row.get(1)?,
                text: row.get(2)?,
                key_context: list(row.get(3)?),
                next_actions: list(row.get(4)?),
            })
        })?;
        Ok(found.into_iter().next())
    }

    /// The events of a session that contain words of its prompts.
    pub fn prompt_events(&self, session: &SessionRow) -> Result<HashSet<i64>> {
        let sql = "SELECT row FROM event WHERE session = ?1 AND kind IN ('prompt', 'notification', 'recover')";
        Ok(self.rows(sql, [session.row], |row| row.get(0))?.into_iter().collect())
    }

    /// When the last summary of any session was written, and by which provider.
    pub fn last_summary(&self, now: Timestamp) -> Result<Option<(Timestamp, String)>> {
        let sql = "SELECT at, provider FROM summary WHERE at <= ?1 AND provider <> 'seed' ORDER BY at DESC, event DESC LIMIT 1";
        Ok(self.rows(sql, [now.millis()], |row| Ok((time(row, 0)?, row.get(1)?)))?.pop())
    }
}
