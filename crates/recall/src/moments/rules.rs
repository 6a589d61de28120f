//! After a compaction, the instructions of a project are in the context and no longer heeded: the most binding of them are
//! told again, in the words of the file.
//!
//! What binds is seen by its form: words in capitals, an order that says always or never, an order. A sentence is told
//! whole or not at all.

use cerberus_record::clean::text::{self, phrase};
use cerberus_text::outline::{heading, item, plain, prose};
use cerberus_text::{sentences, tokens};

use crate::brief::GuideRule;
use crate::brief::RULE;
use crate::said::cues::{self, Cue};
use crate::summary::guard;

/// All that is told again.
pub const TOKENS_MAX: usize = 250;
/// A longer sentence explains more than it demands.
const SENTENCE_CHARS_MAX: usize = 200;
const SENTENCE_WORDS_MIN: usize = 3;
/// A prohibition begins with its word, or nearly.
const OPENING_WORDS: usize = 3;

/// How much a sentence binds, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    /// NEVER, in capitals.
    Shouted,
    /// Always or never, must or must not.
    Strict,
    Order,
}

/// The sentences that are told again, of guides with their names: the most binding first, in the order of the files.
pub fn restated<'a>(guides: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<GuideRule> {
    let mut found: Vec<(Binding, GuideRule)> = Vec::new();
    for (guide, text) in guides {
        for sentence in statements(text) {
            let Some(binding) = binding(&sentence) else { continue };
            if found.iter().all(|(_, known)| known.sentence != sentence) {
                let code = text::code(&format!("{RULE}{sentence} ({guide})")).into_owned();
                let (guide, tokens) = (guide.to_string(), tokens::line(&code));
                found.push((binding, GuideRule { guide, sentence, code, tokens }));
            }
        }
    }
    found.sort_by_key(|(binding, _)| *binding);
    let mut left = TOKENS_MAX;
    let mut fits = |rule: &GuideRule| {
        let is_told = rule.tokens <= left;
        left -= if is_told { rule.tokens } else { 0 };
        is_told
    };
    found.into_iter().map(|(_, rule)| rule).filter(|rule| fits(rule)).collect()
}

/// How a receipt names what was told again: how many sentences of which file. Its words are the file's.
pub fn codes(rules: &[GuideRule]) -> Vec<String> {
    let mut guides: Vec<&str> = rules.iter().map(|rule| rule.guide.as_str()).collect();
    guides.dedup();
    guides.sort_unstable();
    guides.dedup();
    let count = |guide: &str| rules.iter().filter(|rule| rule.guide == guide).count();
    guides.into_iter().map(|guide| format!("{RULE}{} from {guide}", count(guide))).collect()
}

/// The sentences of a guide: of its list items and paragraphs, without headings, tables, comments and code.
fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let bare = line.trim();
        if heading(line).is_some() || bare.starts_with(['|', '<']) {
            continue;
        }
        let said = plain(item(line).map_or(bare, |item| item.text));
        let is_said =
            |sentence: &&str| !sentence.ends_with([':', '?']) && sentence.chars().count() <= SENTENCE_CHARS_MAX;
        let parts = sentences::all(&said).into_iter().map(|range| said[range].trim().to_string());
        found.extend(parts.filter(|part| is_said(&part.as_str())).map(|part| phrase(&part, SENTENCE_CHARS_MAX)));
    }
    found
}

fn binding(sentence: &str) -> Option<Binding> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    if words.len() < SENTENCE_WORDS_MIN {
        return None;
    }
    let is_strict = |word: &str| cues::is_denial(word) || cues::cue(word) == Some(Cue::Lasting) || guard::obliges(word);
    let is_capital =
        |word: &&&str| word.len() > 1 && word.chars().all(|c| c.is_uppercase() || matches!(c, '\'' | ':' | '!' | ','));
    let opening = words[..OPENING_WORDS.min(words.len())].join(" ");
    match () {
        () if words.iter().filter(is_capital).any(|word| is_strict(&word.to_lowercase())) => Some(Binding::Shouted),
        () if cues::is_lasting(sentence) || cues::is_denial(&opening) || guard::obliges(&opening) => {
            Some(Binding::Strict)
        }
        // Without the command or file that it is about, its form alone may be that of a name: "Rust workspace".
        () if guard::obliges(sentence) || words[1].starts_with('`') && guard::orders(sentence) => Some(Binding::Order),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        restated([("CLAUDE.md", text)].into_iter()).into_iter().map(|rule| rule.sentence).collect()
    }

    #[test]
    fn the_most_binding_sentences_come_first() {
        let guide = "# The project\n\nA proxy in Go. The cache is not persisted.\n\n## Commands\n\n```\nmake test\n```\n\n\
            - Run `make test` before you finish.\n- **Always** write a test first. It pays.\n- Don't touch `gen/`.\n\
            - NEVER push to main.\n- Handlers live in `internal/`.\n| never | a table |\n- Do you need more?\n- Notes:\n";
        assert_eq!(
            told(guide),
            [
                "NEVER push to main",
                "Always write a test first",
                "Don't touch `gen/`",
                "Run `make test` before you finish",
            ]
        );
    }

    #[test]
    fn nothing_is_cut_and_all_fits() {
        let long = format!("- Never {}.\n", "do this ".repeat(60));
        assert_eq!(told(&long), [""; 0]);
        let many: String =
            (0..200).map(|number| format!("- Never break rule number {number} of this file.\n")).collect();
        let rules = restated([("AGENTS.md", many.as_str()), ("CLAUDE.md", many.as_str())].into_iter());
        let all = rules.iter().map(|rule| rule.code.as_str()).collect::<Vec<_>>().join("\n");
        assert!(tokens::estimate(&all) <= TOKENS_MAX && rules.len() > 5, "{all}");
        assert_eq!(codes(&rules), [format!("rule:{} from AGENTS.md", rules.len())]);
    }
}
