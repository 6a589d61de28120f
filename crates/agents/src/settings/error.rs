//! Why a settings file is not changed.

use std::fmt;

/// The deepest accepted nesting of objects and arrays.
pub const DEPTH_MAX: usize = 128;

/// The largest accepted text. Real files have a few kilobytes, or a few hundred with histories in them.
pub const TEXT_MAX_BYTES: usize = 4 * 1024 * 1024;

/// Why a settings file was left unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("{at}: {problem}")]
    Syntax { at: EditorPosition, problem: SyntaxProblem },
    #[error("{at}: nested deeper than {DEPTH_MAX} levels")]
    TooDeep { at: EditorPosition },
    #[error("the file has {bytes} bytes, but a settings file may have at most {TEXT_MAX_BYTES}")]
    TooLarge { bytes: usize },
    /// Only keys that we follow are checked: which of two `hooks` counts would be a guess.
    #[error("{at}: the key {key:?} appears twice in one object")]
    DuplicateKey { at: EditorPosition, key: String },
    #[error("{at}: {path} should be {expected}, but is {found}")]
    WrongType { at: EditorPosition, path: String, expected: JsonKind, found: JsonKind },
    /// A server with our name that runs something else belongs to the user.
    #[error("{path} already exists and runs something else")]
    Taken { path: String },
    /// The change is possible by hand, but not without changing foreign text.
    #[error("{path} is written in a way that cannot be changed safely; edit it by hand")]
    Entangled { path: String },
    #[error("{at}: {problem}")]
    Toml { at: EditorPosition, problem: String },
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
pub struct EditorPosition {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for EditorPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The type of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl fmt::Display for JsonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JsonKind::Null => "null",
            JsonKind::Bool => "a boolean",
            JsonKind::Number => "a number",
            JsonKind::String => "a string",
            JsonKind::Array => "an array",
            JsonKind::Object => "an object",
        })
    }
}
