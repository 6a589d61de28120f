//! Finds memories that cannot both be followed.
//!
//! Prefers misses over false alarms: a rule for a part ("use tabs in Makefiles") does not contradict one for the
//! whole. It never decides which of the two is right.

use super::wording;
use crate::language::concepts;
use crate::language::meaning::{Clause, Meaning};

/// Two clauses are about the same thing from this similarity on; one more qualifying word is already too much.
const SAME_THING_MIN: f64 = 0.75;
/// The negated concept must carry at least this weight.
const DENIED_WEIGHT_MIN: f64 = 0.5;

/// Whether nobody can follow both: opposite instructions about one thing, or two mutually exclusive choices.
pub fn contradicts(a: &str, b: &str) -> bool {
    let (one, other) = (Meaning::of(a), Meaning::of(b));
    let clash = |x: &Clause, y: &Clause| {
        is_opposed(x, y) || is_exclusive(x, y) || is_other_order(x, y) || has_other_number(x, y)
    };
    one.clauses().iter().any(|x| other.clauses().iter().any(|y| clash(x, y))) || names_other_tool(a, b)
}

/// "always run tests", "never run tests".
fn is_opposed(a: &Clause, b: &Clause) -> bool {
    let is_denied = |(concept, weight): (&String, &f64)| {
        let there = b.concepts.get(concept).copied().unwrap_or_default();
        weight * there < 0.0 && weight.abs().min(there.abs()) >= DENIED_WEIGHT_MIN
    };
    a.concepts.iter().any(is_denied) && a.closeness(b) >= SAME_THING_MIN
}

/// "use tabs", "indent with spaces": everything else must be the same.
fn is_exclusive(a: &Clause, b: &Clause) -> bool {
    concepts::choices().iter().any(|choice| {
        let (mine, yours) = (a.chosen(choice), b.chosen(choice));
        let is_either = !mine.is_empty() && !yours.is_empty() && mine.is_disjoint(&yours);
        let is_named = |concept: &str| choice.members.iter().chain(&choice.about).any(|one| one == concept);
        is_either && is_same_rest(&a.without(is_named), &b.without(is_named))
    })
}

fn is_same_rest(a: &Clause, b: &Clause) -> bool {
    (a.concepts.is_empty() && b.concepts.is_empty()) || a.agreement(b) >= SAME_THING_MIN
}

/// "run tests before you commit", "never run tests before you commit".
fn is_other_order(a: &Clause, b: &Clause) -> bool {
    a.reversed().is_some() && b.reversed().is_some_and(|b| a.agreement(&b) >= SAME_THING_MIN)
}

/// "at most 80 columns", "at most 100 columns"; "use 2 spaces", "use 4 spaces".
fn has_other_number(a: &Clause, b: &Clause) -> bool {
    const COUNTED: [&str; 4] = ["limit", "space", "indent", "line"];
    let is_counted = |clause: &Clause| COUNTED.iter().any(|concept| clause.concepts.contains_key(*concept));
    let is_other = !a.numbers.is_empty() && !b.numbers.is_empty() && a.numbers.is_disjoint(&b.numbers);
    is_other
        && is_counted(a)
        && is_counted(b)
        && a.without(|_| false).agreement(&b.without(|_| false)) >= SAME_THING_MIN
}

/// What a tool is for, if it is not a word in -ing.
const PURPOSES: &str = "storage|database|frontend|backend|deployment|dependencies|packages|migrations|auth|authentication|state|\
    tests|builds|http|requests|persistence|validation|serialization|styles|ci|search|queues|releases";
/// Tool names that look like plurals.
const SINGULARS: &str = "postgres|kubernetes|pandas|jenkins|windows|aws|gas";
const ONE: [&str; 4] = ["ss", "js", "is", "us"];
const TOOL_WORDS_MAX: usize = 2;

/// "use jest for testing", "use mocha for testing": one tool per purpose. Plural nouns do not exclude each other.
fn names_other_tool(a: &str, b: &str) -> bool {
    let (Some((mine, my_purpose)), Some((yours, your_purpose))) = (tool(a), tool(b)) else { return false };
    let is_same = |a: &str, b: &str| Meaning::of(a).similarity(&Meaning::of(b)) >= SAME_THING_MIN;
    is_same(&my_purpose, &your_purpose) && Meaning::of(&mine).similarity(&Meaning::of(&yours)) < 0.3
}

