//! Qwen Code: hooks and our server in one settings file.
//!
//! Older versions read timeouts in milliseconds; newer ones read seconds, but any value from 1000 on as milliseconds.

use std::path::{Path, PathBuf};

use crate::install::transcripts::{SessionQuery, TranscriptFiles, below};
use crate::install::{FileEntry, InstallScope, NOTES_BY_FOLDER, Profile, SettingsFile, Surroundings, in_dir};
use crate::qwen_code;
use crate::settings::hooks::{CheckHook, HookStyle};
use crate::settings::servers::ServerStyle;
use crate::settings::strict::Syntax;
use crate::settings::{Json, Part};

pub const PROFILE: Profile = Profile {
    agent: qwen_code::AGENT,
    dir,
    files,
    guides: &["QWEN.md", "AGENTS.md"],
    user_guides: &["QWEN.md", "AGENTS.md"],
    notes: Some(NOTES_BY_FOLDER),
    transcripts: Some(&TRANSCRIPTS),
    ..Profile::DEFAULT
};

static HOOKS: HookStyle = HookStyle {
    agent: qwen_code::AGENT,
    checks: Some(CheckHook { event: "PreToolUse", timeout: 10000, matcher: None }),
    events: &[
        ("SessionStart", 10_000),
        ("UserPromptSubmit", 10_000),
        ("PostToolUse", 10_000),
        ("PostToolUseFailure", 10_000),
        ("SubagentStop", 10_000),
        ("Stop", 10_000),
        ("PreCompact", 10_000),
        ("PostCompact", 10_000),
        ("SessionEnd", 10_000),
    ],
    handler: |command, timeout_millis| {
        Json::Object(vec![
            ("type", Json::Text("command")),
            ("name", Json::Text("cerberus")),
            ("command", Json::Text(command)),
            ("timeout", Json::Number(timeout_millis)),
        ])
    },
    ..HookStyle::DEFAULT
};

const FILES: &[FileEntry] =
    &[("settings.json", &[Part::Hooks(&HOOKS), Part::Server(&ServerStyle::DEFAULT)], Syntax::Comments)];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("QWEN_HOME").or_else(|| surroundings.in_home(".qwen"))
}

fn files(surroundings: &Surroundings, scope: InstallScope) -> Vec<SettingsFile> {
    let dir = match scope {
        InstallScope::User => dir(surroundings),
        InstallScope::Project => Some(surroundings.project.join(".qwen")),
    };
    in_dir(dir, FILES)
}

static TRANSCRIPTS: TranscriptFiles =
    TranscriptFiles { roots: |surroundings| below(dir(surroundings), &["projects"]), find, ..TranscriptFiles::DEFAULT };

/// `projects/<folder>/chats/<session>.jsonl`.
fn find(root: &Path, query: &mut SessionQuery) -> Option<PathBuf> {
    let name = format!("{}.jsonl", query.id);
    let chats = query.entries(root).into_iter().map(|project| project.join("chats"));
    chats.into_iter().find_map(|chats| query.named(&chats, &name))
}
