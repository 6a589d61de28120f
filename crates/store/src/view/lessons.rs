//! What ended sessions show about how much a prompt should count in a project.

use cerberus_recall::brief::rank::weights::SESSIONS_MAX;
use cerberus_record::event::Lesson;
use cerberus_record::id::ProjectId;
use cerberus_record::map::FastSet;
use cerberus_record::time::Timestamp;
use rusqlite::params;

use super::read::time;
use super::write::{FoldTransaction, RowSource};
use super::{Result, SessionRow, Store};

/// An ended session that edited files, and what it was asked first.
#[derive(Debug)]
pub struct EndedSession {
    pub session: SessionRow,
    pub asked_at: Timestamp,
    pub prompt: String,
    pub edited: FastSet<String>,
}

impl Store {
    /// What counting the prompt double would have gained in the last sessions of these projects.
    pub fn gain_of_doubling(&self, projects: &[ProjectId], now: Timestamp) -> Result<i64> {
        let sql = "SELECT coalesce(sum(gain), 0) FROM (SELECT gain FROM session CROSS JOIN lesson
            ON lesson.session = session.row AND lesson.at <= ?2
            WHERE project = ?1 AND started_at <= ?2 ORDER BY last_activity DESC, row DESC LIMIT ?3)";
        let mut sum = 0;
        for project in projects {
            let asked = params![project.as_str(), now.millis(), SESSIONS_MAX];
            let gains: Vec<i64> = self.rows(sql, asked, |row| row.get(0))?;
            sum += gains.iter().sum::<i64>();
        }
        Ok(sum)
    }

    /// Ended sessions of this device from which nothing was learned yet, the newest first. Of the last sessions only.
    pub fn unlearned(&self, projects: &[ProjectId], limit: usize, now: Timestamp) -> Result<Vec<EndedSession>> {
        let sql = "SELECT row FROM (SELECT row FROM session WHERE project = ?1 AND started_at <= ?2
                ORDER BY last_activity DESC, row DESC LIMIT ?3) AS last
            WHERE EXISTS (SELECT 1 FROM session WHERE session.row = last.row AND device IS NULL AND NOT is_open)
            AND NOT EXISTS (SELECT 1 FROM lesson WHERE lesson.session = last.row)
            AND EXISTS (SELECT 1 FROM prompt WHERE prompt.session = last.row)
            AND EXISTS (SELECT 1 FROM fact WHERE fact.session = last.row AND kind = 'file' AND path IS NOT NULL)
            LIMIT ?4";
        let mut rows: Vec<i64> = Vec::new();
        for project in projects {
            let asked = params![project.as_str(), now.millis(), SESSIONS_MAX, limit];
            rows.extend(self.rows(sql, asked, |row| row.get::<_, i64>(0))?);
        }
        rows.truncate(limit);
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.sessions_at(&rows, now)?.into_iter().map(|session| self.ended(session)).collect()
    }

    fn ended(&self, session: SessionRow) -> Result<EndedSession> {
        let sql = "SELECT at, text FROM prompt WHERE session = ?1 ORDER BY at, event LIMIT 1";
        let first = self.rows(sql, [session.row], |row| Ok((time(row, 0)?, row.get(1)?)))?.pop();
        let (asked_at, prompt) = first.unwrap_or((session.started_at, String::new()));
        let sql = "SELECT DISTINCT path FROM fact WHERE session = ?1 AND kind = 'file' AND path IS NOT NULL";
        let edited = self.rows(sql, [session.row], |row| row.get(0))?.into_iter().collect();
        Ok(EndedSession { session, asked_at, prompt, edited })
    }
}

impl FoldTransaction<'_> {
    pub(super) fn lesson(&self, source: &RowSource, lesson: Lesson) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO lesson VALUES (?1, ?2, ?3)";
        self.run(sql, params![source.session, source.at.millis(), lesson.gain()])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cerberus_agents::claude_code;
    use cerberus_os::home::Home;
    use cerberus_record::clean::text::Clean;
    use cerberus_record::event::{Event, Location, Record};

    use super::*;
    use crate::journal;
    use crate::view::fold;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000 + 1_000 * second)
    }

    #[test]
    fn gains_and_losses_of_a_project_add_up_as_of_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let teach = |session: &'static str, project: &str, [begun, ended]: [i64; 2], told, told_doubled| {
            let word = Clean::word;
            let project = ProjectId::of_anchor(project.as_bytes());
            let location = Location { project, name: word("p"), root: word("/p"), cwd: word("/p"), branch: None };
            let record = |second, event, key| Record {
                at: at(second),
                key: word(key),
                agent: claude_code::AGENT,
                imported: false,
                heard_by: None,
                by_agent: false,
                origin: None,
                session: word(session),
                location: location.clone(),
                event,
            };
            let lesson = Event::Lesson(Lesson { edited: 4, told, told_doubled });
            let records = [record(begun, Event::Pulse, "k"), record(ended, lesson, "lesson")];
            journal::append_all(&home, at(ended), &records).unwrap();
        };
        teach("a", "/p", [1, 2], 0, 4);
        teach("b", "/p", [2, 3], 3, 1);
        teach("c", "/other", [3, 4], 0, 4);
        let store = fold::open(&home).unwrap();
        let gain = |anchors: &[&str], second| {
            let projects: Vec<ProjectId> =
                anchors.iter().map(|anchor| ProjectId::of_anchor(anchor.as_bytes())).collect();
            store.gain_of_doubling(&projects, at(second)).unwrap()
        };
        assert_eq!((gain(&["/p"], 1), gain(&["/p"], 2), gain(&["/p"], 9)), (0, 1_000, 500));
        assert_eq!((gain(&["/p", "/other"], 9), gain(&[], 9)), (1_500, 0));
    }
}
