//! What a session is told before a tool runs, besides what a check says. Nothing is recorded of the tool.

use std::path::Path;

use cerberus_agents::before::{self, HookRefusal};
use cerberus_agents::host::Occasion;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::brief::Brief;
use cerberus_record::id::Agent;
use cerberus_text::tokens;

use crate::config;
use crate::hook::answer::{AnswerError, HookAnswer, receipt};
use crate::journal::own_record;
use crate::moments::live;
use crate::project::{identity, privacy};
use crate::view::fold;

/// The reply; `None` if the payload is not about a tool that is about to run, or there is nothing to say.
pub fn answer(home: &Home, clock: &Clock, agent: Agent, payload: &[u8]) -> Result<Option<HookAnswer>, AnswerError> {
    if !live::is_any_shared(home) {
        return Ok(None);
    }
    let Some(before) = before::before(agent, payload) else { return Ok(None) };
    let located = identity::locate(Path::new(&before.cwd));
    let Some(risk) = live::risk(home, &before, &located) else { return Ok(None) };
    if privacy::storage_block(home, clock.now, &located).is_some() || !config::load(home)?.moments.live {
        return Ok(None);
    }
    let store = fold::open_in_hook(home)?;
    let told = match store.agent_session(before.agent, &before.session, clock.now)? {
        Some(session) => live::told(home, &store, &located, &session, before.agent, &risk, clock.now)?,
        None => None,
    };
    store.close();
    let Some(told) = told else { return Ok(None) };
    let reply = match told.is_held {
        true => before::refuse(before.agent, HookRefusal::Deny, &told.text),
        false => cerberus_agents::reply(before.agent, Occasion::Before, &told.text, None),
    };
    let brief = Brief { tokens: tokens::estimate(&told.text), ..Brief::default() };
    let key = format!("receipt-before-{}-{}", told.code, before.call);
    let event = receipt(home, None, [told.code], &brief, false);
    let location = located.location(home.cleaner());
    let receipt = own_record(home, clock, before.agent, &before.session, location, key, event);
    Ok(reply.map(|reply| HookAnswer { reply, receipt }))
}
