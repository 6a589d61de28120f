//! A real tokenizer, to compare estimates with.

use std::sync::OnceLock;

/// How many tokens o200k needs for `text`.
pub fn real_tokens(text: &str) -> usize {
    static TOKENIZER: OnceLock<tiktoken_rs::CoreBPE> = OnceLock::new();
    let tokenizer = TOKENIZER.get_or_init(|| tiktoken_rs::o200k_base().expect("the vocabulary is built in"));
    tokenizer.encode_ordinary(text).len()
}
