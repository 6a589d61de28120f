//! The primitives: derived keys, sealed bytes, signatures, and keys wrapped for one device (HPKE, RFC 9180). Pure: random
//! bytes are arguments, except to wrapping.

use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::digest;
use ring::hkdf;
use ring::hmac;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

pub const KEY_BYTES: usize = 32;
pub const SALT_BYTES: usize = 16;
pub const SIGNATURE_BYTES: usize = 64;
/// What sealing adds.
pub const TAG_BYTES: usize = 16;

pub type Key = [u8; KEY_BYTES];
pub type Salt = [u8; SALT_BYTES];

/// Joins parts so that no two lists of parts give the same bytes.
pub fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

pub fn sha256(parts: &[&[u8]]) -> Key {
    hash(&joined(parts))
}

/// The plain SHA-256 of bytes.
pub fn hash(bytes: &[u8]) -> Key {
    let mut hash = [0; KEY_BYTES];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// A keyed hash.
pub fn mac(key: &Key, parts: &[&[u8]]) -> Key {
    let mut tag = [0; KEY_BYTES];
    tag.copy_from_slice(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), &joined(parts)).as_ref());
    tag
}

/// HKDF with SHA-256.
pub fn derive(secret: &[u8], salt: &[u8], purpose: &[&[u8]]) -> Key {
    struct Length;
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            KEY_BYTES
        }
    }
    let mut key = [0; KEY_BYTES];
    let info = joined(purpose);
    let info = [info.as_slice()];
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    // Both fail only for lengths that HKDF does not allow, and ours is fixed.
    if let Ok(expanded) = extracted.expand(&info, Length) {
        let _ = expanded.fill(&mut key);
    }
    key
}

/// Seals bytes with ChaCha20-Poly1305. The nonce is zero, so a key must seal only once: derive it with a new salt.
pub fn seal(key: &Key, context: &[u8], mut plain: Vec<u8>) -> Option<Vec<u8>> {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).ok()?);
    let nonce = Nonce::assume_unique_for_key([0; 12]);
    key.seal_in_place_append_tag(nonce, Aad::from(context), &mut plain).ok()?;
    Some(plain)
}

pub fn open(key: &Key, context: &[u8], mut sealed: Vec<u8>) -> Option<Vec<u8>> {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).ok()?);
    let nonce = Nonce::assume_unique_for_key([0; 12]);
    let length = key.open_in_place(nonce, Aad::from(context), &mut sealed).ok()?.len();
    sealed.truncate(length);
    Some(sealed)
}

/// Seals a few bytes under a key that is used more than once.
pub fn seal_with(key: &Key, salt: Salt, purpose: &[&[u8]], plain: &[u8]) -> Option<Vec<u8>> {
    let sealed = seal(&derive(key, &salt, purpose), &joined(purpose), plain.to_vec())?;
    Some([salt.as_slice(), &sealed].concat())
}

pub fn open_with(key: &Key, purpose: &[&[u8]], sealed: &[u8]) -> Option<Vec<u8>> {
    let (salt, sealed) = sealed.split_at_checked(SALT_BYTES)?;
    open(&derive(key, salt, purpose), &joined(purpose), sealed.to_vec())
}

/// The secret keys of a device, also as its home stores them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    /// Ed25519: signs.
    #[serde(with = "hex")]
    pub sign: Key,
    /// X25519: others wrap keys for it.
    #[serde(with = "hex")]
    pub agree: Key,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// The secret keys that follow from one secret.
    pub fn of(secret: &[u8]) -> Secrets {
        Secrets { sign: derive(secret, b"", &[b"sign"]), agree: derive(secret, b"", &[b"agree"]) }
    }

    pub fn sign_public(&self) -> Option<Key> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&self.sign).ok()?;
        pair.public_key().as_ref().try_into().ok()
    }

    pub fn agree_public(&self) -> Option<Key> {
        let secret = <X25519HkdfSha256 as Kem>::PrivateKey::from_bytes(&self.agree).ok()?;
        Some(X25519HkdfSha256::sk_to_pk(&secret).to_bytes().into())
    }

    /// Signs bytes for one purpose.
    pub fn signature(&self, purpose: &[&[u8]], bytes: &[u8]) -> Option<[u8; SIGNATURE_BYTES]> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&self.sign).ok()?;
        pair.sign(&message(purpose, bytes)).as_ref().try_into().ok()
    }
}

fn message(purpose: &[&[u8]], bytes: &[u8]) -> Vec<u8> {
    [b"cerberus sync 1\0".as_slice(), &joined(purpose), bytes].concat()
}

pub fn is_signed(public: &Key, purpose: &[&[u8]], bytes: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public).verify(&message(purpose, bytes), signature).is_ok()
}

