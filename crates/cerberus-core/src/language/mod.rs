//! Natural language without a model: tokens, sentences, word patterns, stems, and the meaning of short instructions.

pub mod classes;
pub mod concepts;
pub mod form;
pub mod forms;
pub mod lexicon;
mod lines;
pub mod matcher;
pub mod meaning;
pub mod outline;
pub mod reading;
pub mod sentence;
pub mod speech;
pub mod stem;
pub mod tokens;
mod vocabulary;
