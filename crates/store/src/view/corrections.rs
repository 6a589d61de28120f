//! Corrections in the view, and how many of them have been turned into proposals.

use cerberus_recall::learn::correction::{self, Correction, CorrectionKind};
use cerberus_recall::said::pasted;
use cerberus_record::event::{Event, Outcome, Quotation, QuoteKind, Record, UntypedPrompts};
use cerberus_record::id::ProjectId;
use cerberus_record::memory::Evidence;
use cerberus_record::quotation;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use rusqlite::{OptionalExtension as _, Row, params};

use super::read::time;
use super::write::{FoldTransaction, RowSource};
use super::{Result, SessionRow, Store};

/// Where and when something was said or edited.
#[derive(Clone, Debug)]
pub struct EventOrigin {
    pub session: i64,
    pub agent: String,
    pub agent_session_id: String,
    pub project: ProjectId,
    pub project_name: String,
    /// The key of the event.
    pub key: String,
    pub at: Timestamp,
}

impl EventOrigin {
    /// From the first seven columns.
    pub(super) fn read(row: &Row) -> rusqlite::Result<EventOrigin> {
        Ok(EventOrigin {
            session: row.get(0)?,
            agent: row.get(1)?,
            agent_session_id: row.get(2)?,
            project: ProjectId::from_stored(row.get(3)?),
            project_name: row.get(4)?,
            key: row.get(5)?,
            at: time(row, 6)?,
        })
    }

    /// Whether a memory was made from what was said here, among others.
    pub fn is_of(&self, said: &Evidence) -> bool {
        self.agent == *said.agent && self.agent_session_id == *said.session && self.key == *said.key
    }
}

#[derive(Clone, Debug)]
pub struct CorrectionRow {
    pub origin: EventOrigin,
    pub correction: Correction,
    pub source: MemorySource,
    /// Why the agent quoted it; `None` if it counts by itself.
    pub quoted: Option<String>,
}

impl CorrectionRow {
    pub fn confidence(&self) -> f64 {
        if self.quoted.is_some() { correction::QUOTED } else { self.correction.kind.confidence() }
    }
}

/// A prompt as it was sent.
#[derive(Clone, Debug)]
pub struct PromptRow {
    pub origin: EventOrigin,
    pub text: String,
    /// Nobody typed it: a schedule or a program sent it.
    pub is_untyped: bool,
}

impl FoldTransaction<'_> {
    /// Finds what the user says outright: in a prompt, in the feedback to a rejected tool use, or quoted by an agent.
    pub(super) fn corrections(&self, source: &RowSource, record: &Record) -> Result<()> {
        let (said, is_rejection) = match &record.event {
            Event::Prompt { text } => (&**text, false),
            Event::Tool(used) if used.outcome == Outcome::Interrupted => {
                let Some(feedback) = used.error.as_deref().and_then(quotation::feedback) else { return Ok(()) };
                (feedback, true)
            }
            Event::Quote(quotation) if quotation.kind == QuoteKind::Rule => return self.quoted(source, quotation),
            _ => return Ok(()),
        };
        for found in correction::corrections(said) {
            let from = match () {
                () if record.by_agent => MemorySource::Agent,
                // The error of a tool use may contain what the tool printed.
                () if is_rejection => MemorySource::Tool,
                () => typed_or_pasted(said, &found.text),
            };
            self.correction(source, &found, from, None)?;
        }
        Ok(())
    }

    /// A quotation belongs to its prompt: it is as old, and goes with it.
    fn quoted(&self, source: &RowSource, quotation: &Quotation) -> Result<()> {
        let sql = "SELECT event.row, event.at, text FROM event JOIN prompt ON prompt.event = event.row
            WHERE event.session = ?1 AND key = ?2";
        let read = |row: &Row| Ok((row.get(0)?, time(row, 1)?, row.get::<_, String>(2)?));
        let mut find = self.with_path(self.transaction.prepare_cached(sql))?;
        let found = find.query_row(params![source.session, &*quotation.prompt], read).optional();
        let Some((event, at, prompt)) = self.with_path(found)? else { return Ok(()) };
        let prompt_source = RowSource { event, at, ..*source };
        let text = quotation.text.to_string();
        let from = typed_or_pasted(&prompt, &text);
        let found = Correction { kind: CorrectionKind::Rule, text };
        self.correction(&prompt_source, &found, from, Some(quotation.why.as_deref().unwrap_or_default()))
    }

    fn correction(
        &self,
        source: &RowSource,
        found: &Correction,
        from: MemorySource,
        quoted: Option<&str>,
    ) -> Result<()> {
        let Correction { kind, text } = found;
        let sql = "INSERT INTO correction (event, session, at, kind, text, source, quoted)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let (at, from) = (source.at.millis(), from.word());
        self.run(sql, params![source.event, source.session, at, kind.word(), text, from, quoted])?;
        Ok(())
    }

    /// Notes prompts that nobody typed. They may be folded later.
    pub(super) fn untyped(&self, source: &RowSource, found: &UntypedPrompts) -> Result<()> {
        self.drop_digest(source.session)?;
        for key in &found.prompts {
            let sql = "INSERT OR IGNORE INTO untyped VALUES (?1, ?2, ?3)";
            self.run(sql, params![source.session, &**key, found.source.word()])?;
        }
        Ok(())
    }
}

