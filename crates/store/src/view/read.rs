//! Sessions and their events in the view. Every query is as of a given time; later rows are ignored.

use cerberus_record::clean::text::Clean;
use cerberus_record::echo::{ECHO_MAX, same_words};
use cerberus_record::event::{AgentProcess, Location, StartSource};
use cerberus_record::id::{Agent, ProjectId, SessionId};
use cerberus_record::session::{self, EXPLICIT, Mark, SessionState, TIMEOUT};
use cerberus_record::time::Timestamp;
use rusqlite::{Params, Row, params};

use super::kinds::{ACTIVITY_KINDS, SEPARATING_KINDS};
use super::marks::mark_row;
use super::{Result, Store};

/// A session as of the time of the query.
#[derive(Clone, Debug)]
pub struct SessionRow {
    pub row: i64,
    pub id: SessionId,
    pub agent: String,
    pub agent_session_id: String,
    pub project: ProjectId,
    pub project_name: String,
    pub root: String,
    pub cwd: String,
    pub branch: Option<String>,
    pub phase: Option<String>,
    pub started_at: Timestamp,
    pub last_activity: Timestamp,
    pub process: Option<AgentProcess<'static>>,
    pub transcript: Option<String>,
    /// The other device that it runs on; `None` for this one.
    pub device: Option<String>,
    pub state: SessionState,
}

impl SessionRow {
    /// The location for new records about this session.
    pub fn location(&self) -> Location<'static> {
        let clean = |text: &str| Clean::from_stored(text.to_string());
        Location {
            project: self.project.clone(),
            name: clean(&self.project_name),
            root: clean(&self.root),
            cwd: clean(&self.cwd),
            branch: self.branch.as_deref().map(clean),
        }
    }
}

/// How many sessions are named if an id is ambiguous.
const NAMED_MAX: usize = 20;

const SESSION_COLUMNS: &str = "row, id, agent, agent_session_id, project, project_name, root, cwd, branch, phase,
    started_at, last_activity, process, transcript, device";

/// More sessions than anybody has in the days that count. An import or a fault may leave more.
const NEWEST_MAX: usize = 500;

/// What a session did since the first prompt that came after the end of a turn. Others may have come before it ended.
#[derive(Debug)]
pub struct Turn {
    pub prompted: Timestamp,
    /// The tools that were used, and when.
    pub tools: Vec<(Timestamp, String)>,
}

impl Store {
    /// Sessions of the given projects (of all if empty) that were active at or after `since`, oldest first.
    pub fn sessions(&self, projects: &[ProjectId], since: Timestamp, now: Timestamp) -> Result<Vec<SessionRow>> {
        self.sessions_within(projects, since, now, "")
    }

    /// The same, but only the newest of them: an agent waits for these.
    pub fn newest_sessions(&self, projects: &[ProjectId], since: Timestamp, now: Timestamp) -> Result<Vec<SessionRow>> {
        let limit = format!("ORDER BY last_activity DESC, row DESC LIMIT {NEWEST_MAX}");
        self.sessions_within(projects, since, now, &limit)
    }

    fn sessions_within(
        &self,
        projects: &[ProjectId],
        since: Timestamp,
        now: Timestamp,
        limit: &str,
    ) -> Result<Vec<SessionRow>> {
        let names = projects.iter().map(|project| format!("'{}'", project.as_str().replace('\'', "''")));
        let filter = match projects {
            [] => String::new(),
            _ => format!("project IN ({}) AND", names.collect::<Vec<_>>().join(",")),
        };
        let sql = format!(
            "SELECT {SESSION_COLUMNS} FROM session WHERE {filter} last_activity >= ?1 AND started_at <= ?2 {limit}"
        );
        let mut rows = self.rows(&sql, params![since.millis(), now.millis()], session_row)?;
        // Sorted here, because SQL would copy every row once more.
        rows.sort_unstable_by_key(|session| (session.started_at, session.row));
        self.settle(&mut rows, now)?;
        rows.retain(|session| session.last_activity >= since);
        Ok(rows)
    }

