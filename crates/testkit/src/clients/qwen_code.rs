//! Qwen Code: headless with `-p`. Its background requests for memories are turned off, so that every request with tools is
//! one of the session's own.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Client, Pin, Place, Release, STUB_KEY, clean_command, installed};
use crate::model_server::Reply;
use crate::scratch::Scratch;

const PIN: Pin =
    Pin { agent: "qwen-code", name: "qwen-code", package: "@qwen-code/qwen-code", version: "0.24.4", program: "qwen" };

/// It reports neither starts nor ends of headless sessions.
pub const OLD: Release = Release {
    reports_start: false,
    cannot: &[("resume", "no hook reports that a headless session goes on, so nothing new is told")],
    ..Release::new(&QwenCode, "qwen-code-0.15.10", "0.15.10")
};

#[derive(Clone, Copy, Debug)]
pub struct QwenCode;

impl Client for QwenCode {
    fn pin(&self) -> Pin {
        PIN
    }

    fn prepare(&self, scratch: &Scratch) {
        let settings = json!({
            "security": { "auth": { "selectedType": "anthropic" } },
            "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
            // Not offered by default.
            "tools": { "todoWrite": { "enabled": true } },
        });
        let dir = scratch.home().join(".qwen");
        std::fs::create_dir_all(&dir).expect("makes a directory in the scratch home");
        std::fs::write(dir.join("settings.json"), format!("{settings:#}\n")).expect("writes into the scratch home");
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        let mut command = clean_command(&installed(PIN), place);
        command
            .envs([("ANTHROPIC_BASE_URL", &*place.server_url), ("ANTHROPIC_API_KEY", STUB_KEY)])
            .envs([("ANTHROPIC_MODEL", "claude-stub"), ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")])
            .args(["-p", prompt, "-o", "stream-json", "--yolo", "--auth-type", "anthropic"]);
        command
    }

    fn write(&self, path: &Path, content: &str) -> Reply {
        Reply::tool("write_file", json!({ "file_path": path, "content": content }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply {
        Reply::tool("edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
    }

    fn run(&self, command: &str) -> Reply {
        let input = json!({ "command": command, "description": "Run it", "is_background": false });
        Reply::tool("run_shell_command", input)
    }

    fn todo(&self, what: &str) -> Vec<Reply> {
        vec![Reply::tool("todo_write", json!({ "todos": [{ "id": "1", "content": what, "status": "pending" }] }))]
    }

    fn resume(&self, place: &Place, prompt: &str) -> Command {
        let mut command = self.session(place, prompt);
        command.arg("--continue");
        command
    }

    /// It does not report the end of a headless session.
    fn state_after_exit(&self) -> &'static str {
        "recovered"
    }

    fn compact(&self, place: &Place) -> Option<Command> {
        Some(self.resume(place, "/compress"))
    }
}
