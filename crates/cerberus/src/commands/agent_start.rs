//! The command that begins or resumes a session of an agent.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use cerberus_store::sessions::caller::HANDOFF_VARIABLE;

use crate::failure::{Hint, Result};
use crate::platform::become_program;
use crate::render;

/// What is run, and where.
pub(super) struct AgentStart {
    pub words: Vec<String>,
    pub cwd: String,
    pub has_handoff: bool,
}

impl AgentStart {
    /// Does not return if the agent was started.
    pub fn run(self, line: &str) -> Result<()> {
        if !Path::new(&self.cwd).is_dir() {
            return Err(anyhow::anyhow!("the folder of the session, {}, does not exist", self.cwd))
                .hint("`cerberus resume --print` shows the command, to be run elsewhere");
        }
        // A handoff is long, and the agent shows it.
        render::talk(line.lines().next().unwrap_or_default());
        let (program, arguments) = (&self.words[0], &self.words[1..]);
        let mut command = Command::new(program);
        if self.has_handoff {
            command.env(HANDOFF_VARIABLE, "1");
        }
        let error = become_program(command.args(arguments).current_dir(&self.cwd));
        Err(error)
            .with_context(|| format!("cannot run {program}"))
            .hint(format!("install {program} or put it on PATH, then run the same command again"))
    }
}
