//! Digests: what a brief reads of a session, packed into one row (`brief/digest.rs` in `recall`).
//!
//! A digest is exact: it is dropped by the fold with the first record that adds to what it holds. It is made again when
//! the next session of the project starts. A session without one is read from its rows, and so is one with rows later
//! than the time that is asked about.

use cerberus_recall::brief::digest::{self, SessionWords};
use cerberus_recall::brief::failing::SessionRun;
use cerberus_recall::brief::rank::SessionWork;
use cerberus_recall::brief::rank::weights::SESSIONS_MAX;
use cerberus_record::id::{ProjectId, SessionId};
use cerberus_record::map::FastMap;
use cerberus_record::time::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::facts::FactFilter;
use super::history::nothing_done;
use super::named_sessions::NamedSessions;
use super::write::FoldTransaction;
use super::{Caller, Result, SessionRow, Store};

/// How many sessions a hook packs, the newest first. More are missing only after the view was rebuilt.
const IN_HOOK_MAX: usize = 12;

/// Digests hold all rows of a session.
const ANY_TIME: i64 = i64::MAX;
const ANY_NUMBER: i64 = i64::MAX;

const INSERT: &str = "INSERT OR REPLACE INTO digest VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

impl Store {
    /// What the digests of these sessions hold in a column, and the sessions that have to be read from their rows.
    pub(super) fn packed<T>(
        &self,
        column: &str,
        sessions: &[SessionRow],
        now: Timestamp,
        mut unpack: impl FnMut(&[u8], &SessionId) -> Option<T>,
    ) -> Result<(Vec<T>, NamedSessions)> {
        let mut rest = NamedSessions::of(sessions);
        let sql = format!("SELECT {column} FROM digest WHERE session = ?1 AND until <= ?2");
        let _snapshot = self.snapshot()?;
        let mut digest = self.with_path(self.connection.prepare(&sql))?;
        let mut sessions: Vec<&SessionRow> = sessions.iter().collect();
        sessions.sort_unstable_by_key(|session| session.row);
        let mut found = Vec::with_capacity(sessions.len());
        for session in sessions {
            let read = |row: &Row| Ok(unpack(row.get_ref(0)?.as_blob()?, &session.id));
            let unpacked = digest.query_row([session.row, now.millis()], read).optional();
            if let Some(unpacked) = self.with_path(unpacked)?.flatten() {
                rest.0.remove(&session.row);
                found.push(unpacked);
            }
        }
        Ok((found, rest))
    }

    /// Packs the sessions of these projects that have no digest, so that the next brief is quick. If that fails, or if
    /// another process is writing, the sessions are read from their rows.
    pub fn make_digests(&self, projects: &[ProjectId]) {
        let _ = self.pack_missing(projects);
    }

    fn pack_missing(&self, projects: &[ProjectId]) -> Result<()> {
        let mut missing = Vec::new();
        for project in projects {
            missing.extend(self.undigested(project)?);
        }
        if self.caller == Caller::Hook {
            missing.truncate(IN_HOOK_MAX);
        }
        if missing.is_empty() {
            return Ok(());
        }
        // The rows are read under the lock, so that no record comes in between.
        let begun = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        let Ok(transaction) = begun else { return Ok(()) };
        let (now, sessions) = (Timestamp::from_millis(ANY_TIME), NamedSessions(missing.into_iter().collect()));
        let mut work = self.work(sessions.rows().collect(), now)?;
        let mut said = self.said_by(&sessions, FactFilter::NoFiles, ANY_NUMBER, now)?;
        let mut runs: FastMap<i64, Vec<SessionRun>> = FastMap::default();
        for (session, run) in self.runs_of(&sessions, ANY_NUMBER, now)? {
            runs.entry(session).or_default().push(run);
        }
        for (session, until) in self.last_events(&sessions)? {
            let work = work.remove(&session).unwrap_or_else(nothing_done);
            let work = digest::pack_work(&SessionWork { mentions: self.mentions(session, now)?, ..work });
            let said = digest::pack_said(&said.remove(&session).unwrap_or_default());
            let runs = digest::pack_runs(&runs.remove(&session).unwrap_or_default());
            let turns = digest::pack_turns(&self.session_turns(session, &sessions.id(session), now)?);
            let mut insert = self.with_path(transaction.prepare_cached(INSERT))?;
            self.with_path(insert.execute(params![session, until, work, runs, said, turns]))?;
        }
        self.with_path(transaction.commit())?;
        self.checkpoint_if_long();
        Ok(())
    }

