//! Codex: hooks in `hooks.json`, our server in `config.toml`.
//!
//! Codex runs a hook only after the user accepted it. It recognizes the hook by a hash of its text and by its position,
//! so neither may change between versions. Only the user can accept a hook; this module reads whether that happened,
//! and says which consent goes with our hooks when they are removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_os::outside;

use crate::codex;
use crate::install::transcripts::{Restoring, SessionQuery, TranscriptFiles, below};
use crate::install::wiring::SETTINGS_BYTES_MAX;
use crate::install::{
    FileEntry, HookTrust, InstallScope, NotesFile, Profile, SessionFile, SettingsFile, Surroundings, TrustedHooks,
    in_dir,
};
use crate::settings::hooks::{CheckHook, HookStyle};
use crate::settings::strict::Syntax;
use crate::settings::{self, Part, WiredHook};

pub const PROFILE: Profile = Profile {
    agent: codex::AGENT,
    dir,
    files,
    afterwards: Some("start `codex` once and accept the new hooks; it does not run them before that"),
    trust,
    guides: &["AGENTS.md"],
    user_guides: &["AGENTS.md"],
    notes: Some(NotesFile {
        path: |dir, _| Some(dir.join("memories").join("MEMORY.md")),
        about: |text, root| codex::notes::about(text, &root.to_string_lossy()),
    }),
    transcripts: Some(&TRANSCRIPTS),
    session_file: Some(SessionFile { find: find_rollout, read: codex::rollout::read }),
    ..Profile::DEFAULT
};

/// Codex stops SessionEnd hooks after three seconds, and warns about a longer timeout.
static HOOKS: HookStyle = HookStyle {
    agent: codex::AGENT,
    checks: Some(CheckHook { event: "PreToolUse", timeout: 10, matcher: Some("Bash|apply_patch") }),
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
    ..HookStyle::DEFAULT
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many day folders are searched for a session, newest first.
const FOLDERS_MAX: usize = 40;

const HOOKS_FILE: &str = "hooks.json";
const CONFIG_FILE: &str = "config.toml";
const HOOK_PARTS: &[Part] = &[Part::Hooks(&HOOKS)];
const FILES: &[FileEntry] =
    &[(HOOKS_FILE, HOOK_PARTS, Syntax::Strict), (CONFIG_FILE, &[Part::TomlServer("mcp_servers")], Syntax::Lenient)];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("CODEX_HOME").or_else(|| surroundings.in_home(".codex"))
}

fn files(surroundings: &Surroundings, scope: InstallScope) -> Vec<SettingsFile> {
    let own = dir(surroundings);
    let dir = match scope {
        InstallScope::User => own.clone(),
        InstallScope::Project => Some(surroundings.project.join(".codex")),
    };
    let mut files = in_dir(dir, FILES);
    if scope == InstallScope::Project {
        files.extend(in_dir(own, &[(CONFIG_FILE, &[], Syntax::Lenient)]));
    }
    // Consent is stored in the user's own file, wherever the hooks themselves are.
    let trusts =
        files.first().map(|hooks| TrustedHooks { path: hooks.path.clone(), parts: HOOK_PARTS, key: trust_key });
    if let Some(own) = files.last_mut() {
        own.trusts = trusts;
    }
    files
}

/// As Codex names a hook: file, event, and its position in the list.
fn trust_key(path: &Path, hook: &WiredHook) -> String {
    let (entry, handler) = hook.position;
    format!("{}:{}:{entry}:{handler}", path.display(), snake_case(&hook.event))
}

