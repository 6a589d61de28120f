//! Whether a tool use breaks a rule.
//!
//! Pure, and in doubt it does not: an unknown folder, an unknown message, a command for another machine break nothing.

use std::collections::HashMap;

use cerberus_agents::action::{Action, WrittenFile};
use cerberus_record::shell::{self, Join, SimpleCommand, joined};

use super::args::{Args, base};
use super::git::GitCommand;
use super::harmless;
use super::paths::touched;
use super::pattern::{MatchedWords, Pattern};
use super::runs::{RunSearch, is_relevant_edit};
use super::stages::stages;
use super::{Act, Check, CheckLevel, PathGlob, Rule};
use crate::scene::{Past, Scene, SceneFolder};

/// A rule that a tool use breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The index of the check.
    pub check: usize,
    /// What broke it: a command, a file, a branch.
    pub what: String,
    /// What to do instead, for the model.
    pub advice: Option<String>,
}

/// Filters that usually read a pipe; there, they do not search or print files.
const FILTERS: [&str; 9] = ["grep", "egrep", "sed", "awk", "head", "tail", "cut", "sort", "cat"];

/// Commands of the shell itself, which need no prefix.
const BUILTINS: [&str; 26] = [
    "cd", "echo", "export", "set", "unset", "source", ".", "true", "false", "test", "[", "[[", "exit", "return",
    "wait", "for", "done", "fi", "case", "esac", "}", "read", "printf", "pushd", "popd", "sleep",
];

/// The most severe hit of a tool use; of several, the first.
pub fn decide(checks: &[Check], action: &Action, scene: &dyn Scene) -> Option<BrokenRule> {
    let is_on = |check: &&(usize, &Check)| check.1.level != CheckLevel::Tell;
    let on: Vec<(usize, &Check)> = checks.iter().enumerate().filter(|one| is_on(&one)).collect();
    let hits = on.iter().filter_map(|(index, check)| {
        let (what, advice) = broken_by(check, action, scene)?;
        Some(BrokenRule { check: *index, what, advice })
    });
    hits.min_by_key(|hit| std::cmp::Reverse(checks[hit.check].level))
}

/// What breaks this one check, whatever its level, and what to do instead.
pub fn broken_by(check: &Check, action: &Action, scene: &dyn Scene) -> Option<(String, Option<String>)> {
    match action {
        Action::Write(files) => files.iter().find_map(|file| by_file(check, file, scene)),
        Action::Shell { line, folder } => {
            let mut reading = LineReading {
                check,
                scene,
                line,
                from: folder.as_deref().unwrap_or_default(),
                commands: shell::commands(line),
                branches: HashMap::new(),
                new_repositories: Vec::new(),
            };
            (0..reading.commands.len()).find_map(|at| reading.at(at))
        }
    }
}

/// What breaks a `stop` rule at the end of a turn.
pub fn decide_stop(checks: &[Check], scene: &dyn Scene) -> Option<BrokenRule> {
    let past = scene.past();
    let turn = past.iter().rposition(|event| *event == Past::Prompt).map_or(0, |at| at + 1);
    let turn = &past[turn..];
    if turn.contains(&Past::Interrupted) || !turn.iter().any(is_relevant_edit) {
        return None;
    }
    let here = scene.place("")?;
    checks.iter().enumerate().find_map(|(check, known)| {
        let Rule::Stop { need } = &known.rule else { return None };
        if known.level == CheckLevel::Tell || !applies(known, &here) {
            return None;
        }
        let missing = need.iter().find(|need| !RunSearch::new(need, scene).are_in_past(&past))?;
        let advice = Some(format!("Run first: {}", missing.text()));
        Some(BrokenRule { check, what: "the end of the turn".to_string(), advice })
    })
}

fn applies(check: &Check, place: &SceneFolder) -> bool {
    match &check.projects {
        Some(projects) => projects.contains(&place.project),
        None => !place.is_scratch,
    }
}

