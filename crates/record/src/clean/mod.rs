//! Makes text from outside safe to store and show: bounded, without secrets and private passages.
//!
//! Knows nothing about events or agents, so every other folder can depend on it.

pub mod code;
pub mod glob;
pub mod instruction;
pub mod secret;
pub mod tag;
pub mod text;

use std::borrow::Cow;
use std::sync::Arc;

use self::secret::{UserRules, is_short_name, redact_with, redact_words};

/// Cleans outside text with our rules and those the user adds. Passed to everything that reads such text.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    own: Option<Arc<UserRules>>,
}

/// Our own rules only.
pub static BUILT_IN: Cleaner = Cleaner { own: None };

impl Cleaner {
    pub fn with(own: UserRules) -> Cleaner {
        Cleaner { own: Some(Arc::new(own)) }
    }

    /// The text with every secret that a rule knows replaced by `[redacted:NAME]`. For names, ids and records, where
    /// random tokens are expected.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        redact_with(text, self.own.as_deref())
    }

    /// The same without random tokens. For what people and programs write.
    pub fn redact_words<'t>(&self, text: &'t str) -> Cow<'t, str> {
        redact_words(text, self.own.as_deref())
    }

    /// Whether all of this word may be stored, as a quick look shows. For what people write, if it is shorter than
    /// [`NUMBER_BYTES`](secret::NUMBER_BYTES).
    fn is_harmless(&self, name: &str) -> bool {
        self.own.is_none() && is_short_name(name)
    }
}

#[cfg(test)]
mod tests {
    use super::text::Keep;
    use super::*;

    #[test]
    fn user_rules_apply_only_to_the_cleaner_that_has_them() {
        let rules = ["key acme-key acme_ alnum 8-12".to_string()];
        let cleaner = Cleaner::with(UserRules::read(&rules, &["correct-horse".to_string()]).unwrap());
        let text = "acme_a1B2c3D4e5, password=correct-horse";
        assert_eq!(&*cleaner.clean(text, Keep::NAME), "[redacted:acme-key], password=correct-horse");
        assert_eq!(&*BUILT_IN.clean(text, Keep::NAME), "acme_a1B2c3D4e5, password=[redacted:password]");
    }
}
