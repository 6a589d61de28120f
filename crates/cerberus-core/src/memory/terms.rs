//! The words by which a memory is found.

/// What the index holds of a text.
pub fn index_terms(text: &str) -> String {
    crate::text::words(text).collect::<Vec<_>>().join(" ")
}
