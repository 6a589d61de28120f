//! Certificates of authorities that the user names in a hub's address (`sslrootcert=FILE`).

use std::path::Path;

use cerberus_os::outside;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

use super::address::AddressError;

/// A bundle of all public authorities has a quarter of this.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The certificates in a file.
pub fn read(file: &str) -> Result<Vec<Certificate<'static>>, AddressError> {
    let wrong = |reason: String| AddressError::Certificate(file.to_string(), reason);
    let bytes = outside::bytes(Path::new(file), FILE_BYTES_MAX).map_err(|error| wrong(error.to_string()))?;
    let mut found = Vec::new();
    for item in parse_pem(&bytes) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| wrong("it is not a PEM file".to_string()))? {
            found.push(certificate);
        }
    }
    if found.is_empty() { Err(wrong("it has no certificate".to_string())) } else { Ok(found) }
}

pub fn for_http(file: &str) -> Result<RootCerts, AddressError> {
    Ok(RootCerts::new_with_certs(&read(file)?))
}
