//! The keys of prompts: the same whichever way a prompt came to us.

use crate::clean::text::Clean;
use crate::model::id::fnv1a;

/// A prompt's key begins with what it says, so that a transcript's copy of it can be recognised.
pub(crate) fn prompt_key(text: &str, source: &[u8]) -> Clean<'static> {
    Clean::hashes("prompt", &[fnv1a(text.as_bytes()), fnv1a(source)])
}

/// What the keys of all prompts with this text begin with.
pub fn prompt_key_prefix(text: &str) -> String {
    format!("prompt-{:016x}-", fnv1a(text.as_bytes()))
}
