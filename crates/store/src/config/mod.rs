//! The user's settings, `config.toml` in the home, and a project's `cerberus.toml`. A missing file is fine; an
//! error names the line. A section that a capability owns is read by that capability, through [`load_as`].

mod archive;
mod store;
mod summary;
mod undo;

use std::io;
use std::path::Path;

use cerberus_agents::meter::price::Prices;
use cerberus_agents::meter::redline::{Redline, RedlineLevel};
use cerberus_os::home::Home;
use cerberus_os::outside;
use cerberus_recall::brief::{BUDGET_TOKENS, BUDGET_TOKENS_RANGE};
use cerberus_record::clean::secret::UserRules;
use cerberus_record::private::PrivacyRules;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use archive::{ArchiveConfig, KeepInArchive};
pub use store::{Age, ByteSize, StoreConfig};
pub use summary::{ApiKey, ProviderName, ProviderReads, SummaryConfig};
pub use undo::UndoConfig;

/// People write this file by hand.
const CONFIG_BYTES_MAX: u64 = 256 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub brief: BriefConfig,
    #[serde(rename = "loop")]
    redlines: RedlineConfig,
    pub summary: SummaryConfig,
    pub secrets: SecretsConfig,
    pub private: PrivateConfig,
    pub store: StoreConfig,
    pub archive: ArchiveConfig,
    pub moments: MomentsConfig,
    pub undo: UndoConfig,
    /// What models cost, in dollars per million tokens.
    pub prices: Prices,
}

/// Additions to the built-in rules.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretsConfig {
    /// `key NAME PREFIX BODY LENGTH`, `word NAME WEIGHT WORD…`.
    pub rules: Vec<String>,
    /// Values that are not secrets; `*` matches anything.
    pub allow: Vec<String>,
}

/// What is never stored.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrivateConfig {
    /// Private files, in addition to the built-in list; `!` makes an exception.
    pub paths: Vec<String>,
    /// Private folders.
    pub projects: Vec<String>,
}

/// The part of the loops' settings that holds for ordinary sessions too.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct RedlineConfig {
    soft_redline: Option<RedlineLevel>,
    hard_redline: Option<RedlineLevel>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BriefConfig {
    /// The token budget of the session part.
    pub session_tokens: usize,
    /// Whether the user sees a line about what a session was told.
    pub notice: bool,
    /// After a long pause, say where the work stopped.
    pub reminder: bool,
}

impl Default for BriefConfig {
    fn default() -> Self {
        BriefConfig { session_tokens: BUDGET_TOKENS, notice: true, reminder: true }
    }
}

/// What a session is told besides its brief, at a moment that calls for it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MomentsConfig {
    /// What helped, when a command fails as it failed before.
    pub errors: bool,
    /// What came out of earlier work, when a prompt is about the same.
    pub prompts: bool,
    /// What is known about a file, before it is edited.
    pub edits: bool,
    /// That another session is at work on the same files.
    pub live: bool,
}

impl Default for MomentsConfig {
    fn default() -> Self {
        MomentsConfig { errors: true, prompts: true, edits: true, live: true }
    }
}

impl Config {
    /// The redlines of the user's sessions. Two that contradict each other count as not set.
    pub fn redline(&self) -> Redline {
        let standard = Redline::default();
        let soft = self.redlines.soft_redline.unwrap_or(standard.soft);
        Redline::new(soft, self.redlines.hard_redline.unwrap_or(standard.hard)).unwrap_or(standard)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("{path} is invalid: {message}")]
    Invalid { path: String, message: String },
}

pub fn load(home: &Home) -> Result<Config, ConfigError> {
    match read(home)? {
        Some(text) => parse_file(home, &text),
        None => Ok(Config::default()),
    }
}

/// The rules for secrets and privacy. This is the only part of the settings that a hook needs. `None` if there is no
/// file, or the file sets none of them.
pub fn privacy_rules(home: &Home, user: Option<&Path>) -> Result<Option<(UserRules, PrivacyRules)>, ConfigError> {
    let Some(text) = read(home)?.filter(|text| text.contains("secrets") || text.contains("private")) else {
        return Ok(None);
    };
    let config = parse_file(home, &text)?;
    let wrong = |message| ConfigError::Invalid { path: home.config().display().to_string(), message };
    let user = user.map(Path::to_string_lossy);
    let own = UserRules::read(&config.secrets.rules, &config.secrets.allow).map_err(wrong)?;
    let privacy_rules =
        PrivacyRules::read(&config.private.paths, &config.private.projects, user.as_deref()).map_err(wrong)?;
    Ok(Some((own, privacy_rules)))
}

fn read(home: &Home) -> Result<Option<String>, ConfigError> {
    let path = home.config();
    let is_absence = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    // Every hook comes here, and usually there is no file: one system call has to be enough.
    if path.symlink_metadata().is_err_and(|error| is_absence(&error)) {
        return Ok(None);
    }
    match home.text(&path, CONFIG_BYTES_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(source) => Err(ConfigError::Read { path: path.display().to_string(), source }),
    }
}

fn parse_file(home: &Home, text: &str) -> Result<Config, ConfigError> {
    parse(text).map_err(|message| ConfigError::Invalid { path: home.config().display().to_string(), message })
}

