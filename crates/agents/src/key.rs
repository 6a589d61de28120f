//! Keys of prompts. A prompt has the same key prefix whether it comes from a hook or from a transcript.

use cerberus_record::clean::text::Clean;
use cerberus_record::id::fnv1a;

/// The key starts with a hash of the text, so that the copy in a transcript is recognised.
pub(crate) fn prompt_key(text: &str, source: &[u8]) -> Clean<'static> {
    Clean::hashes("prompt", &[fnv1a(text.as_bytes()), fnv1a(source)])
}

/// The common prefix of all keys of prompts with this text.
pub fn prompt_key_prefix(text: &str) -> String {
    format!("prompt-{:016x}-", fnv1a(text.as_bytes()))
}
