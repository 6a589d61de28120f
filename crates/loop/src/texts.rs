//! Texts that the ledger and a handoff keep: one line, or a passage. Neither has secrets.

use std::ops::Deref;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Keep, line};
use serde::{Deserialize, Serialize};

const ITEM_CHARS_MAX: usize = 500;

const ITEM: Keep = Keep::words(4_000, 0);

/// More of a file is never passed on.
const PASSAGE: Keep = Keep::words(256 * 1024, 0);

/// One line of text, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OneLine(String);

impl OneLine {
    /// An item from outside text.
    pub fn new(cleaner: &Cleaner, text: &str) -> OneLine {
        one_line(&cleaner.clean(text, ITEM))
    }
}

impl Deref for OneLine {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// An item from text that is already clean.
pub(super) fn one_line(text: &str) -> OneLine {
    OneLine(line(text, ITEM_CHARS_MAX))
}

/// Several lines of a file, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Passage(String);

impl Passage {
    pub fn new(cleaner: &Cleaner, text: &str) -> Passage {
        Passage(cleaner.clean(text, PASSAGE).to_string())
    }
}

impl Deref for Passage {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
