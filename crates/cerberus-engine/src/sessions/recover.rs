//! Crash recovery: what a session that died left is completed from its transcript, and what it was in
//! the middle of is written down for the next one. Recovering twice equals recovering once.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use cerberus_core::agents::transcripts;
use cerberus_core::clean::text::{Keep, line};
use cerberus_core::model::event::{Event, Recovery};
use cerberus_core::model::id::Agent;
use cerberus_core::model::session::Status;

use crate::agents::Profile;
use crate::import;
use crate::journal::{self, own_record};
use crate::memory::distill;
use crate::memory::distill::Distilled;
use crate::memory::keep::Keeper;
use crate::os::clock::Clock;
use crate::os::home::Home;
use crate::os::outside;
use crate::project::identity;
use crate::store::fold;
use crate::store::fold::FoldError;
use crate::store::{SessionRow, Store, Wanted};

/// The end of a transcript is what hooks may have missed; the beginning they saw.
const TAIL_BYTES: u64 = 1024 * 1024;

/// As much as a line of a brief can say of what was in flight.
const IN_FLIGHT_CHARS_MAX: usize = 80;

/// What recovering a session did.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    pub actions: Vec<String>,
    pub in_flight: Vec<String>,
}

/// Takes care of a crashed session; one that was taken care of is left as it is.
pub fn recover(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    session: &SessionRow,
    is_automatic: bool,
) -> Result<Option<Recovered>, FoldError> {
    if session.state.status != Status::Crashed {
        return Ok(None);
    }
    let mut actions = Vec::new();
    let mut in_flight = complete_from_transcript(home, clock, store, session, &mut actions)?;
    if let Some(prompt) = store.unanswered_prompt(session, clock.now)? {
        in_flight.push(line(&prompt, IN_FLIGHT_CHARS_MAX));
    }
    let facts = store.carried(std::slice::from_ref(session), Wanted::All, clock.now)?.facts.len();
    actions.push(format!("carried over {facts} {}", if facts == 1 { "fact" } else { "facts" }));
    actions.extend(learn(home, clock, store, session)?);
    if !in_flight.is_empty() {
        actions.push(format!("noted what was in flight: {}", in_flight.join("; ")));
    }
    let clean = |texts: &[String]| texts.iter().map(|text| home.cleaner().clean(text.clone(), Keep::SUBJECT)).collect();
    let event = Event::Recover(Recovery { actions: clean(&actions), in_flight: clean(&in_flight), is_automatic });
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let key = format!("recover-{}", session.last_activity.millis());
    let record = own_record(home, clock, agent, &session.agent_session_id, session.place(), key, event);
    // The crash may be known by evidence only; recovered is what crashed.
    let evidence = session.state.ended.as_ref().map_or(String::new(), |(_, evidence)| evidence.clone());
    let crash = Event::Crash { evidence: home.cleaner().clean(evidence, Keep::SUBJECT) };
    let key = format!("crash-{}", session.last_activity.millis());
    let crash = own_record(home, clock, agent, &session.agent_session_id, session.place(), key, crash);
    journal::append_all(home, clock.wall, &[crash, record])?;
    fold::fold(home, store)?;
    Ok(Some(Recovered { actions, in_flight }))
}

/// What the user corrected must not be lost with the session: it becomes proposals, the surest of them memories.
fn learn(home: &Home, clock: &Clock, store: &mut Store, session: &SessionRow) -> Result<Vec<String>, FoldError> {
    let located = identity::locate(Path::new(&session.root));
    let Distilled { proposed, approved } = distill::distill(&Keeper { home, clock, located: &located }, store)?;
    let said = |count: usize, what: &str| {
        let things = if count == 1 { "correction" } else { "corrections" };
        (count > 0).then(|| format!("{what} {count} {things}"))
    };
    let said = [said(approved.len(), "learnt from"), said(proposed.len(), "left for review")];
    Ok(said.into_iter().flatten().collect())
}

/// Recovers what crashed in this project, by itself.
pub fn recover_project(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    sessions: &[SessionRow],
) -> Result<(), FoldError> {
    for session in sessions.iter().filter(|session| session.state.status == Status::Crashed) {
        recover(home, clock, store, session, true)?;
    }
    Ok(())
}

/// Imports the end of the session's transcript; the tool uses in it that never got a result.
fn complete_from_transcript(
    home: &Home,
    clock: &Clock,
    store: &mut Store,
    session: &SessionRow,
    actions: &mut Vec<String>,
) -> Result<Vec<String>, FoldError> {
    let kept = Agent::from_name(&session.agent).and_then(Profile::of).and_then(|profile| profile.transcripts);
    let transcript = session.transcript.as_deref().filter(|_| kept.is_some_and(|kept| kept.is_tail_enough));
    let Some(bytes) = transcript.and_then(|path| tail(Path::new(path)).ok()) else {
        return Ok(Vec::new());
    };
    let located = identity::locate(Path::new(&session.root));
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let report = import::import(home, clock, store, agent, Some(&located), &bytes)?;
    if report.new_events > 0 {
        fold::fold(home, store)?;
        actions.push(format!("completed {} events from the transcript", report.new_events));
    }
    // A transcript lags behind: what a hook saw finished is not in flight.
    let finished = store.event_keys(agent, &session.agent_session_id)?;
    let in_flight = transcripts::read(home.cleaner(), agent, &bytes).unwrap_or_default().in_flight;
    let pending = in_flight.into_iter().filter(|(id, _)| !finished.contains(id));
    Ok(pending.map(|(_, what)| line(&what, IN_FLIGHT_CHARS_MAX)).collect())
}

/// The last part of a file, from the beginning of a line, below its first line: that says whose session it is.
fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = outside::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL_BYTES);
    let mut bytes = Vec::new();
    if start > 0 {
        BufReader::new(&file).take(start.min(TAIL_BYTES)).read_until(b'\n', &mut bytes)?;
        bytes.truncate(if bytes.ends_with(b"\n") { bytes.len() } else { 0 });
    }
    let first_line = bytes.len();
    file.seek(SeekFrom::Start(start.max(first_line as u64)))?;
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    if start > first_line as u64 {
        let rest = &bytes[first_line..];
        let line = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
        bytes.drain(first_line..first_line + line);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_transcript_is_its_first_line_and_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            String::from_utf8(tail(&path).unwrap()).unwrap()
        };
        let filler = format!("{}\n", "x".repeat(99));
        let many = filler.repeat(2 * TAIL_BYTES as usize / filler.len());
        let read = of(&format!("first\n{many}last\n"));
        assert!(read.starts_with("first\nxxx") && read.ends_with("x\nlast\n"), "{}", &read[..20]);
        assert!(read.len() as u64 <= TAIL_BYTES + 6 && read.len() as u64 > TAIL_BYTES - 200);
        assert!(read.lines().all(|line| matches!(line.len(), 5 | 99 | 4)), "no line is torn");
        assert_eq!(of("first\nlast\n"), "first\nlast\n");
        let long = "y".repeat(2 * TAIL_BYTES as usize);
        assert_eq!(of(&format!("{long}\nlast\n")), "last\n", "a first line without end is none");
    }
}
