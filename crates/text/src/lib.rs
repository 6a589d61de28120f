//! Prose without a model: lines, list items, sentences, words, stems, tokens and search terms. Pure.

// Other lints than elsewhere: see clippy.toml. Tests may read files.
#![cfg_attr(
    not(test),
    deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)
)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod irregular;
pub mod outline;
pub mod sentences;
pub mod stem;
pub mod terms;
pub mod tokens;
pub mod words;
