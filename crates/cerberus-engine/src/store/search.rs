//! Finding memories by words.

use cerberus_core::memory::terms;
use cerberus_core::time::Timestamp;
use rusqlite::params;

use super::{Result, Store};

#[derive(Clone, Copy, Debug)]
pub struct MemoryQuery<'a> {
    pub text: &'a str,
    pub limit: usize,
    pub scope: Option<&'a str>,
    pub category: Option<&'a str>,
}

#[derive(Clone, Debug)]
pub struct Found {
    pub row: i64,
    pub score: f64,
    pub snippet: String,
}

impl Store {
    /// The memories that fit the query best, best first.
    pub fn search(&self, query: &MemoryQuery, now: Timestamp) -> Result<Vec<Found>> {
        let words: Vec<String> = terms::index_terms(query.text).split(' ').map(|word| format!("\"{word}\"")).collect();
        let sql = "SELECT memory.row, bm25(memory_terms), content FROM memory_terms
            JOIN memory ON memory.row = memory_terms.rowid WHERE memory_terms MATCH ?1
            AND from_at <= ?2 AND (until_at IS NULL OR until_at > ?2) AND status = 'approved'
            AND (?3 IS NULL OR scope = ?3) AND (?4 IS NULL OR category = ?4) ORDER BY 2 LIMIT ?5";
        let params = params![words.join(" OR "), now.millis(), query.scope, query.category, query.limit];
        self.rows(sql, params, |row| {
            let rank: f64 = row.get(1)?;
            Ok(Found { row: row.get(0)?, score: -rank / (1.0 - rank), snippet: row.get(2)? })
        })
    }
}
