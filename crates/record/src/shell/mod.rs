//! Reads a shell line: its simple commands with words and redirections, also those inside substitutions, subshells,
//! loops, `sh -c` and here-documents that are scripts.
//!
//! Quotes are removed as a shell would; nothing is expanded except by [`paths`], which follows `cd`, braces and
//! variables. It is not a shell: what it does not understand stays a word. Bounded, linear in the line, and every text is
//! accepted. Knows nothing about programs other than shells and wrappers.

mod commands;
mod paths;
mod reader;
mod script;
#[cfg(test)]
mod tests;

pub use commands::{SimpleCommand, commands};
pub use paths::{NamedPaths, WordGroup, groups, joined};
use reader::ShellReader;
pub use script::{CommandLevel, Join, Script, ShellWord, Simple, is_assignment, without_wrappers};
use script::{is_remote, is_shell};

/// Reads a line.
pub fn read(command: &str) -> Script {
    ShellReader::read(command)
}
