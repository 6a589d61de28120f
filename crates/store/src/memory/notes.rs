//! Records what agents wrote into their own memory files, so that the user's other agents and devices can be told.
//!
//! A file is read when a session of its agent has ended or was recovered, and recorded only if it has changed since.

use std::io;
use std::path::Path;

use cerberus_agents::install::{Profile, Surroundings};
use cerberus_recall::brief;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::Event;
use cerberus_record::id::{Agent, fnv1a};

use crate::journal::own_record;
use crate::project::identity;
use crate::project::notes;
use crate::project::privacy;
use crate::same_project::joined::joined;
use crate::view::SessionRow;
use crate::view::fold::FoldError;
use crate::view::recorder::Recorder;

/// Records what the session's agent has noted about the project. A file that is gone says nothing any more.
pub fn record(recorder: &mut Recorder, surroundings: &Surroundings, session: &SessionRow) -> Result<(), FoldError> {
    let (home, clock) = (recorder.home, recorder.clock);
    let Some(agent) = Agent::from_name(&session.agent).filter(|_| session.device.is_none()) else { return Ok(()) };
    let Some(profile) = Profile::of(agent).filter(|profile| profile.notes.is_some()) else { return Ok(()) };
    let Some(dir) = (profile.dir)(surroundings) else { return Ok(()) };
    let located = identity::locate(Path::new(&session.root));
    if privacy::storage_block(home, clock.now, &located).is_some() {
        return Ok(());
    }
    let text = match notes::read(profile, &dir, &located) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(_) => return Ok(()),
    };
    let text = home.cleaner().clean(brief::kept(&text).to_string(), Keep::NOTES);
    let known = recorder.store().agent_notes(&joined(recorder.store(), &located, clock.now)?.ids, clock.now)?;
    let last = known.iter().find(|row| row.notes.agent == session.agent && !row.notes.is_of_other_device);
    // The text of the record may have lost lines that are private or forgotten; its key has not.
    let name = format!("notes-{:016x}", fnv1a(text.as_bytes()));
    if last.map_or(text.is_empty(), |row| row.key.starts_with(&name)) {
        return Ok(());
    }
    let key = format!("{name}-{}", clock.now.millis());
    let event = Event::AgentNotes { text };
    recorder.record(&[own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event)])
}