/// Where the words of a prompt are from, as far as they show.
fn typed_or_pasted(prompt: &str, words: &str) -> MemorySource {
    if pasted::is_typed(prompt, words) { MemorySource::Prompt } else { MemorySource::Pasted }
}

/// Prompts of this device, as [`PromptRow`].
const PROMPTS: &str =
    "SELECT prompt.session, agent, agent_session_id, project, project_name, event.key, prompt.at, prompt.text,
    EXISTS (SELECT 1 FROM untyped WHERE untyped.session = prompt.session AND untyped.key = event.key)
    FROM prompt JOIN event ON event.row = prompt.event JOIN session ON session.row = prompt.session
    WHERE prompt.at <= ?1 AND device IS NULL AND event.kind = 'prompt'";

fn prompt_row(row: &Row) -> rusqlite::Result<PromptRow> {
    Ok(PromptRow { origin: EventOrigin::read(row)?, text: row.get(7)?, is_untyped: row.get(8)? })
}

impl Store {
    /// Corrections of these sessions (of all if empty) up to `now`, oldest first.
    pub fn corrections(&self, sessions: &[i64], limit: usize, now: Timestamp) -> Result<Vec<CorrectionRow>> {
        let rows = sessions.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let filter = if rows.is_empty() { String::new() } else { format!("correction.session IN ({rows}) AND") };
        let sql = format!(
            "SELECT correction.session, agent, agent_session_id, project, project_name, event.key, correction.at,
             correction.kind, text, coalesce(untyped.source, correction.source), quoted
             FROM correction JOIN event ON event.row = correction.event
             LEFT JOIN untyped ON untyped.session = correction.session AND untyped.key = event.key
             JOIN session ON session.row = correction.session WHERE {filter} correction.at <= ?1
             ORDER BY correction.at DESC, correction.event DESC, correction.row DESC LIMIT ?2"
        );
        let read = |row: &Row| {
            let kind: String = row.get(7)?;
            let kind = CorrectionKind::from_word(&kind).unwrap_or(CorrectionKind::Rule);
            Ok(CorrectionRow {
                origin: EventOrigin::read(row)?,
                correction: Correction { kind, text: row.get(8)? },
                source: MemorySource::named(&row.get::<_, String>(9)?),
                quoted: row.get(10)?,
            })
        };
        let mut found = self.rows(&sql, params![now.millis(), limit], read)?;
        found.reverse();
        Ok(found)
    }

    /// The keys of a session's prompts, in their order.
    pub fn prompt_keys(&self, session: &SessionRow) -> Result<Vec<String>> {
        let sql = "SELECT key FROM event WHERE session = ?1 AND kind IN ('prompt', 'notification') ORDER BY at, row";
        self.rows(sql, [session.row], |row| row.get(0))
    }

