//! Checks what the agent says about files: a file that it says it wrote must exist.

use std::collections::HashSet;

use cerberus_record::event::Severity;
use cerberus_record::seed::is_file_ending;

use super::state::{Issue, PreservedState};
use crate::texts::one_line;

/// Names that only look like files.
const PRODUCTS: [&str; 12] = [
    "node.js",
    "next.js",
    "vue.js",
    "nuxt.js",
    "react.js",
    "express.js",
    "three.js",
    "d3.js",
    "chart.js",
    "backbone.js",
    "ember.js",
    "socket.io",
];
/// An item with such a word may name a file that is rightly gone.
const GONE: [&str; 14] = [
    "delete", "deleted", "deletes", "remove", "removed", "removes", "rename", "renamed", "move", "moved", "drop",
    "dropped", "replaced", "merged",
];
/// More names of one text are not checked.
const NAMES_MAX: usize = 200;
const LISTED_MAX: usize = 10;

/// The words of a text that are written like files.
pub fn named_files(text: &str) -> Vec<&str> {
    let is_edge = |c: char| !(c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '~'));
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | '(' | ')' | '[' | ']'));
    let mut seen = HashSet::new();
    words
        .map(|word| word.trim_matches(is_edge).trim_end_matches('.'))
        .map(|word| word.split(':').next().unwrap_or(word))
        .filter(|word| is_file(word) && seen.insert(*word))
        .take(NAMES_MAX)
        .collect()
}

fn is_file(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let base = stem.rsplit('/').next().unwrap_or(stem);
    let is_pattern = word.contains(['*', '<', '>', '{', '}', '$', '~', '=']);
    !base.is_empty()
        && !is_pattern
        && !word.contains("//")
        && is_file_ending(&ending.to_lowercase())
        && !PRODUCTS.contains(&word.to_lowercase().as_str())
}

impl PreservedState {
    /// Moves what is not done from the completed to the pending items, and says which named files do not exist.
    pub fn check_claims(&mut self, exists: impl Fn(&str) -> bool) {
        let missing = |text: &str| -> Vec<String> {
            let names = named_files(text).into_iter().filter(|name| !exists(name));
            names.map(str::to_string).collect()
        };
        let mut refuted = Vec::new();
        let mut told: HashSet<String> = HashSet::new();
        self.completed_items.retain(|item| {
            let files = if is_about_removal(item) { Vec::new() } else { missing(item) };
            if files.is_empty() {
                return true;
            }
            let verb = if files.len() == 1 { "does" } else { "do" };
            let why = format!("reported as done, but {} {verb} not exist", files.join(", "));
            refuted.push(one_line(&format!("{} ({why})", &**item)));
            told.extend(files);
            false
        });
        self.pending_items.splice(0..0, refuted);
        let Some(words) = &self.last_words else { return };
        let sentences = words.split(['\n', ';']).flat_map(|line| line.split(". "));
        let mut files: Vec<String> = sentences
            .filter(|text| !is_about_removal(text))
            .flat_map(missing)
            .filter(|file| !told.contains(file))
            .collect();
        files.dedup();
        files.truncate(LISTED_MAX);
        if !files.is_empty() {
            let description =
                one_line(&format!("the previous session named files that do not exist: {}", files.join(", ")));
            let issue = Issue { description, severity: Severity::Medium, files: Vec::new(), addressed: false };
            self.known_issues.insert(0, issue);
        }
    }
}

fn is_about_removal(text: &str) -> bool {
    text.to_lowercase().split(|c: char| !c.is_alphabetic()).any(|word| GONE.contains(&word))
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;
    use crate::texts::{OneLine, Passage};

    #[test]
    fn files_are_recognised_by_their_endings() {
        let text = "Wrote `src/lexer.py`, phantom.py (new), Node.js, e.g. this. See docs/a.md:12 and \
                    https://x.org/b.html, *.rs, v1.2.3, lib.rs.";
        assert_eq!(named_files(text), ["src/lexer.py", "phantom.py", "docs/a.md", "lib.rs"]);
    }

    #[test]
    fn a_claim_about_a_missing_file_is_not_done() {
        let items = |list: &[&str]| list.iter().map(|item| one_line(item)).collect::<Vec<OneLine>>();
        let mut state = PreservedState {
            completed_items: items(&["Wrote phantom.py", "Wrote real.py", "Deleted old.py", "Lexer"]),
            pending_items: items(&["Docs"]),
            last_words: Some(Passage::new(&BUILT_IN, "ghost.rs ist fertig. I deleted old.py. Wrote phantom.py")),
            ..PreservedState::default()
        };
        state.check_claims(|path| path == "real.py");
        let texts = |list: &[OneLine]| list.iter().map(|item| item.to_string()).collect::<Vec<_>>();
        assert_eq!(texts(&state.completed_items), ["Wrote real.py", "Deleted old.py", "Lexer"]);
        let refuted = "Wrote phantom.py (reported as done, but phantom.py does not exist)";
        assert_eq!(texts(&state.pending_items), [refuted, "Docs"]);
        let issues: Vec<&str> = state.known_issues.iter().map(|issue| &*issue.description).collect();
        assert_eq!(issues, ["the previous session named files that do not exist: ghost.rs"]);
    }
}
