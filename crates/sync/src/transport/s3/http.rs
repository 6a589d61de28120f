//! Requests to S3-compatible storage: signed, without redirects, limited in time and size.

use cerberus_os::clock::Clock;
use cerberus_store::authorities;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Error, Proxy, http};

use super::super::at_once::AT_ONCE_MAX;
use super::super::hash::sha256;
use super::super::reason::first_line;
use super::super::{Result, TimeLimit, TransportError};
use super::sign::{Credentials, SignedRequest, amazon_date, authorization};

/// A page of a listing, or a batch or document.
pub const ANSWER_BYTES_MAX: u64 = 8 * 1024 * 1024;

#[derive(Debug)]
pub struct Bucket {
    pub hub: String,
    /// `https://HOST:PORT`.
    pub endpoint: String,
    /// What the `host` header says.
    pub host: String,
    pub region: String,
    pub credentials: Credentials,
    pub agent: Agent,
    pub time: TimeLimit,
}

#[derive(Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    pub body: Vec<u8>,
    /// It is longer than anything of ours, and was not read.
    pub is_too_long: bool,
}

/// An agent for one server. Certificates in `roots` replace the authorities of the system.
pub fn agent(is_https: bool, roots: Option<RootCerts>) -> Agent {
    let mut tls = TlsConfig::builder();
    if is_https {
        tls = tls.root_certs(roots.unwrap_or_else(authorities::for_http));
    }
    let proxy = is_https.then(Proxy::try_from_env).flatten();
    let config = Agent::config_builder()
        .https_only(is_https)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .max_idle_connections(AT_ONCE_MAX)
        .max_idle_connections_per_host(AT_ONCE_MAX)
        .proxy(proxy)
        .tls_config(tls.build())
        .user_agent(concat!("cerberus/", env!("CARGO_PKG_VERSION")))
        .build();
    Agent::new_with_config(config)
}

impl Bucket {
    /// Sends one request. `path` and `query` are encoded; the query's names are in order. With `is_new`, nothing that
    /// exists is replaced.
    pub fn send(&self, method: &'static str, path: &str, query: &str, body: &[u8], is_new: bool) -> Result<HttpAnswer> {
        let date = amazon_date(Clock::new(None).wall);
        let payload_hash = sha256(body);
        let mut headers = vec![
            ("host", self.host.clone()),
            ("x-amz-content-sha256", payload_hash.clone()),
            ("x-amz-date", date.clone()),
        ];
        if let Some(token) = &self.credentials.token {
            headers.push(("x-amz-security-token", token.clone()));
        }
        if is_new {
            headers.insert(1, ("if-none-match", "*".to_string()));
        }
        let request = SignedRequest { method, path, query, headers: &headers, payload_hash: &payload_hash };
        let signed = authorization(&request, &self.credentials, &self.region, &date);
        let url = match query {
            "" => format!("{}{path}", self.endpoint),
            query => format!("{}{path}?{query}", self.endpoint),
        };
        let mut builder = http::Request::builder().method(method).uri(url).header("authorization", signed);
        for (name, value) in &headers {
            builder = builder.header(*name, value);
        }
        let left = self.time.left();
        if left.is_zero() {
            return Err(self.problem(&Error::Timeout(ureq::Timeout::Global)));
        }
        let configured = builder.body(body).map_err(|error| self.problem(&error.into()))?;
        let request = self.agent.configure_request(configured).timeout_global(Some(left)).build();
        let sent = if method == "PUT" { self.agent.run(request) } else { self.agent.run(request.map(|_| ())) };
        let mut response = sent.map_err(|error| self.problem(&error))?;
        let status = response.status().as_u16();
        let read = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        match read {
            Ok(body) => Ok(HttpAnswer { status, body, is_too_long: false }),
            Err(Error::BodyExceedsLimit(_)) => Ok(HttpAnswer { status, body: Vec::new(), is_too_long: true }),
            Err(error) => Err(self.problem(&error)),
        }
    }

