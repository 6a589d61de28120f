//! The git configuration of a repository and the URL of its origin: credentials are always removed.

use cerberus_record::project::config::origin_url;
use cerberus_record::project::origin::{self, RepositoryOrigin};

use super::{Check, holds};

pub fn git_config() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let text = String::from_utf8_lossy(input);
        let within = origin_url(&format!("[remote \"origin\"]\n\turl = {text}"));
        let found = [origin_url(&text), within, Some(text.into_owned())];
        for url in found.into_iter().flatten() {
            let Some(RepositoryOrigin::Remote(plain)) = origin::parse(&url) else { continue };
            let host = plain.split('/').next().unwrap_or_default();
            holds(!host.contains('@') && !host.is_empty(), "an origin has a host without credentials", (&url, &plain))?;
            holds(plain.len() <= url.len() && !plain.contains(char::is_control), "an origin does not grow", &plain)?;
        }
        Ok(())
    }))
}
