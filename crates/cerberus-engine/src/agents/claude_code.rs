//! Claude Code: hooks in its settings, our server where it keeps servers.
//!
//! Hooks are given as program and arguments, so that no shell is started. SessionEnd hooks are cut after 1.5 seconds
//! unless they have a timeout of their own.

use std::path::PathBuf;

use cerberus_core::model::id::Agent;
use cerberus_core::settings::hooks::{Form, HookStyle, Nesting};
use cerberus_core::settings::servers::{self, ServerStyle, command_and_args};
use cerberus_core::settings::{Json, Part};

use super::wiring::SETTINGS_BYTES_MAX;
use super::{Profile, Scope, SettingsFile, Surroundings, below, in_dir, no_trust_needed};
use crate::os::outside;

pub(crate) const PROFILE: Profile = Profile {
    agent: Agent::ClaudeCode,
    program: "claude",
    dir,
    transcripts: |surroundings| below(dir(surroundings), &["projects"]),
    files,
    afterwards: None,
    trust: no_trust_needed,
    has_plugin,
};

static HOOKS: HookStyle = HookStyle {
    agent: Agent::ClaudeCode,
    events: &[
        ("SessionStart", 10),
        ("UserPromptSubmit", 10),
        ("PostToolUse", 10),
        ("PostToolUseFailure", 10),
        ("Stop", 10),
        ("SubagentStop", 10),
        ("StopFailure", 10),
        ("PreCompact", 10),
        ("PostCompact", 10),
        ("TaskCreated", 10),
        ("TaskCompleted", 10),
        ("SessionEnd", 10),
    ],
    nesting: Nesting::Grouped,
    form: Form::Program,
    command_key: "command",
    version: None,
    handler: |command, timeout_secs| {
        Json::Object(vec![
            ("type", Json::Text("command")),
            ("command", Json::Text(command)),
            ("args", Json::Array(["hook", "claude-code"].map(Json::Text).to_vec())),
            ("timeout", Json::Number(timeout_secs)),
        ])
    },
};

/// Without `alwaysLoad` the model sees no more of a tool than its name.
static SERVER: ServerStyle = ServerStyle {
    list: "mcpServers",
    form: servers::Form::CommandAndArgs,
    server: |program| {
        let [command, args] = command_and_args(program);
        Json::Object(vec![("type", Json::Text("stdio")), command, args, ("alwaysLoad", Json::Bool(true))])
    },
};

const SETTINGS: &[Part] = &[Part::Hooks(&HOOKS)];
const SERVERS: &[Part] = &[Part::Server(&SERVER)];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("CLAUDE_CONFIG_DIR").or_else(|| surroundings.in_home(".claude"))
}

fn files(surroundings: &Surroundings, scope: Scope) -> Vec<SettingsFile> {
    if scope == Scope::Project {
        let project = Some(surroundings.project.clone());
        return in_dir(project, &[(".claude/settings.json", SETTINGS), (".mcp.json", SERVERS)]);
    }
    // The list of servers stands beside the folder, not in it, unless the folder was moved.
    let moved = surroundings.folder("CLAUDE_CONFIG_DIR");
    let servers = moved.or_else(|| surroundings.folder("HOME"));
    [in_dir(dir(surroundings), &[("settings.json", SETTINGS)]), in_dir(servers, &[(".claude.json", SERVERS)])].concat()
}

/// `"enabledPlugins": {"cerberus@MARKETPLACE": true}`, as the client itself writes it.
fn has_plugin(surroundings: &Surroundings) -> bool {
    let text = dir(surroundings).and_then(|dir| outside::text(&dir.join("settings.json"), SETTINGS_BYTES_MAX).ok());
    let settings: serde_json::Value = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let plugins = settings["enabledPlugins"].as_object();
    plugins.is_some_and(|plugins| plugins.iter().any(|(name, on)| name.starts_with("cerberus@") && *on == true))
}
