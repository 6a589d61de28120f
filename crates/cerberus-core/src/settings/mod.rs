//! Editing an agent's own settings file, so that Cerberus can add its hooks and take them out again.
//!
//! Everything here is text in, text out. Invariants:
//! - what Cerberus did not write keeps its bytes: comments, order, indentation, line endings, byte order mark;
//! - a file that is not understood is an error that says where, and then no text is returned at all;
//! - work is bounded: nesting by [`DEPTH_MAX`], size by [`TEXT_MAX_BYTES`].
//!
//! It never reads or writes files, and never looks at the environment.

pub mod claude;
mod diff;
mod edit;
mod json;
#[cfg(test)]
mod tests;

use std::fmt;

pub use diff::diff;

/// Deepest nesting of objects and arrays that is accepted.
pub const DEPTH_MAX: usize = 128;

/// Largest settings text that is accepted. Real ones are a few kilobytes.
pub const TEXT_MAX_BYTES: usize = 4 * 1024 * 1024;

/// Why a settings text was left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("{at}: {problem}")]
    Syntax { at: Position, problem: SyntaxProblem },
    #[error("{at}: nested deeper than {DEPTH_MAX} levels")]
    TooDeep { at: Position },
    #[error("{bytes} bytes is more than the {TEXT_MAX_BYTES} a settings file may have")]
    TooLarge { bytes: usize },
    /// Only keys that have to be followed are checked: which of two `hooks` counts would be a guess.
    #[error("{at}: the key {key:?} appears twice in one object")]
    DuplicateKey { at: Position, key: String },
    #[error("{at}: {path} should be {expected}, but is {found}")]
    WrongType { at: Position, path: String, expected: Kind, found: Kind },
    /// Installed under another name it could neither be found again nor taken out.
    #[error("{command:?} is not a path to a program named cerberus")]
    NotCerberus { command: String },
}

/// What is wrong with a text that is neither JSON nor JSON with comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxProblem {
    #[error("the text ends too early")]
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

/// A place in the text as an editor shows it: both counted from 1, columns in characters.
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
