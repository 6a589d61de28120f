//! Appends facts that somebody states to the journal.

use cerberus_record::event::{Event, Note, Record};
use cerberus_record::id::{Agent, fnv1a};
use cerberus_store::journal;
use cerberus_store::journal::own_record;
use cerberus_store::sessions::caller::CalledBy;
use cerberus_store::sessions::find::live_session;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Hint, Result};

pub(super) const BUG: &str = "this is a bug; please report it";

/// The code of the recorded fact, and the session it was added to.
#[derive(Serialize)]
pub struct RecordedFact {
    /// The code as a brief shows it, or `resolved`
    pub code: String,
    pub agent: String,
    pub agent_session_id: String,
}

/// Appends notes to the project's live session; when there is none, a manual one is opened.
pub fn append(context: &Context, notes: Vec<Note<'static>>, is_mcp: bool) -> Result<Vec<RecordedFact>> {
    let (located, store) = (context.located(), context.store()?);
    let by_agent = is_mcp || context.called_by(&store)? == CalledBy::Agent;
    let live = live_session(&store, &located, &context.clock)?;
    let (agent, session, location) = match &live {
        Some(session) => {
            let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
            (agent, session.agent_session_id.clone(), session.location())
        }
        None => {
            let name = format!("{}-{}", context.clock.wall.millis(), std::process::id());
            (Agent::MANUAL, name, located.location(context.home.cleaner()))
        }
    };
    let (mut records, mut recorded) = (Vec::new(), Vec::new());
    for note in notes {
        let encoded = serde_json::to_vec(&note).hint(BUG)?;
        let key = format!("{:016x}-{}", fnv1a(&encoded), context.clock.now.millis());
        let event = Event::Note(note);
        let facts = cerberus_recall::extract::extract(&event).facts;
        let code = facts.first().map_or("resolved", |fact| fact.code.as_str()).to_string();
        recorded.push(RecordedFact { code, agent: agent.name().to_string(), agent_session_id: session.clone() });
        let record = own_record(&context.home, &context.clock, agent, &session, location.clone(), key, event);
        records.push(Record { by_agent, ..record });
    }
    let append = journal::append_all(&context.home, context.clock.wall, &records);
    append.hint("nothing was recorded; free disk space or fix the folder's permissions, then try again")?;
    Ok(recorded)
}
