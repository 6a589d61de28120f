//! The instructions that agents read by themselves: `CLAUDE.md`, `AGENTS.md`, an agent's own notes. They are read so that
//! a brief does not repeat them, and never written.
//!
//! Everything is bounded: a guide is a few pages. What cannot be read is skipped.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use cerberus_agents::install::{self, Profile, Surroundings};
use cerberus_os::outside;
use cerberus_os::platform::USER_FOLDER;

use crate::project::identity::Located;
use crate::project::notes;

/// Agents themselves cut longer guides.
const GUIDE_BYTES_MAX: u64 = 64 * 1024;
const GUIDES_MAX: usize = 24;
/// How deep `@path` references are followed.
const NAMED_DEPTH_MAX: usize = 4;

/// The folders that contain the user's own guides.
#[derive(Clone, Debug, Default)]
pub struct UserFolders {
    home: Option<PathBuf>,
    /// The folder of each agent with the user's own settings.
    agents: Vec<(&'static Profile, PathBuf)>,
}

impl UserFolders {
    pub fn of(surroundings: &Surroundings) -> UserFolders {
        let dir = |profile: &'static Profile| Some((profile, (profile.dir)(surroundings)?));
        UserFolders { home: surroundings.folder(USER_FOLDER), agents: install::all().filter_map(dir).collect() }
    }
}

/// An existing guide.
#[derive(Debug)]
pub struct Guide {
    /// Its name as the user knows it.
    pub name: String,
    pub text: String,
}

/// Every guide that an agent in this folder sees, and the notes of those agents that `has_notes` says.
pub fn read(located: &Located, folders: &UserFolders, has_notes: impl Fn(&Profile) -> bool) -> Vec<Guide> {
    let mut reader = GuideReader { seen: HashSet::new(), guides: Vec::new(), home: folders.home.clone() };
    for folder in [&located.root, &located.cwd] {
        let names = install::all().flat_map(|profile| profile.guides);
        names.for_each(|name| reader.add(&folder.join(name), 0));
    }
    for (profile, dir) in &folders.agents {
        profile.user_guides.iter().for_each(|name| reader.add(&dir.join(name), 0));
        if has_notes(profile)
            && let Ok(notes) = notes::read(profile, dir, located)
        {
            reader.guides.push(Guide { name: format!("{}'s memory", profile.agent.name()), text: notes });
        }
    }
    reader.guides
}

struct GuideReader {
    seen: HashSet<PathBuf>,
    guides: Vec<Guide>,
    home: Option<PathBuf>,
}

impl GuideReader {
    fn add(&mut self, path: &Path, depth: usize) {
        let Some(text) = self.take(path) else { return };
        let named: Vec<PathBuf> = if depth < NAMED_DEPTH_MAX { self.named_in(&text, path) } else { Vec::new() };
        self.guides.push(Guide { name: guide_name(path), text });
        named.iter().for_each(|named| self.add(named, depth + 1));
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

    /// The files that a guide includes with `@path`.
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
    use std::fs;

    use super::*;
    use crate::project::identity;

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
        let own =
            claude.join("projects").join(project.to_string_lossy().replace(['/', '.'], "-")).join("memory/MEMORY.md");
        write(own, &"line\n".repeat(300));
        write(user.join(".gemini/GEMINI.md"), "Be kind.");
        let variable = |name: &str| (name == "HOME").then(|| user.clone().into_os_string());
        let folders = UserFolders::of(&Surroundings::new(&variable, project.clone()));
        let guides = read(&identity::locate(&project), &folders, |_| true);
        let names: Vec<&str> = guides.iter().map(|guide| guide.name.as_str()).collect();
        assert_eq!(names, ["CLAUDE.md", "style.md", "more.md", "AGENTS.md", "claude-code's memory", "GEMINI.md"]);
        assert_eq!(guides[4].text.lines().count(), 200);
        assert_eq!(read(&identity::locate(&project), &folders, |_| false).len(), guides.len() - 1);
    }
}
