//! Claude Code: hooks in its settings, our server in its list of servers.
//!
//! Hooks are shell lines: versions before 2.1.139 ignore the `args` of a hook and run the bare program. Only events that
//! the installed version knows are used: some versions ignore a whole settings file because of one unknown event, 2.1.50
//! among them. Claude Code stops SessionEnd hooks after 1.5 seconds unless they set their own timeout.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cerberus_os::outside;
use cerberus_os::platform::USER_FOLDER;
use serde_json::Value;

use crate::claude_code;
use crate::install::transcripts::{Mend, PathHints, Restoring, SessionQuery, TranscriptFiles, below, current_path};
use crate::install::wiring::SETTINGS_BYTES_MAX;
use crate::install::{
    HookTrust, InstallScope, NOTES_BY_FOLDER, Profile, SettingsFile, Surroundings, folder_name, in_dir,
};
use crate::settings::hooks::{CheckHook, HookStyle};
use crate::settings::servers::{ServerStyle, command_and_args};
use crate::settings::strict::Syntax;
use crate::settings::{Json, Part, ProgramVersion};

pub const PROFILE: Profile = Profile {
    agent: claude_code::AGENT,
    dir,
    programs,
    files,
    trust,
    has_plugin,
    guides: &["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"],
    user_guides: &["CLAUDE.md"],
    notes: Some(NOTES_BY_FOLDER),
    transcripts: Some(&TRANSCRIPTS),
    ..Profile::DEFAULT
};

static HOOKS: HookStyle = HookStyle {
    agent: claude_code::AGENT,
    checks: Some(CheckHook {
        event: "PreToolUse",
        timeout: 10,
        matcher: Some("Bash|Edit|MultiEdit|Write|NotebookEdit"),
    }),
    events: &[
        ("SessionStart", 10),
        ("UserPromptSubmit", 10),
        ("PostToolUse", 10),
        ("Stop", 10),
        ("SubagentStop", 10),
        ("PreCompact", 10),
        ("SessionEnd", 10),
        ("PostToolUseFailure", 10),
        ("TaskCompleted", 10),
        ("PostCompact", 10),
        ("StopFailure", 10),
        ("TaskCreated", 10),
        ("SubagentStart", 10),
    ],
    // Read from the lists of events in the releases themselves. The others are known since 1.0.85.
    since: &[
        ("SubagentStart", ProgramVersion(2, 0, 44)),
        ("PostToolUseFailure", ProgramVersion(2, 0, 64)),
        ("TaskCompleted", ProgramVersion(2, 1, 33)),
        ("PostCompact", ProgramVersion(2, 1, 76)),
        ("StopFailure", ProgramVersion(2, 1, 78)),
        ("TaskCreated", ProgramVersion(2, 1, 84)),
    ],
    ..HookStyle::DEFAULT
};

/// Without `alwaysLoad`, the model sees only the names of our tools.
static SERVER: ServerStyle = ServerStyle {
    server: |program| {
        let [command, args] = command_and_args(program);
        Json::Object(vec![("type", Json::Text("stdio")), command, args, ("alwaysLoad", Json::Bool(true))])
    },
    ..ServerStyle::DEFAULT
};

const SETTINGS: &[Part] = &[Part::Hooks(&HOOKS), Part::StatusLine { is_wanted: false }];
const SETTINGS_WITH_LINE: &[Part] = &[Part::Hooks(&HOOKS), Part::StatusLine { is_wanted: true }];
const SERVERS: &[Part] = &[Part::Server(&SERVER)];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("CLAUDE_CONFIG_DIR").or_else(|| surroundings.in_home(".claude"))
}

fn files(surroundings: &Surroundings, scope: InstallScope) -> Vec<SettingsFile> {
    let settings = if surroundings.wants_status_line { SETTINGS_WITH_LINE } else { SETTINGS };
    if scope == InstallScope::Project {
        let project = Some(surroundings.project.clone());
        let files = [(".claude/settings.json", settings, Syntax::Strict), (".mcp.json", SERVERS, Syntax::Strict)];
        return in_dir(project, &files);
    }
    // The list of servers is beside the folder, not in it, unless the user moved the folder.
    let moved = surroundings.folder("CLAUDE_CONFIG_DIR");
    let servers = moved.or_else(|| surroundings.folder(USER_FOLDER));
    let settings = in_dir(dir(surroundings), &[("settings.json", settings, Syntax::Strict)]);
    [settings, in_dir(servers, &[(".claude.json", SERVERS, Syntax::Strict)])].concat()
}

