//! Edits an agent's own settings file, to add Cerberus and to remove it again.
//!
//! Text in, text out. The content to add is a list of [`Part`]s: hooks, an MCP server, or a whole file. Invariants:
//! - anything Cerberus did not write keeps its bytes: comments, order, indentation, line endings, byte order mark;
//! - [`install`] twice equals [`install`] once, byte for byte;
//! - our entries are recognised by the program they run, not by their position, so a file that was moved, reformatted
//!   or edited by hand can still be cleaned;
//! - a file that cannot be parsed is an error with a position, and no text is returned;
//! - work is limited: nesting by [`DEPTH_MAX`], size by [`TEXT_MAX_BYTES`].
//!
//! It never reads or writes files or the environment.

mod diff;
mod edit;
mod error;
pub mod hooks;
mod json;
mod program;
pub mod servers;
mod status_line;
pub mod strict;
#[cfg(test)]
mod tests;
mod toml_server;
mod trust;
mod version;
mod whole;
mod wired;

use std::collections::BTreeSet;

pub use diff::diff;
pub use edit::Json;
pub use error::{DEPTH_MAX, EditorPosition, JsonKind, SettingsError, SyntaxProblem, TEXT_MAX_BYTES};
pub use hooks::HookStyle;
pub use program::shell_word;
pub use servers::ServerStyle;
pub use trust::{trusted_hooks, without_trust};
pub use version::ProgramVersion;
pub use whole::WholeFile;
pub use wired::{InstallTarget, WiredHook, WiredServer, Wiring};

