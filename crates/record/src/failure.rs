//! By what the failure of a command is recognised when it happens again. `runs/failure.rs` finds it.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;

/// What a failed command said.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FailedCommand<'a> {
    /// By what it is recognised.
    #[serde(borrow)]
    pub signature: Clean<'a>,
    /// The line that says what is wrong, as one line of plain words. Never stored: it may be from a file.
    #[serde(skip)]
    pub message: Clean<'a>,
}

/// The message is not part of the record.
impl PartialEq for FailedCommand<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.signature == other.signature
    }
}

impl FailedCommand<'_> {
    pub fn into_owned(self) -> FailedCommand<'static> {
        FailedCommand { signature: self.signature.into_owned(), message: self.message.into_owned() }
    }
}
