//! opencode: it runs plugins instead of hook commands, so our plugin calls us. Our server goes into its configuration.

mod database;

use std::path::{Path, PathBuf};

use self::database::OpencodeDatabase;
use crate::install::transcripts::{TranscriptFiles, below, plain_name};
use crate::install::{InstallScope, Profile, SettingsFile, Surroundings, in_dir};
use crate::opencode;
use crate::settings::servers::{self, ServerStyle};
use crate::settings::strict::Syntax;
use crate::settings::{Json, Part, WholeFile};

pub const PROFILE: Profile =
    Profile { agent: opencode::AGENT, dir, files, transcripts: Some(&TRANSCRIPTS), ..Profile::DEFAULT };

static PLUGIN: WholeFile =
    WholeFile { text: include_str!("plugin.js"), mark: "// Cerberus in opencode", placeholder: "\"cerberus\"" };

static SERVER: ServerStyle = ServerStyle {
    list: "mcp",
    form: servers::ServerForm::CommandList,
    env: "environment",
    server: |program| {
        Json::Object(vec![
            ("type", Json::Text("local")),
            ("command", Json::Array([&[program], &servers::ARGS[..]].concat().into_iter().map(Json::Text).collect())),
            ("enabled", Json::Bool(true)),
        ])
    },
};

const PLUGINS: &[Part] = &[Part::Whole(&PLUGIN)];
const SERVERS: &[Part] = &[Part::Server(&SERVER)];

fn dir(surroundings: &Surroundings) -> Option<PathBuf> {
    let config = surroundings.folder("XDG_CONFIG_HOME").or_else(|| surroundings.in_home(".config"));
    Some(config?.join("opencode"))
}

fn files(surroundings: &Surroundings, scope: InstallScope) -> Vec<SettingsFile> {
    let (plugins, config) = match scope {
        InstallScope::User => (dir(surroundings), dir(surroundings)),
        InstallScope::Project => (Some(surroundings.project.join(".opencode")), Some(surroundings.project.clone())),
    };
    let config_name = if config.as_deref().is_some_and(has_jsonc) { "opencode.jsonc" } else { "opencode.json" };
    let plugin = in_dir(plugins, &[("plugins/cerberus.js", PLUGINS, Syntax::Lenient)]);
    [plugin, in_dir(config, &[(config_name, SERVERS, Syntax::Lenient)])].concat()
}

/// The variant with comments is used if it is the only one.
fn has_jsonc(dir: &Path) -> bool {
    dir.join("opencode.jsonc").exists() && !dir.join("opencode.json").exists()
}

static TRANSCRIPTS: TranscriptFiles = TranscriptFiles {
    roots: |surroundings| {
        let data = surroundings.folder("XDG_DATA_HOME").or_else(|| surroundings.in_home(".local/share"));
        below(data, &["opencode/opencode.db"])
    },
    is_transcript: |name| {
        let plain = plain_name(name);
        name == "opencode.db" || plain.ends_with(".jsonl") || plain.ends_with(".json")
    },
    open: Some(|path, busy| Ok(Box::new(OpencodeDatabase::open(path, busy)?))),
    // All sessions are in the database.
    find: |_, _| None,
    ..TranscriptFiles::DEFAULT
};