fn trust(surroundings: &Surroundings, scope: InstallScope) -> HookTrust {
    let file = files(surroundings, scope).into_iter().find(|file| file.path.ends_with(HOOKS_FILE));
    let (Some(file), Some(dir)) = (file, dir(surroundings)) else {
        return HookTrust::Unknown("no home folder was found".to_string());
    };
    let config = dir.join(CONFIG_FILE);
    let text = match outside::text(&config, SETTINGS_BYTES_MAX) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return HookTrust::Unknown(format!("{}: {error}", config.display())),
        Ok(text) => text,
    };
    match settings::trusted_hooks(&text, &file.path.to_string_lossy()) {
        Err(error) => HookTrust::Unknown(format!("{}: {error}", config.display())),
        Ok(trusted) => {
            let is_trusted = |event: &&str| trusted.iter().any(|known| *known == snake_case(event));
            // The hook for rules is there only while one is enforced.
            let hooks = outside::text(&file.path, SETTINGS_BYTES_MAX).unwrap_or_default();
            let wired = settings::installed(HOOK_PARTS, &hooks, None).unwrap_or_default().hooks;
            let is_wired = |event: &&str| wired.iter().any(|hook| hook.event == *event);
            let all: Vec<&str> = HOOKS
                .events
                .iter()
                .map(|(event, _)| *event)
                .chain(settings::check_events(HOOK_PARTS).filter(is_wired))
                .collect();
            HookTrust::Given { events: all.iter().filter(|event| is_trusted(event)).count(), of: all.len() }
        }
    }
}

/// `PostToolUse` is written as `post_tool_use` where consent is stored.
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

static TRANSCRIPTS: TranscriptFiles = TranscriptFiles {
    roots: |surroundings| below(dir(surroundings), &["sessions", "archived_sessions"]),
    find,
    // Thoughts are encrypted, and the archive does not have them.
    restoring: Some(Restoring { place, mend: || Box::new(|line| line["payload"]["type"] != "reasoning") }),
    ..TranscriptFiles::DEFAULT
};

/// One folder per day, in an unknown time zone; archived sessions share one folder.
fn find(root: &Path, query: &mut SessionQuery) -> Option<PathBuf> {
    let at = query.started_at;
    let days = [at, at.minus(DAY), at.plus(DAY)].map(|at| root.join(at.day().replace('-', "/")));
    let ending = format!("-{}.jsonl", query.id);
    days.iter().map(PathBuf::as_path).chain([root]).find_map(|folder| query.named(folder, &ending))
}

fn place(root: &Path, query: &SessionQuery) -> PathBuf {
    let day = query.started_at.day();
    let time = query.started_at.to_string();
    let time = time.split(['.', 'Z']).next().unwrap_or_default().replace(':', "-");
    root.join(day.replace('-', "/")).join(format!("rollout-{time}-{}.jsonl", query.id))
}

/// The file of a thread, once it exists. Only this file says how full the context is.
fn find_rollout(dir: &Path, thread: &str) -> Option<PathBuf> {
    let is_id = !thread.is_empty() && thread.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let ending = format!("-{thread}.jsonl");
    let is_its = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending));
    let days = newest_first(&dir.join("sessions")).into_iter().flat_map(|year| newest_first(&year));
    let mut days = days.flat_map(|month| newest_first(&month)).take(FOLDERS_MAX);
    if is_id { days.find_map(|day| newest_first(&day).into_iter().find(is_its)) } else { None }
}

fn newest_first(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_file_of_the_thread_is_found_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let day = |name: &str| {
            let day = dir.path().join("sessions").join(name);
            fs::create_dir_all(&day).unwrap();
            day
        };
        fs::write(day("2026/01/02").join("rollout-2026-01-02T10-00-00-abc-1.jsonl"), "").unwrap();
        fs::write(day("2025/12/31").join("rollout-2025-12-31T10-00-00-abc-2.jsonl"), "").unwrap();
        let found =
            |thread| find_rollout(dir.path(), thread).map(|path| path.strip_prefix(dir.path()).unwrap().to_path_buf());
        assert_eq!(found("abc-2"), Some(PathBuf::from("sessions/2025/12/31/rollout-2025-12-31T10-00-00-abc-2.jsonl")));
        assert!(found("abc-1").is_some());
        for odd in ["abc-3", "", "bc-1.jsonl/../x"] {
            assert_eq!(found(odd), None, "{odd}");
        }
        assert_eq!(find_rollout(&dir.path().join("nowhere"), "abc-1"), None);
    }
}
