//! The failure of a command: the error, and what to do next.

use std::fmt::Display;

pub type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug)]
pub struct Failure {
    pub error: anyhow::Error,
    pub hint: String,
}

/// Adds a hint, what to do next, to anything that can fail.
pub trait Hint<T> {
    fn hint(self, hint: impl Display) -> Result<T>;
}

impl<T, E: Into<anyhow::Error>> Hint<T> for std::result::Result<T, E> {
    fn hint(self, hint: impl Display) -> Result<T> {
        self.map_err(|error| Failure { error: error.into(), hint: hint.to_string() })
    }
}

impl<T> Hint<T> for Option<T> {
    fn hint(self, hint: impl Display) -> Result<T> {
        self.ok_or_else(|| Failure { error: anyhow::anyhow!("no home folder was found"), hint: hint.to_string() })
    }
}
