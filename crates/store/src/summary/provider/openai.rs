//! OpenAI's chat API, which many servers implement: llama.cpp, vLLM, LM Studio and others.

use serde_json::{Value, json};

use super::api::{Api, RequestForm, TEMPERATURE};

pub(super) const BASE: &str = "https://api.openai.com/v1";

pub(super) const API: Api = Api {
    path: "/chat/completions",
    headers: |endpoint| {
        let key = endpoint.key.as_ref();
        key.map(|key| ("authorization", format!("Bearer {}", key.reveal()))).into_iter().collect()
    },
    body: |endpoint, prompt, form| {
        let mut body = json!({"model": endpoint.model, "messages": [{"role": "user", "content": prompt}]});
        if form == RequestForm::Full {
            body["max_tokens"] = json!(endpoint.answer_tokens_max);
            body["temperature"] = json!(TEMPERATURE);
        }
        body
    },
    text: |answer: &Value| answer["choices"][0]["message"]["content"].as_str().map(str::to_string),
};
