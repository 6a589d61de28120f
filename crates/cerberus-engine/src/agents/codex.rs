//! Codex: hooks in `hooks.json`, our server in `config.toml`.
//!
//! Codex runs a hook only after its user accepted it, and knows it again by a hash of its text and by its place: neither
//! may change from one version to the next. The consent is the user's to give; it is only ever read here.

use std::path::PathBuf;

use cerberus_core::model::id::Agent;
use cerberus_core::settings::hooks::{Form, HookStyle, Nesting};
use cerberus_core::settings::{self, Json, Part};

use super::wiring::SETTINGS_BYTES_MAX;
use super::{Profile, Scope, SettingsFile, Surroundings, Trust, below, in_dir, no_plugin};
use crate::os::outside;

pub(crate) const PROFILE: Profile = Profile {
    agent: Agent::Codex,
    program: "codex",
    dir,
    transcripts: |surroundings| below(dir(surroundings), &["sessions", "archived_sessions"]),
    files,
    afterwards: Some("start `codex` once and accept its new hooks; until then it does not run them"),
    trust,
    has_plugin: no_plugin,
};

/// It cuts SessionEnd hooks after three seconds, and warns of a longer timeout.
static HOOKS: HookStyle = HookStyle {
    agent: Agent::Codex,
    events: &[
        ("SessionStart", 10),
        ("UserPromptSubmit", 10),
        ("PostToolUse", 10),
        ("Stop", 10),
        ("SubagentStop", 10),
        ("PreCompact", 10),
        ("PostCompact", 10),
        ("SessionEnd", 3),
    ],
    nesting: Nesting::Grouped,
    form: Form::Line,
    command_key: "command",
    version: None,
    handler: |command, timeout_secs| {
        Json::Object(vec![
            ("type", Json::Text("command")),
            ("command", Json::Text(command)),
            ("timeout", Json::Number(timeout_secs)),
        ])
    },
};

const HOOKS_FILE: &str = "hooks.json";
const CONFIG_FILE: &str = "config.toml";
const FILES: &[(&str, &[Part])] =
    &[(HOOKS_FILE, &[Part::Hooks(&HOOKS)]), (CONFIG_FILE, &[Part::TomlServer("mcp_servers")])];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("CODEX_HOME").or_else(|| surroundings.in_home(".codex"))
}

fn files(surroundings: &Surroundings, scope: Scope) -> Vec<SettingsFile> {
    let dir = match scope {
        Scope::User => dir(surroundings),
        Scope::Project => Some(surroundings.project.join(".codex")),
    };
    in_dir(dir, FILES)
}

/// The consent stands in the user's own file, whichever file the hooks stand in.
fn trust(surroundings: &Surroundings, scope: Scope) -> Trust {
    let file = files(surroundings, scope).into_iter().find(|file| file.path.ends_with(HOOKS_FILE));
    let (Some(file), Some(dir)) = (file, dir(surroundings)) else {
        return Trust::Unknown("no home folder to look in".to_string());
    };
    let config = dir.join(CONFIG_FILE);
    let text = match outside::text(&config, SETTINGS_BYTES_MAX) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Trust::Unknown(format!("{}: {error}", config.display())),
        Ok(text) => text,
    };
    match settings::trusted_hooks(&text, &file.path.to_string_lossy()) {
        Err(error) => Trust::Unknown(format!("{}: {error}", config.display())),
        Ok(trusted) => {
            let is_trusted = |event: &str| trusted.iter().any(|known| *known == snake_case(event));
            let events = HOOKS.events.iter().filter(|(event, _)| is_trusted(event)).count();
            Trust::Given { events, of: HOOKS.events.len() }
        }
    }
}

/// `PostToolUse` is `post_tool_use` where consent is kept.
fn snake_case(event: &str) -> String {
    let mut snake = String::new();
    for character in event.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
