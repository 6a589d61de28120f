//! Checks the provider of summaries: whether it is configured and reachable, and its last result. It never requests a
//! summary.

use std::path::Path;
use std::time::Duration;

use cerberus_os::failures;
use cerberus_os::platform::{is_program, program_files};
use cerberus_store::config::{self, ProviderName};
use cerberus_store::summary::FAILURE;
use cerberus_store::summary::provider::Provider;
use cerberus_store::view::Store;

use super::health_check::{HealthCheck, bad, good};
use crate::context::{Context, surroundings, users_surroundings};
use crate::render::time::LocalTime;

const NAME: &str = "summary";

/// Short, because the user is waiting.
const REACH_MAX: Duration = Duration::from_secs(3);

pub fn check(context: &Context, store: Option<&Store>) -> HealthCheck {
    let Ok(config) = config::load(&context.home) else {
        return good(NAME, "off until config.toml is fixed");
    };
    let config = config.summary;
    let provider = match Provider::new(&config, &surroundings()) {
        Ok(None) => return good(NAME, "off; briefs use codes"),
        Ok(Some(provider)) => provider,
        Err(error) => {
            return bad(NAME, error.to_string(), "complete [summary] in config.toml; until then, briefs use codes");
        }
    };
    let shown = provider.describe();
    if let Some(program) = provider.program().filter(|program| !is_there(program)) {
        return bad(NAME, format!("{shown}: {program} was not found"), "install it, or configure its full path");
    }
    if let Err(error) = provider.check_connection(REACH_MAX) {
        let is_elsewhere = config.base_url.is_none() && users_surroundings().ollama_host.is_some();
        let hint = match provider.word() == ProviderName::Ollama.word() && is_elsewhere {
            true => "set base_url in [summary]; OLLAMA_HOST counts for `cerberus summarize` alone",
            false => "start it, or fix [summary] in config.toml",
        };
        return bad(NAME, format!("{shown}: {error}"), hint);
    }
    let now = context.clock.now;
    let local = LocalTime::new(now);
    let written = store.and_then(|store| store.last_summary(now).ok().flatten());
    let failed = failures::recent(&context.home, now).into_iter().rfind(|failure| failure.what == FAILURE);
    match (written, failed) {
        (written, Some(failed)) if written.as_ref().is_none_or(|(at, _)| *at <= failed.at) => bad(
            NAME,
            format!("{shown}: failed {}: {}", local.ago(failed.at), failed.detail),
            "try it: cerberus summarize",
        ),
        (Some((at, _)), _) => good(NAME, format!("{shown}: reachable, last summary {}", local.when(at))),
        (None, _) => good(NAME, format!("{shown}: reachable, no summary yet")),
    }
}

/// Where sessions are sent to be summarized; `None` if they are not.
pub fn destination(context: &Context) -> Option<String> {
    let config = config::load(&context.home).ok()?.summary;
    let provider = Provider::new(&config, &surroundings()).ok()??;
    Some(format!("facts of each session go to {}", provider.describe()))
}

fn is_there(program: &str) -> bool {
    if Path::new(program).components().count() > 1 {
        return is_program(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let files = program_files(program);
    std::env::split_paths(&path).any(|dir| files.iter().any(|file| is_program(&dir.join(file))))
}
