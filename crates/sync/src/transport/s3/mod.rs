//! A hub in S3-compatible object storage, for machines that can reach port 443 only.
//!
//! `PREFIX/SPACE/PROJECT/documents/NAME` are documents and `PREFIX/SPACE/PROJECT/streams/DEVICE/GENERATION/SEQUENCE`
//! batches, one object each. A batch is written with `If-None-Match: *`, so that it is never replaced; storage that
//! ignores this is refused.

mod http;
mod sign;

use self::http::{Bucket, agent, values};
use self::sign::Credentials;
use super::address::{Address, AddressError, encoded};
use super::at_once;
use super::object::{self, Named, Oddities};
use super::roots;
use super::{
    Document, Place, Put, Question, Result, Sealed, Stream, TimeLimit, Transport, TransportError, until_other,
};

/// How many names one page of a listing has at most.
const PAGE_MAX: usize = 1000;

/// Storage may ask to try again when two writers meet.
const ATTEMPTS_MAX: usize = 5;

#[derive(Debug)]
pub struct S3 {
    bucket: Bucket,
    /// `/BUCKET/`, encoded.
    path: String,
    /// `PREFIX/`, or nothing.
    prefix: String,
    is_conditional: bool,
    odd: Oddities,
}

impl S3 {
    /// `variable` reads the environment: credentials that are not part of the address come from `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
    pub fn open(
        address: &Address,
        variable: &dyn Fn(&str) -> Option<String>,
        time: TimeLimit,
    ) -> Result<S3, AddressError> {
        address.only_settings(&["region", "sslrootcert"], "S3")?;
        let region = address.setting("region").map(str::to_string).or_else(|| variable("AWS_REGION"));
        let region = region.unwrap_or_else(|| "us-east-1".to_string());
        if !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(AddressError::Bad("region"));
        }
        let (is_https, host, path) = server(address, &region)?;
        let path = path.trim_matches('/');
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if bucket.is_empty() {
            return Err(AddressError::Missing("bucket"));
        }
        let roots = address.setting("sslrootcert").map(roots::for_http).transpose()?;
        let bucket_address = Bucket {
            hub: address.redacted(),
            endpoint: format!("{}://{host}", if is_https { "https" } else { "http" }),
            host,
            region,
            credentials: credentials(address, variable)?,
            agent: agent(is_https, roots),
            time,
        };
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let (path, odd) = (format!("/{}/", encoded(bucket)), Oddities::default());
        Ok(S3 { bucket: bucket_address, path, prefix, is_conditional: false, odd })
    }

    fn key(&self, place: &Place, rest: &str) -> String {
        format!("{}{}/{}/{rest}", self.prefix, place.space, place.project)
    }

    fn path_of(&self, key: &str) -> String {
        format!("{}{}", self.path, encoded(key))
    }

    /// Keys below a prefix, in order.
    fn list(&self, below: &str, limit: usize) -> Result<Vec<String>> {
        let (mut keys, mut start): (Vec<String>, String) = (Vec::new(), String::new());
        while keys.len() < limit {
            let of_query = |text: &str| encoded(text).replace('/', "%2F");
            let count = (limit - keys.len()).min(PAGE_MAX);
            let start_after =
                if start.is_empty() { String::new() } else { format!("&start-after={}", of_query(&start)) };
            let query = format!("list-type=2&max-keys={count}&prefix={}{start_after}", of_query(below));
            let answer = self.bucket.send("GET", self.path.trim_end_matches('/'), &query, &[], false)?;
            if answer.status != 200 || answer.is_too_long {
                return Err(self.bucket.refused(&answer));
            }
            let body = String::from_utf8_lossy(&answer.body);
            let page: Vec<String> = values(&body, "Key").into_iter().filter(|key| key.starts_with(below)).collect();
            let is_last = page.is_empty() || values(&body, "IsTruncated") != ["true"];
            // A server that repeats itself must not keep us here.
            let is_repeated = page.last().is_some_and(|last| *last <= start);
            start = page.last().cloned().unwrap_or_default();
            keys.extend(page);
            if is_last || is_repeated {
                break;
            }
        }
        keys.truncate(limit);
        Ok(keys)
    }

    /// The objects that may answer a question, in order.
    fn objects(&self, question: &Question) -> Result<Named<String>> {
        match question {
            Question::Heads(place, max) => {
                let below = self.key(place, "documents/");
                let keys = self.list(&below, max.saturating_add(1))?;
                let keys = if keys.len() > *max { Vec::new() } else { keys };
                Ok(keys.into_iter().map(|key| (key[below.len()..].to_string(), key)).collect())
            }
            Question::After(range) => {
                let below = self.generation(&range.stream, range.generation);
                let key = |sequence: u64| (sequence.to_string(), format!("{below}{sequence:020}"));
                Ok(range.sequences().map(key).collect())
            }
        }
    }

    /// What the keys of a generation's batches begin with.
    fn generation(&self, stream: &Stream, generation: u64) -> String {
        self.key(&stream.place, &format!("streams/{}/{generation:020}/", stream.device))
    }

    /// An object; `None` if there is none.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let answer = self.bucket.send("GET", &self.path_of(key), "", &[], false)?;
        match answer.status {
            200 if answer.is_too_long => {
                self.odd.note([format!("{key} is larger than {} MiB", http::ANSWER_BYTES_MAX >> 20)]);
                Ok(None)
            }
            200 => Ok(Some(answer.body)),
            404 if values(&String::from_utf8_lossy(&answer.body), "Code") != ["NoSuchBucket"] => Ok(None),
            _ => Err(self.bucket.refused(&answer)),
        }
    }

    /// Stores an object under a name that must be new. `None` if there is one already.
    fn put_new(&self, key: &str, bytes: &[u8]) -> Result<Option<()>> {
        for _ in 0..ATTEMPTS_MAX {
            let answer = self.bucket.send("PUT", &self.path_of(key), "", bytes, true)?;
            match answer.status {
                200 | 201 | 204 => return Ok(Some(())),
                412 => return Ok(None),
                409 => {}
                _ => return Err(self.bucket.refused(&answer)),
            }
        }
        let reason = "other devices keep writing at the same time".to_string();
        Err(TransportError::Unreachable { hub: self.bucket.hub.clone(), reason })
    }

    /// Storage that ignores `If-None-Match` would replace batches without a word: a probe that may be stored twice
    /// tells.
    fn check_conditional(&mut self) -> Result<()> {
        if self.is_conditional {
            return Ok(());
        }
        let probe = format!("{}probe", self.prefix);
        if self.put_new(&probe, b"")?.is_some() && self.put_new(&probe, b"")?.is_some() {
            let reason = "it ignores If-None-Match, so two devices could replace each other's data".to_string();
            return Err(TransportError::Refused { hub: self.bucket.hub.clone(), reason });
        }
        self.is_conditional = true;
        Ok(())
    }

    fn remove_before(&self, place: &Place, device: &str, generation: u64) -> Result<()> {
        let below = self.key(place, &format!("streams/{device}/"));
        let first = format!("{below}{generation:020}/");
        // Earlier generations come first, and mostly there are none.
        while self.list(&below, 1)?.iter().any(|key| *key < first) {
            let mut keys = self.list(&below, PAGE_MAX)?;
            keys.retain(|key| *key < first);
            at_once::each(&keys, |key| {
                let answer = self.bucket.send("DELETE", &self.path_of(key), "", &[], false)?;
                if matches!(answer.status, 200 | 204 | 404) { Ok(()) } else { Err(self.bucket.refused(&answer)) }
            })?;
        }
        Ok(())
    }
}

