//! Codex: `codex exec`. The provider is configured on the command line, so that its files remain as `cerberus install`
//! wrote them.
//!
//! `exec` silently skips hooks that were not accepted; a flag makes it run them.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Client, Pin, Place, Release, STUB_KEY, clean_command, installed};
use crate::model_server::Reply;

const PIN: Pin = Pin { agent: "codex", name: "codex", package: "@openai/codex", version: "0.166.0", program: "codex" };

/// To an unknown model it would not offer `apply_patch`.
const MODEL: &str = "gpt-5.5";

pub const OLD: Release = Release::new(&Codex, "codex-0.155.0", "0.155.0");

#[derive(Clone, Copy, Debug)]
pub struct Codex;

impl Codex {
    /// The client with this subcommand, without further arguments yet.
    pub fn command(&self, place: &Place, subcommand: &[&str]) -> Command {
        let mut command = clean_command(&installed(PIN), place);
        command.args(subcommand);
        Codex::point(&mut command, &place.server_url);
        command
    }

    /// Makes it ask the model server at this address.
    pub fn point(command: &mut Command, url: &str) {
        command.env("CERBERUS_STUB_KEY", STUB_KEY);
        for (key, value) in [
            ("model", json!(MODEL)),
            ("model_provider", json!("stub")),
            ("model_providers.stub.name", json!("stub")),
            ("model_providers.stub.base_url", json!(format!("{url}/v1"))),
            ("model_providers.stub.wire_api", json!("responses")),
            ("model_providers.stub.env_key", json!("CERBERUS_STUB_KEY")),
            ("model_providers.stub.supports_websockets", json!(false)),
            ("features.daemon_auto_start", json!(false)),
            // Not offered by default.
            ("tools.update_plan.enabled", json!(true)),
        ] {
            command.arg("-c").arg(format!("{key}={value}"));
        }
    }
}

impl Client for Codex {
    fn pin(&self) -> Pin {
        PIN
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        let mut command = self.command(place, &["exec"]);
        command.args(["--json", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]);
        command.arg(prompt);
        command
    }

    fn write(&self, path: &Path, content: &str) -> Reply {
        let added: Vec<String> = content.lines().map(|line| format!("+{line}")).collect();
        patch(&format!("*** Add File: {}\n{}", path.display(), added.join("\n")))
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply {
        patch(&format!("*** Update File: {}\n@@\n-{old}\n+{new}", path.display()))
    }

    fn run(&self, command: &str) -> Reply {
        Reply::tool("exec_command", json!({ "cmd": command, "yield_time_ms": 30_000 }))
    }

    fn todo(&self, what: &str) -> Vec<Reply> {
        vec![Reply::tool("update_plan", json!({ "plan": [{ "step": what, "status": "pending" }] }))]
    }

    fn resume(&self, place: &Place, prompt: &str) -> Command {
        let mut command = self.command(place, &["exec", "resume", "--last"]);
        command.args(["--json", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]);
        command.arg(prompt);
        command
    }

    fn cannot(&self, cell: &str) -> Option<&'static str> {
        (cell == "compaction").then_some("`codex exec` has no command for it")
    }
}

fn patch(hunk: &str) -> Reply {
    Reply::tool("apply_patch", json!(format!("*** Begin Patch\n{hunk}\n*** End Patch")))
}
