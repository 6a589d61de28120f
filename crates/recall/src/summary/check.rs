//! Keeps only those sentences of a model that the facts support.
//!
//! A sentence that names a file or function which no fact names is dropped as a whole. Names are recognised by their
//! form only (`a/b.rs`, `load()`, `Store::open`, `fold_all`, `readLine`, and any single word in backticks), so a
//! function named and written like an ordinary word is not checked.

use std::collections::HashSet;

use cerberus_record::seed::is_file_ending;

use super::SummaryMaterial;

/// Longer than any normal sentence.
const SENTENCE_CHARS_MAX: usize = 400;

/// Written like names of functions or files, but commonly known.
const PROPER_NAMES: &str = "github gitlab javascript typescript postgresql mongodb graphql openai youtube macos ios ipados
    iphone ipad grpc devops websocket websockets dynamodb cockroachdb duckdb rocksdb leveldb influxdb pytorch tensorflow
    numpy scipy fastapi webassembly centos freebsd openbsd chatgpt latex bigquery circleci jetbrains powershell clickhouse
    rabbitmq jquery opentelemetry openapi openssl libreoffice stackoverflow deepseek codex intellij goland pycharm
    node.js next.js vue.js nuxt.js express.js react.js angular.js d3.js three.js asp.net";

/// Usual source folders: a text that starts with one of these and a slash is a path.
const FOLDERS: [&str; 14] = [
    "src", "lib", "test", "tests", "docs", "doc", "crates", "packages", "cmd", "internal", "pkg", "app", "scripts",
    "bin",
];

/// Whether a sentence is acceptable: of normal length, without control characters.
pub fn is_acceptable(sentence: &str) -> bool {
    let has_words = sentence.chars().filter(|c| c.is_alphabetic()).nth(2).is_some();
    let is_hostile = cerberus_record::clean::text::name(sentence) != sentence;
    has_words && !is_hostile && sentence.chars().count() <= SENTENCE_CHARS_MAX
}

/// Every name in the facts, in lower case.
#[derive(Debug)]
pub struct Names {
    known: HashSet<String>,
}

impl Names {
    pub fn of(material: &SummaryMaterial) -> Names {
        let mut names = Names { known: HashSet::new() };
        names.add(material.project);
        for item in material.items {
            names.add(&item.code);
            names.add(&item.text);
            item.path.iter().for_each(|path| names.add(path));
        }
        material.done.iter().for_each(|done| names.add(done));
        names
    }

    fn add(&mut self, text: &str) {
        for word in text.split_whitespace() {
            let word = bare(word).to_lowercase();
            // `impl:src/store/mod.rs` also gives `store/mod.rs` and `mod.rs`; `Store::open` also gives `open`.
            let parts = word.match_indices(['/', ':', '.', '#', '(', ',', '=', '-']).map(|(at, _)| &word[at + 1..]);
            self.known.extend(parts.map(|part| bare(part).to_string()));
            let heads = word.match_indices(['/', ':', '.', '#', '(', ',', '=']).map(|(at, _)| &word[..at]);
            self.known.extend(heads.map(|head| bare(head).to_string()));
            self.known.insert(word);
        }
    }

    /// Whether all names in the sentence are in the facts.
    pub fn know(&self, sentence: &str) -> bool {
        sentence.split_whitespace().flat_map(|word| word.split(['"', '“', '”'])).all(|word| {
            let name = bare(word);
            !is_name(word) || self.known.contains(&name.to_lowercase()) || self.is_composed(name)
        })
    }

    /// `proxy.go:12`, `supervisor.go/proxy.go` and `Store.open` are known if their parts are.
    fn is_composed(&self, name: &str) -> bool {
        let mut parts = name.split(['/', ',']).flat_map(|part| part.split("::")).map(without_line).peekable();
        let is_known = |part: &str| self.known.contains(&part.to_lowercase());
        // A path must be known as a whole; two names separated by a slash are checked separately.
        let is_path = name.contains('/') && !name.split('/').all(is_name);
        !is_path && parts.peek().is_some() && parts.all(is_known)
    }
}

/// A word without surrounding punctuation.
pub(super) fn bare(word: &str) -> &str {
    const BEFORE: [char; 8] = ['"', '\'', '`', '(', '[', '{', '<', '…'];
    const AFTER: [char; 17] = ['"', '\'', '`', ')', ']', '}', '>', '…', '.', ',', ';', ':', '!', '?', '(', '/', '’'];
    let word = word.trim_start_matches(BEFORE).trim_end_matches(AFTER);
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    word.trim_end_matches(AFTER).trim_start_matches("./")
}

/// `proxy.go:12` → `proxy.go`
fn without_line(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => before,
        _ => name,
    }
}

/// Whether it is written like a file or a function.
pub(super) fn is_name(word: &str) -> bool {
    let name = bare(word);
    if PROPER_NAMES.split_whitespace().any(|proper| proper.eq_ignore_ascii_case(name)) {
        return false;
    }
    word.contains("()") || is_quoted(word) || is_path(without_line(name)) || is_scoped(name) || is_cased(name)
}

/// A single word in backticks is meant as a name, even if it is an ordinary word.
fn is_quoted(word: &str) -> bool {
    let quoted = word.split('`').nth(1).filter(|_| word.matches('`').count() == 2).unwrap_or_default();
    quoted.starts_with(char::is_alphabetic) && quoted.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn is_path(name: &str) -> bool {
    let (folders, base) = name.rsplit_once('/').map_or(("", name), |(folders, base)| (folders, base));
    let has_ending = |base: &str| {
        base.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && is_file_ending(&ending.to_lowercase()))
    };
    let first = name.split('/').next().unwrap_or_default();
    has_ending(base)
        || name.contains("://")
        || (name.contains('/') && (folders.is_empty() || name.matches('/').count() > 1 || FOLDERS.contains(&first)))
        || (base.starts_with('.') && base.len() > 2 && base[1..].starts_with(|c: char| c.is_ascii_lowercase()))
}

/// `Store::open`, `supervisor.Process`, `fold_all`.
fn is_scoped(name: &str) -> bool {
    let is_identifier = |part: &str| part.len() > 1 && part.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let dotted = || name.split('.').count() > 1 && name.split('.').all(is_identifier);
    let inner = name.trim_matches('_');
    name.contains("::") || name.contains("->") || dotted() || (inner.contains('_') && inner.len() > 2)
}

/// `readLine`, `ConfigLoader`: a capital after a small letter.
fn is_cased(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_alphanumeric());
    is_word && name.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}
