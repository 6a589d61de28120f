//! Learns from ended sessions how much a prompt should count in a project. Nobody waits for it.
//!
//! Each ended session is looked at once: which files would have been told with its first prompt, and would more of those
//! that it edited be among them if the prompt had counted double? The answer is recorded, because git changes. So a
//! rebuilt view says the same.

use std::time::Duration;

use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::brief::rank::{RankEvidence, RankedFile, hindsight};
use cerberus_record::event::{Event, Record};
use cerberus_record::id::Agent;

use crate::brief::subject::View;
use crate::brief::survey;
use crate::journal::own_record;
use crate::project::identity::Located;
use crate::project::{git, privacy};
use crate::same_project::joined::joined;
use crate::view::fold::FoldError;
use crate::view::recorder::Recorder;
use crate::view::{self, Asks, EndedSession, Store};

/// Looks at the ended sessions of a project from which nothing was learned yet, the newest first and at most `limit`.
pub fn learn(home: &Home, clock: &Clock, store: &mut Store, located: &Located, limit: usize) -> Result<(), FoldError> {
    if privacy::permanent_block(home, located).is_some() {
        return Ok(());
    }
    let joined = joined(store, located, clock.now)?;
    // The same sessions are read again and again.
    store.make_digests(&joined.ids);
    let mut records = Vec::new();
    for ended in store.unlearned(&joined.ids, limit, clock.now)? {
        // Some agents report times in whole seconds: what the prompt led to may have the same.
        let view = View { store, located, joined: &joined, now: ended.asked_at.minus(Duration::from_millis(1)) };
        // If git gives no answer in time, it is asked again the next time.
        let Some(ranked) = ranked_then(&view, &ended.prompt)? else { break };
        records.push(lesson(home, clock, &ended, &ranked));
    }
    Recorder::journal(home, clock, store).record(&records)
}

/// The files as they would have been ranked at the time of the view.
pub fn ranked_then(view: &View, prompt: &str) -> view::Result<Option<Vec<RankedFile>>> {
    let Some(tracked) = git::tracked_at(view.located, view.now) else { return Ok(None) };
    let sessions = view.store.history(&view.joined.ids, Asks::Prompt, view.now)?;
    let commits = git::commits(&survey::printed_log(view.store, view.located)?, view.now);
    let evidence =
        RankEvidence { now: view.now, sessions: &sessions, commits: &commits, tracked: &tracked, prompt: Some(prompt) };
    Ok(Some(hindsight::ranked(&evidence)))
}

fn lesson(home: &Home, clock: &Clock, ended: &EndedSession, ranked: &[RankedFile]) -> Record<'static> {
    let session = &ended.session;
    let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
    let event = Event::Lesson(hindsight::lesson(ranked, &ended.edited));
    // If the end of the session is forgotten, what is left of it teaches something else.
    let key = format!("lesson-{}", session.last_activity.millis());
    let record = own_record(home, clock, agent, &session.agent_session_id, session.location(), key, event);
    Record { at: session.last_activity, ..record }
}