fn tool(text: &str) -> Option<(String, String)> {
    let plain = wording::plain(text).to_lowercase();
    let mut words = plain.split_whitespace().filter(|word| !matches!(*word, "the" | "always" | "only" | "all" | "our"));
    if !matches!(words.next()?, "use" | "prefer" | "choose") || wording::has_negation(&plain) {
        return None;
    }
    let rest: Vec<&str> = words.map(|word| word.trim_matches([',', '.', '!', '`', '"'])).collect();
    let at = rest.iter().position(|word| *word == "for")?;
    let (tool, purpose) = (&rest[..at], &rest[at + 1..]);
    let last = tool.last().filter(|_| tool.len() <= TOOL_WORDS_MAX)?;
    let is_in = |word: &str, list: &str| list.split('|').any(|one| one == word);
    let is_plural = last.ends_with('s') && !ONE.iter().any(|ending| last.ends_with(ending)) && !is_in(last, SINGULARS);
    let is_purpose = purpose.iter().any(|word| (word.ends_with("ing") && word.len() > 5) || is_in(word, PURPOSES));
    (!is_plural && is_purpose).then(|| (tool.join(" "), purpose.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn these_cannot_both_be_followed() {
        let mut missed = Vec::new();
        for (a, b) in [
            ("Always use type hints", "Never use type hints"),
            ("Always run tests before committing", "Never run tests before committing"),
            ("Review before you merge", "Merge before you review"),
            ("Add comments", "Do not add comments"),
            ("Use emojis", "No emojis, please"),
            ("Be concise", "Be verbose"),
            ("Keep answers short", "Write long answers"),
            ("Keep it simple", "Do not keep it simple"),
            ("Use X", "Avoid X"),
            ("Ask before you commit", "Commit without asking"),
            ("Never commit without asking", "Commit without asking me"),
            ("Delete files without asking", "Ask before deleting files"),
            ("Never use any", "Always use any"),
            ("Use let instead of var", "Use var instead of let"),
            ("Sort imports alphabetically", "Do not sort imports"),
            ("Answer in English", "Answer in German"),
            ("Use tabs", "Use spaces"),
            ("Use tabs", "Indent with spaces"),
            ("Use tabs, not spaces", "Use spaces, not tabs"),
            ("Use tabs instead of spaces", "Do not use tabs"),
            ("Use single quotes", "Use double quotes for strings"),
            ("Use npm", "Use yarn"),
            ("Install packages with pnpm", "Use bun to install packages"),
            ("Merge branches", "Rebase, do not merge"),
            ("Rebase branches", "Merge branches"),
            ("Use rebase", "Use merge commits"),
            ("Give detailed explanations", "Keep explanations brief"),
            ("Use camelCase for functions", "Use snake_case for functions"),
            ("Prefer composition over inheritance", "Prefer inheritance over composition"),
            ("Prefer composition over inheritance", "Use inheritance"),
            ("Use British spelling", "Use American spelling"),
            ("Use postgres for storage", "Use sqlite for storage"),
            ("Use jenkins for deployment", "Use fly for deployment"),
            ("Use reqwest for http requests", "Use ureq for http requests"),
            ("Keep files under 200 lines", "Keep files under 400 lines"),
            ("Limit lines to 80 characters", "Limit lines to 120 characters"),
            ("Indent with 2 spaces", "Indent with 4 spaces"),
            ("Write the tests first", "Do not write the tests first"),
            ("Explain every change", "Stop explaining every change"),
            ("Push after every commit", "Never push"),
            ("Summarise at the end", "No summary at the end"),
            ("Use pytest", "Use unittest for tests"),
        ] {
            if !contradicts(a, b) || !contradicts(b, a) {
                missed.push((a, b));
            }
        }
        assert!(missed.is_empty(), "{missed:#?}");
    }

    #[test]
    fn these_go_together() {
        let mut wrong = Vec::new();
        for (a, b) in [
            ("Use tabs", "Use tabs in Makefiles"),
            ("Use spaces", "Use tabs in Makefiles"),
            ("Run unit tests", "Run integration tests"),
            ("Always use type hints", "Prefer type hints"),
            ("Use type hints in Python", "Prefer tabs over spaces"),
            ("Use type hints", "Use type hints for public functions"),
            ("Use type hints for public functions", "Use docstrings for public functions"),
            ("Never commit", "Never push"),
            ("Be concise", "Do not be verbose"),
            ("Keep it short", "Your replies are too long"),
            ("No emojis", "Remove emojis"),
            ("Use tabs", "Do not use spaces"),
            ("Use camelCase for functions", "Use snake_case for variables"),
            ("Never use mocks in integration tests", "Use mocks in unit tests"),
            ("Do not add comments to obvious code", "Comment public functions"),
            ("Ask before you commit", "Never commit without asking"),
            ("Ask before you push", "Commit after every task"),
            ("Write tests", "Do not delete tests"),
            ("Run the tests", "Do not write tests for getters"),
            ("Keep functions under 50 lines", "Keep files under 500 lines"),
            ("Use npm", "Use yarn in the docs folder"),
            ("Use snapshots for testing", "Use fixtures for testing"),
            ("Use serde for parsing", "Use clap for arguments"),
            ("Switch from npm to pnpm", "Use pnpm"),
            ("Use black for formatting", "Format before you commit"),
            ("Explain decisions", "Do not explain obvious code"),
            ("Never use unwrap", "Never use expect"),
            ("Use British spelling", "Write in English"),
            ("Do not merge without a review", "Merge after the review"),
            ("Run tests before committing", "Never commit before running tests"),
            ("Run tests before committing", "Commit after running the tests"),
            ("", "Use tabs"),
            ("Use tabs", "Use tabs"),
        ] {
            if contradicts(a, b) || contradicts(b, a) {
                wrong.push((a, b));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
