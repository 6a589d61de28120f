//! Cline: `cline --json`. The provider is configured in a file of its own. Without the setting for the backend, the
//! first session would leave a server running.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Client, Pin, Place, STUB_KEY, clean_command, installed};
use crate::model_server::Reply;
use crate::scratch::Scratch;

const PIN: Pin = Pin { agent: "cline", name: "cline", package: "cline", version: "3.0.65", program: "cline" };

#[derive(Clone, Copy, Debug)]
pub struct Cline;

impl Client for Cline {
    fn pin(&self) -> Pin {
        PIN
    }

    fn prepare(&self, scratch: &Scratch) {
        let dir = scratch.home().join(".cline/data/settings");
        std::fs::create_dir_all(&dir).expect("makes a directory in the scratch home");
        let settings = json!({ "telemetryOptOut": true });
        std::fs::write(dir.join("global-settings.json"), settings.to_string()).expect("writes into the scratch home");
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        let settings = json!({ "provider": "anthropic", "apiKey": STUB_KEY, "model": "claude-stub",
            "baseUrl": format!("{}/v1", place.server_url) });
        let provider =
            json!({ "settings": settings, "updatedAt": "2026-01-22T13:35:14.120Z", "tokenSource": "manual" });
        let providers = json!({ "version": 1, "lastUsedProvider": "anthropic", "modes": {},
            "providers": { "anthropic": provider } });
        let mut command = clean_command(&installed(PIN), place);
        let path = place.home.join("tmp/providers.json");
        std::fs::write(&path, providers.to_string()).expect("writes into the scratch home");
        command
            .env("CLINE_PROVIDER_SETTINGS_PATH", path)
            .envs([("CLINE_SESSION_BACKEND_MODE", "local"), ("CLINE_NO_AUTO_UPDATE", "1")])
            // Plugins are given 4 seconds to load, which a busy machine may not keep.
            .env("CLINE_PLUGIN_IMPORT_TIMEOUT_MS", "60000")
            .args(["--json", prompt]);
        command
    }

    fn write(&self, path: &Path, content: &str) -> Reply {
        Reply::tool("editor", json!({ "path": path, "new_text": content }))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply {
        Reply::tool("editor", json!({ "path": path, "old_text": old, "new_text": new }))
    }

    fn run(&self, command: &str) -> Reply {
        Reply::tool("run_commands", json!({ "commands": [command] }))
    }

    /// It offers no list.
    fn todo(&self, _: &str) -> Vec<Reply> {
        Vec::new()
    }

    fn resume(&self, place: &Place, prompt: &str) -> Command {
        let sessions = std::fs::read_dir(place.home.join(".cline/data/sessions")).into_iter().flatten().flatten();
        let last = sessions.map(|session| session.file_name()).max().unwrap_or_default();
        let mut command = self.session(place, prompt);
        command.arg("--id").arg(last);
        command
    }

    fn cannot(&self, cell: &str) -> Option<&'static str> {
        match cell {
            "resume" => Some("`--id` works in a terminal only"),
            "compaction" => Some("`/compact` works in a terminal only"),
            _ => None,
        }
    }

    fn ours(&self, tool: &str, input: Value) -> Reply {
        Reply::tool(format!("cerberus__{tool}"), input)
    }
}
