//! Who writes summaries. One file a provider, which says how it is asked and where in its answer the text is.
//!
//! A provider is made from the user's settings and keys, and is whole: what is missing is said before anything is sent.

mod anthropic;
mod command;
mod ollama;
mod openai;

use std::time::Duration;

use cerberus_core::clean::text::Clean;
use serde_json::Value;

use super::http::{self, Message};
use crate::config::{Key, ProviderName, SummaryConfig};

/// Set for the program that the provider `command` runs: an agent that sums up a session is no session itself.
pub const SUMMARIZING: &str = "CERBERUS_SUMMARIZING";

/// Two or three sentences, with room for a preamble.
const ANSWER_TOKENS_MAX: u32 = 200;
const TEMPERATURE: f64 = 0.3;

#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("[summary] {0} is not set")]
    NotSet(&'static str),
    #[error("no API key: set {0} in the environment, or key in [summary]")]
    NoKey(&'static str),
    #[error("[summary] base_url is not a URL like http://127.0.0.1:11434")]
    NoAddress,
    #[error("the provider did not answer within {} s", .0.as_secs_f64())]
    Late(Duration),
    #[error("the provider cannot be reached: {0}")]
    Unreachable(String),
    #[error("the provider {}", status_words(*.0))]
    Status(u16),
    #[error("the answer of the provider is too long")]
    Long,
    #[error("the answer of the provider contains nothing usable")]
    Unusable,
    #[error("the command cannot be run: {0}")]
    NotRun(std::io::Error),
    #[error("the command failed: {0}")]
    Failed(std::process::ExitStatus),
}

fn status_words(status: u16) -> String {
    let means = match status {
        300..=399 => "redirects to another address; set [summary] base_url to that address",
        401 | 403 => "rejects the API key",
        404 => "does not know the model, or is not what [summary] provider says",
        429 => "rejects the request: rate limit reached, or no credit",
        500.. => "has an internal error",
        _ => "rejects the request",
    };
    format!("{means} (status {status})")
}

/// What the environment says: given by whoever reads it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub anthropic_key: Option<Key>,
    pub openai_key: Option<Key>,
    pub ollama_host: Option<String>,
}

/// The second try leaves out what not every model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Usual,
    Plain,
}

/// How an API is spoken to.
struct Api {
    path: &'static str,
    headers: fn(&Endpoint) -> Vec<(&'static str, String)>,
    body: fn(&Endpoint, &str, Manner) -> Value,
    /// The text in what came back.
    text: fn(&Value) -> Option<String>,
}

/// Where a model is.
#[derive(Debug)]
struct Endpoint {
    base: String,
    model: String,
    key: Option<Key>,
}

#[derive(Debug)]
enum Way {
    Http(ProviderName, Endpoint),
    Command(Vec<String>),
}

#[derive(Debug)]
pub struct Provider {
    way: Way,
    limit: Duration,
}

impl Provider {
    /// The provider that the user has set; `None` when there is none.
    pub fn new(config: &SummaryConfig, around: &Surroundings) -> Result<Option<Provider>, ProviderError> {
        let Some(name) = config.provider else { return Ok(None) };
        let key = |given: &Option<Key>| given.clone().or_else(|| config.key.clone());
        let base = |usual: &str| address(config.base_url.as_deref().unwrap_or(usual));
        let way = match name {
            ProviderName::Command => match config.command.first().is_some_and(|program| !program.is_empty()) {
                true => Way::Command(config.command.clone()),
                false => return Err(ProviderError::NotSet("command")),
            },
            ProviderName::Ollama => {
                let host = ollama::address(around.ollama_host.as_deref());
                Way::Http(name, Endpoint { base: base(&host)?, model: model(config)?, key: config.key.clone() })
            }
            ProviderName::Anthropic => {
                let key = key(&around.anthropic_key).ok_or(ProviderError::NoKey("ANTHROPIC_API_KEY"))?;
                Way::Http(name, Endpoint { base: base(anthropic::BASE)?, model: model(config)?, key: Some(key) })
            }
            ProviderName::Openai => {
                let key = key(&around.openai_key);
                // Servers of one's own that speak this way mostly ask for none.
                if key.is_none() && config.base_url.is_none() {
                    return Err(ProviderError::NoKey("OPENAI_API_KEY"));
                }
                Way::Http(name, Endpoint { base: base(openai::BASE)?, model: model(config)?, key })
            }
        };
        Ok(Some(Provider { way, limit: config.limit() }))
    }

    pub fn word(&self) -> &'static str {
        match &self.way {
            Way::Http(name, _) => name.word(),
            Way::Command(_) => ProviderName::Command.word(),
        }
    }

