//! A summary written after a session's end: in a process of its own, so that the agent waits for nothing.
//!
//! This is the one process of ours that outlives the command which started it. It ends by itself: when it is done, or at
//! the latest when two tries and a margin have passed. It is begun once for the same facts of the same session.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use cerberus_core::model::id::SessionId;
use cerberus_core::model::session::CARRY_OVER;

use super::{FAILURE, Left, SummaryError};
use crate::os::clock::Clock;
use crate::os::failures;
use crate::os::home::{Home, create_dir};
use crate::store::SessionRow;

/// Time for everything but the provider: reading the view, waiting for others who write to it, recording.
const MARGIN: Duration = Duration::from_secs(5);

/// As many as one command begins; the others stay with their codes.
const AT_ONCE_MAX: usize = 3;

/// What the process is called with.
pub const FLAG: &str = "--detached";

/// Begins the summary of each of these sessions, of the last few. What cannot be begun is noted: nobody waits for it.
pub fn start_each<'a>(home: &Home, clock: &Clock, sessions: impl Iterator<Item = &'a SessionRow>) -> Vec<Child> {
    let mut sessions: Vec<&SessionRow> = sessions.collect();
    sessions.sort_by_key(|session| std::cmp::Reverse((session.last_activity, session.row)));
    let mut started = Vec::new();
    for session in sessions.into_iter().take(AT_ONCE_MAX) {
        match start(home, &session.id) {
            Ok(child) => started.push(child),
            Err(error) => failures::note(home, clock.now, FAILURE, &error),
        }
    }
    started
}

/// Begins the summary of a session and returns at once.
fn start(home: &Home, session: &SessionId) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["summarize", FLAG, "--", session.as_str()])
        .env("CERBERUS_HOME", home.root())
        // The folder of a project can then go while we are at work.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Neither Ctrl-C nor whoever ends the agent's processes means this one.
        .process_group(0)
        .spawn()
}

/// Whether the summary is ours to write: nobody has begun one of these facts before.
pub fn claim(home: &Home, session: &SessionRow, left: &Left) -> Result<bool, SummaryError> {
    let path = home.claims_dir().join(format!("{:016x}", left.digest(home.cleaner(), session)));
    let made = create_dir(&home.claims_dir())
        .and_then(|()| OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path));
    match made {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(SummaryError::Claim { path: path.display().to_string(), source }),
    }
}

/// Drops claims on sessions that have long left every brief.
pub fn drop_old_claims(home: &Home) {
    let is_old = |entry: &fs::DirEntry| {
        let changed = entry.metadata().and_then(|known| known.modified()).ok();
        changed.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > 2 * CARRY_OVER)
    };
    for entry in fs::read_dir(home.claims_dir()).into_iter().flatten().flatten().filter(is_old) {
        let _ = fs::remove_file(entry.path());
    }
}

/// Ends this process when its time is over, whatever it is doing.
pub fn end_in_time(limit: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(2 * limit + MARGIN);
        std::process::exit(1);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_go_when_nobody_can_ask_again() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        create_dir(&home.claims_dir()).unwrap();
        for (name, days) in [("old", 15), ("new", 13)] {
            let file = fs::File::create(home.claims_dir().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(days * 86_400)).unwrap();
        }
        drop_old_claims(&home);
        assert!(!home.claims_dir().join("old").exists() && home.claims_dir().join("new").exists());
    }
}