    /// When the last event of each session was. No row of it is later.
    fn last_events(&self, sessions: &NamedSessions) -> Result<Vec<(i64, i64)>> {
        let list = sessions.list();
        let sql = format!("SELECT session, max(at) FROM event WHERE session IN ({list}) GROUP BY session");
        self.rows(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The sessions that the history of a project includes and that have no digest, the newest first.
    fn undigested(&self, project: &ProjectId) -> Result<Vec<(i64, SessionId)>> {
        let sql = "SELECT row FROM (SELECT row FROM session WHERE project = ?1 ORDER BY last_activity DESC, row DESC
            LIMIT ?2) WHERE NOT EXISTS (SELECT 1 FROM digest INDEXED BY digest_made WHERE digest.session = row)";
        self.rows(sql, params![project.as_str(), SESSIONS_MAX], |row| Ok((row.get(0)?, SessionId::new(""))))
    }
}

impl FoldTransaction<'_> {
    /// A new session has nothing to read.
    pub(super) fn empty_digest(&self, session: i64) -> Result<()> {
        self.undigested.borrow_mut().remove(&session);
        let work = digest::pack_work(&nothing_done());
        let (runs, said) = (digest::pack_runs(&[]), digest::pack_said(&SessionWords::default()));
        self.run(INSERT, params![session, 0, work, runs, said, digest::pack_turns(&[])])?;
        Ok(())
    }

    /// Something is added to what the digest of the session holds.
    pub(super) fn drop_digest(&self, session: i64) -> Result<()> {
        if self.undigested.borrow_mut().insert(session) {
            self.run("DELETE FROM digest WHERE session = ?1", [session])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cerberus_agents::claude_code;
    use cerberus_os::home::Home;
    use cerberus_record::clean::BUILT_IN;
    use cerberus_record::clean::text::{Clean, Keep};
    use cerberus_record::event::{self, Event, FileTouch, Location, Outcome, Record, ToolUse, UntypedPrompts};
    use cerberus_record::source::MemorySource;

    use super::super::Asks;
    use super::*;
    use crate::journal;
    use crate::view::fold;

    fn minute(minutes: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000).plus(Duration::from_secs(60 * minutes))
    }

    fn project() -> [ProjectId; 1] {
        [ProjectId::of_anchor(b"/p")]
    }

    fn record(session: &'static str, minutes: u64, event: Event<'static>) -> Record<'static> {
        let (name, root, cwd) = (Clean::word("p"), Clean::word("/p"), Clean::word("/p"));
        Record {
            at: minute(minutes),
            key: BUILT_IN.clean(format!("k{minutes}"), Keep::NAME),
            agent: claude_code::AGENT,
            imported: false,
            heard_by: None,
            by_agent: false,
            origin: None,
            session: Clean::word(session),
            location: Location { project: project()[0].clone(), name, root, cwd, branch: None },
            event,
        }
    }

