//! Cursor: hooks in `hooks.json`, our server in `mcp.json`. Based on its documentation.

use std::path::PathBuf;

use crate::cursor;
use crate::install::{FileEntry, InstallScope, Profile, SettingsFile, Surroundings, in_dir};
use crate::settings::hooks::{CheckHook, HookStyle, Nesting};
use crate::settings::servers::ServerStyle;
use crate::settings::strict::Syntax;
use crate::settings::{Json, Part};

pub const PROFILE: Profile = Profile { agent: cursor::AGENT, dir, files, ..Profile::DEFAULT };

static HOOKS: HookStyle = HookStyle {
    agent: cursor::AGENT,
    checks: Some(CheckHook { event: "beforeShellExecution", timeout: 10, matcher: None }),
    events: &[
        ("sessionStart", 10),
        ("beforeSubmitPrompt", 10),
        ("postToolUse", 10),
        ("postToolUseFailure", 10),
        ("afterAgentResponse", 10),
        ("stop", 10),
        ("subagentStop", 10),
        ("preCompact", 10),
        ("sessionEnd", 10),
    ],
    nesting: Nesting::Flat,
    version: Some(1),
    handler: |command, timeout_secs| {
        Json::Object(vec![("command", Json::Text(command)), ("timeout", Json::Number(timeout_secs))])
    },
    ..HookStyle::DEFAULT
};

/// What it accepts in them is not known.
const FILES: &[FileEntry] = &[
    ("hooks.json", &[Part::Hooks(&HOOKS)], Syntax::Lenient),
    ("mcp.json", &[Part::Server(&ServerStyle::DEFAULT)], Syntax::Lenient),
];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.in_home(".cursor")
}

fn files(surroundings: &Surroundings, scope: InstallScope) -> Vec<SettingsFile> {
    let dir = match scope {
        InstallScope::User => dir(surroundings),
        InstallScope::Project => Some(surroundings.project.join(".cursor")),
    };
    in_dir(dir, FILES)
}
