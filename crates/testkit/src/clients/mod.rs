//! The real agents, in pinned versions, as tests start them.
//!
//! Each runs with a cleared environment, a scratch home and temporary directory, a model server on loopback and a stub
//! key. None is downloaded here: `dev/clients` installs them, and a missing or different version is an error. There is
//! one file per agent, with how it is started and how its model acts.

mod all;
pub mod claude_code;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod gemini;
pub mod opencode;
pub mod qwen_code;

pub use all::ALL;

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::model_server::{ModelServer, Reply};
use crate::scratch::{SYSTEM_PATH, Scratch};

/// The variable with the directory of the clients; by default `.cache/clients` in the workspace.
pub const CLIENTS_DIR_VARIABLE: &str = "CERBERUS_CLIENTS";

/// The key that every client gets.
pub(crate) const STUB_KEY: &str = "stub";

/// One version of an agent, as `dev/clients` installs it.
#[derive(Clone, Copy, Debug)]
pub struct Pin {
    /// As `cerberus install --agent` calls it.
    pub agent: &'static str,
    /// As `dev/clients` calls it.
    pub name: &'static str,
    pub package: &'static str,
    pub version: &'static str,
    /// Its program in `node_modules/.bin`.
    pub program: &'static str,
}

impl Pin {
    /// Finds the program. The error says what is missing and which command installs it.
    pub fn locate(&self) -> Result<PathBuf, String> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let default = || workspace.canonicalize().unwrap_or(workspace.clone()).join(".cache/clients");
        let clients = std::env::var_os(CLIENTS_DIR_VARIABLE).map_or_else(default, PathBuf::from);
        self.locate_in(&clients)
    }

    /// Finds the program in this directory of clients.
    pub fn locate_in(&self, clients: &Path) -> Result<PathBuf, String> {
        let Pin { name, package, version, program, .. } = self;
        let modules = clients.join(name).join("node_modules");
        let manifest = modules.join(package).join("package.json");
        let advice = format!("to install it: dev/clients {name} (into {})", clients.display());
        let text = std::fs::read_to_string(&manifest)
            .map_err(|error| format!("{name} {version} is missing: {}: {error}; {advice}", manifest.display()))?;
        let found: Value = serde_json::from_str(&text)
            .map_err(|error| format!("{} is damaged: {error}; {advice}", manifest.display()))?;
        if found["version"] != *version {
            return Err(format!("{name} {version} is required, but {} is installed; {advice}", found["version"]));
        }
        let link = modules.join(".bin").join(program);
        link.canonicalize()
            .map_err(|error| format!("{name} {version} has no program: {}: {error}; {advice}", link.display()))
    }
}

/// A real agent: how it is started, and how its model acts.
pub trait Client: Sync + std::fmt::Debug {
    fn pin(&self) -> Pin;

    /// Writes the files that it needs in its home for its first start.
    fn prepare(&self, _scratch: &Scratch) {}

    /// One headless session in a clean environment: one prompt until the end of the turn.
    fn session(&self, place: &Place, prompt: &str) -> Command;

    /// The last session goes on with one more prompt.
    fn resume(&self, place: &Place, prompt: &str) -> Command;

    /// Compacts the last session. `None` if that is not possible without a terminal.
    fn compact(&self, _place: &Place) -> Option<Command> {
        None
    }

    /// Why a cell of the matrix cannot be filled.
    fn cannot(&self, _cell: &str) -> Option<&'static str> {
        None
    }

    /// The model writes a new file.
    fn write(&self, path: &Path, content: &str) -> Reply;

    /// The model replaces a piece of a file.
    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply;

    /// The model runs a command.
    fn run(&self, command: &str) -> Reply;

    /// The model writes a todo list. Empty if the client offers none.
    fn todo(&self, what: &str) -> Vec<Reply>;

    /// The state of a headless session that came to its end, when the next one begins.
    fn state_after_exit(&self) -> &'static str {
        "ended"
    }

    /// The state of a headless session that was killed, when the next one begins.
    fn state_after_kill(&self) -> &'static str {
        "recovered"
    }

    /// The model calls a tool of our MCP server.
    fn ours(&self, tool: &str, input: Value) -> Reply {
        Reply::tool(format!("mcp__cerberus__{tool}"), input)
    }
}

