//! What a machine and its user are called, where a text says it: a team does not learn it.

use std::borrow::Cow;

use super::replaced::replaced;

/// A name as short as this is told apart from a word only by what stands beside it.
const DISTINCT_CHARS_MIN: usize = 4;

/// The text without these names.
pub fn without<'t>(text: &'t str, names: &[String]) -> Cow<'t, str> {
    let mut told = Cow::Borrowed(text);
    for name in names.iter().filter(|name| name.len() > 1) {
        if let Some(without) = without_one(&told, &name.to_ascii_lowercase()) {
            told = Cow::Owned(without);
        }
    }
    told
}

fn without_one(text: &str, name: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let told = |at: usize| {
        let is_told = lower[at..].starts_with(name) && is_name(&text[..at], name, &text[at + name.len()..]);
        is_told.then(|| (name.len(), "…".to_string()))
    };
    match replaced(text, told) {
        Cow::Borrowed(_) => None,
        Cow::Owned(without) => Some(without),
    }
}

/// Whether it is the name and no other word. A short name is often one, so there it counts what stands beside it: `ann@`,
/// `@max`, `~ann`, `/ann/`, `max:/srv`, `max.local`.
fn is_name(before: &str, name: &str, after: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if before.ends_with(is_part) || after.starts_with(is_part) {
        return false;
    }
    let is_short = name.chars().count() < DISTINCT_CHARS_MIN;
    let is_path = |rest: &str| rest.starts_with(|c: char| matches!(c, '/' | '~' | '\\') || c.is_ascii_digit());
    !is_short
        || before.ends_with(['@', '~', '\\', '/', '='])
        || after.starts_with(['@', '\\'])
        || after.strip_prefix(':').is_some_and(is_path)
        || [".local", ".lan", ".home"].iter().any(|domain| after.starts_with(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_leave_where_they_are_names_and_words_stay() {
        let names = ["max".to_string(), "Laptop-7".to_string(), "hydra".to_string(), "anna".to_string(), String::new()];
        for (text, told) in [
            ("set max to 3, max: 4, maximum", "set max to 3, max: 4, maximum"),
            ("max@laptop-7:~$ make", "…@…:~$ make"),
            ("it runs on LAPTOP-7 only", "it runs on … only"),
            ("laptop-77 and my-laptop-7 stay", "laptop-77 and my-laptop-7 stay"),
            ("/srv/max/x, ~max and USER=max", "/srv/…/x, ~… and USER=…"),
            ("scp hydra:/srv/x, http://hydra:80/, hydra.local", "scp …:/srv/x, http://…:80/, ….local"),
            ("hydra is slow, as Anna said", "… is slow, as … said"),
            ("hydras and annals", "hydras and annals"),
            ("é max@ é", "é …@ é"),
        ] {
            assert_eq!(without(text, &names), told, "{text}");
        }
    }
}