/// A file and its place: relative to the top of its project.
fn in_project(check: &Check, scene: &dyn Scene, path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = if folder.is_empty() && path.starts_with('/') { "/" } else { folder };
    let place = scene.place(folder)?;
    applies(check, &place).then(|| joined(&place.folder, name))
}

fn by_file(check: &Check, file: &WrittenFile, scene: &dyn Scene) -> Option<(String, Option<String>)> {
    match &check.rule {
        Rule::Path { glob, only } => {
            let act = if file.is_deleted { Act::Delete } else { Act::Edit };
            let path = in_project(check, scene, &file.path)?;
            (is_meant(*only, act) && glob.glob.matches(&path)).then_some((path, None))
        }
        Rule::Text { literal, files } => {
            if !file.text.contains(literal.as_str()) {
                return None;
            }
            let path = in_project(check, scene, &file.path)?;
            let is_there = files.as_ref().is_none_or(|glob| glob.glob.matches(&path));
            is_there.then(|| (format!("{literal:?} in {path}"), None))
        }
        _ => None,
    }
}

/// A protected file is neither edited nor deleted; committing it is a rule of its own.
fn is_meant(only: Option<Act>, act: Act) -> bool {
    match only {
        Some(only) => only == act,
        None => act != Act::Commit,
    }
}

impl PathGlob {
    /// Whether deleting this path deletes something that the pattern covers.
    fn is_below(&self, path: &str) -> bool {
        let fixed = self.text.trim_start_matches("./").trim_start_matches('/');
        let fixed = &fixed[..fixed.find(['*', '?', '[']).unwrap_or(fixed.len())];
        fixed.strip_prefix(path).is_some_and(|rest| !path.is_empty() && rest.starts_with('/'))
    }
}

/// A line while it is read, command by command.
struct LineReading<'a> {
    check: &'a Check,
    scene: &'a dyn Scene,
    line: &'a str,
    /// The folder that the agent named.
    from: &'a str,
    commands: Vec<SimpleCommand>,
    /// Branches that the line itself checked out, by folder.
    branches: HashMap<String, String>,
    /// Folders that the line itself made a repository.
    new_repositories: Vec<String>,
}

type Broken = Option<(String, Option<String>)>;

