//! Whether a command that a rule needs was run: by itself, by a task of the project, or by another way to run the same
//! tests.

use std::collections::HashSet;

use cerberus_record::path;
use cerberus_record::runs::{Toolchain, tested_by};
use cerberus_record::shell::{self, SimpleCommand, joined};

use super::pattern::Pattern;
use super::stages::stages;
use super::tasks;
use crate::scene::{Past, Scene};

/// Tasks may start tasks; more than these are not followed.
const TASKS_MAX: usize = 32;

/// Looks for runs of one command.
pub struct RunSearch<'a> {
    need: &'a Pattern,
    scene: &'a dyn Scene,
    /// Tasks that were looked into, with their folders.
    seen: HashSet<(String, String)>,
}

impl<'a> RunSearch<'a> {
    pub fn new(need: &'a Pattern, scene: &'a dyn Scene) -> RunSearch<'a> {
        RunSearch { need, scene, seen: HashSet::new() }
    }

    /// Whether the command was run after the last edit; also if nothing was edited.
    pub fn are_in_past(&mut self, past: &[Past]) -> bool {
        let Some(edited) = past.iter().rposition(is_relevant_edit) else { return true };
        let tests: Option<Toolchain> = tested_by(self.need.text());
        past[edited..].iter().any(|event| match event {
            Past::Run(line) => self.are_in_line(line, ""),
            Past::Passed(toolchain) => tests == Some(*toolchain),
            _ => false,
        })
    }

    /// Whether a line runs the command. `from` is the folder in which it is run.
    pub fn are_in_line(&mut self, line: &str, from: &str) -> bool {
        shell::commands(line).iter().any(|command| self.are_in(command, from))
    }

    pub fn are_in(&mut self, command: &SimpleCommand, from: &str) -> bool {
        if command.level == shell::CommandLevel::Remote {
            return false;
        }
        let folder = joined(from, &command.folder);
        let need = self.need;
        let is_it = |words: &[&str]| need.run_by(words).is_some();
        stages(command).iter().any(|words| {
            is_it(words) || tasks::short(words).is_some_and(|short| is_it(&short)) || self.are_in_task(words, &folder)
        })
    }

    fn are_in_task(&mut self, words: &[&str], folder: &str) -> bool {
        let is_new = |runs: &mut Self| runs.seen.insert((folder.to_string(), words.join(" ")));
        let Some(script) = tasks::script(words, &|name| self.scene.file(folder, name)) else { return false };
        self.seen.len() < TASKS_MAX && is_new(self) && self.are_in_line(&script, folder)
    }
}

/// Whether this is an edit of the project that may need runs: prose does not, and neither do git's own files.
pub fn is_relevant_edit(event: &Past) -> bool {
    let Past::Edit(path) = event else { return false };
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_outside = path::is_outside(path) || path.starts_with(".git/");
    !is_outside && !matches!(ending.to_ascii_lowercase().as_str(), "md" | "txt" | "rst" | "adoc")
}
