//! Finding memories by words. The index says which rows contain which term; `recall` decides what matches best.
//! `entries.rs` searches everything else in the same way.
//!
//! The index is only asked for the rows of one term, newest first and bounded, so the cost of a search is bounded too.
//! Texts are read only for promising rows.

use cerberus_recall::search::query::{Query, QueryTerm, WantedMatch};
use cerberus_recall::search::score::{self, Candidate, Hits, TermMatch};
use cerberus_record::time::Timestamp;
use cerberus_text::terms::{TermShape, misspelling};
use rusqlite::params;

use super::memories::IS_CURRENT;
use super::write::json;
use super::{Result, Store};

/// A term that occurs in more memories says little. Only the newest of those count.
pub(super) const HITS_MAX: usize = 6_000;
/// The minimum number of rows whose text is read.
const CANDIDATES_MIN: usize = 300;
const CANDIDATES_PER_RESULT: usize = 3;
/// A term that occurs in fewer memories is also treated as a prefix.
const RARE: usize = 50;
const BEGINNING_CHARS_MIN: usize = 4;
/// Too many other words are similar to a shorter one.
const MISSPELLED_CHARS_MIN: usize = 5;
/// How many words of the index are compared with an unknown word.
const SPELLINGS_MAX: usize = 20_000;

#[derive(Clone, Copy, Debug)]
pub struct MemoryQuery<'a> {
    pub text: &'a str,
    pub limit: usize,
    /// Only memories of these scopes; of all scopes if empty.
    pub scopes: &'a [String],
    pub category: Option<&'a str>,
}

#[derive(Clone, Debug)]
pub struct FoundRow {
    pub row: i64,
    /// Between 0 and 1.
    pub score: f64,
    pub snippet: String,
}

/// A candidate row.
struct CandidateRow {
    row: usize,
    content: String,
    category: String,
    source: String,
    created_at: Timestamp,
}

impl Store {
    /// The memories that match the query best, best first.
    pub fn search(&self, query: &MemoryQuery, now: Timestamp) -> Result<Vec<FoundRow>> {
        // Only approved memories are found. Without any, the query need not be read.
        let sql = "SELECT max(row) FROM memory WHERE EXISTS (SELECT 1 FROM memory WHERE status = 'approved')";
        let newest: Option<usize> = self.with_path(self.connection.query_row(sql, [], |row| row.get(0)))?;
        if newest.is_none() {
            return Ok(Vec::new());
        }
        let asked = Query::parse(query.text);
        let Some(newest) = newest.filter(|_| !asked.terms.is_empty()) else { return Ok(Vec::new()) };
        let mut hits = Hits::new(newest);
        let mut rarities = Vec::with_capacity(asked.terms.len());
        let index = Index { terms: "memory_terms", rows_with: &|matching| self.rows_with(query, matching) };
        for (at, term) in asked.terms.iter().enumerate() {
            rarities.push(self.look_up(&index, term, newest, |row, hit| hits.add(row, at, hit))?);
        }
        let rows = hits.shortlist(&rarities, shortlist_size(query.limit));
        let texts = self.texts(query, &rows, now)?;
        let candidates: Vec<Candidate> = texts
            .iter()
            .map(|CandidateRow { row, content, category, source, created_at }| Candidate {
                row: *row,
                content,
                category,
                source,
                created_at: *created_at,
            })
            .collect();
        let ranked = score::rank(&asked, &rarities, &hits, &candidates);
        let found = |(at, score): (usize, f64)| FoundRow {
            row: candidates[at].row as i64,
            score,
            snippet: asked.snippet(candidates[at].content),
        };
        Ok(ranked.into_iter().take(query.limit).map(found).collect())
    }

