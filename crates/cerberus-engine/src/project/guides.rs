//! The instructions that agents read by themselves: `CLAUDE.md`, `AGENTS.md`, Claude's own memory. Read here so that a
//! brief does not repeat them; never written.
//!
//! Bounded on every side: a guide is a few pages. What cannot be read says nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::os::outside;
use crate::project::identity::Located;

/// Agents cut longer ones themselves.
const GUIDE_BYTES_MAX: u64 = 64 * 1024;
const GUIDES_MAX: usize = 24;
/// How deep a guide may name others with `@path`.
const NAMED_DEPTH_MAX: usize = 4;
/// Claude loads this much of its own memory.
const OWN_MEMORY_LINES_MAX: usize = 200;

const NAMES: [&str; 5] = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md"];

/// Where the user's own guides are.
#[derive(Clone, Debug, Default)]
pub struct UserFolders {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Where Claude Code keeps its settings.
    pub claude: Option<PathBuf>,
}

/// One guide that exists.
#[derive(Debug)]
pub struct Guide {
    /// Its name as the user knows it.
    pub name: String,
    pub text: String,
}

/// Every guide that an agent at work in this folder sees.
pub fn read(located: &Located, folders: &UserFolders) -> Vec<Guide> {
    let mut reading = Reading { seen: HashSet::new(), guides: Vec::new(), home: folders.home.clone() };
    for folder in [&located.root, &located.cwd] {
        NAMES.iter().for_each(|name| reading.add(&folder.join(name), 0));
    }
    if let Some(claude) = &folders.claude {
        reading.add(&claude.join("CLAUDE.md"), 0);
        let own = claude.join("projects").join(claude_name(&located.root)).join("memory").join("MEMORY.md");
        reading.add_beginning(&own, OWN_MEMORY_LINES_MAX);
    }
    if let Some(home) = &folders.home {
        reading.add(&home.join(".codex").join("AGENTS.md"), 0);
        reading.add(&home.join(".gemini").join("GEMINI.md"), 0);
    }
    reading.guides
}

/// What Claude Code calls a project's folder.
pub fn claude_name(root: &Path) -> String {
    root.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

struct Reading {
    seen: HashSet<PathBuf>,
    guides: Vec<Guide>,
    home: Option<PathBuf>,
}

impl Reading {
    fn add(&mut self, path: &Path, depth: usize) {
        let Some(text) = self.take(path) else { return };
        let named: Vec<PathBuf> = if depth < NAMED_DEPTH_MAX { self.named_in(&text, path) } else { Vec::new() };
        self.guides.push(Guide { name: guide_name(path), text });
        named.iter().for_each(|named| self.add(named, depth + 1));
    }

    fn add_beginning(&mut self, path: &Path, lines_max: usize) {
        if let Some(text) = self.take(path) {
            let text = text.lines().take(lines_max).collect::<Vec<_>>().join("\n");
            self.guides.push(Guide { name: guide_name(path), text });
        }
    }

    /// The text of a guide that was not read yet.
    fn take(&mut self, path: &Path) -> Option<String> {
        if self.guides.len() >= GUIDES_MAX {
            return None;
        }
        let bytes = outside::beginning(path, GUIDE_BYTES_MAX).ok()?;
        if !self.seen.insert(path.canonicalize().ok()?) {
            return None;
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The files that a guide takes in with `@path`.
    fn named_in(&self, text: &str, path: &Path) -> Vec<PathBuf> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let named = text.split_whitespace().filter_map(|word| word.strip_prefix('@')).filter(|name| !name.is_empty());
        let resolve = |name: &str| match (name.strip_prefix("~/"), &self.home) {
            (Some(inside), Some(home)) => home.join(inside),
            _ => folder.join(name),
        };
        named.map(|name| resolve(name.trim_end_matches(['.', ',', ')', ';']))).take(GUIDES_MAX).collect()
    }
}

fn guide_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::identity;
    use std::fs;

    #[test]
    fn finds_what_agents_read_and_what_that_names() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (project, user) = (root.join("my.project"), root.join("user"));
        let write = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(project.join("CLAUDE.md"), "Use tabs. See @docs/style.md, and @CLAUDE.md itself.");
        write(project.join("docs/style.md"), "Be terse. @~/more.md");
        write(user.join("more.md"), "More.");
        write(project.join("AGENTS.md"), "Run make.");
        let claude = user.join(".claude");
        let own = claude.join("projects").join(claude_name(&project)).join("memory/MEMORY.md");
        write(own, &"line\n".repeat(300));
        let folders = UserFolders { home: Some(user), claude: Some(claude) };
        let guides = read(&identity::locate(&project), &folders);
        let names: Vec<&str> = guides.iter().map(|guide| guide.name.as_str()).collect();
        assert_eq!(names, ["CLAUDE.md", "style.md", "more.md", "AGENTS.md", "MEMORY.md"]);
        assert_eq!(guides[4].text.lines().count(), 200);
    }
}