impl LineReading<'_> {
    fn at(&mut self, at: usize) -> Broken {
        let command = self.commands[at].clone();
        if command.level == shell::CommandLevel::Remote {
            return None;
        }
        let stages = stages(&command);
        let found = if self.is_new(&command.folder) { None } else { self.broken(&command, at, &stages) };
        for git in stages.iter().filter_map(|words| GitCommand::read(words)) {
            if let Some(branch) = git.switches_to() {
                self.branches.insert(command.folder.clone(), branch.to_string());
            }
            self.new_repositories.extend(git.makes_repository(&command.folder));
        }
        found
    }

    /// A repository that the line itself makes is not the project.
    fn is_new(&self, folder: &str) -> bool {
        let is_inside = |made: &String| {
            folder.strip_prefix(made.as_str()).is_some_and(|rest| matches!(rest.chars().next(), None | Some('/')))
        };
        self.new_repositories.iter().any(is_inside)
    }

    /// The place of a folder of the line, if the check applies there.
    fn place(&self, folder: &str) -> Option<SceneFolder> {
        let folder = joined(self.from, folder);
        let is_top = folder == "$" && self.line.contains("rev-parse --show-toplevel");
        if folder.contains('$') && !is_top {
            return None;
        }
        let place = self.scene.place(if is_top { "" } else { &folder })?;
        applies(self.check, &place).then_some(place)
    }

    fn broken(&self, command: &SimpleCommand, at: usize, stages: &[Vec<&str>]) -> Broken {
        match &self.check.rule {
            Rule::Command { forbidden, instead } => {
                let is_filter = |pattern: &Pattern| {
                    command.join == Join::Pipe && pattern.is_bare() && FILTERS.contains(&pattern.program())
                };
                let patterns: Vec<&Pattern> = forbidden.iter().filter(|pattern| !is_filter(pattern)).collect();
                let mut met = stages.iter().map(|words| (words, forbidden_in(words, &patterns, instead.is_some())));
                let (words, met) = met.find_map(|(words, met)| Some((words, met?)))?;
                self.place(&command.folder)?;
                Some((said(words), instead.as_ref().map(|instead| replaced(words, &met.indexes, instead))))
            }
            Rule::Prefix { prefix, on } => self.without_prefix(command, stages, prefix, on),
            Rule::Path { glob, only } => self.path(command, stages, glob, *only),
            Rule::Branch { name, only } => self.branch(command, stages, name, *only),
            Rule::Order { before, need } => self.out_of_order(command, at, stages, before, need),
            Rule::Commit { .. } => self.message(command, stages),
            Rule::Stop { .. } | Rule::Text { .. } => None,
        }
    }

    fn without_prefix(
        &self,
        command: &SimpleCommand,
        stages: &[Vec<&str>],
        prefix: &[String],
        on: &[Pattern],
    ) -> Broken {
        let has_prefix =
            |words: &Vec<&str>| prefix.iter().map(String::as_str).eq(words.iter().copied().take(prefix.len()));
        if stages.iter().any(has_prefix) {
            return None;
        }
        let words = match on.is_empty() {
            false => stages.iter().find(|words| on.iter().any(|pattern| pattern.met_by(words).is_some()))?,
            true => {
                let first = stages.first()?;
                let is_main = command.level == shell::CommandLevel::Line && command.join != Join::Pipe;
                if !is_main || BUILTINS.contains(&first[0]) || first[0].contains('$') {
                    return None;
                }
                first
            }
        };
        self.place(&command.folder)?;
        Some((said(words), Some(format!("Run: {} {}", prefix.join(" "), said(words)))))
    }

    fn path(&self, command: &SimpleCommand, stages: &[Vec<&str>], glob: &PathGlob, only: Option<Act>) -> Broken {
        touched(command, stages).into_iter().find_map(|(path, act)| {
            if !is_meant(only, act) {
                return None;
            }
            let path = in_project(self.check, self.scene, &joined(self.from, &path))?;
            let is_covered = glob.glob.matches(&path) || act == Act::Delete && glob.is_below(&path);
            is_covered.then_some((path, None))
        })
    }

    fn branch(&self, command: &SimpleCommand, stages: &[Vec<&str>], name: &str, only: Option<Act>) -> Broken {
        stages.iter().filter_map(|words| GitCommand::read(words)).find_map(|git| {
            if !matches!(git.sub(), "commit" | "push") || git.is_dry() {
                return None;
            }
            let place = self.place(&command.folder)?;
            let current = self.branches.get(&command.folder).or(place.branch.as_ref());
            let is_commit = git.sub() == "commit" && current.is_some_and(|current| current == name);
            let is_push = git.pushes_to(current.map(String::as_str)).iter().any(|to| to == name);
            let is_hit = is_commit && only != Some(Act::Push) || is_push && only != Some(Act::Commit);
            is_hit.then(|| (format!("git {} on {name}", git.sub()), Some(format!("Use another branch than {name}"))))
        })
    }

    fn out_of_order(
        &self,
        command: &SimpleCommand,
        at: usize,
        stages: &[Vec<&str>],
        before: &Pattern,
        need: &[Pattern],
    ) -> Broken {
        let words = stages.iter().find(|words| before.run_by(words).is_some())?;
        let git = GitCommand::read(words);
        self.place(&command.folder)?;
        let hook = git.filter(|git| !git.skips_hooks()).and_then(|git| {
            let name = match git.sub() {
                "commit" => "pre-commit",
                "push" => "pre-push",
                _ => return None,
            };
            self.scene.git_hook(name)
        });
        let past = self.scene.past();
        let is_done = |need: &&Pattern| {
            let mut runs = RunSearch::new(need, self.scene);
            self.commands[..at].iter().any(|earlier| runs.are_in(earlier, self.from))
                || hook.as_deref().is_some_and(|hook| runs.are_in_line(hook, ""))
                || runs.are_in_past(&past)
        };
        let missing: Vec<&str> = need.iter().filter(|need| !is_done(need)).map(Pattern::text).collect();
        (!missing.is_empty()).then(|| (said(words), Some(format!("Run first: {}", missing.join(", then ")))))
    }

    fn message(&self, command: &SimpleCommand, stages: &[Vec<&str>]) -> Broken {
        let Rule::Commit { forbidden, starts, chars_max } = &self.check.rule else { return None };
        let words = stages.iter().find(|words| GitCommand::read(words).is_some_and(|git| git.sub() == "commit"))?;
        let git = GitCommand::read(words).filter(|git| !git.is_dry())?;
        let shift = command.words.len() - words.len();
        let message = git.message(command, shift, self.line)?;
        let (subject, is_whole) = message.subject()?;
        let lower = message.text.to_lowercase();
        let (what, advice) = if let Some(text) = forbidden.iter().find(|text| lower.contains(&text.to_lowercase())) {
            (format!("The commit message contains {text:?}"), format!("Leave {text:?} out of the message"))
        } else if !starts.is_empty() && !starts.iter().any(|start| begins_with(subject, is_whole, start)) {
            let wanted = starts.join(", ");
            (format!("The commit message is {subject:?}"), format!("Begin the message with one of: {wanted}"))
        } else {
            let (chars, max) = (subject.chars().count(), (*chars_max)?);
            if chars <= max {
                return None;
            }
            (format!("The subject has {chars} characters"), format!("Use at most {max} characters in the first line"))
        };
        self.place(&command.folder)?;
        Some((what, Some(advice)))
    }
}

