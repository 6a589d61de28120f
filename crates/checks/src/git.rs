//! What a git command does to branches, repositories and messages.

use cerberus_record::shell::{SimpleCommand, joined};

use super::args::{Args, Opt, base};
use super::harmless;

/// A git command: its sub-command and arguments.
#[derive(Debug)]
pub struct GitCommand<'a> {
    pub args: Args<'a>,
}

/// The message of a commit.
#[derive(Debug, PartialEq, Eq)]
pub struct CommitMessage {
    /// The lines that are known.
    pub text: String,
    /// Whether more follows, which is not known: records leave out the middle of long commands.
    pub is_cut: bool,
}

impl CommitMessage {
    /// Reads up to the first line that stands for what was left out; `None` if nothing is before it.
    fn read(whole: &str) -> Option<CommitMessage> {
        let known: Vec<&str> = whole.lines().take_while(|line| line.trim() != "…").collect();
        let is_cut = known.len() < whole.lines().count();
        if is_cut && known.iter().all(|line| line.trim().is_empty()) {
            return None;
        }
        Some(CommitMessage { text: known.into_iter().flat_map(|line| [line, "\n"]).collect(), is_cut })
    }

    /// The first line, and whether it is whole.
    pub fn subject(&self) -> Option<(&str, bool)> {
        let mut lines = self.text.lines().skip_while(|line| line.trim().is_empty());
        let subject = lines.next()?.trim();
        Some((subject, !self.is_cut || lines.next().is_some()))
    }
}

impl<'a> GitCommand<'a> {
    pub fn read(words: &[&'a str]) -> Option<GitCommand<'a>> {
        (base(words.first()?) == "git").then(|| GitCommand { args: Args::read(words) })
    }

    pub fn sub(&self) -> &'a str {
        self.args.sub()
    }

    /// A command that changes nothing.
    pub fn is_dry(&self) -> bool {
        harmless::is_dry("git", &self.args)
    }

    /// Whether the repository's own hooks are skipped.
    pub fn skips_hooks(&self) -> bool {
        self.args.has("no-verify", if self.sub() == "commit" { Some('n') } else { None })
    }

    /// The branch that is checked out after this command, if it changes that.
    pub fn switches_to(&self) -> Option<&'a str> {
        let new = match self.sub() {
            "checkout" => ["b", "B", "orphan"],
            "switch" => ["c", "C", "orphan"],
            _ => return None,
        };
        let made = new.iter().find_map(|name| self.args.option(name, name.chars().next().filter(|_| name.len() == 1)));
        if let Some(made) = made {
            return made.value;
        }
        match self.args.words.as_slice() {
            // `checkout` also restores files.
            [_, (_, name)] if self.sub() == "checkout" && (self.args.is_divided || is_file(name)) => None,
            [_, (_, name)] if name.contains('$') => None,
            // `--track origin/topic` makes `topic`.
            [_, (_, name)] if self.args.has("track", Some('t')) => {
                Some(name.split_once('/').map_or(*name, |(_, own)| own))
            }
            [_, (_, name)] => Some(name),
            _ => None,
        }
    }

    /// The folder of a new worktree, and its branch.
    pub fn makes_worktree(&self, folder: &str) -> Option<(String, Option<&'a str>)> {
        let words: Vec<&str> = self.args.words.iter().map(|(_, word)| *word).collect();
        let ["worktree", "add", path, rest @ ..] = words.as_slice() else { return None };
        let named = ['b', 'B'].iter().find_map(|letter| self.args.option("", Some(*letter))?.value);
        let own = path.trim_end_matches('/').rsplit('/').next();
        let branch = named.or(rest.first().copied()).or(own).filter(|_| !self.args.has("detach", Some('d')));
        Some((joined(folder, path), branch.filter(|branch| !branch.contains('$'))))
    }

    /// The folder that becomes a repository of its own.
    pub fn makes_repository(&self, folder: &str) -> Option<String> {
        let given = self.args.words.get(if self.sub() == "init" { 1 } else { 2 }).map(|(_, word)| *word);
        match self.sub() {
            "init" => Some(joined(folder, given.unwrap_or("."))),
            "clone" => {
                let url = self.args.words.get(1)?.1.trim_end_matches('/');
                let name = url.rsplit(['/', ':']).next().unwrap_or(url);
                Some(joined(folder, given.unwrap_or(name.strip_suffix(".git").unwrap_or(name))))
            }
            _ => None,
        }
    }

    /// The branches that a push changes. `current` is checked out.
    pub fn pushes_to(&self, current: Option<&str>) -> Vec<String> {
        if self.sub() != "push" || self.is_dry() {
            return Vec::new();
        }
        let named: Vec<&str> = self.args.words.iter().skip(2).map(|(_, word)| *word).collect();
        if named.is_empty() {
            let is_other = self.args.has("tags", None) || self.args.has("all", None) || self.args.has("mirror", None);
            return current.filter(|_| !is_other).map(str::to_string).into_iter().collect();
        }
        let target = |word: &str| {
            let word = word.trim_start_matches('+');
            let to = word.split_once(':').map_or(word, |(_, to)| to);
            let to = to.strip_prefix("refs/heads/").unwrap_or(to);
            if to == "HEAD" { current.map(str::to_string) } else { Some(to.to_string()) }
        };
        named.into_iter().filter_map(target).filter(|name| !name.contains('$')).collect()
    }

    /// The message of a commit; `None` if it is not in the line.
    pub fn message(&self, command: &SimpleCommand, shift: usize, line: &str) -> Option<CommitMessage> {
        if self.sub() != "commit" {
            return None;
        }
        let given = self.args.values("message", Some('m'));
        let texts: Option<Vec<String>> = given.iter().map(|option| written(option, command, shift, line)).collect();
        let texts = texts.filter(|texts| !texts.is_empty())?;
        CommitMessage::read(&texts.join("\n\n"))
    }
}

/// The value of `-m`. A substitution with a here-document is read from the line itself.
fn written(option: &Opt, command: &SimpleCommand, shift: usize, line: &str) -> Option<String> {
    let value = option.value?;
    if !value.contains('$') {
        return Some(value.to_string());
    }
    let index = option.value_index.unwrap_or(option.index) + shift;
    let raw = line.get(command.ranges.get(index)?.clone())?;
    let (_, document) = raw.split_once("<<")?;
    let (head, body) = document.split_once('\n')?;
    let delimiter = head.trim_start_matches('-').split_whitespace().next()?.trim_matches(['\'', '"', '\\']);
    let lines: Vec<&str> = body.lines().take_while(|line| line.trim() != delimiter).collect();
    Some(lines.join("\n"))
}

/// Whether a word is a file rather than a branch: `.`, `src/`, `a.rs`, but `release/1.2` is a branch.
fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_ending = name.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=5).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic())
    });
    name.is_empty() || matches!(name, "." | "..") || has_ending
}
