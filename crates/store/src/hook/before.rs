//! What a session is told before a tool runs, besides what a check says. Nothing is recorded of the tool.

use std::path::Path;

use cerberus_agents::action::Action;
use cerberus_agents::before::{self, Before, HookRefusal};
use cerberus_agents::host::Occasion;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::brief::{Brief, MemoryItem};
use cerberus_record::id::Agent;
use cerberus_record::time::Timestamp;
use cerberus_text::tokens;

use crate::brief::subject::View;
use crate::config;
use crate::hook::answer::{AnswerError, HookAnswer, receipt};
use crate::journal::own_record;
use crate::moments::edit::{self, EditTold};
use crate::moments::live::{self, LiveRisk, LiveTold};
use crate::project::identity::{self, Located};
use crate::project::privacy;
use crate::same_project::joined::joined;
use crate::view::{Store, fold};

/// The reply; `None` if the payload is not about a tool that is about to run, or there is nothing to say.
pub fn answer(home: &Home, clock: &Clock, agent: Agent, payload: &[u8]) -> Result<Option<HookAnswer>, AnswerError> {
    let (is_shared, is_noted) = (live::is_any_shared(home), edit::is_any_noted(home));
    if !is_shared && !is_noted {
        return Ok(None);
    }
    let Some(before) = before::before(agent, payload) else { return Ok(None) };
    if !is_shared && matches!(before.action, Action::Shell { .. }) {
        return Ok(None);
    }
    let located = identity::locate(Path::new(&before.cwd));
    let risk = is_shared.then(|| live::risk(home, &before, &located)).flatten();
    let accepts = || cerberus_agents::accepts(before.agent, Occasion::Before);
    let file = edit::noted_file(home, &before, &located).filter(|_| accepts());
    if risk.is_none() && file.is_none() || privacy::storage_block(home, clock.now, &located).is_some() {
        return Ok(None);
    }
    let on = config::load(home)?.moments;
    let (risk, file) = (risk.filter(|_| on.live), file.filter(|_| on.edits));
    if risk.is_none() && file.is_none() {
        return Ok(None);
    }
    let store = fold::open_in_hook(home)?;
    let told = told(home, &store, &located, &before, (risk.as_ref(), file.as_deref()), clock.now)?;
    store.close();
    let Some(told) = told else { return Ok(None) };
    let reply = match told.is_held {
        true => before::refuse(before.agent, HookRefusal::Deny, &told.text),
        false => cerberus_agents::reply(before.agent, Occasion::Before, &told.text, None),
    };
    let brief = Brief { tokens: tokens::estimate(&told.text), memories: told.memories, ..Brief::default() };
    let key = format!("receipt-before-{}-{}", told.codes.join(" "), before.call);
    let event = receipt(home, None, told.codes, &brief, false);
    let location = located.location(home.cleaner());
    let receipt = own_record(home, clock, before.agent, &before.session, location, key, event);
    Ok(reply.map(|reply| HookAnswer { reply, receipt }))
}

/// What is told before a tool runs: first of who else is at work, else what is known about the file.
fn told(
    home: &Home,
    store: &Store,
    located: &Located,
    before: &Before,
    (risk, file): (Option<&LiveRisk>, Option<&str>),
    now: Timestamp,
) -> Result<Option<BeforeTold>, AnswerError> {
    let Some(session) = store.agent_session(before.agent, &before.session, now)? else { return Ok(None) };
    if let Some(risk) = risk
        && let Some(told) = live::told(home, store, located, &session, before.agent, risk, now)?
    {
        let LiveTold { text, code, is_held } = told;
        return Ok(Some(BeforeTold { text, codes: vec![code], memories: Vec::new(), is_held }));
    }
    let Some(file) = file else { return Ok(None) };
    let joined = joined(store, located, now)?;
    let told = edit::told(&View { store, located, joined: &joined, now }, &session, file)?;
    Ok(told.map(|EditTold { text, codes, memories }| BeforeTold { text, codes, memories, is_held: false }))
}

struct BeforeTold {
    text: String,
    codes: Vec<String>,
    memories: Vec<MemoryItem>,
    is_held: bool,
}
