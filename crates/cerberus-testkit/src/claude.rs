//! The real Claude Code, pinned, as tests start it.
//!
//! It runs with a cleared environment, a scratch home and temporary directory, and a model server on loopback;
//! the key it is given is a stub. It is never downloaded here: `dev/clients` installs it, and a missing or
//! different version is an error that says so, never a reason to skip.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::scratch::SYSTEM_PATH;

/// Names the directory the clients are installed in; by default `.cache/clients` of the workspace.
pub const CLIENTS_DIR_VARIABLE: &str = "CERBERUS_CLIENTS";

const NAME: &str = "claude-code";
const PACKAGE: &str = "@anthropic-ai/claude-code";
const VERSION: &str = "2.1.325";
const INSTALL: &str = "dev/clients claude-code";

/// An installed Claude Code of the pinned version.
#[derive(Clone, Debug)]
pub struct ClaudeCode {
    binary: PathBuf,
}

impl ClaudeCode {
    /// Finds the pinned client; otherwise says what is missing and which command installs it.
    pub fn locate() -> Result<Self, String> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let default = || workspace.canonicalize().unwrap_or(workspace.clone()).join(".cache/clients");
        let clients = std::env::var_os(CLIENTS_DIR_VARIABLE).map_or_else(default, PathBuf::from);
        Self::locate_in(&clients)
    }

    /// The same in this directory of clients.
    pub fn locate_in(clients: &Path) -> Result<Self, String> {
        let modules = clients.join(NAME).join("node_modules");
        let manifest = modules.join(PACKAGE).join("package.json");
        let advice = format!("to install it: {INSTALL} (into {})", clients.display());
        let text = std::fs::read_to_string(&manifest)
            .map_err(|error| format!("Claude Code {VERSION} is missing: {}: {error}; {advice}", manifest.display()))?;
        let found: Value = serde_json::from_str(&text)
            .map_err(|error| format!("{} is damaged: {error}; {advice}", manifest.display()))?;
        if found["version"] != VERSION {
            let version = &found["version"];
            return Err(format!("Claude Code {VERSION} is needed, {version} is there; {advice}"));
        }
        let link = modules.join(".bin/claude");
        let binary = link
            .canonicalize()
            .map_err(|error| format!("Claude Code {VERSION} has no binary: {}: {error}; {advice}", link.display()))?;
        Ok(Self { binary })
    }

    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The client in a clean environment and a process group of its own; arguments are still to come.
    pub fn command(&self, home: &Path, cwd: &Path, server_url: &str) -> Command {
        let scratch = home.join("tmp");
        std::fs::create_dir_all(&scratch).expect("makes a directory in the scratch home");
        let mut command = Command::new(&self.binary);
        command
            .env_clear()
            .envs([("PATH", SYSTEM_PATH), ("TERM", "xterm-256color"), ("LANG", "C.UTF-8")])
            .envs([("HOME", home), ("TMPDIR", &scratch), ("CLAUDE_CODE_TMPDIR", &scratch)])
            .envs([("ANTHROPIC_BASE_URL", server_url), ("ANTHROPIC_API_KEY", "stub")])
            .envs([("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_TELEMETRY", "1")])
            .envs([("DISABLE_AUTOUPDATER", "1"), ("IS_SANDBOX", "1")])
            .current_dir(cwd)
            .process_group(0);
        command
    }
}

/// One session without a terminal: the prompt, answered until the turn ends, every step on stdout as JSON lines.
pub fn print_prompt<'a>(command: &'a mut Command, prompt: &str) -> &'a mut Command {
    command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]).arg("--dangerously-skip-permissions")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_missing_and_what_installs_it() {
        let clients = tempfile::tempdir().unwrap();
        let told = ClaudeCode::locate_in(clients.path()).unwrap_err();
        assert!(told.contains("2.1.325 is missing") && told.contains("dev/clients claude-code"), "{told}");
    }

    #[test]
    fn refuses_another_version() {
        let clients = tempfile::tempdir().unwrap();
        let package = clients.path().join("claude-code/node_modules/@anthropic-ai/claude-code");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("package.json"), r#"{"version":"2.0.0"}"#).unwrap();
        let told = ClaudeCode::locate_in(clients.path()).unwrap_err();
        assert!(told.contains("\"2.0.0\" is there") && told.contains("dev/clients"), "{told}");
    }

    #[test]
    fn the_installer_pins_the_same_version() {
        let installer = include_str!("../../../dev/clients");
        assert!(installer.contains(&format!("{PACKAGE}@{VERSION}")));
    }
}
