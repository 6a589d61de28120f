//! Claude Code: headless with `-p`, or in a terminal with its onboarding answered in advance.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Client, Pin, Place, Release, STUB_KEY, clean_command, installed};
use crate::model_server::Reply;
use crate::scratch::Scratch;

const PIN: Pin = Pin {
    agent: "claude-code",
    name: "claude-code",
    package: "@anthropic-ai/claude-code",
    version: "2.1.325",
    program: "claude",
};

/// The newest release.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

/// Older releases, oldest first. The first ignores a settings file with an event that it does not know; all of them
/// ignore the `args` of a hook. Their todo lists differ.
pub const OLD: [Release; 3] = [
    Release { cannot: &[("resume", FORGETS), ("compaction", FORGETS)], ..old("claude-code-2.1.50", "2.1.50") },
    Release { cannot: &[("compaction", FORGETS)], ..old("claude-code-2.1.101", "2.1.101") },
    old("claude-code-2.1.133", "2.1.133"),
];

const FORGETS: &str = "it forgets what a hook told when the session goes on in another process";

const fn old(name: &'static str, version: &'static str) -> Release {
    Release { has_list: false, ..Release::new(&ClaudeCode, name, version) }
}

impl ClaudeCode {
    /// The client, without arguments yet.
    pub fn command(&self, place: &Place) -> Command {
        let mut command = clean_command(&installed(PIN), place);
        command
            .env("CLAUDE_CODE_TMPDIR", place.home.join("tmp"))
            .envs([("ANTHROPIC_BASE_URL", &*place.server_url), ("ANTHROPIC_API_KEY", STUB_KEY)])
            .envs([("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_TELEMETRY", "1")])
            .envs([("DISABLE_AUTOUPDATER", "1"), ("IS_SANDBOX", "1"), ("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")]);
        command
    }
}

impl Client for ClaudeCode {
    fn pin(&self) -> Pin {
        PIN
    }

    /// Answers the questions of its first start in a terminal in advance.
    fn prepare(&self, scratch: &Scratch) {
        let state = json!({
            "hasCompletedOnboarding": true,
            "lastOnboardingVersion": PIN.version,
            "theme": "dark",
            "customApiKeyResponses": { "approved": [STUB_KEY], "rejected": [] },
            "projects": { scratch.repo().to_string_lossy(): {
                "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": [],
            } },
        });
        std::fs::write(scratch.home().join(".claude.json"), state.to_string()).expect("writes into the scratch home");
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        let mut command = self.command(place);
        print_prompt(&mut command, prompt);
        command
    }

    fn write(&self, path: &Path, content: &str) -> Reply {
        Reply::tool("Write", json!({ "file_path": path, "content": content }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply {
        Reply::tool("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
    }

    fn run(&self, command: &str) -> Reply {
        Reply::tool("Bash", json!({ "command": command, "description": "Run it" }))
    }

    /// The tool's description is only given to a model that searches for it.
    fn todo(&self, what: &str) -> Vec<Reply> {
        let find = Reply::tool("ToolSearch", json!({ "query": "select:TaskCreate", "max_results": 1 }));
        vec![find, Reply::tool("TaskCreate", json!({ "subject": what, "description": what }))]
    }

    fn resume(&self, place: &Place, prompt: &str) -> Command {
        let mut command = self.session(place, prompt);
        command.arg("--continue");
        command
    }

    fn compact(&self, place: &Place) -> Option<Command> {
        Some(self.resume(place, "/compact"))
    }
}

/// One headless session: one prompt until the end of the turn, with every step on stdout as JSON lines.
pub fn print_prompt<'a>(command: &'a mut Command, prompt: &str) -> &'a mut Command {
    command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]).arg("--dangerously-skip-permissions")
}