    /// Calls `hit` for every row that contains the term or something similar. Returns the weight of the term.
    pub(super) fn look_up(
        &self,
        index: &Index,
        term: &QueryTerm,
        newest: usize,
        mut hit: impl FnMut(usize, TermMatch),
    ) -> Result<f64> {
        let exact = (index.rows_with)(&quoted(&term.text))?;
        exact.iter().for_each(|row| hit(*row, TermMatch::Exact));
        let mut worth = score::rarity(estimated(&exact, newest), newest);
        let is_beginning = term.wanted == WantedMatch::Beginning
            || (exact.len() < RARE && term.text.chars().count() >= BEGINNING_CHARS_MIN);
        let mut alike = Vec::new();
        if is_beginning {
            alike = (index.rows_with)(&format!("{} *", quoted(&term.text)))?;
        }
        let is_word = term.shape == TermShape::Word && term.text.chars().count() >= MISSPELLED_CHARS_MIN;
        if exact.is_empty() && alike.is_empty() && is_word {
            let spelled = self.similar_words(index.terms, &term.text)?;
            if !spelled.is_empty() {
                alike = (index.rows_with)(&spelled.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" OR "))?;
            }
        }
        if exact.is_empty() && !alike.is_empty() {
            worth = score::rarity(estimated(&alike, newest), newest);
        }
        let how = if term.wanted == WantedMatch::Beginning { TermMatch::Exact } else { TermMatch::Alike };
        alike.into_iter().for_each(|row| hit(row, how));
        Ok(worth)
    }

    /// The matching rows, newest first.
    fn rows_with(&self, query: &MemoryQuery, matching: &str) -> Result<Vec<usize>> {
        let number = |row: &rusqlite::Row| row.get(0);
        if query.scopes.is_empty() && query.category.is_none() {
            let sql = "SELECT rowid FROM memory_terms WHERE memory_terms MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
            return self.rows(sql, params![matching, HITS_MAX], number);
        }
        let sql = "SELECT memory_terms.rowid FROM memory_terms CROSS JOIN memory ON memory.row = memory_terms.rowid
            WHERE memory_terms MATCH ?1 AND (?3 = '[]' OR scope IN (SELECT value FROM json_each(?3)))
                AND (?4 IS NULL OR category = ?4)
            ORDER BY memory_terms.rowid DESC LIMIT ?2";
        self.rows(sql, params![matching, HITS_MAX, json(&query.scopes), query.category], number)
    }

    /// The current memories among these rows, in the order of the rows.
    fn texts(&self, query: &MemoryQuery, rows: &[usize], now: Timestamp) -> Result<Vec<CandidateRow>> {
        let list = rows.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let sql = format!(
            "SELECT row, content, category, source, created_at FROM memory WHERE {IS_CURRENT} AND status = 'approved'
             AND (?2 = '[]' OR scope IN (SELECT value FROM json_each(?2))) AND (?3 IS NULL OR category = ?3)
             AND row IN ({list}) ORDER BY row"
        );
        self.rows(&sql, params![now.millis(), json(&query.scopes), query.category], |row| {
            let created_at = Timestamp::from_millis(row.get(4)?);
            Ok(CandidateRow {
                row: row.get(0)?,
                content: row.get(1)?,
                category: row.get(2)?,
                source: row.get(3)?,
                created_at,
            })
        })
    }

    /// The words of the index with the most similar spelling. Assumes that the first letter is right. Most often the
    /// second is right too, and far fewer words begin with both.
    fn similar_words(&self, terms: &str, word: &str) -> Result<Vec<String>> {
        let make = format!("CREATE VIRTUAL TABLE IF NOT EXISTS temp.{terms}_word USING fts5vocab(main, {terms}, row)");
        self.with_path(self.connection.execute_batch(&make))?;
        for letters in [2, 1] {
            let near = self.similar_words_with(terms, word, word.chars().take(letters).collect())?;
            if !near.is_empty() {
                return Ok(near);
            }
        }
        Ok(Vec::new())
    }

    /// Those that begin like this.
    fn similar_words_with(&self, terms: &str, word: &str, beginning: String) -> Result<Vec<String>> {
        let sql = format!("SELECT term FROM temp.{terms}_word WHERE term >= ?1 AND term < ?2 LIMIT ?3");
        let after = format!("{beginning}\u{10ffff}");
        let known: Vec<String> = self.rows(&sql, params![beginning, after, SPELLINGS_MAX], |row| row.get(0))?;
        let near = known.into_iter().filter_map(|known| Some((misspelling(&known, word)?, known)));
        let mut near: Vec<(usize, String)> = near.collect();
        let least = near.iter().map(|(edits, _)| *edits).min();
        near.retain(|(edits, _)| Some(*edits) == least);
        Ok(near.into_iter().map(|(_, word)| word).collect())
    }
}

/// An index of terms, and how to ask it for rows: newest first, at most [`HITS_MAX`].
pub(super) struct Index<'a> {
    pub terms: &'static str,
    pub rows_with: &'a dyn Fn(&str) -> Result<Vec<usize>>,
}

/// How many rows are read to find the best `limit`.
pub(super) fn shortlist_size(limit: usize) -> usize {
    CANDIDATES_MIN.max(limit * CANDIDATES_PER_RESULT)
}

/// Terms never contain a quotation mark, so the index always sees a single term.
fn quoted(term: &str) -> String {
    format!("\"{term}\"")
}

/// How many rows contain a term. If only the newest were counted, assumes an even distribution.
fn estimated(found: &[usize], newest: usize) -> usize {
    match found.last() {
        Some(oldest) if found.len() >= HITS_MAX => found.len() * newest / (newest - oldest + 1),
        _ => found.len(),
    }
}

#[cfg(test)]
mod tests {
    use cerberus_text::terms;

    use super::*;
    use crate::view::Caller;

    const NOW: i64 = 1_760_000_000_000;
    const DAY: i64 = 86_400_000;

    struct Stored {
        store: Store,
        _dir: tempfile::TempDir,
    }

    impl Stored {
        /// One day apart, so that no hit raises the score of its neighbours.
        fn new(contents: &[&str]) -> Stored {
            let dir = tempfile::tempdir().unwrap();
            let stored = Stored {
                store: Store::open(&cerberus_os::home::Home::new(dir.path().to_path_buf()), Caller::Command).unwrap(),
                _dir: dir,
            };
            for (at, content) in contents.iter().enumerate() {
                stored.add(content, "universal", at as i64 * DAY);
            }
            stored
        }