    /// Prompts of these projects on this device, the newest first.
    pub fn prompts(
        &self,
        limit: usize,
        now: Timestamp,
        is_wanted: impl Fn(&ProjectId) -> bool,
    ) -> Result<Vec<PromptRow>> {
        let projects =
            self.rows("SELECT DISTINCT project FROM session", [], |row| Ok(ProjectId::from_stored(row.get(0)?)))?;
        let wanted: Vec<String> = projects
            .iter()
            .filter(|one| is_wanted(one))
            .map(|one| format!("'{}'", one.as_str().replace('\'', "''")))
            .collect();
        let sql = format!("{PROMPTS} AND project IN ({}) ORDER BY prompt.event DESC LIMIT ?2", wanted.join(","));
        self.rows(&sql, params![now.millis(), limit], prompt_row)
    }

    /// The last turns of sessions in this folder that changed such a file: the prompt, and the file.
    pub fn turns_that_changed(
        &self,
        is_such: impl Fn(&str) -> bool,
        root: &str,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<(PromptRow, String)>> {
        let sql = "SELECT path, max((SELECT max(prompt.event) FROM prompt WHERE prompt.session = fact.session
            AND prompt.event < fact.event)) FROM fact JOIN session ON session.row = fact.session
            WHERE kind = 'file' AND root = ?2 AND at <= ?1 AND (path LIKE '%.md' OR path LIKE '%rules')
            GROUP BY fact.session, fact.event, path ORDER BY fact.event DESC LIMIT ?3";
        let read = |row: &Row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?));
        let changed = self.rows(sql, params![now.millis(), root, limit], read)?;
        let one = format!("{PROMPTS} AND prompt.event = ?2");
        let mut turns = Vec::new();
        for (path, prompt) in changed.into_iter().filter(|(path, _)| is_such(path)) {
            let found = self.rows(&one, params![now.millis(), prompt], prompt_row)?;
            turns.extend(found.into_iter().map(|prompt| (prompt, path.clone())));
        }
        Ok(turns)
    }

    /// When a prompt was sent, and its text.
    pub fn prompt(&self, agent: &str, session: &str, key: &str) -> Result<Option<(Timestamp, String)>> {
        let sql = "SELECT prompt.at, prompt.text FROM prompt JOIN event ON event.row = prompt.event
            JOIN session ON session.row = prompt.session WHERE agent = ?1 AND agent_session_id = ?2 AND key = ?3";
        let read = |row: &Row| Ok((time(row, 0)?, row.get(1)?));
        Ok(self.rows(sql, [agent, session, key], read)?.into_iter().next())
    }

    /// Whether the user said something since the last time that proposals were made.
    pub fn has_new_words(&self) -> Result<bool> {
        Ok(self.words_seen()? != self.distilled()?)
    }

    /// The number of corrections, and the row of the last prompt.
    fn words_seen(&self) -> Result<(i64, i64)> {
        let sql = "SELECT (SELECT count(*) FROM correction), (SELECT coalesce(max(event), 0) FROM prompt)";
        Ok(self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().next().unwrap_or_default())
    }

    fn distilled(&self) -> Result<(i64, i64)> {
        let sql = "SELECT corrections, last_event FROM distilled";
        Ok(self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().next().unwrap_or_default())
    }

    /// Records that everything was processed. If another process holds the lock, it is processed again later.
    pub fn set_distilled(&self) -> Result<()> {
        let (corrections, last_event) = self.words_seen()?;
        let sql = "INSERT INTO distilled VALUES (1, ?1, ?2) ON CONFLICT (row) DO UPDATE SET
            corrections = excluded.corrections, last_event = excluded.last_event";
        match self.with_path(self.connection.execute(sql, [corrections, last_event])) {
            Err(error) if !error.is_busy() => Err(error),
            _ => Ok(()),
        }
    }

    pub fn correction_count(&self, now: Timestamp) -> Result<usize> {
        let found = self.rows("SELECT count(*) FROM correction WHERE at <= ?1", [now.millis()], |row| row.get(0))?;
        Ok(found.into_iter().next().unwrap_or(0))
    }
}
