//! Really gone: a session's records are blanked in the journal where they stand, and its rows leave the view.
//!
//! Blanking keeps every offset, so hooks may append meanwhile. Only what the user asked for is ever forgotten.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use cerberus_core::event::Record;

use crate::fold::FoldError;
use crate::home::Home;
use crate::journal::{self, JournalError};
use crate::store::{SessionRow, Store};

/// Removes sessions with everything they left.
pub fn forget(home: &Home, store: &mut Store, sessions: &[SessionRow]) -> Result<(), FoldError> {
    let names: HashSet<(&str, &str)> =
        sessions.iter().map(|session| (session.agent.as_str(), session.agent_session_id.as_str())).collect();
    // The journal first: it is the truth, and a view made anew must not bring back what is gone.
    for segment in journal::segments(home)? {
        let path = home.journal_dir().join(&segment.name);
        blank(home, &segment.name, &names).map_err(|source| match source {
            Blank::Read(error) => error,
            Blank::Write(source) => JournalError::Write { path: path.clone(), source },
        })?;
    }
    Ok(store.forget_sessions(sessions)?)
}

enum Blank {
    Read(JournalError),
    Write(std::io::Error),
}

fn blank(home: &Home, segment: &str, names: &HashSet<(&str, &str)>) -> Result<(), Blank> {
    let path: PathBuf = home.journal_dir().join(segment);
    let mut offset = 0;
    let mut touched = None;
    loop {
        let stretch = journal::read(home, segment, offset).map_err(Blank::Read)?;
        if stretch.next_offset == offset {
            break;
        }
        let mut at = offset;
        for line in stretch.bytes.split(|byte| *byte == b'\n') {
            let record = journal::decode(line).and_then(|whole| serde_json::from_slice::<Record>(whole).ok());
            if record.is_some_and(|record| names.contains(&(record.agent.name(), &*record.session))) {
                let file = match touched.take() {
                    Some(file) => file,
                    None => OpenOptions::new().write(true).open(&path).map_err(Blank::Write)?,
                };
                file.write_all_at(&vec![b'\n'; line.len()], at).map_err(Blank::Write)?;
                touched = Some(file);
            }
            at += line.len() as u64 + 1;
        }
        offset = stretch.next_offset;
    }
    match touched {
        Some(file) => file.sync_data().map_err(Blank::Write),
        None => Ok(()),
    }
}