        fn add(&self, content: &str, scope: &str, created_at: i64) {
            let connection = &self.store.connection;
            let sql = "INSERT INTO memory (id, from_at, status, content, category, scope, confidence, created_at,
                updated_at, source, version) VALUES (?1, 0, 'approved', ?1, 'note', ?2, 1, ?3, ?3, 'import', ?1)";
            connection.execute(sql, params![content, scope, created_at]).unwrap();
            let sql = "INSERT INTO memory_terms (rowid, terms) VALUES (?1, ?2)";
            connection.execute(sql, params![connection.last_insert_rowid(), terms::index_terms(content)]).unwrap();
        }

        fn asked(&self, query: &MemoryQuery) -> Vec<String> {
            let found = self.store.search(query, Timestamp::from_millis(NOW)).unwrap();
            let ids = found.iter().map(|found| {
                let sql = "SELECT id FROM memory WHERE row = ?1";
                self.store.connection.query_row(sql, [found.row], |row| row.get(0)).unwrap()
            });
            ids.collect()
        }

        fn found(&self, text: &str) -> Vec<String> {
            self.asked(&MemoryQuery { text, limit: 10, scopes: &[], category: None })
        }
    }

    #[test]
    fn words_and_identifiers_are_found_in_any_spelling() {
        let stored = Stored::new(&[
            "Link C++ code statically",
            "In C# use records",
            "Don't push on Fridays",
            "Error-handling goes through thiserror",
            "Call fooBar once",
            "The view is read in src/store/read.rs",
            "Never commit with --no-verify",
            "Keys belong in .env",
            "The authentication layer is frozen",
            "Tests were written by hand",
        ]);
        for (query, content) in [
            ("c++", "Link C++ code statically"),
            ("c#", "In C# use records"),
            ("don't push", "Don't push on Fridays"),
            ("dont push friday", "Don't push on Fridays"),
            ("error handling", "Error-handling goes through thiserror"),
            ("errorhandling", "Error-handling goes through thiserror"),
            ("foo_bar", "Call fooBar once"),
            ("foobar", "Call fooBar once"),
            ("read.rs", "The view is read in src/store/read.rs"),
            ("src/store/read.rs", "The view is read in src/store/read.rs"),
            ("--no-verify", "Never commit with --no-verify"),
            (".env", "Keys belong in .env"),
            ("auth", "The authentication layer is frozen"),
            ("authe*", "The authentication layer is frozen"),
            ("authentcation", "The authentication layer is frozen"),
            ("aithentication", "The authentication layer is frozen"),
            ("write test", "Tests were written by hand"),
            ("\"written by hand\"", "Tests were written by hand"),
        ] {
            assert_eq!(stored.found(query).first().map(String::as_str), Some(content), "{query}");
        }
        for nothing in ["", "  ", "?!", "\"by written\"", "zzzzzz"] {
            assert_eq!(stored.found(nothing), [""; 0], "{nothing:?}");
        }
    }

    #[test]
    fn only_matching_current_memories_are_found() {
        let stored = Stored::new(&["use tabs"]);
        stored.add("use tabs here", "project:hydra", NOW);
        stored.add("tabs were used", "universal", NOW);
        let connection = &stored.store.connection;
        connection.execute("UPDATE memory SET until_at = 5 WHERE content = 'tabs were used'", []).unwrap();
        assert_eq!(stored.found("tabs").len(), 2);
        stored.add("use tabs there", "project:lerna", NOW);
        let scopes = ["project:hydra".to_string(), "project:lerna".to_string()];
        let scoped = MemoryQuery { text: "tabs", limit: 10, scopes: &scopes[..1], category: None };
        assert_eq!(stored.asked(&scoped), ["use tabs here"]);
        assert_eq!(stored.asked(&MemoryQuery { scopes: &scopes, ..scoped }).len(), 2);
        assert_eq!(stored.asked(&MemoryQuery { category: Some("rule"), ..scoped }), [""; 0]);
        assert_eq!(stored.asked(&MemoryQuery { scopes: &[], limit: 1, ..scoped }).len(), 1);
        connection.execute("UPDATE memory SET status = 'rejected'", []).unwrap();
        assert_eq!(stored.found("tabs"), [""; 0]);
    }

    #[test]
    fn any_text_is_a_valid_query() {
        let stored = Stored::new(&["NEAR the OR of AND"]);
        for text in [
            "\"",
            "a\"b\"c\"",
            "NEAR(",
            "x AND",
            "-",
            "*",
            "a*b*",
            "^x",
            "{a b}:c",
            "terms:x",
            "'; --",
            "\0",
            "ﬀ Å 日本",
        ] {
            stored.found(text);
        }
        assert_eq!(stored.found(&"word ".repeat(10_000)), [""; 0]);
    }

    #[test]
    fn the_frequency_of_a_common_term_is_estimated() {
        assert_eq!(estimated(&[9, 5, 1], 10), 3);
        let newest_half: Vec<usize> = (0..HITS_MAX).map(|at| 40_000 - 2 * at).collect();
        assert!(estimated(&newest_half, 40_000).abs_diff(20_000) < 10);
    }
}
