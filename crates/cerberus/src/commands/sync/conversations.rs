//! Whole conversations of shared projects: sent after an exchange where the user agreed, fetched when one is asked for.

use std::io;
use std::time::Instant;

use cerberus_archive::{self as archive, Conversation};
use cerberus_record::id::Agent;
use cerberus_store::view::{SessionRow, Store};
use cerberus_sync::SyncError;
use cerberus_sync::conversations::{self, ConversationSending, FetchedConversation, OfferedConversation};
use cerberus_sync::files::Files;
use cerberus_sync::local::Space;
use cerberus_sync::transport::Transport;

use super::failed::failed;
use super::hub::open;
use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Stands for the folder of the project, which is another one on another device. It is no character of any text.
const ROOT: char = '\u{fdd1}';

/// Sends what is new of one space, and says how much that was. The caller holds the lock.
pub(super) fn send(
    context: &Context,
    hub: &mut dyn Transport,
    space: u32,
    store: &Store,
) -> std::result::Result<Vec<String>, SyncError> {
    let files = Files::new(&context.home);
    let space = files.spaces()?.spaces.into_iter().find(|one| one.number == space);
    let Some(space) = space.filter(|space| space.team.is_none() && !space.is_container()) else {
        return Ok(Vec::new());
    };
    if files.state(&space)?.conversations.is_empty() && !space.projects.iter().any(|shared| shared.has_conversations) {
        return Ok(Vec::new());
    }
    let kept = archive::conversations(&context.home).map_err(|error| SyncError::Unreadable(error.to_string()))?;
    let offered: Vec<OfferedConversation> = kept.iter().map(offered).collect();
    let lines = |offer: &OfferedConversation, take: &mut dyn FnMut(&str)| {
        let named = |one: &&Conversation| one.agent.name() == offer.agent && one.session == offer.session;
        let Some(one) = kept.iter().find(named) else { return Ok(()) };
        let root = in_json(&one.root);
        let read = archive::lines(&context.home, one, &mut |line| take(&placeless(line, &root)));
        read.map_err(io::Error::other)
    };
    let begun = Instant::now();
    let (home, clock) = (&context.home, &context.clock);
    let sent = ConversationSending { home, clock, store, space: &space, lines: &lines }.send(hub, &offered)?;
    if sent.count > 0 {
        render::talk(&format!(
            "cerberus: sent {}, {}, in {:.1} s",
            render::count(sent.count, "conversation"),
            render::bytes(sent.bytes),
            begun.elapsed().as_secs_f64()
        ));
    }
    Ok(sent.problems)
}

fn offered(one: &Conversation) -> OfferedConversation {
    OfferedConversation {
        agent: one.agent.to_string(),
        session: one.session.clone(),
        project: one.project.clone(),
        mark: format!("{} {:?}", one.text_bytes, one.last_at.map(|at| at.millis())),
        text_bytes: one.text_bytes,
    }
}

/// The lines of a conversation that another device of the user has; `None` if none has sent it.
pub fn fetch(context: &Context, store: &Store, session: &SessionRow) -> Result<Option<Vec<String>>> {
    let (Some(agent), true) = (Agent::from_name(&session.agent), session.device.is_some()) else { return Ok(None) };
    let files = Files::new(&context.home);
    for space in files.spaces().map_err(failed)?.spaces.iter().filter(|space| space.team.is_none()) {
        let begun = Instant::now();
        let found = fetch_from(context, store, space, (agent.name(), session)).map_err(failed)?;
        if let Some(FetchedConversation { lines, from, bytes }) = found {
            let (size, seconds) = (render::bytes(bytes), begun.elapsed().as_secs_f64());
            render::talk(&format!("cerberus: fetched its conversation from {from}: {size} in {seconds:.1} s"));
            let root = in_json(&session.root);
            return Ok(Some(lines.iter().map(|line| line.replace(ROOT, &root)).collect()));
        }
    }
    Ok(None)
}

fn fetch_from(
    context: &Context,
    store: &Store,
    space: &Space,
    (agent, session): (&str, &SessionRow),
) -> std::result::Result<Option<FetchedConversation>, SyncError> {
    let Some(shared) = conversations::shared_of(&context.home, store, space, &session.project)? else {
        return Ok(None);
    };
    let _lock = Files::new(&context.home).lock()?;
    let mut hub = open(context, &space.hub)?;
    let named = (agent, session.agent_session_id.as_str());
    conversations::fetch(hub.as_mut(), &context.home, context.clock.wall, space, &shared, named)
}

/// A path as it stands in JSON, without the quotation marks.
fn in_json(path: &str) -> String {
    let written = serde_json::Value::from(path).to_string();
    written.trim_matches('"').to_string()
}

fn placeless(line: &str, root: &str) -> String {
    let line = line.replace(ROOT, "");
    if root.len() > 1 { line.replace(root, ROOT.encode_utf8(&mut [0; 4])) } else { line }
}
