//! Natural language without a model: tokens, words, stems, and the outline of a text.

pub mod forms;
pub mod outline;
pub mod stem;
pub mod tokens;
pub mod words;
