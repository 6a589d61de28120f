//! Records what hooks do not report and the transcript of a session says: which turns the user took back, and what the
//! user typed while rejecting a tool use.

use std::path::Path;

use cerberus_agents::install::Surroundings;
use cerberus_agents::transcripts::{self, Transcript, TranscriptEvent};
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Event, Record};
use cerberus_record::id::Agent;
use cerberus_record::map::FastSet;

use crate::import::{ending, undone_key};
use crate::journal::own_record;
use crate::project::identity;
use crate::project::privacy;
use crate::view::SessionRow;
use crate::view::fold::FoldError;
use crate::view::recorder::Recorder;

/// Records what is new since the last time.
pub fn record(recorder: &mut Recorder, surroundings: &Surroundings, session: &SessionRow) -> Result<(), FoldError> {
    let (home, clock) = (recorder.home, recorder.clock);
    if is_blocked(recorder, session) {
        return Ok(());
    }
    let Some((agent, bytes)) = ending::prompt_lines(surroundings, session) else { return Ok(()) };
    let Some(mut read) = transcripts::read(home.cleaner(), agent, &bytes) else { return Ok(()) };
    read.prompts.retain(|seen| *seen.session == *session.agent_session_id);
    let reported = recorder.store().prompt_keys(session)?;
    let reported: Vec<&str> = reported.iter().map(String::as_str).collect();
    let mut records = words(recorder, agent, session, &read, &reported);
    let mut undone = transcripts::undone(&reported, &read.prompts);
    let standing = recorder.store().standing_prompts(session)?;
    undone.retain(|key| standing.iter().any(|stands| stands == key));
    if !undone.is_empty() {
        let name = undone_key(undone.iter().copied());
        let prompts = undone.iter().map(|key| home.cleaner().clean(key.to_string(), Keep::NAME)).collect();
        let undone = Event::Undone { prompts };
        records.push(own_record(home, clock, agent, &session.agent_session_id, session.location(), name, undone));
    }
    recorder.record(&records)
}

/// Records only what the user typed while rejecting a tool use. The session goes on, and may undo it.
pub fn record_words(
    recorder: &mut Recorder,
    surroundings: &Surroundings,
    session: &SessionRow,
) -> Result<(), FoldError> {
    let Some((agent, bytes)) = ending::unreported_lines(surroundings, session) else { return Ok(()) };
    let Some(mut read) = transcripts::read(recorder.home.cleaner(), agent, &bytes) else { return Ok(()) };
    if is_blocked(recorder, session) {
        return Ok(());
    }
    read.prompts.retain(|seen| *seen.session == *session.agent_session_id);
    let reported = recorder.store().prompt_keys(session)?;
    let reported: Vec<&str> = reported.iter().map(String::as_str).collect();
    let records = words(recorder, agent, session, &read, &reported);
    recorder.record(&records)
}

fn is_blocked(recorder: &Recorder, session: &SessionRow) -> bool {
    let located = identity::locate(Path::new(&session.root));
    privacy::storage_block(recorder.home, recorder.clock.now, &located).is_some()
}

/// The records of prompts that no hook reported.
fn words<'a>(
    recorder: &Recorder,
    agent: Agent,
    session: &'a SessionRow,
    read: &Transcript,
    reported: &[&str],
) -> Vec<Record<'a>> {
    let (home, clock) = (recorder.home, recorder.clock);
    let unreported: FastSet<&str> = read
        .prompts
        .iter()
        .filter(|seen| seen.is_unreported && !seen.is_undone && !reported.contains(&&*seen.key))
        .map(|seen| &*seen.key)
        .collect();
    let own = |name, event| own_record(home, clock, agent, &session.agent_session_id, session.location(), name, event);
    let is_meant = |told: &&TranscriptEvent| unreported.contains(&*told.key) && told.at <= clock.now;
    let told = read.events.iter().filter(is_meant);
    told.map(|told| Record { at: told.at, imported: true, ..own(told.key.to_string(), told.event.clone()) }).collect()
}