/// The sections of the user's settings that `T` names.
pub fn load_as<T: Default + DeserializeOwned>(home: &Home) -> Result<T, ConfigError> {
    let wrong = |message| ConfigError::Invalid { path: home.config().display().to_string(), message };
    read(home)?.map_or_else(|| Ok(T::default()), |text| toml(&text).map_err(wrong))
}

/// The settings of a project.
pub fn of_project<T: Default + DeserializeOwned>(root: &Path) -> Result<T, ConfigError> {
    let path = root.join("cerberus.toml");
    match outside::text(&path, CONFIG_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(source) => Err(ConfigError::Read { path: path.display().to_string(), source }),
        Ok(text) => toml(&text).map_err(|message| ConfigError::Invalid { path: path.display().to_string(), message }),
    }
}

/// The error says where and why, but does not quote the line as the parser would: it may contain a key.
fn toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        line.map_or_else(String::new, |line| format!("line {line}: ")) + error.message()
    })
}

fn parse(text: &str) -> Result<Config, String> {
    let config: Config = toml(text)?;
    config.summary.check()?;
    if !BUDGET_TOKENS_RANGE.contains(&config.brief.session_tokens) {
        let (low, high) = (BUDGET_TOKENS_RANGE.start(), BUDGET_TOKENS_RANGE.end());
        return Err(format!("brief.session_tokens must be between {low} and {high}"));
    }
    if let Some((model, why)) = config.prices.fault() {
        return Err(format!("prices.{model}: {why}"));
    }
    UserRules::read(&config.secrets.rules, &config.secrets.allow).map_err(|wrong| format!("secrets: {wrong}"))?;
    // The value of `~` does not matter here.
    PrivacyRules::read(&config.private.paths, &config.private.projects, Some("/"))
        .map_err(|wrong| format!("private: {wrong}"))?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use cerberus_recall::summary::render::Format;

    use super::*;

    #[test]
    fn settings_are_read_and_errors_are_reported() {
        assert_eq!(parse("").unwrap().brief.session_tokens, 870);
        assert_eq!(parse("[brief]\nsession_tokens = 700").unwrap().brief.session_tokens, 700);
        assert_eq!(parse("[loop]\nsoft_redline = \"50k\"").unwrap().redline().soft, RedlineLevel::Tokens(50_000));
        let own =
            "[secrets]\nrules = [\"key acme acme_ alnum 20\"]\nallow = [\"x*\"]\n[private]\nprojects = [\"~/work\"]";
        assert_eq!(parse(own).unwrap().private.projects, ["~/work"]);
        let store = parse("[store]\nretention = \"26w\"\nmax_size = \"1 GiB\"").unwrap().store;
        assert_eq!(store.retention.map(|age| age.0.as_secs()), Some(26 * 7 * 86_400));
        assert_eq!(store.max_size.map(|size| size.bytes), Some(1 << 30));
        for wrong in [
            "[brief]\nsession_tokens = 90",
            "[brief]\nsesion_tokens = 700",
            "[brief",
            "[brief]\nsession_tokens = \"x\"",
            "[brief]\nnotice = 1",
            "[summary]\nprovider = \"oracle\"",
            "[moments]\nerrors = 1",
            "[summary]\ntimeout_secs = 0",
            "[summary]\nformat = \"prose\"",
            "[summary]\nreads = \"everything\"",
            "[secrets]\nrules = [\"key acme\"]",
            "[private]\nprojects = [\"work\"]",
            "[private]\npaths = [\"\"]",
            "[store]\nretention = \"x\"",
            "[store]\nmax_size = 5",
            "[undo]\nkeep = 14",
            "[undo]\nturns = -1",
            "[prices.x]\ninput = 1.0",
            "[prices.x]\ninput = -1.0\noutput = 1.0",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("[brief]\nx = 1").unwrap_err().starts_with("line 2: unknown field `x`"));
    }

    #[test]
    fn summaries_are_off_until_a_provider_is_set() {
        let of = |text: &str| parse(text).unwrap().summary;
        assert_eq!((of("").provider, of("").format(), of("").limit().as_secs()), (None, Format::Codes, 10));
        let set = of("[summary]\nprovider = \"ollama\"\nmodel = \"small\"\ntimeout_secs = 0.5");
        assert_eq!((set.provider, set.format()), (Some(ProviderName::Ollama), Format::Both));
        assert_eq!(set.limit().as_millis(), 500);
        assert_eq!(
            of("[summary]\nprovider = \"ollama\"").reads,
            ProviderReads::Facts,
            "the conversation only on request"
        );
        assert_eq!(of("[summary]\nreads = \"conversation\"").reads, ProviderReads::Conversation);
        assert_eq!(of("[summary]\nprovider = \"command\"\nformat = \"summary\"").format(), Format::Summary);
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = ["sk", "-made-up-for-this-test"].concat();
        let config = parse(&format!("[summary]\nkey = \"{key}\"")).unwrap();
        assert!(!format!("{config:?}").contains("made-up"));
        assert_eq!(config.summary.key.unwrap().reveal(), key);
        for broken in [format!("[summary]\nkey = \"{key}"), format!("[summary]\nkey = {key}"), key.clone()] {
            let said = parse(&broken).unwrap_err();
            assert!(!said.contains("made-up") && said.starts_with("line "), "{said}");
        }
    }
}
