//! Copilot CLI: headless with `-p` and a custom provider.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Client, Pin, Place, Release, STUB_KEY, clean_command, installed};
use crate::model_server::Reply;

const PIN: Pin =
    Pin { agent: "copilot", name: "copilot", package: "@github/copilot", version: "1.0.102", program: "copilot" };

pub const OLD: Release = Release { without: &["--trust-folder"], ..Release::new(&Copilot, "copilot-1.0.75", "1.0.75") };

#[derive(Clone, Copy, Debug)]
pub struct Copilot;

impl Client for Copilot {
    fn pin(&self) -> Pin {
        PIN
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        let mut command = ready(place, prompt);
        // Not known to a session that goes on.
        command.arg("--trust-folder");
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

    /// Its model keeps a list in a database, with SQL.
    fn todo(&self, what: &str) -> Vec<Reply> {
        let query = format!("INSERT INTO todos (id, title, description) VALUES ('todo', '{what}', 'Soon')");
        vec![Reply::tool("sql", json!({ "description": "Insert todos", "query": query }))]
    }

    fn resume(&self, place: &Place, prompt: &str) -> Command {
        let mut command = ready(place, prompt);
        command.arg("--continue");
        command
    }

    fn cannot(&self, cell: &str) -> Option<&'static str> {
        (cell == "compaction").then_some("`/compact` works in a terminal only")
    }

    fn ours(&self, tool: &str, input: Value) -> Reply {
        Reply::tool(format!("cerberus-{tool}"), input)
    }
}

fn ready(place: &Place, prompt: &str) -> Command {
    let mut command = clean_command(&installed(PIN), place);
    command
        .envs([("COPILOT_PROVIDER_BASE_URL", &*place.server_url), ("COPILOT_PROVIDER_TYPE", "anthropic")])
        .envs([("COPILOT_PROVIDER_API_KEY", STUB_KEY), ("COPILOT_MODEL", "claude-stub")])
        .env("COPILOT_OFFLINE", "true")
        .args(["-p", prompt, "--allow-all", "--no-auto-update", "--output-format", "json"]);
    command
}
