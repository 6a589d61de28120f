//! Gemini CLI: hooks and our server in one settings file.
//!
//! Its timeouts are in milliseconds. The events around every call of the model are left out: they tell nothing that the
//! others do not.

use std::path::PathBuf;

use cerberus_core::model::id::Agent;
use cerberus_core::settings::hooks::{Form, HookStyle, Nesting};
use cerberus_core::settings::servers::{self, ServerStyle, command_and_args};
use cerberus_core::settings::{Json, Part};

use super::{Profile, Scope, SettingsFile, Surroundings, below, in_dir, no_plugin, no_trust_needed};

pub(crate) const PROFILE: Profile = Profile {
    agent: Agent::Gemini,
    program: "gemini",
    dir,
    transcripts: |surroundings| below(dir(surroundings), &["tmp"]),
    files,
    afterwards: None,
    trust: no_trust_needed,
    has_plugin: no_plugin,
};

static HOOKS: HookStyle = HookStyle {
    agent: Agent::Gemini,
    events: &[
        ("SessionStart", 10_000),
        ("BeforeAgent", 10_000),
        ("AfterTool", 10_000),
        ("AfterAgent", 10_000),
        ("SessionEnd", 10_000),
    ],
    nesting: Nesting::Grouped,
    form: Form::Line,
    command_key: "command",
    version: None,
    handler: |command, timeout_millis| {
        Json::Object(vec![
            ("type", Json::Text("command")),
            ("name", Json::Text("cerberus")),
            ("command", Json::Text(command)),
            ("timeout", Json::Number(timeout_millis)),
        ])
    },
};

static SERVER: ServerStyle = ServerStyle {
    list: "mcpServers",
    form: servers::Form::CommandAndArgs,
    server: |program| Json::Object(command_and_args(program).to_vec()),
};

const FILES: &[(&str, &[Part])] = &[("settings.json", &[Part::Hooks(&HOOKS), Part::Server(&SERVER)])];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    match surroundings.folder("GEMINI_CLI_HOME") {
        Some(home) => Some(home.join(".gemini")),
        None => surroundings.in_home(".gemini"),
    }
}

fn files(surroundings: &Surroundings, scope: Scope) -> Vec<SettingsFile> {
    let dir = match scope {
        Scope::User => dir(surroundings),
        Scope::Project => Some(surroundings.project.join(".gemini")),
    };
    in_dir(dir, FILES)
}
