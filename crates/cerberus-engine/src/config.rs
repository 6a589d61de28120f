//! The user's settings, `config.toml` in the home; and a project's, `cerberus.toml` at its top, for its loops alone.
//! Missing is fine; wrong says where.

use std::io;
use std::path::Path;

use cerberus_core::brief::{BUDGET_TOKENS, BUDGET_TOKENS_RANGE};
use cerberus_core::loops::settings::Layer;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::home::Home;
use crate::outside;

/// People write it by hand.
const CONFIG_BYTES_MAX: u64 = 256 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub brief: BriefConfig,
    #[serde(rename = "loop")]
    pub loops: Layer,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProjectConfig {
    #[serde(rename = "loop")]
    loops: Layer,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BriefConfig {
    /// How many tokens the session part may have.
    pub session_tokens: usize,
}

impl Default for BriefConfig {
    fn default() -> Self {
        BriefConfig { session_tokens: BUDGET_TOKENS }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("{path} is not understood: {message}")]
    Wrong { path: String, message: String },
}

pub fn load(home: &Home) -> Result<Config, ConfigError> {
    let path = home.config();
    let text = match home.text(&path, CONFIG_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(source) => {
            return Err(ConfigError::Read { path: path.display().to_string(), source });
        }
        Ok(text) => text,
    };
    parse(&text).map_err(|message| ConfigError::Wrong { path: path.display().to_string(), message })
}

/// What a project says about its loops.
pub fn project_loops(root: &Path) -> Result<Layer, ConfigError> {
    let path = root.join("cerberus.toml");
    let text = match outside::text(&path, CONFIG_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Layer::default()),
        Err(source) => return Err(ConfigError::Read { path: path.display().to_string(), source }),
        Ok(text) => text,
    };
    let config: Result<ProjectConfig, String> = read(&text);
    config
        .map(|config| config.loops)
        .map_err(|message| ConfigError::Wrong { path: path.display().to_string(), message })
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        line.map_or_else(String::new, |line| format!("line {line}: ")) + error.message()
    })
}

fn parse(text: &str) -> Result<Config, String> {
    let config: Config = read(text)?;
    if !BUDGET_TOKENS_RANGE.contains(&config.brief.session_tokens) {
        let (low, high) = (BUDGET_TOKENS_RANGE.start(), BUDGET_TOKENS_RANGE.end());
        return Err(format!("brief.session_tokens must be between {low} and {high}"));
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_holds_and_what_is_wrong_is_said() {
        assert_eq!(parse("").unwrap().brief.session_tokens, 1000);
        assert_eq!(parse("[brief]\nsession_tokens = 700").unwrap().brief.session_tokens, 700);
        assert_eq!(parse("[loop]\nmax_iterations = 7").unwrap().loops.max_iterations, Some(7));
        for wrong in [
            "[brief]\nsession_tokens = 90",
            "[brief]\nsesion_tokens = 700",
            "[brief",
            "[brief]\nsession_tokens = \"x\"",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
