//! Prose without a model: lines, list items, sentences, words, stems, tokens and search terms. Pure.

pub mod irregular;
pub mod outline;
pub mod sentences;
pub mod stem;
pub mod terms;
pub mod tokens;
pub mod words;
