//! Signs requests for S3-compatible storage (AWS Signature Version 4).

use cerberus_record::time::Timestamp;
use ring::hmac;

use super::super::hash::{hex, sha256};

/// Who asks. The secret is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub id: String,
    pub secret: String,
    /// For credentials that expire.
    pub token: Option<String>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

/// What is signed. Names of headers are in lower case; the path and the query are encoded already.
pub struct SignedRequest<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// `name=value` pairs in order, joined by `&`.
    pub query: &'a str,
    /// Sorted by name.
    pub headers: &'a [(&'static str, String)],
    pub payload_hash: &'a str,
}

/// `20130524T000000Z`.
pub fn amazon_date(time: Timestamp) -> String {
    format!("{}Z", time.stamp().replace('-', "T"))
}

/// The value of the `authorization` header.
pub fn authorization(request: &SignedRequest, credentials: &Credentials, region: &str, date: &str) -> String {
    let day = date.get(..8).unwrap_or(date);
    let headers: String = request.headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let SignedRequest { method, path, query, payload_hash, .. } = request;
    let canonical = format!("{method}\n{path}\n{query}\n{headers}\n{names}\n{payload_hash}");
    let scope = format!("{day}/{region}/s3/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256(canonical.as_bytes()));
    let mut key = format!("AWS4{}", credentials.secret).into_bytes();
    for part in [day, region, "s3", "aws4_request"] {
        key = keyed(&key, part.as_bytes());
    }
    let signature = hex(&keyed(&key, text.as_bytes()));
    format!("AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}", credentials.id)
}

fn keyed(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of "Signature Calculations for the Authorization Header" in Amazon's S3 reference.
    #[test]
    fn signs_like_the_published_examples() {
        const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), EMPTY);
        let credentials = Credentials {
            id: "AKIAIOSFODNN7EXAMPLE".to_string(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_string(),
            token: None,
        };
        let date = amazon_date(Timestamp::parse("2013-05-24T00:00:00Z").unwrap());
        assert_eq!(date, "20130524T000000Z");
        let welcome = sha256(b"Welcome to Amazon S3.");
        let host = ("host", "examplebucket.s3.amazonaws.com".to_string());
        let hash = |hash: &str| ("x-amz-content-sha256", hash.to_string());
        let at = ("x-amz-date", date.clone());
        let put = [
            ("date", "Fri, 24 May 2013 00:00:00 GMT".to_string()),
            host.clone(),
            hash(&welcome),
            at.clone(),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY".to_string()),
        ];
        let get = [host.clone(), ("range", "bytes=0-9".to_string()), hash(EMPTY), at.clone()];
        let list = [host, hash(EMPTY), at];
        for (method, path, query, headers, payload_hash, signature) in [
            (
                "GET",
                "/test.txt",
                "",
                &get[..],
                EMPTY,
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                "PUT",
                "/test%24file.text",
                "",
                &put[..],
                &welcome,
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                "GET",
                "/",
                "lifecycle=",
                &list[..],
                EMPTY,
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "GET",
                "/",
                "max-keys=2&prefix=J",
                &list[..],
                EMPTY,
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let request = SignedRequest { method, path, query, headers, payload_hash };
            let signed = authorization(&request, &credentials, "us-east-1", &date);
            assert!(signed.ends_with(&format!("Signature={signature}")), "{method} {path}?{query}: {signed}");
            assert!(
                signed.starts_with(
                    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                )
            );
        }
        assert_eq!(format!("{credentials:?}"), "Credentials");
    }
}
