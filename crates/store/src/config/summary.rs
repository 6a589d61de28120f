//! `[summary]`: which provider writes summaries, and how sessions receive them.

use cerberus_record::words;
use std::time::Duration;

use cerberus_recall::summary::render::Format;
use serde::Deserialize;

/// A shorter timeout cannot succeed; with a longer one, nobody waits for the result.
const TIMEOUT_SECS_RANGE: std::ops::RangeInclusive<f64> = 0.1..=120.0;

/// The settings for summaries. Off unless a provider is set.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SummaryConfig {
    pub provider: Option<ProviderName>,
    pub model: Option<String>,
    /// The provider's address, if it is not the default.
    pub base_url: Option<String>,
    /// An environment variable is the better place for it.
    pub key: Option<ApiKey>,
    /// The program that the provider `command` runs, and its arguments.
    pub command: Vec<String>,
    /// The time limit of one attempt.
    pub timeout_secs: f64,
    /// What the provider is sent.
    pub reads: ProviderReads,
    format: Option<Format>,
}

impl Default for SummaryConfig {
    fn default() -> Self {
        SummaryConfig {
            provider: None,
            model: None,
            base_url: None,
            key: None,
            command: Vec::new(),
            timeout_secs: 10.0,
            reads: ProviderReads::default(),
            format: None,
        }
    }
}

impl SummaryConfig {
    /// If a provider is set, the default adds its summary to the codes.
    pub fn format(&self) -> Format {
        let default = if self.provider.is_some() { Format::Both } else { Format::Codes };
        self.format.unwrap_or(default)
    }

    /// Checks that every value is in range.
    pub(super) fn check(&self) -> Result<(), String> {
        let (low, high) = (TIMEOUT_SECS_RANGE.start(), TIMEOUT_SECS_RANGE.end());
        match TIMEOUT_SECS_RANGE.contains(&self.timeout_secs) {
            true => Ok(()),
            false => Err(format!("summary.timeout_secs must be between {low} and {high}")),
        }
    }

    pub fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_secs)
    }
}

/// What the provider is sent about a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderReads {
    /// Facts only, and none that are words of a prompt.
    #[default]
    Facts,
    /// Also the conversation: prompts, closing messages, and what tools did.
    Conversation,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ProviderName {
        Ollama = "ollama",
        Anthropic = "anthropic",
        Openai = "openai",
        Command = "command",
    }
}

/// The API key. It is sent to the provider only and never printed, not even by `{:?}`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ApiKey(String);

impl ApiKey {
    pub fn new(key: String) -> Option<ApiKey> {
        let key = key.trim().to_string();
        (!key.is_empty()).then_some(ApiKey(key))
    }

    /// Only for the request header.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}
