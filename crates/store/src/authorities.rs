//! The authorities whose certificates are trusted: those of the system, among them a company's own.
//!
//! `SSL_CERT_FILE` and `SSL_CERT_DIR` take their place. If the system has none, as in a minimal container, the built-in
//! public ones count. Read when a connection is made; no hook makes one.

use std::env;

use ureq::tls::{Certificate, RootCerts};

/// A process that a hook started does not get them: a project may choose the environment of its agents.
pub const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The certificates of the system's authorities; `None` if the built-in ones are to be trusted.
pub fn of_system() -> Option<Vec<Certificate<'static>>> {
    let found = rustls_native_certs::load_native_certs().certs;
    // Whoever names a file trusts nobody else, also if it cannot be read.
    let is_named = VARIABLES.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    (is_named || !found.is_empty()).then(|| found.iter().map(|found| Certificate::from_der(found).to_owned()).collect())
}

pub fn for_http() -> RootCerts {
    of_system().map_or(RootCerts::WebPki, |found| RootCerts::new_with_certs(&found))
}