/// Whether TLS is used, the host with its port, and the path that begins with the bucket.
fn server(address: &Address, region: &str) -> Result<(bool, String, String), AddressError> {
    let host = if address.host.contains(':') { format!("[{}]", address.host) } else { address.host.clone() };
    let host_and_port = address.port.map_or(host.clone(), |port| format!("{host}:{port}"));
    if host.is_empty() {
        return Err(AddressError::Missing("host"));
    }
    match address.scheme.as_str() {
        "s3" if address.port.is_some() => Err(AddressError::Bad("port: after s3:// comes a bucket")),
        "s3" => Ok((true, format!("s3.{region}.amazonaws.com"), format!("{host}{}", address.path))),
        "s3+https" => Ok((true, host_and_port, address.path.clone())),
        "s3+http" if address.is_loopback() => Ok((false, host_and_port, address.path.clone())),
        "s3+http" => Err(AddressError::Insecure("use s3+https: s3+http is not encrypted")),
        other => Err(AddressError::Scheme(other.to_string())),
    }
}

fn credentials(address: &Address, variable: &dyn Fn(&str) -> Option<String>) -> Result<Credentials, AddressError> {
    match (&address.user, &address.password) {
        (Some(id), Some(secret)) => Ok(Credentials { id: id.clone(), secret: secret.clone(), token: None }),
        (None, None) => match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            (Some(id), Some(secret)) => Ok(Credentials { id, secret, token: variable("AWS_SESSION_TOKEN") }),
            _ => Err(AddressError::Credentials(
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write KEY:SECRET@ before the host",
            )),
        },
        _ => Err(AddressError::Missing("secret after the key's name, as in KEY:SECRET@")),
    }
}

impl Transport for S3 {
    fn hub(&self) -> String {
        self.bucket.hub.clone()
    }

    /// Batches are asked for by name, and not listed.
    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Vec<Document>>> {
        object::read(questions, |question| self.objects(question), |key| self.get(key))
    }

    /// One after another: a batch that follows another writer's must not be stored.
    fn put(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>> {
        self.check_conditional()?;
        let below = self.generation(stream, generation);
        until_other(batches.iter().map(|Sealed { sequence, bytes }| {
            let key = format!("{below}{sequence:020}");
            Ok(Put::of(self.put_new(&key, bytes)?.is_some() || self.get(&key)?.as_ref() == Some(bytes)))
        }))
    }

    fn write(&mut self, place: &Place, name: &str, bytes: &[u8], generation: Option<u64>) -> Result<()> {
        let path = self.path_of(&self.key(place, &format!("documents/{name}")));
        let answer = self.bucket.send("PUT", &path, "", bytes, false)?;
        if !matches!(answer.status, 200 | 201 | 204) {
            return Err(self.bucket.refused(&answer));
        }
        generation.map_or(Ok(()), |generation| self.remove_before(place, name, generation))
    }

    fn oddities(&mut self) -> Vec<TransportError> {
        self.odd.told(&self.bucket.hub)
    }
}
