//! Writes a summary after a session has ended, in a separate process, so that the agent does not wait.
//!
//! This process outlives the command that started it. It ends when it is done, at the latest after two attempts and a
//! margin. It runs only once for the same facts of the same session.

use std::fs::{self, OpenOptions};
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use cerberus_os::clock::Clock;
use cerberus_os::failures;
use cerberus_os::home::{Home, create_dir};
use cerberus_os::platform;
use cerberus_record::id::SessionId;
use cerberus_record::session::CARRY_OVER;

use super::{FAILURE, SessionFacts, SummaryError};
use crate::authorities;
use crate::view::SessionRow;

/// Time for everything except the provider: reading the view, waiting for other writers, recording.
const MARGIN: Duration = Duration::from_secs(5);

/// How many summaries one command starts. The other sessions keep their codes.
const AT_ONCE_MAX: usize = 3;

/// The flag that the process is started with.
pub const FLAG: &str = "--detached";

/// Starts the summaries of the last few of these sessions. Failures are noted, because nobody waits for the result.
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

/// Starts the summary of a session and returns at once.
fn start(home: &Home, session: &SessionId) -> io::Result<Child> {
    let mut command = command(home)?;
    command.args(["summarize", FLAG, "--", session.as_str()]);
    platform::in_own_group(&mut command).spawn()
}

/// This program, as a process that outlives the one that starts it. In a group of its own, neither Ctrl-C nor a signal
/// to the agent's process group ends it.
pub fn command(home: &Home) -> io::Result<Command> {
    // Not by its path: its file may have been replaced by an update.
    let mut command = Command::new(platform::running_program()?);
    command
        .env("CERBERUS_HOME", home.root())
        // Keeps no project folder in use.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    for name in authorities::VARIABLES {
        command.env_remove(name);
    }
    Ok(command)
}

/// Claims the summary of these facts; `false` if another process already did.
pub fn claim(home: &Home, session: &SessionRow, facts: &SessionFacts) -> Result<bool, SummaryError> {
    let path = home.claims_dir().join(format!("{:016x}", facts.fingerprint(home.cleaner(), session)));
    let made = create_dir(&home.claims_dir())
        .and_then(|()| platform::with_mode(OpenOptions::new().write(true).create_new(true), 0o600).open(&path));
    match made {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(SummaryError::Claim { path: path.display().to_string(), source }),
    }
}

/// Removes claims on sessions that are long out of every brief.
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
    fn the_environment_of_an_agent_names_no_authorities() {
        let dir = tempfile::tempdir().unwrap();
        let command = command(&Home::new(dir.path().join("home"))).unwrap();
        for name in authorities::VARIABLES {
            assert!(command.get_envs().any(|(variable, value)| variable == name && value.is_none()), "{name}");
        }
    }

    #[test]
    fn old_claims_are_removed() {
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