/// Its own installers put it here, and one of them only defines an alias.
fn programs(surroundings: &Surroundings) -> Vec<PathBuf> {
    [".claude/local/claude", ".local/bin/claude"].iter().filter_map(|path| surroundings.in_home(path)).collect()
}

/// `"enabledPlugins": {"cerberus@MARKETPLACE": true}`, as Claude Code writes it.
fn has_plugin(surroundings: &Surroundings) -> bool {
    let settings = dir(surroundings).map(|dir| read(&dir.join("settings.json"))).unwrap_or_default();
    let plugins = settings["enabledPlugins"].as_object();
    plugins.is_some_and(|plugins| plugins.iter().any(|(name, on)| name.starts_with("cerberus@") && *on == true))
}

fn read(settings: &Path) -> Value {
    let text = outside::text(settings, SETTINGS_BYTES_MAX).ok();
    text.and_then(|text| serde_json::from_slice(text.as_bytes()).ok()).unwrap_or_default()
}

/// It asks nobody, but the user or a project may have switched all hooks off. The settings that count most come first.
fn trust(surroundings: &Surroundings, _: InstallScope) -> HookTrust {
    const SETTING: &str = "disableAllHooks";
    let project = [".claude/settings.local.json", ".claude/settings.json"].map(|name| surroundings.project.join(name));
    let user = dir(surroundings).map(|dir| dir.join("settings.json"));
    let decided = project.into_iter().chain(user).find_map(|file| Some((read(&file)[SETTING].as_bool()?, file)));
    match decided {
        Some((true, file)) => HookTrust::Disabled { setting: SETTING, file },
        _ => HookTrust::NotNeeded,
    }
}

/// Leaves out thoughts. Every line names the one before it, so the next line gets the name that a left-out one had.
fn mend() -> Mend {
    let mut left_out: HashMap<String, Value> = HashMap::new();
    Box::new(move |line| {
        if let Some(before) = line["parentUuid"].as_str().and_then(|parent| left_out.get(parent)) {
            line["parentUuid"] = before.clone();
        }
        let Some(content) = line["message"]["content"].as_array_mut() else { return true };
        content.retain(|block| !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking")));
        let stays = !content.is_empty();
        if let (false, Some(uuid)) = (stays, line["uuid"].as_str()) {
            left_out.insert(uuid.to_string(), line["parentUuid"].clone());
        }
        stays
    })
}

/// Unless its settings say otherwise.
const USUAL_DAYS_KEPT: u64 = 30;

static TRANSCRIPTS: TranscriptFiles = TranscriptFiles {
    roots: |surroundings| below(dir(surroundings), &["projects"]),
    path_hints,
    find,
    restoring: Some(Restoring {
        place: |root, query| root.join(folder_name(query.cwd)).join(format!("{}.jsonl", query.id)),
        mend,
    }),
    days_kept: |surroundings| {
        let settings = read(&dir(surroundings)?.join("settings.json"));
        Some(settings["cleanupPeriodDays"].as_u64().unwrap_or(USUAL_DAYS_KEPT))
    },
    ..TranscriptFiles::DEFAULT
};

/// Those of subagents are in `<session>/subagents`.
fn path_hints(path: &Path) -> PathHints {
    let named = |folder: &Path| folder.file_name().and_then(|name| name.to_str()).map(str::to_string);
    let folder = path.parent().filter(|folder| named(folder).as_deref() == Some("subagents"));
    PathHints { cwd: None, parent: folder.and_then(Path::parent).and_then(named) }
}

fn find(root: &Path, query: &mut SessionQuery) -> Option<PathBuf> {
    let name = format!("{}.jsonl", query.id);
    [query.cwd, query.root].into_iter().find_map(|dir| current_path(&root.join(folder_name(dir)).join(&name)))
}
