//! The failure of a command: the error, and what to do next.

use std::fmt::Display;

/// The hint of errors that have no other.
pub const DOCTOR: &str = "run `cerberus doctor` to see what is wrong";

pub type Result<T> = std::result::Result<T, CommandFailure>;

#[derive(Debug)]
pub struct CommandFailure {
    pub error: anyhow::Error,
    pub hint: String,
}

/// Adds a hint, what to do next, to anything that can fail.
pub trait Hint<T> {
    fn hint(self, hint: impl Display) -> Result<T>;
}

impl<T, E: Into<anyhow::Error>> Hint<T> for std::result::Result<T, E> {
    fn hint(self, hint: impl Display) -> Result<T> {
        self.map_err(|error| CommandFailure { error: error.into(), hint: hint.to_string() })
    }
}

/// Most errors have no other remedy than a closer look.
impl<E: std::error::Error + Send + Sync + 'static> From<E> for CommandFailure {
    fn from(error: E) -> Self {
        CommandFailure { error: error.into(), hint: DOCTOR.to_string() }
    }
}
