//! The search index over everything kept about sessions: titles, prompts, closing words, facts and commands.
//!
//! The fold only notes which sessions changed. They are indexed when somebody searches, so that no hook pays for it.
//! The index is a cache: it holds terms and the rows of the texts, never the texts themselves.

use cerberus_recall::search::entry;
use cerberus_recall::search::query::Query;
use cerberus_recall::search::score::{self, Candidate, Hits};
use cerberus_record::clean::text::{clip, clip_front};
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use cerberus_text::terms;
use rusqlite::params;

use super::search::{HITS_MAX, Index, shortlist_size};
use super::write::{FoldTransaction, json};
use super::{Result, Store};

/// How much of a text is indexed: the beginning of a prompt, the end of a message.
const INDEXED_BYTES_MAX: usize = 2_000;
/// How many sessions are indexed in one transaction.
const SESSIONS_PER_TRANSACTION: usize = 200;

#[derive(Clone, Copy, Debug)]
pub struct EntryQuery<'a> {
    pub text: &'a str,
    pub limit: usize,
    /// Only these projects; all if empty.
    pub projects: &'a [ProjectId],
    pub agent: Option<&'a str>,
    pub kind: Option<&'a str>,
    pub since: Timestamp,
}

/// A text that was found.
#[derive(Clone, Debug)]
pub struct FoundEntry {
    pub session: i64,
    pub kind: String,
    pub text: String,
    pub at: Timestamp,
    /// Between 0 and 1.
    pub score: f64,
}

/// A candidate row.
struct EntryRow {
    row: usize,
    session: i64,
    kind: String,
    text: String,
    at: Timestamp,
}

/// The texts of one session, with kind, time and the row of the text in the table of its kind.
const TEXTS: &str = "SELECT 'prompt', at, event, text FROM prompt WHERE session = ?1
    UNION ALL SELECT 'said', at, event, text FROM message WHERE session = ?1
    UNION ALL SELECT kind, min(at), min(row), coalesce(path || ' ', '') || text FROM fact WHERE session = ?1
        AND kind NOT IN ('last', 'asked', 'said', 'git') GROUP BY kind, code
    UNION ALL SELECT 'command', min(at), min(event), text FROM command WHERE session = ?1 GROUP BY text
    UNION ALL SELECT * FROM (SELECT 'title', at, event, text FROM title WHERE session = ?1 AND rank <= 3
        ORDER BY rank, iif(rank < 2, -at, at), iif(rank < 2, -event, event) LIMIT 1)";

impl Store {
    /// Indexes what changed since the last search. `each` gets the number of sessions done and left. If another process
    /// is writing, the rest is left for next time.
    pub fn index_entries(&mut self, mut each: impl FnMut(usize, usize)) -> Result<()> {
        let mut done = 0;
        loop {
            let sql = "SELECT session FROM unindexed ORDER BY session";
            let sessions: Vec<i64> = self.rows(sql, [], |row| row.get(0))?;
            each(done, sessions.len());
            if sessions.is_empty() {
                return Ok(());
            }
            let transaction = match self.begin_fold() {
                Err(error) if error.is_busy() => return Ok(()),
                begun => begun?,
            };
            for session in sessions.iter().take(SESSIONS_PER_TRANSACTION) {
                transaction.index_session(*session)?;
                done += 1;
            }
            transaction.commit()?;
            self.checkpoint_if_long();
        }
    }