/// Something we put into a settings file.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// Commands that the agent runs on events.
    Hooks(&'static HookStyle),
    /// Our MCP server, in JSON.
    Server(&'static ServerStyle),
    /// The same in TOML, inside the table of this name.
    TomlServer(&'static str),
    /// Our status line. Without being wanted it is not added, but an existing one is updated and can be removed.
    StatusLine { is_wanted: bool },
    /// A file that is entirely ours.
    Whole(&'static WholeFile),
}

impl Part {
    /// Whether installing adds it, rather than only keeping it up to date.
    pub fn is_added(&self) -> bool {
        !matches!(self, Part::StatusLine { is_wanted: false })
    }

    /// What it is, in a few words, as installed for this version of the agent.
    pub fn describe(&self, client: Option<ProgramVersion>) -> String {
        match self {
            Part::Hooks(style) => format!("{} hooks", style.events_for(client).count()),
            Part::Server(_) | Part::TomlServer(_) => "MCP server".to_owned(),
            Part::StatusLine { .. } => "status line".to_owned(),
            Part::Whole(_) => "plugin".to_owned(),
        }
    }

    pub fn is_server(&self) -> bool {
        matches!(self, Part::Server(_) | Part::TomlServer(_))
    }

    /// The versions of the agent from which on more can be installed.
    fn thresholds(&self) -> impl Iterator<Item = ProgramVersion> {
        let since = if let Part::Hooks(style) = self { style.since } else { &[] };
        since.iter().map(|(_, version)| *version)
    }
}

/// Whether the content of these parts depends on the agent's version.
pub fn depends_on_version(parts: &[Part]) -> bool {
    parts.iter().any(|part| part.thresholds().next().is_some())
}

/// The events that enforce rules of the user, in these parts.
pub fn check_events(parts: &[Part]) -> impl Iterator<Item = &'static str> {
    parts.iter().filter_map(|part| match part {
        Part::Hooks(style) => style.checks.as_ref().map(|hook| hook.event),
        _ => None,
    })
}

/// The text with our parts.
///
/// Existing entries are updated in place, and hooks for events that the client does not know are removed. A blank file
/// counts as empty.
pub fn install(parts: &[Part], text: &str, target: &InstallTarget<'_>) -> Result<String, SettingsError> {
    if !program::is_program(target.command) {
        return Err(SettingsError::NotCerberus { command: target.command.to_owned() });
    }
    let mut changed = text.to_owned();
    for part in parts {
        changed = match part {
            Part::Hooks(style) => hooks::install(style, &changed, target)?,
            Part::Server(style) if target.has_server => servers::install(style, &changed, target)?,
            Part::TomlServer(list) if target.has_server => toml_server::install(list, &changed, target)?,
            Part::Server(style) => servers::uninstall(style, &changed)?,
            Part::TomlServer(list) => toml_server::uninstall(list, &changed)?,
            Part::StatusLine { is_wanted } => status_line::install(*is_wanted, &changed, target.command)?,
            Part::Whole(file) => whole::install(file, &changed, target.command)?,
        };
    }
    // A text that we could not read again could not be cleaned.
    if changed.len() > TEXT_MAX_BYTES {
        return Err(SettingsError::TooLarge { bytes: changed.len() });
    }
    Ok(changed)
}

/// The text without our parts.
///
/// The text alone does not show whether an empty `"hooks": {}` existed before [`install`], nor `{ }` or an empty
/// file. So the caller may pass the text from before the installation: if installing into it gives exactly the
/// current text, it is returned unchanged. Otherwise our entries are removed in place, with the lists and objects
/// that become empty, unless they contain comments. This also restores the old text byte for byte, except for
/// containers (or a file) that were empty before.
pub fn uninstall(parts: &[Part], text: &str, before: Option<&str>) -> Result<String, SettingsError> {
    let wiring = installed(parts, text, None)?;
    if let Some(before) = before.filter(|before| is_origin(parts, text, &wiring, before)) {
        return Ok(before.to_owned());
    }
    let mut changed = text.to_owned();
    for part in parts.iter().rev() {
        changed = match part {
            Part::Hooks(style) => hooks::uninstall(style, &changed)?,
            Part::Server(style) => servers::uninstall(style, &changed)?,
            Part::TomlServer(list) => toml_server::uninstall(list, &changed)?,
            Part::StatusLine { .. } => status_line::uninstall(&changed)?,
            Part::Whole(file) => whole::uninstall(file, &changed),
        };
    }
    Ok(changed)
}

/// Which of our parts the text has, and which are missing for this version of the agent.
pub fn installed(parts: &[Part], text: &str, client: Option<ProgramVersion>) -> Result<Wiring, SettingsError> {
    let mut wiring = Wiring::default();
    for part in parts {
        match part {
            Part::Hooks(style) => hooks::installed(style, text, client, &mut wiring)?,
            Part::Server(style) => servers::installed(style, text, &mut wiring)?,
            Part::TomlServer(list) => toml_server::installed(list, text, &mut wiring)?,
            Part::StatusLine { .. } => wiring.status_line = status_line::program(text)?,
            Part::Whole(file) => whole::installed(file, text, &mut wiring),
        }
    }
    Ok(wiring)
}

/// Whether the text is the result of installing into `before`, for any version of the agent.
fn is_origin(parts: &[Part], text: &str, wiring: &Wiring, before: &str) -> bool {
    let Some(command) = wiring.commands().first().copied() else {
        return false;
    };
    let has_line = wiring.status_line.is_some();
    let as_then = |part: &Part| match part {
        Part::StatusLine { .. } => Part::StatusLine { is_wanted: has_line },
        other => *other,
    };
    let as_then: Vec<Part> = parts.iter().map(as_then).collect();
    // An older installation in `before` must not come back on uninstall.
    if !installed(parts, before, None).is_ok_and(|wiring| wiring.is_empty()) {
        return false;
    }
    let home = wiring.servers.iter().find_map(|server| server.home.as_deref());
    let versions: BTreeSet<ProgramVersion> = parts.iter().flat_map(Part::thresholds).collect();
    let clients = versions.into_iter().rev().map(Some).chain([None]);
    let checks = check_events(parts).any(|event| wiring.hooks.iter().any(|hook| hook.event == event));
    let has_server = !wiring.servers.is_empty();
    let mut targets = clients.map(|client| InstallTarget { command, client, home, checks, has_server });
    targets.any(|target| install(&as_then, before, &target).is_ok_and(|after| after == text))
}
