use cerberus_os::process;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, StartSource};
use cerberus_record::id::Agent;
use cerberus_record::session::EXPLICIT;
use cerberus_store::journal;
use cerberus_store::journal::own_record;
use cerberus_store::sessions::find::live_session;
use cerberus_store::view::fold;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Start a session manually, for work without an agent that reports its sessions
#[derive(clap::Args)]
pub struct SessionStartArgs {
    /// What is being worked on: feature-auth, PHASE-2, …
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
}

/// End this project's live session
#[derive(clap::Args)]
pub struct SessionEndArgs {}

impl SessionStartArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        context.may_store(&context.located())?;
        let mut store = context.swept_store()?;
        let name = format!("{}-{}", context.clock.wall.millis(), std::process::id());
        let event = Event::Start {
            source: StartSource::Startup,
            transcript: None,
            phase: self.phase.as_deref().map(|phase| context.home.cleaner().clean(phase.to_string(), Keep::SUBJECT)),
            process: process::agent(false),
        };
        let record = own_record(
            &context.home,
            &context.clock,
            Agent::MANUAL,
            &name,
            context.located().location(context.home.cleaner()),
            "start".to_string(),
            event,
        );
        let append = journal::append(&context.home, context.clock.wall, &record);
        append.hint("no session was started; free disk space or fix the folder's permissions, then try again")?;
        fold::fold(&context.home, &mut store)?;
        let session = store.agent_session(Agent::MANUAL, &name, context.clock.now)?;
        let id = session.map_or_else(String::new, |session| session.id.to_string());
        context.answer(&json!({"session_id": id, "project": context.located().name}), || {
            render::line(&format!("started session {id}"))
        })
    }
}

impl SessionEndArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.swept_store()?;
        let live = live_session(&store, &context.located(), &context.clock)?;
        let session = live.ok_or_else(|| anyhow::anyhow!("this project has no live session"));
        let session =
            session.hint("`cerberus memory session-start` starts one; `session-status --all` shows the ended ones")?;
        let agent = Agent::from_name(&session.agent).unwrap_or(Agent::MANUAL);
        let key = format!("end-explicit-{}", context.clock.now.millis());
        let event = Event::End { reason: Clean::word(EXPLICIT) };
        let record =
            own_record(&context.home, &context.clock, agent, &session.agent_session_id, session.location(), key, event);
        let append = journal::append(&context.home, context.clock.wall, &record);
        append.hint("the session was not ended; free disk space or fix the folder's permissions, then try again")?;
        context.ended(std::slice::from_ref(&session))?;
        context.answer(&json!({"session_id": session.id, "end_trigger": "explicit"}), || {
            render::line(&format!("ended session {}", session.id))
        })
    }
}