    /// Sessions of all projects on this device that were active since `since` and have not ended as far as we know.
    pub fn open_sessions(&self, since: Timestamp, now: Timestamp) -> Result<Vec<SessionRow>> {
        let filter = "is_open AND device IS NULL AND last_activity BETWEEN ?1 AND ?2 ORDER BY row";
        self.sessions_where(filter, params![since.millis(), now.millis()], now)
    }

    /// The processes with these ids that hooks recorded, each with the row of its session, of sessions whose end no hook
    /// reported. Sessions are not limited to a time: a process is identified beyond doubt.
    pub fn agent_processes(&self, pids: &[u32]) -> Result<Vec<(i64, AgentProcess<'static>)>> {
        let pids = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let sql = format!(
            "SELECT agent, row, process FROM session WHERE process IS NOT NULL AND json_extract(process, '$.pid') IN ({pids})
             AND NOT coalesce((SELECT what = 'ended' AND detail NOT IN ('{TIMEOUT}', '{EXPLICIT}') FROM mark
             WHERE mark.session = session.row ORDER BY at DESC, mark.row DESC LIMIT 1), 0)"
        );
        let found = self.rows(&sql, [], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, process(row.get(2)?))))?;
        let of_hooks = found.into_iter().filter(|(agent, ..)| cerberus_agents::find(agent).is_some());
        Ok(of_hooks.filter_map(|(_, row, process)| Some((row, process?))).collect())
    }

    /// The last prompt up to `now`, if the agent has not answered it yet. One that no hook reported is recorded after its
    /// answer.
    pub fn unanswered_prompt(&self, session: &SessionRow, now: Timestamp) -> Result<Option<String>> {
        let sql = "SELECT text FROM prompt WHERE session = ?1 AND at <= ?2 AND NOT EXISTS (SELECT 1 FROM event
            WHERE event.session = ?1 AND event.at BETWEEN prompt.at AND ?2 AND event.kind = 'stop'
            AND (event.row > prompt.event OR event.at > prompt.at))
            ORDER BY event DESC LIMIT 1";
        Ok(self.rows(sql, params![session.row, now.millis()], |row| row.get(0))?.pop())
    }

    /// Whether turns of the session ended and no hook reported the agent's message.
    pub fn lacks_last_words(&self, session: &SessionRow) -> Result<bool> {
        let sql = "SELECT 1 FROM session WHERE row = ?1 AND last_words = ''
            AND EXISTS (SELECT 1 FROM event WHERE event.session = session.row AND kind = 'stop')";
        Ok(!self.rows(sql, [session.row], |_| Ok(()))?.is_empty())
    }

    /// Whether the last turn of the session ended and the agent's message is not known.
    pub fn lacks_newest_words(&self, session: &SessionRow) -> Result<bool> {
        let sql = "WITH last AS (SELECT max(at) AS at FROM prompt WHERE session = ?1)
            SELECT 1 FROM event, last WHERE event.session = ?1 AND kind = 'stop' AND event.at >= last.at
            AND NOT EXISTS (SELECT 1 FROM message WHERE message.session = ?1 AND message.at >= last.at) LIMIT 1";
        Ok(!self.rows(sql, [session.row], |_| Ok(()))?.is_empty())
    }

    /// The turn of the last prompt; `None` if there was none.
    pub fn last_turn(&self, session: &SessionRow, now: Timestamp) -> Result<Option<Turn>> {
        let sql = "SELECT min(at) FROM prompt WHERE session = ?1 AND at <= ?2 AND event > coalesce(
                (SELECT max(row) FROM event WHERE session = ?1 AND at <= ?2 AND kind = 'stop' AND row <
                    (SELECT event FROM prompt WHERE session = ?1 AND at <= ?2 ORDER BY at DESC, event DESC LIMIT 1)), ?3)";
        let found =
            self.rows(sql, params![session.row, now.millis(), i64::MIN], |row| row.get::<_, Option<i64>>(0))?.pop();
        let Some(prompted) = found.flatten().map(Timestamp::from_millis) else { return Ok(None) };
        let tools = "SELECT at, tool FROM event WHERE session = ?1 AND at BETWEEN ?3 AND ?2 AND tool IS NOT NULL
            ORDER BY at, row";
        let since = params![session.row, now.millis(), prompted.millis()];
        Ok(Some(Turn { prompted, tools: self.rows(tools, since, |row| Ok((time(row, 0)?, row.get(1)?)))? }))
    }

    /// The files that sessions in this folder were reported to have edited since then.
    pub fn edited_since(&self, root: &str, since: Timestamp, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT path FROM fact INDEXED BY fact_files WHERE session IN
            (SELECT row FROM session WHERE root = ?1 AND last_activity >= ?3) AND kind = 'file'
            AND kind IN ('file', 'read') AND at BETWEEN ?3 AND ?2 AND path IS NOT NULL";
        self.rows(sql, params![root, now.millis(), since.millis()], |row| row.get(0))
    }

    /// Whether a session in this folder is known to have edited the file.
    pub fn was_edited(&self, root: &str, path: &str, now: Timestamp) -> Result<bool> {
        let sql = "SELECT 1 FROM fact INDEXED BY fact_files WHERE session IN (SELECT row FROM session WHERE root = ?1)
            AND path = ?2 AND kind = 'file' AND kind IN ('file', 'read') AND at <= ?3 LIMIT 1";
        Ok(!self.rows(sql, params![root, path, now.millis()], |_| Ok(()))?.is_empty())
    }

    /// The prompts before the last one, newest first.
    pub fn prompts_before(&self, session: &SessionRow, limit: usize, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT text FROM prompt WHERE session = ?1 AND at <= ?2 ORDER BY at DESC, event DESC
            LIMIT ?3 OFFSET 1";
        self.rows(sql, params![session.row, now.millis(), limit], |row| row.get(0))
    }

    /// Whether the session was recovered automatically, at the start of another one.
    pub fn was_recovered_automatically(&self, session: &SessionRow, now: Timestamp) -> Result<bool> {
        let sql =
            "SELECT detail = 'automatic' FROM mark WHERE session = ?1 AND at <= ?2 AND what = 'recovered' LIMIT 1";
        let found = self.rows(sql, params![session.row, now.millis()], |row| row.get::<_, Option<bool>>(0))?;
        Ok(found.into_iter().flatten().any(|is_automatic| is_automatic))
    }

    /// Sessions of this device without activity since `since` that were not archived yet.
    pub fn expired(&self, since: Timestamp, now: Timestamp) -> Result<Vec<SessionRow>> {
        let sql = format!(
            "SELECT {SESSION_COLUMNS} FROM session WHERE last_activity < ?1 AND device IS NULL AND NOT EXISTS (SELECT 1 FROM mark
             WHERE mark.session = session.row AND what = 'archived' AND at <= ?2) ORDER BY started_at, row"
        );
        self.rows(&sql, params![since.millis(), now.millis()], session_row)
    }

    pub fn session(&self, id: &SessionId, now: Timestamp) -> Result<Option<SessionRow>> {
        self.one_session("id = ?1", [id.as_str()], now)
    }

    pub fn agent_session(&self, agent: Agent, agent_session_id: &str, now: Timestamp) -> Result<Option<SessionRow>> {
        self.one_session("agent = ?1 AND agent_session_id = ?2", [agent.name(), agent_session_id], now)
    }

    /// The sessions that their agents know by this id. Two agents may use the same one.
    pub fn agent_sessions(&self, agent_session_id: &str, now: Timestamp) -> Result<Vec<SessionRow>> {
        let filter = "agent_session_id = ?1 AND started_at <= ?2 ORDER BY started_at, row";
        self.sessions_where(filter, params![agent_session_id, now.millis()], now)
    }

    /// The sessions whose id, or whose agent's own id for them, begins with `start`. An exact match is the only one.
    pub fn sessions_named(&self, start: &str, now: Timestamp) -> Result<Vec<SessionRow>> {
        if let Some(exact) = self.one_session("id = ?1", [start], now)? {
            return Ok(vec![exact]);
        }
        let filter = format!(
            "started_at <= ?2 AND (substr(id, 1, length(?1)) = ?1 OR substr(agent_session_id, 1, length(?1)) = ?1)
             ORDER BY started_at DESC, row DESC LIMIT {NAMED_MAX}"
        );
        self.sessions_where(&filter, params![start, now.millis()], now)
    }

    /// The row of each session, its id, and its agent's own id for it.
    pub fn session_names(&self, now: Timestamp) -> Result<Vec<(i64, String, String)>> {
        let sql = "SELECT row, id, agent_session_id FROM session WHERE started_at <= ?1";
        self.rows(sql, [now.millis()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// The sessions with these rows, newest first.
    pub fn sessions_at(&self, sessions: &[i64], now: Timestamp) -> Result<Vec<SessionRow>> {
        let list = sessions.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let filter = format!("row IN ({list}) AND started_at <= ?1 ORDER BY started_at DESC, row DESC");
        self.sessions_where(&filter, [now.millis()], now)
    }

    fn sessions_where(&self, filter: &str, params: impl Params, now: Timestamp) -> Result<Vec<SessionRow>> {
        let mut rows =
            self.rows(&format!("SELECT {SESSION_COLUMNS} FROM session WHERE {filter}"), params, session_row)?;
        self.settle(&mut rows, now)?;
        Ok(rows)
    }

    fn one_session(&self, filter: &str, params: impl Params, now: Timestamp) -> Result<Option<SessionRow>> {
        let sql = format!("SELECT {SESSION_COLUMNS} FROM session WHERE {filter}");
        let found = self.rows(&sql, params, session_row)?.into_iter().find(|session| session.started_at <= now);
        let Some(mut session) = found else { return Ok(None) };
        self.settle(std::slice::from_mut(&mut session), now)?;
        Ok(Some(session))
    }

    /// Sets the state and last activity of sessions as of `now`.
    fn settle(&self, sessions: &mut [SessionRow], now: Timestamp) -> Result<()> {
        for session in sessions.iter_mut().filter(|session| session.last_activity > now) {
            let sql = "SELECT max(at) FROM event WHERE session = ?1 AND at <= ?2 AND kind IN ";
            let sql = format!("{sql} ({})", *ACTIVITY_KINDS);
            let last = self.rows(&sql, params![session.row, now.millis()], |row| row.get::<_, Option<i64>>(0))?;
            session.last_activity =
                last.into_iter().flatten().next().map_or(session.started_at, Timestamp::from_millis);
        }
        let sql = "SELECT at, what, detail FROM mark WHERE session = ?1 AND at <= ?2 ORDER BY at, row";
        let _snapshot = self.snapshot()?;
        let mut marks = self.with_path(self.connection.prepare_cached(sql))?;
        for session in sessions {
            let own = marks.query_map([session.row, now.millis()], mark_row).and_then(Iterator::collect);
            let own: Vec<Mark> = self.with_path(own)?;
            session.state = session::state(&own, session.last_activity, now);
        }
        Ok(())
    }

    /// The codes a session was told up to `now`.
    pub fn told_codes(&self, session: &SessionRow, now: Timestamp) -> Result<Vec<String>> {
        let sql = "SELECT codes FROM receipt WHERE session = ?1 AND at <= ?2 ORDER BY at, row";
        let lists = self.rows(sql, params![session.row, now.millis()], |row| row.get::<_, String>(0))?;
        Ok(lists
            .iter()
            .flat_map(|codes| serde_json::from_slice::<Vec<String>>(codes.as_bytes()).unwrap_or_default())
            .collect())
    }

    /// How many lines and tokens a session was told.
    pub fn told(&self, session: &SessionRow, now: Timestamp) -> Result<(usize, usize)> {
        let sql = "SELECT coalesce(sum(json_array_length(codes) + json_array_length(memories)), 0),
            coalesce(sum(tokens), 0) FROM receipt WHERE session = ?1 AND at <= ?2";
        let found = self.rows(sql, params![session.row, now.millis()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Every project that has sessions.
    pub fn all_projects(&self, now: Timestamp) -> Result<Vec<ProjectId>> {
        let sql = "SELECT DISTINCT project FROM session WHERE started_at <= ?1 ORDER BY project";
        self.rows(sql, [now.millis()], |row| Ok(ProjectId::from_stored(row.get::<_, String>(0)?)))
    }

    /// Whether the user was told that the session's context passed the redline.
    pub fn was_told_of_redline(&self, session: &SessionRow, now: Timestamp) -> Result<bool> {
        let sql = "SELECT 1 FROM receipt WHERE session = ?1 AND at <= ?2 AND redline LIMIT 1";
        Ok(!self.rows(sql, params![session.row, now.millis()], |_| Ok(()))?.is_empty())
    }

    /// How a session last began, if it has had at most one prompt since. One that was compacted and then goes on counts
    /// as compacted.
    pub fn recent_start(&self, session: &SessionRow, now: Timestamp) -> Result<Option<StartSource>> {
        let sql = "SELECT start_source FROM event AS start WHERE session = ?1 AND at <= ?2 AND kind = 'start'
            AND (SELECT count(*) FROM event WHERE session = ?1 AND at <= ?2 AND kind = 'prompt' AND row > start.row) < 2
            ORDER BY start_source = 'compact' DESC, row DESC LIMIT 1";
        let found = self.rows(sql, params![session.row, now.millis()], |row| row.get::<_, Option<String>>(0))?;
        Ok(found.into_iter().flatten().next().and_then(|source| StartSource::from_word(&source)))
    }

    /// Whether a session has had one prompt and no start.
    pub fn begins_with_prompt(&self, session: &SessionRow, now: Timestamp) -> Result<bool> {
        let sql = "SELECT kind FROM event WHERE session = ?1 AND at <= ?2 AND kind IN ('start', 'prompt') LIMIT 2";
        let found = self.rows(sql, params![session.row, now.millis()], |row| row.get::<_, String>(0))?;
        Ok(found == ["prompt"])
    }

    /// How often a session used each tool, and how many prompts it had.
    pub fn activity(&self, session: &SessionRow, now: Timestamp) -> Result<(Vec<(String, usize)>, usize)> {
        let sql = "SELECT tool, count(*) FROM event WHERE session = ?1 AND at <= ?2 AND kind = 'tool' GROUP BY tool";
        let tools = self.rows(sql, params![session.row, now.millis()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((tools, self.prompt_count(session, now)?))
    }

    /// How many prompts a session had.
    pub fn prompt_count(&self, session: &SessionRow, now: Timestamp) -> Result<usize> {
        let sql = "SELECT count(*) FROM event WHERE session = ?1 AND at <= ?2 AND kind = 'prompt'";
        let turns = self.rows(sql, params![session.row, now.millis()], |row| row.get(0))?;
        Ok(turns.into_iter().next().unwrap_or(0))
    }

    pub fn has_event(&self, agent: Agent, agent_session_id: &str, key: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM event JOIN session ON session.row = event.session
            WHERE agent = ?1 AND agent_session_id = ?2 AND key = ?3";
        Ok(!self.rows(sql, [agent.name(), agent_session_id, key], |_| Ok(()))?.is_empty())
    }

    /// The processes that reported an event: under its key or, if that includes the time, with the same words just now.
    pub fn reporters(&self, agent: Agent, agent_session_id: &str, key: &str, at: Timestamp) -> Result<Vec<u32>> {
        let is_timed = same_words(key).is_some();
        let (low, high) = same_words(key).unwrap_or_else(|| (key.to_string(), key.to_string()));
        let (since, until) = (at.minus(ECHO_MAX).millis(), at.plus(ECHO_MAX).millis());
        // If anything happened in between, the same words are a new event.
        let sql = "SELECT heard_by FROM event AS told JOIN session ON session.row = told.session
            WHERE agent = ?1 AND agent_session_id = ?2 AND heard_by IS NOT NULL
                AND (key = ?3 OR key > ?4 AND key < ?5 AND at BETWEEN ?6 AND ?7)
                AND (NOT ?8 OR NOT EXISTS (SELECT 1 FROM event WHERE event.session = told.session
                    AND event.row > told.row AND kind IN ";
        let sql = format!("{sql} ({})))", *SEPARATING_KINDS);
        self.rows(&sql, params![agent.name(), agent_session_id, key, low, high, since, until, is_timed], |row| {
            row.get(0)
        })
    }

    /// The time of the last event that a hook of this agent reported. Imported events do not count.
    pub fn last_heard_at(&self, agent: Agent, now: Timestamp) -> Result<Option<Timestamp>> {
        let sql = "SELECT max(event.at) FROM event JOIN session ON session.row = event.session
            WHERE session.agent = ?1 AND event.heard_by IS NOT NULL AND event.at <= ?2";
        let found = self.rows(sql, params![agent.name(), now.millis()], |row| row.get::<_, Option<i64>>(0))?;
        Ok(found.into_iter().flatten().next().map(Timestamp::from_millis))
    }

    /// How far each segment was folded, and how many of its lines could not be read.
    pub fn segments(&self) -> Result<Vec<(String, u64, usize, usize)>> {
        let sql = "SELECT name, folded_bytes, stumps, unknown FROM segment ORDER BY name";
        self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
    }

    pub(super) fn rows<T, P: Params>(
        &self,
        sql: &str,
        params: P,
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        if !self.is_short_lived {
            return self.repeated_rows(sql, params, read);
        }
        let run = || self.connection.prepare(sql)?.query_map(params, read)?.collect();
        self.with_path(run())
    }

    /// The same for a statement that even a process that ends soon needs several times.
    pub(super) fn repeated_rows<T, P: Params>(
        &self,
        sql: &str,
        params: P,
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let run = || self.connection.prepare_cached(sql)?.query_map(params, read)?.collect();
        self.with_path(run())
    }
}

/// The row ids of sessions, as an SQL list.
pub(super) fn row_list(sessions: &[SessionRow]) -> String {
    sessions.iter().map(|session| session.row.to_string()).collect::<Vec<_>>().join(",")
}

pub(super) fn time(row: &Row, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

fn session_row(row: &Row) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        row: row.get(0)?,
        id: SessionId::new(row.get::<_, String>(1)?),
        agent: row.get(2)?,
        agent_session_id: row.get(3)?,
        project: ProjectId::from_stored(row.get(4)?),
        project_name: row.get(5)?,
        root: row.get(6)?,
        cwd: row.get(7)?,
        branch: row.get(8)?,
        phase: row.get(9)?,
        started_at: time(row, 10)?,
        last_activity: time(row, 11)?,
        process: process(row.get(12)?),
        transcript: row.get(13)?,
        device: row.get(14)?,
        state: session::state(&[], time(row, 11)?, time(row, 11)?),
    })
}

fn process(stored: Option<String>) -> Option<AgentProcess<'static>> {
    let stored = stored?;
    let process: AgentProcess = serde_json::from_slice(stored.as_bytes()).ok()?;
    Some(process.into_owned())
}
