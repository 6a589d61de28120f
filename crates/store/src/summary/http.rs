//! A plain HTTP client: one request, one answer, within limits of time and size.
//!
//! It follows no redirect, so that data only reaches the configured server, and it stores nothing. Error messages
//! contain only statuses and system errors, never what was sent or received.

use std::time::Duration;

use ureq::tls::TlsConfig;
use ureq::{Agent, Error, Proxy};

use super::provider::ProviderError;
use crate::authorities;

/// An answer of a few sentences is a few kilobytes.
const ANSWER_BYTES_MAX: u64 = 256 * 1024;

pub struct HttpMessage<'a> {
    pub url: &'a str,
    pub headers: &'a [(&'static str, String)],
    pub body: &'a [u8],
}

/// Sends the message and returns the body of the answer.
pub fn post(message: &HttpMessage, limit: Duration) -> Result<Vec<u8>, ProviderError> {
    let mut request = agent(message.url, limit).post(message.url).content_type("application/json");
    for (name, value) in message.headers {
        request = request.header(*name, value);
    }
    let mut response = request.send(message.body).map_err(|error| problem(&error, limit))?;
    let status = response.status().as_u16();
    if !response.status().is_success() {
        return Err(ProviderError::Status(status));
    }
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
    body.map_err(|error| problem(&error, limit))
}

/// Whether a server answers there, whatever it says.
pub fn check_connection(url: &str, limit: Duration) -> Result<(), ProviderError> {
    agent(url, limit).get(url).call().map(drop).map_err(|error| problem(&error, limit))
}

fn agent(url: &str, limit: Duration) -> Agent {
    // Providers on this machine or network are reached without a proxy.
    let is_https = url.starts_with("https://");
    let proxy = is_https.then(Proxy::try_from_env).flatten();
    let mut tls = TlsConfig::builder();
    if is_https {
        tls = tls.root_certs(authorities::for_http());
    }
    let config = Agent::config_builder()
        .timeout_global(Some(limit))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .proxy(proxy)
        .tls_config(tls.build())
        .user_agent(concat!("cerberus/", env!("CARGO_PKG_VERSION")))
        .build();
    Agent::new_with_config(config)
}

fn problem(error: &Error, limit: Duration) -> ProviderError {
    match error {
        Error::Timeout(_) => ProviderError::Late(limit),
        Error::BodyExceedsLimit(_) => ProviderError::Long,
        Error::HostNotFound => ProviderError::Unreachable("no such host".to_string()),
        Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => ProviderError::Late(limit),
        Error::Io(error) => ProviderError::Unreachable(error.to_string()),
        Error::ConnectionFailed => ProviderError::Unreachable("no connection".to_string()),
        Error::Rustls(error) => ProviderError::Unreachable(error.to_string()),
        _ => ProviderError::Unreachable("the answer is not valid HTTP".to_string()),
    }
}
