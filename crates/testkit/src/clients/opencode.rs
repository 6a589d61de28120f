//! opencode: `opencode run`. The provider is configured in the environment, so that its files remain as
//! `cerberus install` wrote them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Client, Pin, Place, Release, STUB_KEY, clean_command, installed};
use crate::model_server::Reply;

const PIN: Pin =
    Pin { agent: "opencode", name: "opencode", package: "opencode-ai", version: "1.18.33", program: "opencode" };

pub const OLD: Release = Release { without: &["--auto"], ..Release::new(&Opencode, "opencode-1.17.11", "1.17.11") };

#[derive(Clone, Copy, Debug)]
pub struct Opencode;

impl Client for Opencode {
    fn pin(&self) -> Pin {
        PIN
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        let config = json!({
            "autoupdate": false,
            "share": "disabled",
            "model": "stub/claude-stub",
            "small_model": "stub/claude-haiku-stub",
            "provider": { "stub": {
                "npm": "@ai-sdk/anthropic",
                "options": { "baseURL": format!("{}/v1", place.server_url), "apiKey": STUB_KEY },
                "models": { "claude-stub": {}, "claude-haiku-stub": {} },
            } },
        });
        let mut command = clean_command(&installed(PIN), place);
        command
            .env("OPENCODE_CONFIG_CONTENT", config.to_string())
            .envs([("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")])
            .envs([("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"), ("OPENCODE_DISABLE_SHARE", "1")])
            .args(["run", "--format", "json", "--auto", prompt]);
        command
    }

    fn write(&self, path: &Path, content: &str) -> Reply {
        Reply::tool("write", json!({ "filePath": path, "content": content }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply {
        Reply::tool("edit", json!({ "filePath": path, "oldString": old, "newString": new }))
    }

    fn run(&self, command: &str) -> Reply {
        Reply::tool("bash", json!({ "command": command, "description": "Run it" }))
    }

    fn todo(&self, what: &str) -> Vec<Reply> {
        let todo = json!({ "id": "1", "content": what, "status": "pending", "priority": "medium" });
        vec![Reply::tool("todowrite", json!({ "todos": [todo] }))]
    }

    fn resume(&self, place: &Place, prompt: &str) -> Command {
        let mut command = self.session(place, prompt);
        command.arg("--continue");
        command
    }

    fn cannot(&self, cell: &str) -> Option<&'static str> {
        (cell == "compaction").then_some("`opencode run` has no command for it")
    }

    fn ours(&self, tool: &str, input: Value) -> Reply {
        Reply::tool(format!("cerberus_{tool}"), input)
    }
}
