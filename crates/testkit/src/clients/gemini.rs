//! Gemini CLI: headless with `-p`. It does not start until its settings name a way to sign in.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Client, Pin, Place, Release, STUB_KEY, clean_command, installed};
use crate::model_server::Reply;
use crate::scratch::Scratch;

const PIN: Pin =
    Pin { agent: "gemini", name: "gemini", package: "@google/gemini-cli", version: "0.61.0", program: "gemini" };

pub const OLD: Release = Release::new(&Gemini, "gemini-0.47.0", "0.47.0");

#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Client for Gemini {
    fn pin(&self) -> Pin {
        PIN
    }

    fn prepare(&self, scratch: &Scratch) {
        let settings = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
        let dir = scratch.home().join(".gemini");
        std::fs::create_dir_all(&dir).expect("makes a directory in the scratch home");
        std::fs::write(dir.join("settings.json"), format!("{settings:#}\n")).expect("writes into the scratch home");
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        let mut command = clean_command(&installed(PIN), place);
        command
            .envs([("GEMINI_API_KEY", STUB_KEY), ("GOOGLE_GEMINI_BASE_URL", &place.server_url)])
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .args(["-p", prompt, "-o", "stream-json", "--yolo", "-m", "gemini-2.5-pro"]);
        command
    }

    fn write(&self, path: &Path, content: &str) -> Reply {
        Reply::tool("write_file", json!({ "file_path": path, "content": content }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply {
        let input = json!({ "file_path": path, "instruction": "Change it", "old_string": old, "new_string": new });
        Reply::tool("replace", input)
    }

    fn run(&self, command: &str) -> Reply {
        Reply::tool("run_shell_command", json!({ "command": command, "description": "Run it" }))
    }

    fn todo(&self, what: &str) -> Vec<Reply> {
        vec![Reply::tool("write_todos", json!({ "todos": [{ "description": what, "status": "pending" }] }))]
    }

    fn resume(&self, place: &Place, prompt: &str) -> Command {
        let mut command = self.session(place, prompt);
        command.args(["--resume", "latest"]);
        command
    }

    fn cannot(&self, cell: &str) -> Option<&'static str> {
        (cell == "compaction").then_some("`/compress` works in a terminal only")
    }

    fn ours(&self, tool: &str, input: Value) -> Reply {
        Reply::tool(format!("mcp_cerberus_{tool}"), input)
    }
}