    /// The texts that match the query best, best first.
    pub fn search_entries(&self, query: &EntryQuery, now: Timestamp) -> Result<Vec<FoundEntry>> {
        let asked = Query::parse(query.text);
        let Some(newest) = self.newest_entry()?.filter(|_| !asked.terms.is_empty()) else { return Ok(Vec::new()) };
        let mut hits = Hits::new(newest);
        let mut rarities = Vec::with_capacity(asked.terms.len());
        let index = Index { terms: "entry_terms", rows_with: &|matching| self.entries_with(query, matching) };
        for (at, term) in asked.terms.iter().enumerate() {
            rarities.push(self.look_up(&index, term, newest, |row, hit| hits.add(row, at, hit))?);
        }
        let rows = hits.shortlist(&rarities, shortlist_size(query.limit));
        let texts = self.entry_texts(&rows, now)?;
        // Entries stand alone: the rows beside one are about something else.
        let candidates: Vec<Candidate> = texts
            .iter()
            .map(|read| Candidate {
                row: read.row,
                content: &read.text,
                category: entry::STANDS_ALONE,
                source: "",
                created_at: read.at,
            })
            .collect();
        let ranked = score::rank(&asked, &rarities, &hits, &candidates);
        let mut ranked: Vec<(usize, f64)> =
            ranked.into_iter().map(|(at, score)| (at, score * entry::weight(&texts[at].kind))).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(texts[b.0].at.cmp(&texts[a.0].at)).then(b.0.cmp(&a.0)));
        let found = ranked.into_iter().take(query.limit).map(|(at, score)| {
            let EntryRow { session, kind, text, at, .. } = &texts[at];
            FoundEntry { session: *session, kind: kind.clone(), text: text.clone(), at: *at, score }
        });
        Ok(found.collect())
    }

    /// The sessions that have all words of the query, in texts of this kind if one is given.
    pub fn sessions_with(&self, words: &str, kind: Option<&str>, now: Timestamp) -> Result<Vec<i64>> {
        let (projects, agent, since) = (&[][..], None, Timestamp::EPOCH);
        let query = EntryQuery { text: words, limit: SESSIONS_MAX, projects, agent, kind, since };
        let asked = Query::parse(words);
        let Some(newest) = self.newest_entry()? else { return Ok(Vec::new()) };
        let mut left: Option<std::collections::HashSet<i64>> = None;
        let index = Index { terms: "entry_terms", rows_with: &|matching| self.entries_with(&query, matching) };
        for term in &asked.terms {
            let mut rows = Vec::new();
            self.look_up(&index, term, newest, |row, _| rows.push(row.to_string()))?;
            let sql = format!("SELECT DISTINCT session FROM entry WHERE row IN ({}) AND at <= ?1", rows.join(","));
            let found = self.rows(&sql, [now.millis()], |row| row.get::<_, i64>(0))?.into_iter().collect();
            left = Some(match left {
                Some(left) => left.intersection(&found).copied().collect(),
                None => found,
            });
        }
        Ok(left.unwrap_or_default().into_iter().collect())
    }

    fn newest_entry(&self) -> Result<Option<usize>> {
        self.with_path(self.connection.query_row("SELECT max(row) FROM entry", [], |row| row.get(0)))
    }

    fn entries_with(&self, query: &EntryQuery, matching: &str) -> Result<Vec<usize>> {
        let EntryQuery { projects, agent, kind, since, .. } = query;
        let number = |row: &rusqlite::Row| row.get(0);
        if projects.is_empty() && agent.is_none() && kind.is_none() && *since == Timestamp::EPOCH {
            let sql = "SELECT rowid FROM entry_terms WHERE entry_terms MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
            return self.rows(sql, params![matching, HITS_MAX], number);
        }
        let projects: Vec<&str> = projects.iter().map(ProjectId::as_str).collect();
        let sql = "SELECT entry_terms.rowid FROM entry_terms CROSS JOIN entry ON entry.row = entry_terms.rowid
            CROSS JOIN session ON session.row = entry.session
            WHERE entry_terms MATCH ?1 AND (?3 = '[]' OR project IN (SELECT value FROM json_each(?3)))
                AND (?4 IS NULL OR agent = ?4) AND (?5 IS NULL OR kind = ?5) AND entry.at >= ?6
            ORDER BY entry_terms.rowid DESC LIMIT ?2";
        self.rows(sql, params![matching, HITS_MAX, json(&projects), agent, kind, since.millis()], number)
    }

    fn entry_texts(&self, rows: &[usize], now: Timestamp) -> Result<Vec<EntryRow>> {
        let list = rows.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let sql = format!(
            "SELECT entry.row, entry.session, entry.kind, entry.at, CASE entry.kind
                WHEN 'prompt' THEN (SELECT text FROM prompt WHERE event = entry.source)
                WHEN 'said' THEN (SELECT text FROM message WHERE event = entry.source)
                WHEN 'command' THEN (SELECT text FROM command WHERE event = entry.source)
                WHEN 'title' THEN (SELECT text FROM title WHERE event = entry.source)
                ELSE (SELECT text FROM fact WHERE fact.row = entry.source) END
             FROM entry WHERE entry.row IN ({list}) AND entry.at <= ?1 ORDER BY entry.row"
        );
        let read = self.rows(&sql, [now.millis()], |row| {
            let (at, text) = (Timestamp::from_millis(row.get(3)?), row.get::<_, Option<String>>(4)?);
            Ok(EntryRow {
                row: row.get(0)?,
                session: row.get(1)?,
                kind: row.get(2)?,
                at,
                text: text.unwrap_or_default(),
            })
        })?;
        // A fact may have been replaced since; its session is indexed again by the next search.
        Ok(read.into_iter().filter(|read| !read.text.is_empty()).collect())
    }
}

/// More sessions than are ever listed.
const SESSIONS_MAX: usize = 100_000;

impl FoldTransaction<'_> {
    fn index_session(&self, session: i64) -> Result<()> {
        self.clear_entries(session)?;
        let read = || -> rusqlite::Result<Vec<(String, i64, i64, String)>> {
            let mut texts = self.transaction.prepare_cached(TEXTS)?;
            texts.query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?.collect()
        };
        for (kind, at, source, text) in self.with_path(read())? {
            let text = match kind.as_str() {
                "said" => clip_front(&text, INDEXED_BYTES_MAX),
                _ => clip(&text, INDEXED_BYTES_MAX),
            };
            let terms = terms::index_terms(text);
            if terms.is_empty() {
                continue;
            }
            let sql = "INSERT INTO entry (session, at, kind, source) VALUES (?1, ?2, ?3, ?4)";
            self.run(sql, params![session, at, kind, source])?;
            let row = self.transaction.last_insert_rowid();
            self.run("INSERT INTO entry_terms (rowid, terms) VALUES (?1, ?2)", params![row, terms])?;
        }
        self.run("DELETE FROM unindexed WHERE session = ?1", [session])?;
        Ok(())
    }

    /// Removes a session from the search index.
    pub(super) fn clear_entries(&self, session: i64) -> Result<()> {
        self.run("DELETE FROM entry_terms WHERE rowid IN (SELECT row FROM entry WHERE session = ?1)", [session])?;
        self.run("DELETE FROM entry WHERE session = ?1", [session])?;
        Ok(())
    }
}
