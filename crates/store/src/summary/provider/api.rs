//! What the files of the providers that speak HTTP have in common.

use serde_json::Value;

use crate::config::ApiKey;

pub const TEMPERATURE: f64 = 0.3;

/// The second attempt leaves out parameters that not every model accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestForm {
    Full,
    Plain,
}

/// How to talk to an API.
pub struct Api {
    pub path: &'static str,
    pub headers: fn(&Endpoint) -> Vec<(&'static str, String)>,
    pub body: fn(&Endpoint, &str, RequestForm) -> Value,
    /// Extracts the text from an answer.
    pub text: fn(&Value) -> Option<String>,
}

/// Where a model is served.
#[derive(Debug)]
pub struct Endpoint {
    pub base: String,
    pub model: String,
    pub key: Option<ApiKey>,
    pub answer_tokens_max: u32,
}
