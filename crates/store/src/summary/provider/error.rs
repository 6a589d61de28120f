//! Why a provider gave no answer.

use std::time::Duration;

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
