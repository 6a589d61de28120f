//! Ollama: models on the user's own machine.

use serde_json::{Value, json};

use super::api::{Api, RequestForm, TEMPERATURE};

const HOST: &str = "127.0.0.1";
const PORT: &str = "11434";

pub(super) const API: Api = Api {
    path: "/api/generate",
    // Ollama needs no key, but a proxy in front of it may.
    headers: |endpoint| {
        let key = endpoint.key.as_ref();
        key.map(|key| ("authorization", format!("Bearer {}", key.reveal()))).into_iter().collect()
    },
    body: |endpoint, prompt, form| {
        let mut body = json!({"model": endpoint.model, "prompt": prompt, "stream": false});
        if form == RequestForm::Full {
            // Thinking would use up the tokens that the answer needs.
            body["think"] = json!(false);
            body["options"] = json!({"temperature": TEMPERATURE, "num_predict": endpoint.answer_tokens_max});
        }
        body
    },
    text: |answer: &Value| answer["response"].as_str().map(str::to_string),
};

/// `OLLAMA_HOST` is a host, a host and port, or a whole URL. For a server it may also mean all interfaces.
pub(super) fn address(host: Option<&str>) -> String {
    let host = host.map(str::trim).map(|host| host.trim_end_matches('/')).filter(|host| !host.is_empty());
    let Some(host) = host else { return format!("http://{HOST}:{PORT}") };
    if host.contains("://") {
        return host.replacen("//0.0.0.0", &format!("//{HOST}"), 1);
    }
    let (name, port) = host.rsplit_once(':').unwrap_or((host, PORT));
    let name = if matches!(name, "" | "0.0.0.0") { HOST } else { name };
    format!("http://{name}:{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_all_notations_are_understood() {
        for (host, url) in [
            (None, "http://127.0.0.1:11434"),
            (Some(""), "http://127.0.0.1:11434"),
            (Some("box"), "http://box:11434"),
            (Some("box:80"), "http://box:80"),
            (Some(":9000"), "http://127.0.0.1:9000"),
            (Some("0.0.0.0"), "http://127.0.0.1:11434"),
            (Some("0.0.0.0:9000"), "http://127.0.0.1:9000"),
            (Some("http://0.0.0.0:9000/"), "http://127.0.0.1:9000"),
            (Some("https://ollama.example"), "https://ollama.example"),
        ] {
            assert_eq!(address(host), url, "{host:?}");
        }
    }
}
