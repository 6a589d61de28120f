//! Gemini CLI: hooks and our server in one settings file.
//!
//! Its timeouts are in milliseconds. The events around each model call are not used: they add nothing to the other
//! events.

use std::io;
use std::path::{Path, PathBuf};

use cerberus_os::outside;
use cerberus_record::time::Timestamp;

use crate::gemini;
use crate::install::transcripts::{PathHints, SessionQuery, TranscriptFiles, below, plain_name};
use crate::install::wiring::SETTINGS_BYTES_MAX;
use crate::install::{
    FileEntry, InstallScope, NotesFile, Profile, SessionFile, SettingsFile, Surroundings, first_lines, in_dir,
};
use crate::settings::hooks::{CheckHook, HookStyle};
use crate::settings::servers::ServerStyle;
use crate::settings::strict::Syntax;
use crate::settings::{Json, Part};

pub const PROFILE: Profile = Profile {
    agent: gemini::AGENT,
    dir,
    files,
    guides: &["GEMINI.md"],
    user_guides: &["GEMINI.md"],
    notes: Some(NotesFile { path: notes_path, about: |text, _| first_lines(text) }),
    transcripts: Some(&TRANSCRIPTS),
    session_file: Some(SessionFile { find: find_chat, read: gemini::stream::chat }),
    ..Profile::DEFAULT
};

static HOOKS: HookStyle = HookStyle {
    agent: gemini::AGENT,
    checks: Some(CheckHook {
        event: "BeforeTool",
        timeout: 10000,
        matcher: Some("run_shell_command|write_file|replace"),
    }),
    events: &[
        ("SessionStart", 10_000),
        ("BeforeAgent", 10_000),
        ("AfterTool", 10_000),
        ("AfterAgent", 10_000),
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

/// How many folders and chats are looked through for a session.
const ENTRIES_MAX: usize = 20_000;

/// Limit for files that hold a single line.
const LINE_BYTES_MAX: u64 = 16 * 1024;

const FILES: &[FileEntry] =
    &[("settings.json", &[Part::Hooks(&HOOKS), Part::Server(&ServerStyle::DEFAULT)], Syntax::Comments)];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    match surroundings.folder("GEMINI_CLI_HOME") {
        Some(home) => Some(home.join(".gemini")),
        None => surroundings.in_home(".gemini"),
    }
}

fn files(surroundings: &Surroundings, scope: InstallScope) -> Vec<SettingsFile> {
    let dir = match scope {
        InstallScope::User => dir(surroundings),
        InstallScope::Project => Some(surroundings.project.join(".gemini")),
    };
    in_dir(dir, FILES)
}

/// Thirty days, unless its settings say otherwise in hours, days, weeks or months.
fn days_kept(surroundings: &Surroundings) -> Option<u64> {
    let text = outside::text(&dir(surroundings)?.join("settings.json"), SETTINGS_BYTES_MAX).unwrap_or_default();
    let settings: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let retention = &settings["general"]["sessionRetention"];
    if retention["enabled"] == false {
        return None;
    }
    let age = retention["maxAge"].as_str().unwrap_or("30d");
    let (number, unit) = age.split_at_checked(age.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "h" => Some(number.div_ceil(24)),
        "d" => Some(number),
        "w" => number.checked_mul(7),
        "m" => number.checked_mul(30),
        _ => None,
    }
}

static TRANSCRIPTS: TranscriptFiles = TranscriptFiles {
    roots: |surroundings| below(dir(surroundings), &["tmp"]),
    // Gemini CLI also stores other things as JSON.
    is_transcript: |name| {
        let name = plain_name(name);
        name.ends_with(".jsonl") || (name.ends_with(".json") && name.starts_with("session-"))
    },
    path_hints,
    find,
    days_kept,
    writes_uses_at_end: true,
    ..TranscriptFiles::DEFAULT
};

/// File names end with the first part of the session id.
fn find(root: &Path, query: &mut SessionQuery) -> Option<PathBuf> {
    let short = query.id.get(..8).unwrap_or(query.id);
    let endings = [".jsonl", ".json"].map(|ending| format!("-{short}{ending}"));
    let chats = query.entries(root).into_iter().map(|project| project.join("chats"));
    chats.into_iter().find_map(|chats| endings.iter().find_map(|ending| query.named(&chats, ending)))
}

/// The chat of a session, while it is written.
fn find_chat(dir: &Path, session: &str) -> Option<PathBuf> {
    let is_id = !session.is_empty() && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let (started_at, entries_left) = (Timestamp::EPOCH, ENTRIES_MAX);
    let mut query = SessionQuery { id: session, cwd: dir, root: dir, started_at, entries_left };
    is_id.then(|| find(&dir.join("tmp"), &mut query)).flatten()
}

/// Chats are in `tmp/<project>/chats`, and a file beside them names the project's folder. Chats of subagents are in a
/// folder named after the session.
fn path_hints(path: &Path) -> PathHints {
    let named = |folder: &Path| folder.file_name().and_then(|name| name.to_str()).map(str::to_string);
    let Some(folder) = path.parent() else { return PathHints::default() };
    let (chats, parent) = match named(folder).as_deref() {
        Some("chats") => (folder, None),
        _ => match folder.parent().filter(|above| named(above).as_deref() == Some("chats")) {
            Some(chats) => (chats, named(folder)),
            None => return PathHints::default(),
        },
    };
    let cwd = chats.parent().and_then(|project| first_line(&project.join(".project_root")).ok());
    PathHints { cwd: cwd.filter(|cwd| !cwd.is_empty()), parent }
}
/// `tmp/<short name>/memory/MEMORY.md`; a list says which project has which short name.
fn notes_path(dir: &Path, root: &Path) -> Option<PathBuf> {
    let list = outside::bytes(&dir.join("projects.json"), SETTINGS_BYTES_MAX).ok()?;
    let list: serde_json::Value = serde_json::from_slice(&list).ok()?;
    let name = list["projects"][&*root.to_string_lossy()].as_str()?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_name.then(|| dir.join("tmp").join(name).join("memory").join("MEMORY.md"))
}

fn first_line(path: &Path) -> io::Result<String> {
    let line = outside::text(path, LINE_BYTES_MAX)?;
    Ok(line.lines().next().unwrap_or_default().trim().to_string())
}