/// Which words of a command meet one of the patterns, if it does what the pattern is about.
fn forbidden_in(words: &[&str], patterns: &[&Pattern], has_other: bool) -> Option<MatchedWords> {
    patterns.iter().find_map(|pattern| {
        let is_question = has_other && pattern.is_bare();
        let is_question = is_question && harmless::asks_what_is_installed(base(words.first()?), &Args::read(words));
        pattern.run_by(words).filter(|_| !is_question)
    })
}

/// Whether a subject begins with this text, or may if it is not whole. `#` stands for digits; what follows is not part of
/// a word.
fn begins_with(subject: &str, is_whole: bool, start: &str) -> bool {
    let mut rest = subject;
    for c in start.chars() {
        if rest.is_empty() && !is_whole {
            return true;
        }
        let after = match c {
            '#' => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
            c => rest.strip_prefix(c).unwrap_or(rest),
        };
        if after.len() == rest.len() {
            return false;
        }
        rest = after;
    }
    let ends_in_word = start.ends_with(|c: char| c.is_alphanumeric() || c == '#');
    !ends_in_word || !rest.starts_with(|c: char| c.is_alphanumeric())
}

/// A command as it is shown, short.
fn said(words: &[&str]) -> String {
    let text = words.iter().map(|word| super::quoted(word)).collect::<Vec<_>>().join(" ");
    cerberus_record::clean::text::line(&text, 160)
}

/// The command with other words in place of those that met the pattern.
fn replaced(words: &[&str], met: &[usize], instead: &str) -> String {
    let rest: Vec<String> = words
        .iter()
        .enumerate()
        .filter(|(index, _)| !met.contains(index))
        .map(|(_, word)| super::quoted(word))
        .collect();
    let rest = rest.join(" ");
    format!("Run: {}", cerberus_record::clean::text::line(format!("{instead} {rest}").trim(), 200))
}
