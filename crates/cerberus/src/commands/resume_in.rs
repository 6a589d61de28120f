//! `resume --in`: a new session of another agent, which begins with a handoff.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cerberus_agents::{Profile, begin_command};
use cerberus_loop::run::session_handoff::SessionHandoff;
use cerberus_record::id::Agent;
use cerberus_store::browse::page::page;
use cerberus_store::project::identity;
use cerberus_store::same_project::joined::joined;
use cerberus_store::view::{SessionRow, Store};

use super::agent_start::AgentStart;
use super::archive;
use crate::context::Context;
use crate::failure::{Hint, Result};

#[derive(clap::Args, Default)]
pub struct OtherAgentArgs {
    /// Continue in this agent, given by its name or its program: claude, codex, gemini, …
    #[arg(long = "in", value_name = "AGENT", value_parser = agent)]
    other: Option<Agent>,

    /// The length of the handoff
    #[arg(long, value_name = "TOKENS", default_value_t = 4_000, requires = "other")]
    #[arg(value_parser = clap::value_parser!(u32).range(200..=20_000))]
    tokens: u32,
}

impl OtherAgentArgs {
    /// `None` if the session is to go on in its own agent.
    pub fn start(&self, context: &Context, store: &Store, session: &SessionRow) -> Result<Option<AgentStart>> {
        let Some(other) = self.other else { return Ok(None) };
        // A session of another machine goes on in the folder that the project has here.
        let is_here = Path::new(&session.cwd).is_dir();
        let cwd = if is_here { PathBuf::from(&session.cwd) } else { context.cwd.clone() };
        let located = identity::locate(&cwd);
        if !is_here && !joined(store, &located, context.clock.now)?.ids.contains(&session.project) {
            return Err(anyhow::anyhow!("the folder of the session, {}, does not exist", session.cwd))
                .hint("run the command in the folder that the project has here");
        }
        let conversation = archive::conversation_so_far(context, store, session);
        let handoff = SessionHandoff {
            home: &context.home,
            located: &located,
            now: context.clock.now,
            session,
            page: &page(store, &context.clock, session.clone())?,
            conversation: &conversation,
            tokens_max: self.tokens as usize,
        };
        let text = handoff.compose(store)?.text;
        let words = begin_command(other, &text)
            .with_context(|| format!("{other} cannot be started with a prompt"))
            .hint("`cerberus brief` shows what its next session is told")?;
        Ok(Some(AgentStart { words, cwd: cwd.to_string_lossy().into_owned(), has_handoff: true }))
    }
}

/// An agent, given by its name or its program.
fn agent(name: &str) -> std::result::Result<Agent, String> {
    let is_named = |profile: &&&Profile| profile.agent.name() == name || profile.program == name;
    let found = cerberus_agents::ALL.iter().find(is_named).map(|profile| profile.agent);
    found.ok_or_else(|| format!("unknown agent, not one of {}", cerberus_agents::names(|_| true)))
}
