//! `[summary]`: who writes summaries, and how sessions are told of them.

use std::time::Duration;

use cerberus_core::summary::render::Format;
use serde::Deserialize;

/// A try that is over sooner was none; one that takes longer is forgotten by whoever waits for it.
const TIMEOUT_SECS_RANGE: std::ops::RangeInclusive<f64> = 0.1..=120.0;

/// Who writes summaries, and how sessions are told of them. Off as long as no provider is named.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SummaryConfig {
    pub provider: Option<ProviderName>,
    pub model: Option<String>,
    /// Where the provider is, when that is not where it usually is.
    pub base_url: Option<String>,
    /// Better kept in the environment.
    pub key: Option<Key>,
    /// The program that the provider `command` runs, and its arguments.
    pub command: Vec<String>,
    /// How long one try may take.
    pub timeout_secs: f64,
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
            format: None,
        }
    }
}

impl SummaryConfig {
    /// Whoever has summaries written wants to hear them.
    pub fn format(&self) -> Format {
        let unsaid = if self.provider.is_some() { Format::Summary } else { Format::Codes };
        self.format.unwrap_or(unsaid)
    }

    /// Is every value in its range?
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderName {
    Ollama,
    Anthropic,
    Openai,
    Command,
}

impl ProviderName {
    pub fn word(self) -> &'static str {
        match self {
            ProviderName::Ollama => "ollama",
            ProviderName::Anthropic => "anthropic",
            ProviderName::Openai => "openai",
            ProviderName::Command => "command",
        }
    }
}

/// What a provider is paid with. It is sent to that provider, and shown to nobody: not even by `{:?}`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    pub fn new(key: String) -> Option<Key> {
        let key = key.trim().to_string();
        (!key.is_empty()).then_some(Key(key))
    }

    /// For the request's header alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}
