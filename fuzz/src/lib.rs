//! What is fuzzed, and what inputs are made of: for the runner beside this and for libFuzzer in `coverage`.

pub mod corpus;
pub mod targets;