/// Wraps a few bytes for the owner of an X25519 key. `context` must be known to both sides.
pub fn wrap(recipient: &Key, context: &[&[u8]], plain: &[u8]) -> Option<Vec<u8>> {
    let (mode, to) = (OpModeS::Base, <X25519HkdfSha256 as Kem>::PublicKey::from_bytes(recipient).ok()?);
    let (public, sealed) = hpke::single_shot_seal::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
        &mode,
        &to,
        &joined(context),
        plain,
        b"",
    )
    .ok()?;
    Some([public.to_bytes().as_slice(), &sealed].concat())
}

pub fn unwrap(secrets: &Secrets, context: &[&[u8]], wrapped: &[u8]) -> Option<Vec<u8>> {
    let (public, sealed) = wrapped.split_at_checked(KEY_BYTES)?;
    let secret = <X25519HkdfSha256 as Kem>::PrivateKey::from_bytes(&secrets.agree).ok()?;
    let public = <X25519HkdfSha256 as Kem>::EncappedKey::from_bytes(public).ok()?;
    let (mode, context) = (OpModeR::Base, joined(context));
    type Aead = ChaCha20Poly1305;
    hpke::single_shot_open::<Aead, HkdfSha256, X25519HkdfSha256>(&mode, &secret, &public, &context, sealed, b"").ok()
}

/// Bytes in hexadecimal digits, as documents and files of the home hold them.
pub mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn text(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub fn bytes(text: &str) -> Option<Vec<u8>> {
        if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        (0..text.len()).step_by(2).map(pair).collect()
    }

    pub fn array<const N: usize>(text: &str) -> Option<[u8; N]> {
        bytes(text)?.try_into().ok()
    }

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<[u8; N], D::Error> {
        let text = String::deserialize(deserializer)?;
        array(&text).ok_or_else(|| de::Error::custom("not the expected hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_only_with_the_same_key_purpose_and_bytes() {
        let key = [7; 32];
        let sealed = seal_with(&key, [1; 16], &[b"name", b"a"], b"words").unwrap();
        assert_eq!(open_with(&key, &[b"name", b"a"], &sealed).as_deref(), Some(b"words".as_slice()));
        assert_eq!(open_with(&[8; 32], &[b"name", b"a"], &sealed), None);
        assert_eq!(open_with(&key, &[b"name", b"b"], &sealed), None);
        assert_eq!(open_with(&key, &[b"nam", b"ea"], &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open_with(&key, &[b"name", b"a"], &changed), None, "byte {at}");
            assert_eq!(open_with(&key, &[b"name", b"a"], &sealed[..at]), None, "cut at {at}");
        }
    }

    #[test]
    fn a_wrapped_key_is_for_one_device_and_one_context() {
        let (one, other) = (Secrets::of(b"one"), Secrets::of(b"other"));
        let wrapped = wrap(&one.agree_public().unwrap(), &[b"key", b"space"], &[5; 32]).unwrap();
        assert_eq!(unwrap(&one, &[b"key", b"space"], &wrapped).as_deref(), Some([5; 32].as_slice()));
        assert_eq!(unwrap(&other, &[b"key", b"space"], &wrapped), None);
        assert_eq!(unwrap(&one, &[b"key", b"spaces"], &wrapped), None);
        assert_eq!(unwrap(&one, &[b"key", b"space"], &wrapped[..40]), None);
        // A key that makes every shared secret zero is refused.
        assert_eq!(wrap(&[0; 32], &[], b"x"), None);
    }

    #[test]
    fn a_signature_is_for_one_purpose() {
        let secrets = Secrets::of(b"one");
        let public = secrets.sign_public().unwrap();
        let signature = secrets.signature(&[b"head", b"p"], b"bytes").unwrap();
        assert!(is_signed(&public, &[b"head", b"p"], b"bytes", &signature));
        assert!(!is_signed(&public, &[b"head", b"q"], b"bytes", &signature));
        assert!(!is_signed(&public, &[b"head", b"p"], b"byte", &signature));
        assert!(!is_signed(&Secrets::of(b"other").sign_public().unwrap(), &[b"head", b"p"], b"bytes", &signature));
        assert!(!is_signed(&public, &[b"head", b"p"], b"bytes", &signature[..63]));
    }

    #[test]
    fn hexadecimal_digits_are_read_back() {
        assert_eq!(hex::bytes(&hex::text(&[0, 15, 255])), Some(vec![0, 15, 255]));
        for wrong in ["0", "0g", "é", "+1"] {
            assert_eq!(hex::bytes(wrong), None, "{wrong}");
        }
    }
}
