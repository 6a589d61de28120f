//! The providers of summaries. One file per provider says how to ask it and where in its answer the text is.
//!
//! A provider is built from the user's settings and keys and is complete: anything missing is reported before anything
//! is sent.

mod anthropic;
mod api;
mod command;
mod error;
mod ollama;
mod openai;

use std::time::Duration;

use cerberus_record::clean::text::Clean;
use serde_json::Value;

use self::api::{Api, Endpoint};
use super::http::{self, HttpMessage};
pub use api::RequestForm;
pub use command::SUMMARIZING;
pub use error::ProviderError;

use crate::config::{ApiKey, ProviderName, ProviderReads, SummaryConfig};

/// Two or three sentences, with room for a preamble.
const ANSWER_TOKENS_MAX: u32 = 200;
/// The same, and up to 25 items with their quotations.
const ITEMS_TOKENS_MAX: u32 = 1_500;

/// The relevant environment variables, read by the caller.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub anthropic_key: Option<ApiKey>,
    pub openai_key: Option<ApiKey>,
    pub ollama_host: Option<String>,
}

#[derive(Debug)]
enum ProviderTransport {
    Http(ProviderName, Endpoint),
    Command(Vec<String>),
}

#[derive(Debug)]
pub struct Provider {
    transport: ProviderTransport,
    limit: Duration,
    reads: ProviderReads,
}

impl Provider {
    /// The configured provider; `None` if there is none.
    pub fn new(config: &SummaryConfig, environment: &Environment) -> Result<Option<Provider>, ProviderError> {
        let Some(name) = config.provider else { return Ok(None) };
        let key = |given: &Option<ApiKey>| given.clone().or_else(|| config.key.clone());
        let answer_tokens_max = match config.reads {
            ProviderReads::Facts => ANSWER_TOKENS_MAX,
            ProviderReads::Conversation => ITEMS_TOKENS_MAX,
        };
        let base = |usual: &str| address(config.base_url.as_deref().unwrap_or(usual));
        let endpoint =
            |base, key| Ok::<_, ProviderError>(Endpoint { base, model: model(config)?, key, answer_tokens_max });
        let transport = match name {
            ProviderName::Command => match config.command.first().is_some_and(|program| !program.is_empty()) {
                true => ProviderTransport::Command(config.command.clone()),
                false => return Err(ProviderError::NotSet("command")),
            },
            ProviderName::Ollama => {
                let host = ollama::address(environment.ollama_host.as_deref());
                ProviderTransport::Http(name, endpoint(base(&host)?, config.key.clone())?)
            }
            ProviderName::Anthropic => {
                let key = key(&environment.anthropic_key).ok_or(ProviderError::NoKey("ANTHROPIC_API_KEY"))?;
                ProviderTransport::Http(name, endpoint(base(anthropic::BASE)?, Some(key))?)
            }
            ProviderName::Openai => {
                let key = key(&environment.openai_key);
                // Self-hosted servers with this API usually need no key.
                if key.is_none() && config.base_url.is_none() {
                    return Err(ProviderError::NoKey("OPENAI_API_KEY"));
                }
                ProviderTransport::Http(name, endpoint(base(openai::BASE)?, key)?)
            }
        };
        Ok(Some(Provider { transport, limit: config.limit(), reads: config.reads }))
    }

    pub fn word(&self) -> &'static str {
        match &self.transport {
            ProviderTransport::Http(name, _) => name.word(),
            ProviderTransport::Command(_) => ProviderName::Command.word(),
        }
    }

    /// What it may be sent.
    pub fn reads(&self) -> ProviderReads {
        self.reads
    }

    /// The provider in messages to the user. A program's arguments may contain secrets, so they are left out.
    pub fn describe(&self) -> String {
        match &self.transport {
            ProviderTransport::Http(name, endpoint) => {
                format!("{}, {} at {}", name.word(), endpoint.model, endpoint.base)
            }
            ProviderTransport::Command(command) => format!("command, {}", command.first().map_or("", String::as_str)),
        }
    }

    /// The program it runs, if any.
    pub fn program(&self) -> Option<&str> {
        match &self.transport {
            ProviderTransport::Http(..) => None,
            ProviderTransport::Command(command) => command.first().map(String::as_str),
        }
    }

    /// Sends the prompt and returns the answer. Only cleaned text is sent.
    pub fn ask(&self, prompt: &Clean, form: RequestForm) -> Result<String, ProviderError> {
        let (name, endpoint) = match &self.transport {
            ProviderTransport::Command(command) => return command::ask(command, prompt, self.limit),
            ProviderTransport::Http(name, endpoint) => (*name, endpoint),
        };
        let Some(api) = api(name) else { return Err(ProviderError::NotSet("provider")) };
        let url = format!("{}{}", endpoint.base, api.path);
        let body = (api.body)(endpoint, prompt, form).to_string();
        let message = HttpMessage { url: &url, headers: &(api.headers)(endpoint), body: body.as_bytes() };
        let answer = http::post(&message, self.limit)?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|_| ProviderError::Unusable)?;
        (api.text)(&answer).ok_or(ProviderError::Unusable)
    }

    /// Whether the provider can be reached. Sends no data and no key.
    pub fn check_connection(&self, limit: Duration) -> Result<(), ProviderError> {
        match &self.transport {
            ProviderTransport::Http(_, endpoint) => http::check_connection(&endpoint.base, limit),
            ProviderTransport::Command(_) => Ok(()),
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

/// Checks that an address is HTTP and contains no user name or password, so that it can be shown.
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
    fn missing_settings_are_reported_before_anything_is_sent() {
        let key = || ApiKey::new(["made", "up"].concat());
        let environment = |anthropic_key, openai_key| Environment { anthropic_key, openai_key, ollama_host: None };
        let none = environment(None, None);
        for (text, environment, said) in [
            ("provider = 'ollama'", &none, "[summary] model is not set"),
            ("provider = 'command'", &none, "[summary] command is not set"),
            (
                "provider = 'anthropic'\nmodel = 'm'",
                &none,
                "no API key: set ANTHROPIC_API_KEY in the environment, or key in [summary]",
            ),
            (
                "provider = 'openai'\nmodel = 'm'",
                &environment(key(), None),
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
            assert_eq!(Provider::new(&config(text), environment).unwrap_err().to_string(), said, "{text}");
        }
        assert!(Provider::new(&config(""), &none).unwrap().is_none());
        for (text, environment, shown) in [
            ("provider = 'ollama'\nmodel = 'm'", &none, "ollama, m at http://127.0.0.1:11434"),
            (
                "provider = 'anthropic'\nmodel = 'm'",
                &environment(key(), None),
                "anthropic, m at https://api.anthropic.com",
            ),
            ("provider = 'openai'\nmodel = 'm'\nkey = 'k'", &none, "openai, m at https://api.openai.com/v1"),
            (
                "provider = 'openai'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:8080/v1/'",
                &none,
                "openai, m at http://127.0.0.1:8080/v1",
            ),
            ("provider = 'command'\ncommand = ['claude', '-p', 'secret']", &none, "command, claude"),
        ] {
            assert_eq!(Provider::new(&config(text), environment).unwrap().unwrap().describe(), shown);
        }
    }
}