    fn asked(text: &str) -> Event<'static> {
        Event::Prompt { text: BUILT_IN.clean(text.to_string(), Keep::PROMPT) }
    }

    fn touch(path: &'static str, how: event::Touch) -> Event<'static> {
        let files = vec![FileTouch { path: Clean::word(path), how, lines: Vec::new() }];
        Event::Tool(ToolUse { tool: Clean::word("Edit"), files, ..ToolUse::default() })
    }

    fn failed(command: &str, output: &str) -> Event<'static> {
        let clean = |text: &str| BUILT_IN.clean(text.to_string(), Keep::PROMPT);
        let (command, output) = (Some(clean(command)), Some(clean(output)));
        Event::Tool(ToolUse {
            tool: Clean::word("Bash"),
            command,
            output,
            outcome: Outcome::Failed,
            ..ToolUse::default()
        })
    }

    /// Two sessions with everything that a digest holds.
    fn home_with_work(dir: &std::path::Path) -> Home {
        let home = Home::new(dir.join("home"));
        let (edited, read) = (event::Touch::Edited, event::Touch::Read);
        let said = "The parser in src/parser.rs is repaired. The burst test is still red.";
        let stop = Event::Stop { message: BUILT_IN.clean(said.to_string(), Keep::PROMPT) };
        for record in [
            record("a", 0, asked("Repair the parser. We decided to use one file a day because it is free.")),
            record("a", 1, touch("x.rs", edited)),
            record("a", 2, touch("x.rs", read)),
            record(
                "a",
                3,
                failed("cargo test", "test store::opens ... FAILED\ntest result: FAILED. 1 passed; 1 failed;\n"),
            ),
            record("a", 4, touch("y.rs", read)),
            record("a", 5, touch("x.rs", edited)),
            record("b", 6, touch("x.rs", edited)),
            record("a", 7, asked("now y.rs")),
            record("a", 8, touch("x.rs", edited)),
            record("a", 9, stop),
        ] {
            journal::append(&home, minute(20), &record).unwrap();
        }
        home
    }

    /// Everything that a brief reads of these sessions, at every minute.
    fn readings(store: &Store) -> Vec<String> {
        let reading = |now: Timestamp| {
            let sessions = store.sessions(&project(), Timestamp::EPOCH, now).unwrap();
            let carried =
                [FactFilter::NoFiles, FactFilter::Words].map(|kinds| store.carried(&sessions, kinds, now).unwrap());
            let (history, runs) =
                (store.history(&project(), Asks::Prompt, now).unwrap(), store.runs(&sessions, now).unwrap());
            format!(
                "{history:?} {carried:?} {runs:?} {:?}",
                store
                    .turns(
                        &sessions.iter().rev().collect::<Vec<_>>(),
                        |_| Ok(cerberus_recall::brief::stopped::WorkDone::Talk),
                        now
                    )
                    .unwrap()
            )
        };
        (0..12).map(|minutes| reading(minute(minutes))).collect()
    }

    fn digests(store: &Store) -> usize {
        store.connection.query_row("SELECT count(*) FROM digest", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_digest_holds_what_the_rows_do_at_any_time() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_with_work(dir.path());
        let mut store = fold::open(&home).unwrap();
        let from_rows = readings(&store);
        for word in ["x.rs", "one file a day", "store::opens", "src/parser.rs", "still red"] {
            assert!(from_rows[11].contains(word), "{word}: {}", from_rows[11]);
        }
        assert_eq!(digests(&store), 0);
        store.make_digests(&project());
        assert_eq!(digests(&store), 2);
        assert_eq!(readings(&store), from_rows);
        // The rows are not read any more.
        store
            .connection
            .execute_batch("DELETE FROM fact; DELETE FROM run; DELETE FROM prompt; DELETE FROM message")
            .unwrap();
        assert_eq!(readings(&store)[11], from_rows[11]);
        fold::rebuild(&home, &mut store).unwrap();
        assert_eq!((digests(&store), readings(&store)), (0, from_rows));
    }

    #[test]
    fn a_record_that_adds_something_drops_the_digest_of_its_session_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_with_work(dir.path());
        let mut store = fold::open(&home).unwrap();
        store.make_digests(&project());
        let mut fold = |record: Record| {
            journal::append(&home, minute(20), &record).unwrap();
            fold::fold_all(&home, &mut store).unwrap();
            digests(&store)
        };
        assert_eq!(fold(record("a", 10, Event::End { reason: Clean::word("other") })), 2, "an end adds nothing");
        assert_eq!(fold(record("c", 11, Event::Pulse)), 3, "a new session has nothing to read");
        assert_eq!(fold(record("a", 12, touch("z.rs", event::Touch::Edited))), 2);
        let mark = UntypedPrompts { source: MemorySource::Scheduled, prompts: vec![Clean::word("k")] };
        assert_eq!(fold(record("c", 13, Event::Untyped(mark))), 1, "who sent a prompt is told with it");
        let grown = readings(&store);
        assert!(
            store.history(&project(), Asks::Nothing, minute(12)).unwrap()[0]
                .touched
                .iter()
                .any(|touched| touched.path == "z.rs")
        );
        store.make_digests(&project());
        fold::rebuild(&home, &mut store).unwrap();
        assert_eq!(readings(&store), grown);
    }

    #[test]
    fn only_what_a_brief_needs_is_unpacked() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_with_work(dir.path());
        // Sessions without work that were active later.
        for (session, minutes) in [("c", 10), ("d", 11), ("e", 12), ("f", 13), ("g", 14)] {
            journal::append(&home, minute(20), &record(session, minutes, asked("and now?"))).unwrap();
        }
        let store = fold::open(&home).unwrap();
        let read = |asks| {
            let history = store.history(&project(), asks, minute(15)).unwrap();
            let paths: Vec<&[String]> = history[0].prompts.iter().map(|prompt| prompt.paths.as_slice()).collect();
            format!("{:?} {:?} {paths:?}", history[0].touched, history[0].mentions)
        };
        let from_rows = read(Asks::Nothing);
        assert!(from_rows.contains("src/parser.rs") && from_rows.contains("y.rs"), "{from_rows}");
        store.make_digests(&project());
        assert_eq!((read(Asks::Nothing), read(Asks::Prompt)), (from_rows.clone(), from_rows));
        let terms = |asks| store.history(&project(), asks, minute(15)).unwrap()[0].prompts[0].terms.clone();
        assert_eq!((terms(Asks::Nothing).as_str(), terms(Asks::Prompt).is_empty()), ("", false));
    }

    #[test]
    fn a_digest_that_cannot_be_read_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let home = home_with_work(dir.path());
        let store = fold::open(&home).unwrap();
        let from_rows = readings(&store);
        store.make_digests(&project());
        let spoil = "UPDATE digest SET work = x'ff', said = x'ff', runs = x'ff', turns = x'ff'";
        store.connection.execute_batch(spoil).unwrap();
        assert_eq!(readings(&store), from_rows);
    }
}
