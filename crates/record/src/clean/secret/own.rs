//! Rules the user adds: formats and names of their own, and values that are not secrets.
//!
//! A [`Cleaner`](crate::clean::Cleaner) holds them. Without any, there is no extra cost.

use super::announced::Announced;
use super::assign::assignment_by;
use super::key::{starts_word, strip_end};
use super::table::{KeyRule, TableWords, announced, key_rule};
use super::text::{Text, WORD, is};
use super::{Cut, covered, replaced};
use crate::clean::glob::Glob;

/// More would slow every hook down.
const RULES_MAX: usize = 100;
/// Shorter prefixes and names occur everywhere.
const PREFIX_BYTES_MIN: usize = 3;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct UserRules {
    rules: Vec<KeyRule>,
    names: Vec<(&'static str, Announced)>,
    allowed: Vec<Glob>,
}

impl UserRules {
    /// `rules` are lines as in `rules.txt`; `allowed` are values (with `*`) that are kept.
    pub fn read(rules: &[String], allowed: &[String]) -> Result<UserRules, String> {
        if rules.len().max(allowed.len()) > RULES_MAX {
            return Err(format!("more than {RULES_MAX} rules or allowed values; remove some"));
        }
        let mut own = UserRules::default();
        for line in rules {
            own.add(line).ok_or_else(|| {
                format!("{line:?} is not a rule: write `key NAME PREFIX BODY LENGTH` or `word NAME WEIGHT WORD…`")
            })?;
        }
        // Match from the beginning of a value, not from any slash in it.
        own.allowed = allowed.iter().map(|value| Glob::parse_value(value)).collect::<Result<_, String>>()?;
        Ok(own)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        // Rules live as long as the program, like the built-in ones.
        let mut words = TableWords::of(line.to_string().leak());
        match words.next()? {
            "key" => {
                let rule = key_rule(&mut words).filter(|rule| rule.prefix.len() >= PREFIX_BYTES_MIN)?;
                self.rules.push(rule);
            }
            "word" => {
                let announced = announced(&mut words)?;
                let before = self.names.len();
                while let Some(word) = words.next() {
                    let is_name = word.len() >= PREFIX_BYTES_MIN && word.bytes().all(|byte| is(byte, WORD));
                    self.names.push((is_name.then_some(word)?, announced));
                }
                return (self.names.len() > before).then_some(());
            }
            _ => return None,
        }
        Some(())
    }

    pub(super) fn allows(&self, value: &str) -> bool {
        self.allowed.iter().any(|glob| glob.matches(value))
    }

    /// The text without the secrets that these rules find; `None` if there are none.
    pub(super) fn pass(&self, text: &str) -> Option<String> {
        let view = Text::of(text);
        let by_format = self.rules.iter().flat_map(|rule| {
            let begins = text.match_indices(rule.prefix).filter(|(at, _)| !is(view.before(*at), WORD));
            begins.filter_map(|(at, _)| rule.find(&view, at)).collect::<Vec<_>>()
        });
        let operators = text.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'=' | b':'));
        let named = operators.filter_map(|(at, _)| assignment_by(&view, at, |name| self.announces(name)));
        let mut cuts: Vec<Cut> = by_format.chain(named).filter(|cut| !self.allows(covered(text, cut))).collect();
        cuts.sort_by_key(|cut| (cut.start, std::cmp::Reverse(cut.end)));
        let mut end = 0;
        cuts.retain(|cut| {
            let is_apart = cut.start >= end;
            end = end.max(cut.end);
            is_apart
        });
        (!cuts.is_empty()).then(|| replaced(text, cuts.into_iter()))
    }

    fn announces(&self, name: &[u8]) -> Option<Announced> {
        let ends = |word: &str| {
            let plain: String = word.chars().filter(|c| *c != '_').collect();
            strip_end(name, &plain).is_some_and(|start| starts_word(name, start))
        };
        self.names.iter().find(|(word, _)| ends(word)).map(|(_, announced)| *announced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean::secret::redact_with;

    fn own(rules: &[&str], allowed: &[&str]) -> Result<UserRules, String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        UserRules::read(&owned(rules), &owned(allowed))
    }

    #[test]
    fn user_rules_apply_in_addition_to_ours() {
        let rules = ["key acme-key acme_ alnum 8-12", "key door-code DOOR- digit 4 keep", "word acme-pin any acme_pin"];
        let own = own(&rules, &["acme_public*", "correct-horse"]).unwrap();
        for (text, rest) in [
            ("use acme_a1B2c3D4e5 now", "use [redacted:acme-key] now"),
            ("xacme_a1B2c3D4e5 acme_short acme_a1B2c3D4e5f6g7", "xacme_a1B2c3D4e5 acme_short acme_a1B2c3D4e5f6g7"),
            ("DOOR-4711 DOOR-47", "DOOR-[redacted:door-code] DOOR-47"),
            ("acmePin=four-two", "acmePin=[redacted:acme-pin]"),
            ("ACME-PIN: 'open sesame 1!'", "ACME-PIN: '[redacted:acme-pin]'"),
            ("acme_public1", "acme_public1"),
            ("\"password\": \"correct-horse\"", "\"password\": \"correct-horse\""),
            ("\"password\": \"battery-staple\"", "\"password\": \"[redacted:password]\""),
            ("nothing here", "nothing here"),
        ] {
            let once = redact_with(text, Some(&own)).into_owned();
            assert_eq!(once, rest, "{text}");
            assert_eq!(redact_with(&once, Some(&own)), once, "{text}");
        }
    }

    #[test]
    fn an_invalid_rule_is_rejected() {
        for line in [
            "",
            "key",
            "key acme ac alnum 20",
            "key acme acme_ letters 20",
            "key acme acme_ alnum",
            "key acme acme_ alnum 0",
            "key acme acme_ alnum 40-20",
            "key acme acme_ alnum 20 whole",
            "word acme maybe pin",
            "word acme any",
            "word acme any a b",
            "list tails x",
        ] {
            let refused = own(&[line], &[]).unwrap_err();
            assert!(refused.contains("is not a rule"), "{line}: {refused}");
        }
        assert!(own(&vec!["key acme acme_ alnum 20"; 101], &[]).is_err());
        assert!(own(&[], &[""]).is_err());
    }
}
