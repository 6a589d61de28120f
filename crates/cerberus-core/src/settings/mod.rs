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
pub mod hooks;
mod json;
mod program;
pub mod servers;
#[cfg(test)]
mod tests;
mod toml_server;
mod whole;

use std::collections::BTreeSet;
use std::fmt;

pub use diff::diff;
pub use edit::Json;
pub use hooks::HookStyle;
pub use program::shell_word;
pub use servers::ServerStyle;
pub use toml_server::trusted_hooks;
pub use whole::WholeFile;

/// The deepest accepted nesting of objects and arrays.
pub const DEPTH_MAX: usize = 128;

/// The largest accepted text. Real files have a few kilobytes, or a few hundred with histories in them.
pub const TEXT_MAX_BYTES: usize = 4 * 1024 * 1024;

/// Something we put into a settings file.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// Commands that the agent runs on events.
    Hooks(&'static HookStyle),
    /// Our MCP server, in JSON.
    Server(&'static ServerStyle),
    /// The same in TOML, inside the table of this name.
    TomlServer(&'static str),
    /// A file that is entirely ours.
    Whole(&'static WholeFile),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Hooks(style) => write!(f, "{} hooks", style.events.len()),
            Part::Server(_) | Part::TomlServer(_) => f.write_str("MCP server"),
            Part::Whole(_) => f.write_str("plugin"),
        }
    }
}

/// Which of our entries a settings file has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wiring {
    /// In file order.
    pub hooks: Vec<WiredHook>,
    /// The programs of our servers.
    pub servers: Vec<String>,
    /// What installing would add: events, `mcp` for the server, `plugin` for a whole file.
    pub missing: Vec<&'static str>,
}

/// One of our hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiredHook {
    pub event: String,
    /// Set only if someone restricted the hook by hand; ours are written without a matcher.
    pub matcher: Option<String>,
    /// The program it runs.
    pub command: String,
}

impl Wiring {
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty() && self.servers.is_empty()
    }

    /// The distinct programs; more than one means that some are out of date.
    pub fn commands(&self) -> BTreeSet<&str> {
        self.hooks.iter().map(|hook| hook.command.as_str()).chain(self.servers.iter().map(String::as_str)).collect()
    }
}

/// The text with our parts, running `command` (an unquoted path to `cerberus`).
///
/// Existing entries are updated in place. A blank file counts as empty.
pub fn install(parts: &[Part], text: &str, command: &str) -> Result<String, SettingsError> {
    if !program::is_program(command) {
        return Err(SettingsError::NotCerberus { command: command.to_owned() });
    }
    let mut changed = text.to_owned();
    for part in parts {
        changed = match part {
            Part::Hooks(style) => hooks::install(style, &changed, command)?,
            Part::Server(style) => servers::install(style, &changed, command)?,
            Part::TomlServer(list) => toml_server::install(list, &changed, command)?,
            Part::Whole(file) => whole::install(file, &changed, command)?,
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
    let wiring = installed(parts, text)?;
    if let Some(before) = before.filter(|before| is_origin(parts, text, &wiring, before)) {
        return Ok(before.to_owned());
    }
    let mut changed = text.to_owned();
    for part in parts.iter().rev() {
        changed = match part {
            Part::Hooks(style) => hooks::uninstall(style, &changed)?,
            Part::Server(style) => servers::uninstall(style, &changed)?,
            Part::TomlServer(list) => toml_server::uninstall(list, &changed)?,
            Part::Whole(file) => whole::uninstall(file, &changed),
        };
    }
    Ok(changed)
}

/// Which of our parts the text has.
pub fn installed(parts: &[Part], text: &str) -> Result<Wiring, SettingsError> {
    let mut wiring = Wiring::default();
    for part in parts {
        match part {
            Part::Hooks(style) => hooks::installed(style, text, &mut wiring)?,
            Part::Server(style) => servers::installed(style, text, &mut wiring)?,
            Part::TomlServer(list) => toml_server::installed(list, text, &mut wiring)?,
            Part::Whole(file) => whole::installed(file, text, &mut wiring),
        }
    }
    Ok(wiring)
}

/// Whether the text is the result of installing into `before`.
fn is_origin(parts: &[Part], text: &str, wiring: &Wiring, before: &str) -> bool {
    let Some(command) = wiring.commands().first().copied() else {
        return false;
    };
    // An older installation in `before` must not come back on uninstall.
    installed(parts, before).is_ok_and(|wiring| wiring.is_empty())
        && install(parts, before, command).is_ok_and(|after| after == text)
}

/// Why a settings file was left unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("{at}: {problem}")]
    Syntax { at: Position, problem: SyntaxProblem },
    #[error("{at}: nested deeper than {DEPTH_MAX} levels")]
    TooDeep { at: Position },
    #[error("the file has {bytes} bytes, but a settings file may have at most {TEXT_MAX_BYTES}")]
    TooLarge { bytes: usize },
    /// Only keys that we follow are checked: which of two `hooks` counts would be a guess.
    #[error("{at}: the key {key:?} appears twice in one object")]
    DuplicateKey { at: Position, key: String },
    #[error("{at}: {path} should be {expected}, but is {found}")]
    WrongType { at: Position, path: String, expected: Kind, found: Kind },
    /// A server with our name that runs something else belongs to the user.
    #[error("{path} already exists and runs something else")]
    Taken { path: String },
    /// The change is possible by hand, but not without changing foreign text.
    #[error("{path} is written in a way that cannot be changed safely; edit it by hand")]
    Entangled { path: String },
    #[error("{at}: {problem}")]
    Toml { at: Position, problem: String },
    #[error("the file was not written by Cerberus")]
    Foreign,
    /// Under another name it could not be found again or removed.
    #[error("{command:?} is not a path to a program named cerberus")]
    NotCerberus { command: String },
}

/// Why a text is neither JSON nor JSON with comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxProblem {
    #[error("unexpected end of the file")]
    UnexpectedEnd,
    #[error("unexpected character {0:?}")]
    UnexpectedCharacter(char),
    #[error("this comment is never closed")]
    UnclosedComment,
    #[error("this string is never closed")]
    UnclosedString,
    #[error("invalid escape in a string")]
    BadEscape,
    #[error("line break or control character in a string")]
    ControlCharacter,
    #[error("neither a number nor true, false or null")]
    BadWord,
}

/// A position as shown in an editor: both counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The type of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        })
    }
}
