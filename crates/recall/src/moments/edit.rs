//! A file is about to be edited that something is known about: a rule or a decision names it, or a change of it was taken
//! back.
//!
//! A text names a file by its path, by its name if no other file has it, or by a folder above it. What is told are lines
//! that a brief has too, and a sentence of the agent, marked as such.

use cerberus_record::clean::instruction::is_instruction;
use cerberus_record::clean::text::{self, clip};
use cerberus_record::ours::{self, TRIED};
use cerberus_record::time::Timestamp;
use cerberus_text::tokens;

use super::live::{GitSweep, sweeps};
use crate::brief::stopped::{age, sentences_of};

/// All that is told before an edit.
pub const TOKENS_MAX: usize = 60;
/// A rule or a decision is a few sentences.
const TEXT_BYTES_MAX: usize = 2_000;
const SENTENCE_CHARS_MAX: usize = 140;
/// A name without an ending is a word.
const NAME_CHARS_MIN: usize = 4;

/// How a text names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// By the last part of its path alone.
    Name,
    Folder,
    Path,
}

/// The words of a text that may name files or folders, as they are compared: `src/a.rs`, `a.rs`, `gen/`.
pub fn cited(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || "._@+~-/*".contains(c);
    let words = clip(text, TEXT_BYTES_MAX).split(|c: char| !is_part(c));
    let bare = words.map(|word| word.trim_end_matches(['.', '*', '-']).trim_start_matches("./"));
    let is_name = |word: &&str| {
        let has_ending = word.rsplit_once('.').is_some_and(|(name, ending)| !name.is_empty() && is_ending(ending));
        word.len() >= NAME_CHARS_MIN && !word.contains("//") && (word.contains('/') || has_ending)
    };
    bare.filter(is_name).collect()
}

/// `rs`, `tsx`, `json`: not the digits of a version.
fn is_ending(ending: &str) -> bool {
    (1..=8).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Everything that names a file, in the form of [`cited`].
pub fn forms(path: &str) -> Vec<(String, Naming)> {
    let parts: Vec<&str> = path.split('/').collect();
    let mut found = Vec::new();
    for from in 0..parts.len() {
        let own = parts[from..].join("/");
        let naming = if from == 0 || from + 1 < parts.len() { Naming::Path } else { Naming::Name };
        found.push((own, naming));
        for to in from + 1..parts.len() {
            found.push((format!("{}/", parts[from..to].join("/")), Naming::Folder));
        }
    }
    found
}

/// How a text names a file; `None` if it does not.
pub fn naming(text: &str, path: &str) -> Option<Naming> {
    let forms = forms(path);
    let of = |word: &str| forms.iter().find(|(form, _)| form == word).map(|(_, naming)| *naming);
    cited(text).into_iter().filter_map(of).max()
}

/// The paths that a command takes back to their last commit, as it was given them.
pub fn taken_back(command: &str) -> Vec<GitSweep> {
    let is_back = |sweep: &GitSweep| {
        matches!(sweep.name.as_str(), "git checkout" | "git restore")
            && sweep.paths.as_ref().is_some_and(|paths| !paths.is_empty())
    };
    sweeps(command).into_iter().filter(is_back).collect()
}

/// What is told of a change that was taken back: the agent's own sentence about the file. Without one, it may have been an
/// experiment.
pub fn abandoned(path: &str, message: &str, at: Timestamp, now: Timestamp) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_about = |sentence: &String| {
        sentence.contains(name)
            && sentence.chars().count() <= SENTENCE_CHARS_MAX
            && !ours::is_ours(sentence)
            && !is_instruction(sentence)
    };
    let sentence = sentences_of(message).find(is_about)?;
    let sentence = text::line(&sentence, SENTENCE_CHARS_MAX).replace('"', "'");
    let line =
        format!("{TRIED}{path} was changed and taken back {} ago. The agent said then: \"{sentence}\"", age(at, now));
    Some(text::code(&line).into_owned())
}

/// The lines that have room, in their order.
pub fn fitting<T>(lines: Vec<T>, line: impl Fn(&T) -> &str) -> Vec<T> {
    let mut left = TOKENS_MAX;
    let mut fits = |one: &T| {
        let needed = tokens::line(line(one));
        let is_told = needed <= left;
        left -= if is_told { needed } else { 0 };
        is_told
    };
    lines.into_iter().filter(|one| fits(one)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_text_names_files_by_path_name_and_folder() {
        for (text, path, expected) in [
            ("Use WAL in src/store.rs.", "src/store.rs", Some(Naming::Path)),
            ("Use WAL in `store/read.rs`", "src/store/read.rs", Some(Naming::Path)),
            ("keep parser.rs free of I/O", "src/parser.rs", Some(Naming::Name)),
            ("NEVER edit `gen/` by hand", "web/gen/a.ts", Some(Naming::Folder)),
            ("generated: src/gen/**", "src/gen/a.ts", Some(Naming::Folder)),
            ("parser.rs and src/parser.rs", "src/parser.rs", Some(Naming::Path)),
            ("keep the parser small", "src/parser.rs", None),
            ("use version 1.2.3 and/or less", "src/parser.rs", None),
            ("see https://example.com/parser.rs", "parser.rs", None),
            ("my_parser.rs", "src/parser.rs", None),
        ] {
            assert_eq!(naming(text, path), expected, "{text}");
        }
    }

    #[test]
    fn what_a_command_takes_back_is_known() {
        let paths = |command: &str| {
            taken_back(command).into_iter().filter_map(|sweep| sweep.paths).flatten().collect::<Vec<_>>()
        };
        assert_eq!(paths("git checkout -- src/a.rs && cargo test"), ["src/a.rs"]);
        assert_eq!(paths("git restore a.rs b.rs"), ["a.rs", "b.rs"]);
        for other in ["git checkout main", "git stash", "git reset --hard", "git restore --staged a.rs"] {
            assert_eq!(paths(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn an_abandoned_change_is_told_in_the_agents_words() {
        let now = Timestamp::EPOCH.plus(Duration::from_secs(3 * 86_400));
        let said = "Done. A hand-written lexer in parser.rs was slower, so I went back to the table. Bye.";
        let told = abandoned("src/parser.rs", said, Timestamp::EPOCH, now).unwrap();
        assert_eq!(
            told,
            "tried:src/parser.rs was changed and taken back 3d ago. The agent said then: \"A hand-written lexer in \
             parser.rs was slower, so I went back to the table.\""
        );
        assert!(ours::is_ours(&told) && tokens::estimate(&told) <= TOKENS_MAX);
        assert_eq!(abandoned("src/parser.rs", "Done.", Timestamp::EPOCH, now), None, "it says nothing about the file");
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let long = "word ".repeat(80);
        let lines = vec!["rule:short", long.as_str(), "dec:short too"];
        assert_eq!(fitting(lines, |line| line), ["rule:short", "dec:short too"]);
    }
}
