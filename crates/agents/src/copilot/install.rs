//! Copilot CLI: it reads every file in its hooks folder, so ours is a separate file. Our server goes into its list.
//!
//! It has no list of servers per project.

use std::path::PathBuf;

use crate::copilot;
use crate::install::transcripts::{TranscriptFiles, below, current_path};
use crate::install::{FileEntry, InstallScope, Profile, SettingsFile, Surroundings, in_dir};
use crate::settings::hooks::{CheckHook, HookStyle, Nesting};
use crate::settings::servers::{ServerStyle, command_and_args};
use crate::settings::strict::Syntax;
use crate::settings::{Json, Part};

pub const PROFILE: Profile =
    Profile { agent: copilot::AGENT, dir, files, transcripts: Some(&TRANSCRIPTS), ..Profile::DEFAULT };

static HOOKS: HookStyle = HookStyle {
    agent: copilot::AGENT,
    checks: Some(CheckHook { event: "preToolUse", timeout: 10, matcher: None }),
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
    command_key: "bash",
    version: Some(1),
    handler: |command, timeout_secs| {
        Json::Object(vec![
            ("type", Json::Text("command")),
            ("bash", Json::Text(command)),
            ("timeoutSec", Json::Number(timeout_secs)),
        ])
    },
    ..HookStyle::DEFAULT
};

static SERVER: ServerStyle = ServerStyle {
    server: |program| {
        let [command, args] = command_and_args(program);
        Json::Object(vec![("type", Json::Text("local")), command, args, ("tools", Json::Array(vec![Json::Text("*")]))])
    },
    ..ServerStyle::DEFAULT
};

const HOOKS_FILE: FileEntry = ("hooks/cerberus.json", &[Part::Hooks(&HOOKS)], Syntax::Strict);
const SERVERS_FILE: FileEntry = ("mcp-config.json", &[Part::Server(&SERVER)], Syntax::Strict);

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("COPILOT_HOME").or_else(|| surroundings.in_home(".copilot"))
}

fn files(surroundings: &Surroundings, scope: InstallScope) -> Vec<SettingsFile> {
    match scope {
        InstallScope::User => in_dir(dir(surroundings), &[HOOKS_FILE, SERVERS_FILE]),
        InstallScope::Project => in_dir(Some(surroundings.project.join(".github")), &[HOOKS_FILE]),
    }
}

static TRANSCRIPTS: TranscriptFiles = TranscriptFiles {
    roots: |surroundings| below(dir(surroundings), &["session-state"]),
    // The other files of a session are beside its events.
    only: Some("events.jsonl"),
    find: |root, query| current_path(&root.join(query.id).join("events.jsonl")),
    ..TranscriptFiles::DEFAULT
};
