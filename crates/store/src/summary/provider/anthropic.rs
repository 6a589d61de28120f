//! Anthropic's Messages API.

use serde_json::{Value, json};

use super::api::{Api, RequestForm, TEMPERATURE};

pub(super) const BASE: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";

pub(super) const API: Api = Api {
    path: "/v1/messages",
    headers: |endpoint| {
        let key = endpoint.key.as_ref().map(|key| ("x-api-key", key.reveal().to_string()));
        key.into_iter().chain([("anthropic-version", VERSION.to_string())]).collect()
    },
    body: |endpoint, prompt, form| {
        let messages = json!([{"role": "user", "content": prompt}]);
        let mut body = json!({"model": endpoint.model, "max_tokens": endpoint.answer_tokens_max, "messages": messages});
        if form == RequestForm::Full {
            body["temperature"] = json!(TEMPERATURE);
        }
        body
    },
    text: |answer: &Value| {
        let blocks = answer["content"].as_array()?;
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    },
};
