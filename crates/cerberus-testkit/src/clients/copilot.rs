//! Copilot CLI: headless with `-p` and a custom provider.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Client, Pin, Place, STUB_KEY, clean_command, installed};
use crate::model_server::Reply;

const PIN: Pin = Pin { name: "copilot", package: "@github/copilot", version: "1.0.102", program: "copilot" };

#[derive(Clone, Copy, Debug)]
pub struct Copilot;

impl Client for Copilot {
    fn pin(&self) -> Pin {
        PIN
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        let mut command = clean_command(&installed(PIN), place);
        command
            .envs([("COPILOT_PROVIDER_BASE_URL", &*place.server_url), ("COPILOT_PROVIDER_TYPE", "anthropic")])
            .envs([("COPILOT_PROVIDER_API_KEY", STUB_KEY), ("COPILOT_MODEL", "claude-stub")])
            .env("COPILOT_OFFLINE", "true")
            .args(["-p", prompt, "--allow-all", "--trust-folder", "--no-auto-update", "--output-format", "json"]);
        command
    }

    fn write(&self, path: &Path, content: &str) -> Reply {
        Reply::tool("create", json!({ "path": path, "file_text": content }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply {
        Reply::tool("edit", json!({ "path": path, "old_str": old, "new_str": new }))
    }

    fn run(&self, command: &str) -> Reply {
        Reply::tool("bash", json!({ "command": command, "description": "Run it", "initial_wait": 30 }))
    }

    /// Its model keeps todos in a database with SQL, which is not read here.
    fn todo(&self, _: &str) -> Vec<Reply> {
        Vec::new()
    }
    fn ours(&self, tool: &str, input: Value) -> Reply {
        Reply::tool(format!("cerberus-{tool}"), input)
    }
}
