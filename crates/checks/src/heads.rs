//! What is checked out where, as far as the commands of a session say.
//!
//! The branch in a record is often older than the command: agents write it once per turn.

use std::borrow::Cow;

use cerberus_record::event::{Location, ToolUse};
use cerberus_record::path;
use cerberus_record::shell::{self, CommandLevel, Join, joined};

use super::git::GitCommand;
use super::stages::stages;

/// More folders than a session works in.
const HEADS_MAX: usize = 64;

/// Folders whose branch the session changed, or that it made a worktree. The last one counts.
#[derive(Debug, Default)]
pub struct Heads(Vec<WorktreeHead>);

#[derive(Debug)]
pub struct WorktreeHead {
    /// Absolute.
    pub folder: String,
    /// `None` if it is unknown.
    pub branch: Option<String>,
    pub is_worktree: bool,
    /// The branch of the record at that time. Once records have another, they know better.
    recorded: Option<String>,
}

impl Heads {
    /// Takes what a command did to branches.
    pub fn see(&mut self, used: &ToolUse, location: &Location) {
        self.0.retain(|head| head.is_current(location));
        let Some(line) = used.command.as_deref().filter(|_| used.outcome.may_be_done()) else { return };
        if !["checkout", "switch", "worktree"].iter().any(|word| line.contains(word)) {
            return;
        }
        for command in shell::commands(line) {
            // Of two ways to the same end, the first is likelier.
            if command.level == CommandLevel::Remote || command.join == Join::Or {
                continue;
            }
            let folder = joined(used.folder.as_deref().unwrap_or_default(), &command.folder);
            for words in stages(&command) {
                if let ["gh", "pr", "checkout", ..] = words[..] {
                    self.set(location, &folder, None, false);
                }
                let Some(git) = GitCommand::read(&words) else { continue };
                if let Some(branch) = git.switches_to() {
                    self.set(location, &folder, Some(branch), false);
                }
                if let Some((made, branch)) = git.makes_worktree(&folder) {
                    match self.is_own(location, &folder) {
                        true => self.set(location, &made, branch, true),
                        // What was there before is not there any more.
                        false => self.remove(location, &made),
                    }
                }
            }
        }
    }

    /// Whether a folder is in the session's project or in a worktree of it.
    fn is_own(&self, location: &Location, folder: &str) -> bool {
        let (Some(folder), Some(root)) = (absolute(&location.cwd, folder), absolute(&location.root, "")) else {
            return false;
        };
        below(&root, &folder).is_some() || self.at(&folder, location).is_some_and(|head| head.is_worktree)
    }

    fn remove(&mut self, location: &Location, folder: &str) {
        let folder = absolute(&location.cwd, folder);
        self.0.retain(|head| Some(&head.folder) != folder.as_ref());
    }

    fn set(&mut self, location: &Location, folder: &str, branch: Option<&str>, is_worktree: bool) {
        let Some(mut folder) = absolute(&location.cwd, folder) else { return };
        let mut is_worktree = is_worktree;
        if !is_worktree {
            // Every folder of a repository has the same branch.
            let root = absolute(&location.root, "").filter(|root| below(root, &folder).is_some());
            let known = self.at(&folder, location).map(|head| (head.folder.clone(), head.is_worktree));
            let is_apart = root.as_deref().and_then(|root| below(root, &folder)).is_some_and(path::is_in_worktree);
            match (known, root) {
                (Some((known, true)), _) => (folder, is_worktree) = (known, true),
                (_, Some(root)) if !is_apart => folder = root,
                _ => {}
            }
        }
        self.0.retain(|head| head.folder != folder);
        let recorded = location.branch.as_ref().map(|branch| branch.to_string());
        self.0.push(WorktreeHead { folder, branch: branch.map(str::to_string), is_worktree, recorded });
        if self.0.len() > HEADS_MAX {
            self.0.remove(0);
        }
    }

    /// What is known about the innermost folder around this one.
    pub fn at(&self, folder: &str, location: &Location) -> Option<&WorktreeHead> {
        let is_around = |head: &&WorktreeHead| head.is_current(location) && below(&head.folder, folder).is_some();
        self.0.iter().filter(is_around).max_by_key(|head| head.folder.len())
    }
}

impl WorktreeHead {
    fn is_current(&self, location: &Location) -> bool {
        self.is_worktree || self.recorded.as_deref() == location.branch.as_deref()
    }
}

/// The rest of a path below a folder; empty for the folder itself.
pub fn below<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

/// A folder of a line as an absolute path without `.` and `..`; `None` if it is unknown. `~` is the home folder that
/// `cwd` is in.
pub fn absolute(cwd: &str, folder: &str) -> Option<String> {
    if folder.contains('$') {
        return None;
    }
    let cwd = path::in_unix_form(cwd);
    let folder = match folder.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Cow::Owned(format!("{}{rest}", home_above(&cwd)?)),
        Some(_) => return None,
        None => path::in_unix_form(folder),
    };
    let whole = if folder.starts_with('/') { folder.to_string() } else { joined(&cwd, &folder) };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// The home folder that a folder is in, by its usual places.
fn home_above(folder: &str) -> Option<String> {
    let parts: Vec<&str> = folder.split('/').skip(1).collect();
    let length = match parts[..] {
        ["root", ..] => 1,
        ["home" | "Users", _, ..] => 2,
        // `C:\Users\ann`
        [drive, "Users", _, ..] if drive.len() == 1 => 3,
        _ => return None,
    };
    Some(format!("/{}", parts[..length].join("/")))
}
