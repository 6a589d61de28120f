//! `[store]`: how long sessions are kept, and how much space they may use.

use std::time::Duration;

use cerberus_record::span::{NotASpan, Span};
use serde::Deserialize;

/// Limits for everything except memories. Without limits, everything is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// Sessions that were inactive for this long are removed.
    pub retention: Option<Age>,
    /// The limit for journal and view together.
    pub max_size: Option<ByteSize>,
}

/// `30d`, `12w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Age(pub Duration);

/// `500 MB`, `1 GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ByteSize {
    pub bytes: u64,
}

const AGE_FORM: &str = "write an age as 30d or 12w";
const DAY_SECS: u64 = 24 * 60 * 60;

impl TryFrom<String> for Age {
    type Error = String;

    fn try_from(text: String) -> Result<Age, String> {
        let Span(span) = text.parse().map_err(|_: NotASpan| AGE_FORM.to_string())?;
        // Only whole days: an age in hours would most likely be a typing error.
        let is_days = span.as_secs().is_multiple_of(DAY_SECS) && span.subsec_nanos() == 0;
        is_days.then_some(Age(span)).ok_or_else(|| AGE_FORM.to_string())
    }
}

impl TryFrom<String> for ByteSize {
    type Error = String;

    fn try_from(text: String) -> Result<ByteSize, String> {
        let wrong = || "write a size as 500 MB or 1 GiB".to_string();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let unit = match text[digits..].trim() {
            "MB" => 1_000_000,
            "MiB" => 1 << 20,
            "GB" => 1_000_000_000,
            "GiB" => 1 << 30,
            _ => return Err(wrong()),
        };
        let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
        Ok(ByteSize { bytes: number.saturating_mul(unit) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_have_units() {
        let age = |text: &str| Age::try_from(text.to_string()).ok().map(|age| age.0.as_secs() / 86_400);
        assert_eq!(
            ["30d", "12w", "0d", "d", "30", "-1d", "3ö"].map(age),
            [Some(30), Some(84), Some(0), None, None, None, None]
        );
        let size = |text: &str| ByteSize::try_from(text.to_string()).ok().map(|size| size.bytes);
        assert_eq!(size("1 GiB"), Some(1 << 30));
        assert_eq!(size("500MB"), Some(500_000_000));
        assert_eq!(["1", "GiB", "1 XB", "1.5 GiB"].map(size), [None; 4]);
        assert_eq!(size("99999999999999999999 GiB"), None);
        assert_eq!(size("18446744073709551615 GiB"), Some(u64::MAX));
    }
}
