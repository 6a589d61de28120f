//! What is put into a settings file, and what of it is found there again.

use std::collections::BTreeSet;

use super::version::ProgramVersion;

/// What the installed entries run, and who will read them.
#[derive(Debug, Clone, Copy)]
pub struct InstallTarget<'a> {
    /// An unquoted path to `cerberus`.
    pub command: &'a str,
    /// The oldest version of the agent that reads the file. If it is unknown, only what every version accepts is
    /// written.
    pub client: Option<ProgramVersion>,
    /// The data folder that the server is told, because some agents do not pass on their environment.
    pub home: Option<&'a str>,
    /// Whether the agent must ask before it uses a tool, for rules of the user or to be told who else is at work.
    pub checks: bool,
    /// Whether our MCP server is wanted. Without being wanted it is taken out.
    pub has_server: bool,
}

impl<'a> InstallTarget<'a> {
    /// This program, for a client of unknown version, with the default data folder.
    pub fn program(command: &'a str) -> InstallTarget<'a> {
        InstallTarget { command, client: None, home: None, checks: false, has_server: true }
    }
}

/// Which of our entries a settings file has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wiring {
    /// In file order.
    pub hooks: Vec<WiredHook>,
    pub servers: Vec<WiredServer>,
    /// The program of our status line, if there is one.
    pub status_line: Option<String>,
    /// What installing would add: events, `mcp` for the server, `plugin` for a whole file.
    pub missing: Vec<&'static str>,
}

impl Wiring {
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty() && self.servers.is_empty() && self.status_line.is_none()
    }

    /// The distinct programs; more than one means that some are out of date.
    pub fn commands(&self) -> BTreeSet<&str> {
        let servers = self.servers.iter().map(|server| server.command.as_str());
        let others = servers.chain(self.status_line.as_deref());
        self.hooks.iter().map(|hook| hook.command.as_str()).chain(others).collect()
    }
}

/// One of our hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiredHook {
    pub event: String,
    /// Set only if someone restricted the hook by hand; ours are written without a matcher.
    pub matcher: Option<String>,
    /// The program it runs.
    pub command: String,
    /// Written as program and `args`, as earlier versions of Cerberus did. Older clients ignore `args`.
    pub has_args: bool,
    /// The client does not know this event.
    pub is_unknown: bool,
    /// The index of its entry in the list of the event, and its own index in the entry.
    pub position: (usize, usize),
}

/// One of our servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiredServer {
    /// The program it runs.
    pub command: String,
    /// The data folder that its entry names.
    pub home: Option<String>,
}
