//! The paths that a line may name, as they stand after `cd`, braces, variables and quotes.
//!
//! Every word that is not an option may be a path; whether it is one that matters is for the caller to decide.

use std::ops::Range;

use super::{Simple, is_assignment, read, without_wrappers};

/// Braces and variables make no more words than this of one.
const EXPANDED_MAX: usize = 16;
const VARIABLES_MAX: usize = 32;
const PATH_BYTES_MAX: usize = 4096;

/// A word of a line, and the paths that it may stand for, relative to where the line begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPaths {
    pub range: Range<usize>,
    pub paths: Vec<String>,
    /// The program itself, an option, or the folder that `cd` goes to.
    pub is_argument: bool,
}

/// The words of one simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordGroup {
    /// The folder that it runs in; empty where the line begins.
    pub folder: String,
    pub words: Vec<NamedPaths>,
}

/// The words of every simple command of a line, at all levels.
pub fn groups(command: &str) -> Vec<WordGroup> {
    let mut state = ShellState::new();
    read(command).simples.iter().map(|simple| state.group(simple)).collect()
}

pub(super) struct ShellState {
    /// The folder of every subshell around the current command.
    folders: Vec<String>,
    variables: Vec<(String, String)>,
}

impl ShellState {
    pub(super) fn new() -> ShellState {
        ShellState { folders: vec![String::new()], variables: Vec::new() }
    }

    pub(super) fn group(&mut self, simple: &Simple) -> WordGroup {
        // A subshell begins where the line around it is, and leaves it there.
        let folder = self.folders.last().cloned().unwrap_or_default();
        self.folders.resize(simple.depth + 1, folder);
        let texts = simple.texts();
        let first = texts.len() - without_wrappers(&texts).len();
        let mut folder = self.folders[simple.depth].clone();
        if let Some(at) = texts.iter().position(|word| matches!(*word, "-C" | "--directory" | "--cwd" | "--prefix"))
            && let Some(given) = texts.get(at + 1)
        {
            folder = joined(&folder, &self.substituted(given));
        }
        let named = |(at, word): (usize, &super::ShellWord)| NamedPaths {
            range: word.range.clone(),
            // A program without a folder is looked for elsewhere.
            paths: self.paths(if at <= first && !word.text.contains('/') { "" } else { &folder }, &word.text),
            is_argument: at > first && !word.text.starts_with('-'),
        };
        let mut words: Vec<NamedPaths> = simple.words.iter().enumerate().map(named).collect();
        let target = |word: &super::ShellWord| NamedPaths {
            range: word.range.clone(),
            paths: self.paths(&folder, &word.text),
            is_argument: true,
        };
        words.extend(simple.targets.iter().map(target));
        self.assign(simple);
        if matches!(simple.program(), "cd" | "pushd" | "popd") {
            let given = texts.get(first + 1).copied().filter(|word| *word != "-").unwrap_or_default();
            self.folders[simple.depth] = joined(&folder, &self.substituted(given));
            words.truncate(first + 1);
        }
        WordGroup { folder, words }
    }

    fn assign(&mut self, simple: &Simple) {
        for word in &simple.words {
            if let Some((name, value)) = word.text.split_once('=').filter(|_| is_assignment(&word.text)) {
                let value = self.substituted(value);
                self.variables.retain(|(known, _)| known != name);
                if self.variables.len() < VARIABLES_MAX {
                    self.variables.push((name.to_string(), value));
                }
            }
        }
    }

    /// The paths that a word may stand for: the whole word, and what follows `=`, `:` or `@` in it.
    fn paths(&self, folder: &str, word: &str) -> Vec<String> {
        let mut paths = Vec::new();
        for word in braces(&self.substituted(word)) {
            let parts = word.match_indices(['=', ':', '@']).map(|(at, _)| &word[at + 1..]);
            let whole = Some(word.as_str()).filter(|word| !word.starts_with('-'));
            for part in whole.into_iter().chain(parts).take(EXPANDED_MAX) {
                let part = part.trim_matches(['"', '\'', ',', '/']);
                if !part.is_empty() && part.len() <= PATH_BYTES_MAX {
                    let keeps_root = if word.starts_with('/') && part.len() + 1 >= word.len() { "/" } else { "" };
                    paths.push(joined(folder, &format!("{keeps_root}{part}")));
                }
            }
        }
        paths
    }

    /// The word with the variables that the line itself sets.
    pub(super) fn substituted(&self, word: &str) -> String {
        if !word.contains('$') || self.variables.is_empty() {
            return word.to_string();
        }
        let mut out = word.to_string();
        for (name, value) in &self.variables {
            if out.len() + value.len() <= PATH_BYTES_MAX {
                out = out.replacen(&format!("${{{name}}}"), value, 4).replacen(&format!("${name}"), value, 4);
            }
        }
        out
    }
}

/// A path as seen from where the line begins.
pub fn joined(folder: &str, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    if path.starts_with('/') || path.starts_with('~') || folder.is_empty() {
        return path.to_string();
    }
    if path.is_empty() || folder.len() + path.len() > PATH_BYTES_MAX {
        return folder.to_string();
    }
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, ".." | "")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// `a{b,c}d` is `abd` and `acd`. Braces in braces are opened from the inside.
fn braces(word: &str) -> Vec<String> {
    let mut open = vec![word.to_string()];
    let mut done = Vec::new();
    let mut steps = 0;
    while let Some(word) = open.pop() {
        steps += 1;
        let close = word.find('}');
        let begin = close.and_then(|close| word[..close].rfind('{'));
        match (begin, close) {
            (Some(begin), Some(close))
                if steps < EXPANDED_MAX && !word[..begin].ends_with('$') && word[begin..close].contains(',') =>
            {
                let (head, tail) = (&word[..begin], &word[close + 1..]);
                let parts = word[begin + 1..close].split(',').take(EXPANDED_MAX);
                open.extend(parts.map(|part| format!("{head}{part}{tail}")));
            }
            _ => done.push(word),
        }
        if done.len() + open.len() > 8 * EXPANDED_MAX {
            break;
        }
    }
    done.append(&mut open);
    done
}
