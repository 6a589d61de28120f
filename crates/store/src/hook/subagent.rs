//! What a subagent is told at its start: the rules that apply, and nothing of what sessions left. It is no session of its
//! own, so nothing is recorded.

use std::path::Path;

use cerberus_agents::host::Occasion;
use cerberus_os::clock::Clock;
use cerberus_os::home::Home;
use cerberus_recall::brief::MemoryItem;
use cerberus_recall::summary::render::Format;
use cerberus_record::event::StartSource;
use cerberus_record::id::Agent;
use memchr::memmem;

use crate::brief::question::{Budget, Question};
use crate::brief::remember;
use crate::brief::subject::View;
use crate::hook::answer::AnswerError;
use crate::project::guides::UserFolders;
use crate::project::{identity, privacy};
use crate::same_project::joined::joined;
use crate::view::{CarriedFacts, fold};

/// A subagent's context is small, and so is its task.
const RULES_TOKENS_MAX: usize = 300;

/// The reply to a payload that says that a subagent starts; `None` if it says something else or no rule applies.
pub fn answer(
    home: &Home,
    clock: &Clock,
    folders: &dyn Fn() -> UserFolders,
    agent: Agent,
    payload: &[u8],
) -> Result<Option<String>, AnswerError> {
    // Most payloads that are not captured are tool uses.
    let is_likely = memmem::find(payload, b"SubagentStart").is_some();
    let Some(started) = is_likely.then(|| cerberus_agents::subagent(agent, payload)).flatten() else { return Ok(None) };
    let located = identity::locate(Path::new(&*started.cwd));
    if privacy::storage_block(home, clock.now, &located).is_some() {
        return Ok(None);
    }
    let (store, folders) = (fold::open_in_hook(home)?, folders());
    let session = store.agent_session(agent, &started.session, clock.now)?;
    let joined = joined(&store, &located, clock.now)?;
    let question = Question {
        now: clock.now,
        is_past: false,
        source: StartSource::Startup,
        budget: Budget::of_session(0),
        chars_max: usize::MAX,
        prompt: None,
        folders: &folders,
        format: Format::Codes,
        reminder: false,
        session: session.as_ref(),
    };
    let view = View { store: &store, located: &located, joined: &joined, now: clock.now };
    let (memories, _) = remember::for_brief(&view, &CarriedFacts::default(), &question)?;
    store.close();
    let rules = rules(&memories);
    Ok(cerberus_agents::reply(agent, Occasion::Subagent, &rules, None).filter(|_| !rules.is_empty()))
}

/// The first rules that fit. How the user likes to be answered is not a subagent's concern.
fn rules(memories: &[MemoryItem]) -> String {
    let mut left = RULES_TOKENS_MAX;
    let mut fits = |item: &&MemoryItem| {
        let is_told = item.tokens <= left;
        left -= if is_told { item.tokens } else { 0 };
        is_told
    };
    let rules = memories.iter().filter(|item| item.is_rule()).filter(|item| fits(item));
    rules.map(|item| item.code.as_str()).collect::<Vec<_>>().join("\n")
}
