//! Copilot CLI: it reads every file in its hooks folder, so ours is a separate file. Our server goes into its list.
//!
//! It has no list of servers per project.

use std::path::PathBuf;

use crate::copilot;
use crate::install::transcripts::{PathHints, TranscriptFiles, below, current_path, plain_name};
use crate::install::{
    FileEntry, Profile, Scope, SettingsFile, Surroundings, in_dir, no_plugin, no_trust_needed, only_on_path,
};
use crate::settings::hooks::{CheckHook, HookStyle, Nesting};
use crate::settings::servers::{self, ServerStyle, command_and_args};
use crate::settings::strict::Syntax;
use crate::settings::{Json, Part};

pub const PROFILE: Profile = Profile {
    agent: copilot::AGENT,
    dir,
    programs: only_on_path,
    files,
    afterwards: None,
    trust: no_trust_needed,
    has_plugin: no_plugin,
    guides: &[],
    user_guides: &[],
    notes: None,
    transcripts: Some(&TRANSCRIPTS),
    session_file: None,
};

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
    since: &[],
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
    env: "env",
    server: |program| {
        let [command, args] = command_and_args(program);
        Json::Object(vec![("type", Json::Text("local")), command, args, ("tools", Json::Array(vec![Json::Text("*")]))])
    },
};

const HOOKS_FILE: FileEntry = ("hooks/cerberus.json", &[Part::Hooks(&HOOKS)], Syntax::Strict);
const SERVERS_FILE: FileEntry = ("mcp-config.json", &[Part::Server(&SERVER)], Syntax::Strict);

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("COPILOT_HOME").or_else(|| surroundings.in_home(".copilot"))
}

fn files(surroundings: &Surroundings, scope: Scope) -> Vec<SettingsFile> {
    match scope {
        Scope::User => in_dir(dir(surroundings), &[HOOKS_FILE, SERVERS_FILE]),
        Scope::Project => in_dir(Some(surroundings.project.join(".github")), &[HOOKS_FILE]),
    }
}

static TRANSCRIPTS: TranscriptFiles = TranscriptFiles {
    roots: |surroundings| below(dir(surroundings), &["session-state"]),
    is_transcript: |name| plain_name(name).ends_with(".jsonl"),
    // The other files of a session are beside its events.
    only: Some("events.jsonl"),
    path_hints: |_| PathHints::default(),
    open: None,
    find: |root, query| current_path(&root.join(query.id).join("events.jsonl")),
    writes_uses_at_end: false,
};