    /// Why an answer is no success.
    pub fn refused(&self, answer: &HttpAnswer) -> TransportError {
        let hub = self.hub.clone();
        let body = String::from_utf8_lossy(&answer.body);
        let code = values(&body, "Code").into_iter().next().unwrap_or_default();
        let message = values(&body, "Message").into_iter().next().unwrap_or_default();
        let reason = first_line(format!("{} {code} {message}", answer.status).trim());
        match answer.status {
            _ if ["Quota", "StorageFull", "EntityTooLarge"].iter().any(|part| code.contains(part)) => {
                TransportError::Full { hub, reason }
            }
            413 | 507 => TransportError::Full { hub, reason },
            300..=399 => {
                TransportError::Refused { hub, reason: format!("{reason}: it points elsewhere; is the region right?") }
            }
            429 | 500..=599 => TransportError::Unreachable { hub, reason },
            400..=499 => TransportError::Refused { hub, reason },
            _ => TransportError::Unexpected { hub, reason },
        }
    }

    fn problem(&self, error: &Error) -> TransportError {
        let hub = self.hub.clone();
        let reason = match error {
            Error::Timeout(_) => "no answer in time".to_string(),
            Error::HostNotFound => "no such host".to_string(),
            Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(error) => return TransportError::Refused { hub, reason: first_line(&error.to_string()) },
                None => first_line(&error.to_string()),
            },
            Error::ConnectionFailed => "no connection".to_string(),
            Error::Rustls(error) => return TransportError::Refused { hub, reason: first_line(&error.to_string()) },
            _ => return TransportError::Unexpected { hub, reason: "the answer is not valid HTTP".to_string() },
        };
        TransportError::Unreachable { hub, reason }
    }
}

/// The contents of every element of this name, whatever its prefix and attributes. Elements of the answers we read contain
/// no others.
pub fn values(xml: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside: Option<String> = None;
    let mut rest = xml;
    while let Some((text, markup)) = rest.split_once('<') {
        if let Some(value) = &mut inside {
            value.push_str(&unescaped(text));
        }
        let (tag, after) = match markup {
            _ if markup.starts_with("!--") => ("", past(markup, "-->").1),
            _ if markup.starts_with("?") => ("", past(markup, "?>").1),
            _ if markup.starts_with("![CDATA[") => {
                let (text, after) = past(&markup["![CDATA[".len()..], "]]>");
                inside.iter_mut().for_each(|value| value.push_str(text));
                ("", after)
            }
            _ => markup.split_at(tag_end(markup)),
        };
        rest = after.strip_prefix('>').unwrap_or(after);
        let of_name = tag.trim_start_matches('/').split([' ', '\t', '\r', '\n', '/']).next().unwrap_or_default();
        if tag.is_empty() || of_name.rsplit(':').next() != Some(name) {
            continue;
        }
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => found.extend(inside.take()),
            (false, true) => found.push(String::new()),
            (false, false) => inside = Some(String::new()),
        }
    }
    found
}

/// What stands before a mark, and what after it; nothing if it is missing.
fn past<'a>(text: &'a str, mark: &str) -> (&'a str, &'a str) {
    text.split_once(mark).unwrap_or((text, ""))
}

/// Where the `>` of a tag is: not in the value of an attribute.
fn tag_end(markup: &str) -> usize {
    let mut quote = None;
    for (at, byte) in markup.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    markup.len()
}

/// `#x10FFFF;` is the longest.
const ENTITY_BYTES_MAX: usize = 10;

/// The text with its entities resolved. One that XML does not know stays.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.bytes().take(ENTITY_BYTES_MAX).position(|byte| byte == b';');
        let resolved = end.and_then(|end| Some((character(&after[..end])?, &after[end + 1..])));
        out.push(resolved.map_or('&', |(resolved, _)| resolved));
        rest = resolved.map_or(after, |(_, after)| after);
    }
    out + rest
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_elements_by_name() {
        let listing = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
            <!-- <Key>no</Key> --><Contents><Key>a/b</Key></Contents><Contents>\n  <Key >x&amp;lt;y&#39;&#x2F;&unknown;&</Key>\
            </Contents><Key note='>' /><s3:Key a=\"<Key>\">c</s3:Key><Key><![CDATA[d&amp;<e]]>f</Key><Keys>g</Keys><Key>cut";
        assert_eq!(values(listing, "Key"), ["a/b", "x&lt;y'/&unknown;&", "", "c", "d&amp;<ef"]);
        assert_eq!(values(listing, "IsTruncated"), [""; 0]);
        for broken in
            ["", "<", "<Key", "<Key>&#xD800;&#99999999;</Key", "<![CDATA[", "<!--", "</Key>", "<Key>a<Key>b</Key>"]
        {
            assert!(values(broken, "Key").len() <= 1, "{broken}");
        }
    }
}
