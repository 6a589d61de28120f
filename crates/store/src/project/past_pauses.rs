//! When what was paused: agents go on writing their transcripts meanwhile, and that must not be read later. Times only.

use std::io;

use cerberus_os::home::{Home, create_dir};
use cerberus_record::id::ProjectId;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

/// More than anybody pauses.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct PastPause {
    /// `None` for all projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<ProjectId>,
    from: Timestamp,
    /// `None`: until it is lifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
}

impl PastPause {
    fn is_open(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// The pauses of a project, each from the first time up to the second. An error if they cannot be read.
pub fn of_project(home: &Home, project: &ProjectId) -> io::Result<Vec<(Timestamp, Timestamp)>> {
    let is_meant = |pause: &PastPause| pause.project.as_ref().is_none_or(|paused| paused == project);
    let meant = read(home)?.into_iter().filter(is_meant);
    Ok(meant.map(|pause| (pause.from, pause.until.unwrap_or(Timestamp::LAST))).collect())
}

pub(super) fn begin(
    home: &Home,
    now: Timestamp,
    project: Option<&ProjectId>,
    until: Option<Timestamp>,
) -> io::Result<()> {
    let mut all = read(home)?;
    // The new one replaces one that lasts.
    all.iter_mut().filter(|pause| pause.project.as_ref() == project && pause.is_open(now)).for_each(|pause| {
        pause.until = Some(now);
    });
    all.push(PastPause { project: project.cloned(), from: now, until });
    write(home, &all)
}

/// Ends the pause of a project, or every pause.
pub(super) fn end(home: &Home, now: Timestamp, project: Option<&ProjectId>) -> io::Result<()> {
    let mut all = read(home)?;
    let is_meant =
        |pause: &&mut PastPause| pause.is_open(now) && (project.is_none() || pause.project.as_ref() == project);
    all.iter_mut().filter(is_meant).for_each(|pause| pause.until = Some(now));
    if all.is_empty() { Ok(()) } else { write(home, &all) }
}

fn read(home: &Home) -> io::Result<Vec<PastPause>> {
    match home.text(&home.past_pauses(), BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        text => serde_json::from_slice(text?.as_bytes()).map_err(|error| {
            let file = home.past_pauses();
            io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged: {error}", file.display()))
        }),
    }
}

fn write(home: &Home, all: &[PastPause]) -> io::Result<()> {
    create_dir(home.root())?;
    home.replace(&home.past_pauses(), &serde_json::to_vec(all)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_until_it_is_lifted_or_over() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let at = Timestamp::from_millis;
        let [p, q] = ["p", "q"].map(|name| ProjectId::from_stored(name.to_string()));
        let of = |project: &ProjectId| of_project(&home, project).unwrap();
        assert_eq!(of(&p), []);
        begin(&home, at(10), None, Some(at(20))).unwrap();
        end(&home, at(30), None).unwrap();
        assert_eq!(of(&p), [(at(10), at(20))], "it was over before it was lifted");
        begin(&home, at(40), Some(&q), None).unwrap();
        assert_eq!(of(&q), [(at(10), at(20)), (at(40), Timestamp::LAST)]);
        begin(&home, at(45), Some(&q), Some(at(80))).unwrap();
        end(&home, at(50), Some(&p)).unwrap();
        end(&home, at(60), Some(&q)).unwrap();
        assert_eq!(of(&q), [(at(10), at(20)), (at(40), at(45)), (at(45), at(60))]);
        assert_eq!(of(&p), [(at(10), at(20))]);
        home.replace(&home.past_pauses(), b"[").unwrap();
        assert!(of_project(&home, &p).is_err() && end(&home, at(70), None).is_err());
    }
}
