//! Cline: our plugin calls us, because its hook commands cannot tell the model anything before its first tool use. Our
//! server goes into its list of servers, which is the user's only.

use std::path::{Path, PathBuf};

use cerberus_os::outside;
use serde::Deserialize;

use crate::cline;
use crate::install::transcripts::{PathHints, TranscriptFiles, below, current_path, plain_name};
use crate::install::{InstallScope, Profile, SettingsFile, Surroundings, in_dir};
use crate::settings::servers::ServerStyle;
use crate::settings::strict::Syntax;
use crate::settings::{Part, WholeFile};

/// More than the file about a session ever has.
const SESSION_BYTES_MAX: u64 = 1 << 20;

const MESSAGES: &str = ".messages.json";

pub const PROFILE: Profile = Profile {
    agent: cline::AGENT,
    dir,
    files,
    guides: &["AGENTS.md", ".clinerules"],
    transcripts: Some(&TRANSCRIPTS),
    ..Profile::DEFAULT
};

static PLUGIN: WholeFile =
    WholeFile { text: include_str!("cline.js"), mark: "// Cerberus in Cline", placeholder: "\"cerberus\"" };

const PLUGINS: &[Part] = &[Part::Whole(&PLUGIN)];
const SERVERS: &[Part] = &[Part::Server(&ServerStyle::DEFAULT)];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("CLINE_DIR").or_else(|| surroundings.in_home(".cline"))
}

fn data(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.folder("CLINE_DATA_DIR").or_else(|| Some(dir(surroundings)?.join("data")))
}

fn files(surroundings: &Surroundings, scope: InstallScope) -> Vec<SettingsFile> {
    let plugin = |dir| in_dir(dir, &[("plugins/cerberus.js", PLUGINS, Syntax::Lenient)]);
    match scope {
        InstallScope::User => {
            let server = ("settings/cline_mcp_settings.json", SERVERS, Syntax::Strict);
            [plugin(dir(surroundings)), in_dir(data(surroundings), &[server])].concat()
        }
        InstallScope::Project => plugin(Some(surroundings.project.join(".cline"))),
    }
}

static TRANSCRIPTS: TranscriptFiles = TranscriptFiles {
    roots: |surroundings| below(data(surroundings), &["sessions"]),
    is_transcript: |name| plain_name(name).ends_with(MESSAGES),
    path_hints,
    find: |root, query| current_path(&root.join(query.id).join(format!("{}{MESSAGES}", query.id))),
    ..TranscriptFiles::DEFAULT
};

/// What is needed of the file about a session.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ClineSessionFile {
    cwd: Option<String>,
}

/// `sessions/ID/ID.json` says where the session runs; its messages and those of its subagents are beside it.
fn path_hints(path: &Path) -> PathHints {
    let about = || {
        let folder = path.parent()?;
        let name = format!("{}.json", folder.file_name()?.to_str()?);
        let text = outside::text(&folder.join(name), SESSION_BYTES_MAX).ok()?;
        serde_json::from_slice::<ClineSessionFile>(text.as_bytes()).ok()
    };
    PathHints { cwd: about().unwrap_or_default().cwd.filter(|cwd| !cwd.is_empty()), parent: None }
}
