use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use cerberus_agents::settings::shell_word;
use cerberus_store::sessions::recover;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::platform::become_program;
use crate::render;

/// Continue a session in its own agent
///
/// Starts the agent in the folder of the session, with the flag that resumes it.
#[derive(clap::Args)]
pub struct ResumeArgs {
    /// The session: the beginning of its id, or words of its title [default: the newest session of this project]
    #[arg(value_name = "ID")]
    id: Vec<String>,

    /// Only print the command
    #[arg(long)]
    print: bool,
}

impl ResumeArgs {
    pub fn of(id: String) -> ResumeArgs {
        ResumeArgs { id: vec![id], print: false }
    }

    /// Does not return if the agent was started.
    pub fn run(self, context: &Context) -> Result<()> {
        let mut store = context.swept_store()?;
        let session = context.session_or_newest(&mut store, &self.id.join(" "))?;
        let words = cerberus_agents::resume_command(&session.agent, &session.agent_session_id);
        let missing = || anyhow::anyhow!("session {} was not run by an agent that can resume it", session.id);
        let words = words.ok_or_else(missing).hint(format!("`cerberus show {}` shows it", session.id))?;
        if recover::has_transcript(&context.agent_surroundings(), &session) == Some(false) {
            render::talk(&format!(
                "cerberus: the transcript of session {} is not on this machine, so {} may not find it; `cerberus brief` \
                 shows what the next session is told",
                session.id, words[0]
            ));
        }
        let line = format!(
            "cd {} && {}",
            shell_word(&session.cwd),
            words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
        );
        if context.json {
            render::json(&json!({"id": session.id, "cwd": session.cwd, "command": words, "line": line}));
            return Ok(());
        }
        if self.print {
            render::line(&line);
            return Ok(());
        }
        if !Path::new(&session.cwd).is_dir() {
            return Err(anyhow::anyhow!("the folder of the session, {}, does not exist", session.cwd))
                .hint("`cerberus resume --print` shows the command, to be run elsewhere");
        }
        render::talk(&line);
        drop(store);
        let error = become_program(Command::new(&words[0]).args(&words[1..]).current_dir(&session.cwd));
        Err(error)
            .with_context(|| format!("cannot run {}", words[0]))
            .hint(format!("install {} or put it on PATH, then run: {line}", words[0]))
    }
}
