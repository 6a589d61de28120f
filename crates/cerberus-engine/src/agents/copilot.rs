//! Copilot CLI: every file in its folder of hooks counts, so ours is a file of its own; our server stands in its list.
//!
//! In a project it has no list of servers of its own.

use std::path::PathBuf;

use cerberus_core::model::id::Agent;
use cerberus_core::settings::hooks::{Form, HookStyle, Nesting};
use cerberus_core::settings::servers::{self, ServerStyle, command_and_args};
use cerberus_core::settings::{Json, Part};

use super::{Profile, Scope, SettingsFile, Surroundings, below, in_dir, no_plugin, no_trust_needed};

pub(crate) const PROFILE: Profile = Profile {
    agent: Agent::Copilot,
    program: "copilot",
    dir,
    transcripts: |surroundings| below(dir(surroundings), &["session-state"]),
    files,
    afterwards: None,
    trust: no_trust_needed,
    has_plugin: no_plugin,
};

static HOOKS: HookStyle = HookStyle {
    agent: Agent::Copilot,
    events: &[
        ("sessionStart", 10),
        ("userPromptSubmitted", 10),
        ("postToolUse", 10),
        ("postToolUseFailure", 10),
        ("agentStop", 10),
        ("preCompact", 10),
        ("sessionEnd", 10),
    ],
    nesting: Nesting::Flat,
    form: Form::Line,
    command_key: "bash",
    version: Some(1),
    handler: |command, timeout_secs| {
        Json::Object(vec![
            ("type", Json::Text("command")),
            ("bash", Json::Text(command)),
            ("timeoutSec", Json::Number(timeout_secs)),
        ])
    },
};

static SERVER: ServerStyle = ServerStyle {
    list: "mcpServers",
    form: servers::Form::CommandAndArgs,
    server: |program| {
        let [command, args] = command_and_args(program);
        Json::Object(vec![("type", Json::Text("local")), command, args, ("tools", Json::Array(vec![Json::Text("*")]))])
    },
};

const HOOKS_FILE: (&str, &[Part]) = ("hooks/cerberus.json", &[Part::Hooks(&HOOKS)]);
const SERVERS_FILE: (&str, &[Part]) = ("mcp-config.json", &[Part::Server(&SERVER)]);

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("COPILOT_HOME").or_else(|| surroundings.in_home(".copilot"))
}

fn files(surroundings: &Surroundings, scope: Scope) -> Vec<SettingsFile> {
    match scope {
        Scope::User => in_dir(dir(surroundings), &[HOOKS_FILE, SERVERS_FILE]),
        Scope::Project => in_dir(Some(surroundings.project.join(".github")), &[HOOKS_FILE]),
    }
}