/// An older release of a client, which is started and acts like the newest.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    client: &'static dyn Client,
    name: &'static str,
    version: &'static str,
    /// It has the same todo list as the newest.
    has_list: bool,
    /// It says when a headless session begins, so that we know its process.
    reports_start: bool,
    /// Options of the newest that it does not know.
    without: &'static [&'static str],
    /// Cells of the matrix that it cannot fill, and why.
    cannot: &'static [(&'static str, &'static str)],
}

impl Release {
    pub(crate) const fn new(client: &'static dyn Client, name: &'static str, version: &'static str) -> Release {
        Release { client, name, version, has_list: true, reports_start: true, without: &[], cannot: &[] }
    }

    /// The same command, run by this release.
    fn run_by(&self, newest: &Command) -> Command {
        let mut command = Command::new(installed(self.pin()));
        let variables = newest.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let is_known = |given: &&OsStr| !self.without.iter().any(|unknown| *given == *unknown);
        command.env_clear().envs(variables).args(newest.get_args().filter(is_known)).process_group(0);
        if let Some(dir) = newest.get_current_dir() {
            command.current_dir(dir);
        }
        command
    }
}

impl Client for Release {
    fn pin(&self) -> Pin {
        Pin { name: self.name, version: self.version, ..self.client.pin() }
    }

    fn prepare(&self, scratch: &Scratch) {
        self.client.prepare(scratch);
    }

    fn session(&self, place: &Place, prompt: &str) -> Command {
        self.run_by(&self.client.session(place, prompt))
    }

    fn resume(&self, place: &Place, prompt: &str) -> Command {
        self.run_by(&self.client.resume(place, prompt))
    }

    fn compact(&self, place: &Place) -> Option<Command> {
        Some(self.run_by(&self.client.compact(place)?))
    }

    fn cannot(&self, cell: &str) -> Option<&'static str> {
        let own = self.cannot.iter().find(|(known, _)| *known == cell).map(|(_, reason)| *reason);
        own.or_else(|| self.client.cannot(cell))
    }

    fn write(&self, path: &Path, content: &str) -> Reply {
        self.client.write(path, content)
    }

    fn edit(&self, path: &Path, old: &str, new: &str) -> Reply {
        self.client.edit(path, old, new)
    }

    fn run(&self, command: &str) -> Reply {
        self.client.run(command)
    }

    fn todo(&self, what: &str) -> Vec<Reply> {
        if self.has_list { self.client.todo(what) } else { Vec::new() }
    }

    fn ours(&self, tool: &str, input: Value) -> Reply {
        self.client.ours(tool, input)
    }

    fn state_after_exit(&self) -> &'static str {
        if self.reports_start { self.client.state_after_exit() } else { "active" }
    }

    fn state_after_kill(&self) -> &'static str {
        if self.reports_start { self.client.state_after_kill() } else { "active" }
    }
}

/// Where a session runs.
#[derive(Clone, Debug)]
pub struct Place {
    pub home: PathBuf,
    pub cwd: PathBuf,
    /// The address of the model server, without a trailing slash.
    pub server_url: String,
}

impl Place {
    /// In the repository and the home of a scratch.
    pub fn new(scratch: &Scratch, server: &ModelServer) -> Place {
        Place { home: scratch.home(), cwd: scratch.repo(), server_url: server.url() }
    }
}

/// The program in a clean environment and its own process group, without arguments yet.
pub(crate) fn clean_command(program: &Path, place: &Place) -> Command {
    let scratch = place.home.join("tmp");
    std::fs::create_dir_all(&scratch).expect("makes a directory in the scratch home");
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs([("PATH", SYSTEM_PATH), ("TERM", "xterm-256color"), ("LANG", "C.UTF-8")])
        .envs([("HOME", &place.home), ("TMPDIR", &scratch)])
        .current_dir(&place.cwd)
        .process_group(0);
    command
}

/// The pinned program, which must be installed.
pub(crate) fn installed(pin: Pin) -> PathBuf {
    pin.locate().unwrap_or_else(|missing| panic!("{missing}"))
}
