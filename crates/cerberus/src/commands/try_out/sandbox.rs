//! A home, a user's folder and a project inside one temporary folder. Commands that run in it know no other.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use cerberus_os::home::create_dir;
use cerberus_os::platform::USER_FOLDER;
use cerberus_store::project::git::command::command as git;
use serde_json::{Value, json};

use crate::render;

/// The folder; it must exist.
pub struct Sandbox {
    pub dir: PathBuf,
}

impl Sandbox {
    pub fn project(&self) -> PathBuf {
        self.dir.join("hydra")
    }

    /// Makes the project and the home.
    pub fn fill(&self) -> anyhow::Result<()> {
        for folder in [self.project().join("internal"), self.dir.join("user")] {
            std::fs::create_dir_all(folder)?;
        }
        // Nothing may outlive the sandbox.
        create_dir(&self.dir.join("home"))?;
        std::fs::write(self.dir.join("home/config.toml"), "[archive]\nkeep = \"nothing\"\n")?;
        self.commit();
        Ok(())
    }

    /// A repository with one commit. Without git it stays a folder, and the next session is not told what git says.
    fn commit(&self) {
        let who = ["-c", "user.name=hydra", "-c", "user.email=hydra@localhost"];
        let steps: [&[&str]; 3] = [
            &["init", "--quiet"],
            &["symbolic-ref", "HEAD", "refs/heads/safe-proxy"],
            &["commit", "--quiet", "--allow-empty", "--message", "start"],
        ];
        for step in steps {
            let mut git = git(&self.project());
            git.args(who).args(step).env(USER_FOLDER, self.dir.join("user")).env("GIT_CONFIG_NOSYSTEM", "1");
            if !git.status().is_ok_and(|status| status.success()) {
                return;
            }
        }
    }

    pub fn cerberus(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env("CERBERUS_HOME", self.dir.join("home")).env(USER_FOLDER, self.dir.join("user"));
        command.env_remove("CERBERUS_NOW").current_dir(self.project());
        Ok(command)
    }

    /// Passes one payload to `cerberus hook claude-code`, as Claude Code does. Returns the reply.
    pub fn hook(&self, session: &str, event: &str, extra: Value) -> anyhow::Result<String> {
        let mut payload =
            json!({"session_id": session, "cwd": render::path(&self.project()), "hook_event_name": event});
        if let (Some(fields), Value::Object(extra)) = (payload.as_object_mut(), extra) {
            fields.extend(extra);
        }
        let mut command = self.cerberus()?;
        let mut child = command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        child.stdin.take().context("a pipe")?.write_all(payload.to_string().as_bytes())?;
        let mut reply = String::new();
        child.stdout.take().context("a pipe")?.read_to_string(&mut reply)?;
        ensure!(child.wait()?.success(), "the hook failed");
        Ok(reply)
    }

    /// Starts a session. Returns what it is told.
    pub fn start(&self, session: &str) -> anyhow::Result<String> {
        let reply = self.hook(session, "SessionStart", json!({"source": "startup"}))?;
        if reply.is_empty() {
            return Ok(String::new());
        }
        let reply: Value = serde_json::from_slice(reply.as_bytes()).context("the reply is no JSON")?;
        Ok(reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_string())
    }
}