    /// What people are told of it. A program's arguments may hold anything, so they are not.
    pub fn shown(&self) -> String {
        match &self.way {
            Way::Http(name, endpoint) => format!("{}, {} at {}", name.word(), endpoint.model, endpoint.base),
            Way::Command(command) => format!("command, {}", command.first().map_or("", String::as_str)),
        }
    }

    /// The program it runs, if it is one.
    pub fn program(&self) -> Option<&str> {
        match &self.way {
            Way::Http(..) => None,
            Way::Command(command) => command.first().map(String::as_str),
        }
    }

    /// What the model says to this. Only clean text goes out.
    pub fn ask(&self, prompt: &Clean, manner: Manner) -> Result<String, ProviderError> {
        let (name, endpoint) = match &self.way {
            Way::Command(command) => return command::ask(command, prompt, self.limit),
            Way::Http(name, endpoint) => (*name, endpoint),
        };
        let Some(api) = api(name) else { return Err(ProviderError::NotSet("provider")) };
        let url = format!("{}{}", endpoint.base, api.path);
        let body = (api.body)(endpoint, prompt, manner).to_string();
        let message = Message { url: &url, headers: &(api.headers)(endpoint), body: body.as_bytes() };
        let answer = http::post(&message, self.limit)?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|_| ProviderError::Unusable)?;
        (api.text)(&answer).ok_or(ProviderError::Unusable)
    }

    /// Is anybody there? Nothing is said to them, and no key is sent.
    pub fn reach(&self, limit: Duration) -> Result<(), ProviderError> {
        match &self.way {
            Way::Http(_, endpoint) => http::reach(&endpoint.base, limit),
            Way::Command(_) => Ok(()),
        }
    }
}

fn api(name: ProviderName) -> Option<Api> {
    match name {
        ProviderName::Ollama => Some(ollama::API),
        ProviderName::Anthropic => Some(anthropic::API),
        ProviderName::Openai => Some(openai::API),
        ProviderName::Command => None,
    }
}

fn model(config: &SummaryConfig) -> Result<String, ProviderError> {
    let model = config.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
    model.map(str::to_string).ok_or(ProviderError::NotSet("model"))
}

/// An address that can be shown: of HTTP, and without a name and password in it.
fn address(given: &str) -> Result<String, ProviderError> {
    let given = given.trim().trim_end_matches('/');
    let rest = given.strip_prefix("https://").or_else(|| given.strip_prefix("http://"));
    match rest.filter(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#', ' '])) {
        Some(_) => Ok(given.to_string()),
        None => Err(ProviderError::NoAddress),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> SummaryConfig {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_is_missing_is_said_before_anything_is_sent() {
        let key = || Key::new(["made", "up"].concat());
        let around = |anthropic_key, openai_key| Surroundings { anthropic_key, openai_key, ollama_host: None };
        let none = around(None, None);
        for (text, around, said) in [
            ("provider = 'ollama'", &none, "[summary] model is not set"),
            ("provider = 'command'", &none, "[summary] command is not set"),
            (
                "provider = 'anthropic'\nmodel = 'm'",
                &none,
                "no API key: set ANTHROPIC_API_KEY in the environment, or key in [summary]",
            ),
            (
                "provider = 'openai'\nmodel = 'm'",
                &around(key(), None),
                "no API key: set OPENAI_API_KEY in the environment, or key in [summary]",
            ),
            (
                "provider = 'openai'\nmodel = 'm'\nbase_url = 'localhost'",
                &none,
                "[summary] base_url is not a URL like http://127.0.0.1:11434",
            ),
            (
                "provider = 'openai'\nmodel = 'm'\nbase_url = 'http://me:pass@host'",
                &none,
                "[summary] base_url is not a URL like http://127.0.0.1:11434",
            ),
        ] {
            assert_eq!(Provider::new(&config(text), around).unwrap_err().to_string(), said, "{text}");
        }
        assert!(Provider::new(&config(""), &none).unwrap().is_none());
        for (text, around, shown) in [
            ("provider = 'ollama'\nmodel = 'm'", &none, "ollama, m at http://127.0.0.1:11434"),
            ("provider = 'anthropic'\nmodel = 'm'", &around(key(), None), "anthropic, m at https://api.anthropic.com"),
            ("provider = 'openai'\nmodel = 'm'\nkey = 'k'", &none, "openai, m at https://api.openai.com/v1"),
            (
                "provider = 'openai'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:8080/v1/'",
                &none,
                "openai, m at http://127.0.0.1:8080/v1",
            ),
            ("provider = 'command'\ncommand = ['claude', '-p', 'secret']", &none, "command, claude"),
        ] {
            assert_eq!(Provider::new(&config(text), around).unwrap().unwrap().shown(), shown);
        }
    }
}
