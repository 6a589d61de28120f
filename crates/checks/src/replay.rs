//! What a rule would have stopped in the past.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use cerberus_agents::action::{Action, WrittenFile};
use cerberus_record::event::{Event, Location, Outcome, Record, ToolUse, Touch};
use cerberus_record::id::ProjectId;
use cerberus_record::path;
use cerberus_record::runs;
use cerberus_record::time::Timestamp;

use super::decide::{broken_by, decide_stop};
use super::heads::{Heads, absolute, below};
use super::{Check, Rule};
use crate::scene::{Past, Scene, SceneFolder, Sources};

/// How much of the past of a session counts.
pub const PAST_MAX: usize = 2_000;

/// A tool use of the past that the rule would have stopped, or that only looked like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub at: Timestamp,
    pub session: String,
    /// The command or file.
    pub what: String,
}

/// Goes through records in order.
#[derive(Debug)]
pub struct Replay {
    check: Check,
    sessions: HashMap<(String, String), ReplayedSession>,
    /// Turns that were stopped once already.
    stopped: HashSet<(String, String)>,
    /// Tool uses of the kind that the rule is about: commits, runs of the program, edits.
    pub concerned: usize,
    /// Shell and write tools.
    pub uses: usize,
    pub stopped_cases: Vec<Case>,
    /// Concerned, and let pass.
    pub passed_cases: Vec<Case>,
}

/// What a session did so far.
#[derive(Debug, Default)]
struct ReplayedSession {
    past: Vec<Past>,
    heads: Heads,
}

impl Replay {
    /// A replay of this check at any level.
    pub fn new(mut check: Check) -> Replay {
        check.level = check.rule.level_max();
        Replay {
            check,
            sessions: HashMap::new(),
            stopped: HashSet::new(),
            concerned: 0,
            uses: 0,
            stopped_cases: Vec::new(),
            passed_cases: Vec::new(),
        }
    }

    /// Takes the next record. `sources` is its project, as far as it is known.
    pub fn see(&mut self, record: &Record, sources: &dyn Sources) {
        let key = (record.agent.name().to_string(), record.session.to_string());
        let ReplayedSession { past, heads } = self.sessions.entry(key.clone()).or_default();
        match &record.event {
            Event::Prompt { .. } => {
                past.push(Past::Prompt);
                self.stopped.remove(&key);
            }
            Event::Stop { .. } => {
                let scene = PastScene { location: &record.location, past, heads, sources };
                if matches!(self.check.rule, Rule::Stop { .. }) && !self.stopped.contains(&key) {
                    let has_edits = past
                        .iter()
                        .rev()
                        .take_while(|event| **event != Past::Prompt)
                        .any(|event| matches!(event, Past::Edit(_)));
                    self.concerned += usize::from(has_edits);
                    if decide_stop(std::slice::from_ref(&self.check), &scene).is_some() {
                        self.stopped.insert(key);
                        self.stopped_cases.push(case(record, "the end of a turn"));
                    }
                }
            }
            Event::Tool(used) => {
                if let Some(action) = action(used, &record.location.root) {
                    self.uses += 1;
                    let scene = PastScene { location: &record.location, past, heads, sources };
                    let what = said(&action);
                    let is_broken = broken_by(&self.check, &action, &scene).is_some();
                    let is_concerned = is_broken || concerns(&self.check.rule, &action);
                    self.concerned += usize::from(is_concerned);
                    match (is_broken, is_concerned) {
                        (true, _) => self.stopped_cases.push(case(record, &what)),
                        (false, true) => self.passed_cases.push(case(record, &what)),
                        _ => {}
                    }
                }
                heads.see(used, &record.location);
                note(past, used);
            }
            _ => {}
        }
        if past.len() > PAST_MAX {
            past.drain(..PAST_MAX / 2);
        }
    }
}

/// Adds what a tool use did to the past of its session.
pub fn note(past: &mut Vec<Past>, used: &ToolUse) {
    if used.outcome == Outcome::Interrupted {
        past.push(Past::Interrupted);
        return;
    }
    let edited = used.files.iter().filter(|file| file.how == Touch::Edited && used.outcome != Outcome::Failed);
    past.extend(edited.map(|file| Past::Edit(file.path.to_string())));
    let Some(command) = &used.command else { return };
    past.push(Past::Run(command.to_string()));
    let output = used.output.as_deref().or(used.error.as_deref()).unwrap_or_default();
    past.extend(runs::passed_toolchains(command, output, used.outcome).into_iter().map(Past::Passed));
}

fn case(record: &Record, what: &str) -> Case {
    Case { at: record.at, session: record.session.to_string(), what: what.to_string() }
}

/// The action that a recorded tool use was. Texts are not recorded.
fn action(used: &ToolUse, root: &str) -> Option<Action> {
    if let Some(command) = &used.command {
        let folder = used.folder.as_ref().map(|folder| folder.to_string());
        return Some(Action::Shell { line: command.to_string(), folder });
    }
    let edited = used.files.iter().filter(|file| file.how == Touch::Edited);
    let whole = |path: &str| path::in_unix_form(&path::joined(root, path)).into_owned();
    let written = |path: &str| WrittenFile { path: whole(path), ..WrittenFile::default() };
    let files: Vec<WrittenFile> = edited.map(|file| written(&file.path)).collect();
    (!files.is_empty()).then_some(Action::Write(files))
}

fn said(action: &Action) -> String {
    let text = match action {
        Action::Shell { line, .. } => line.clone(),
        Action::Write(files) => files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(", "),
    };
    cerberus_record::clean::text::line(&text, 160)
}

/// Whether an action is of the kind that the rule is about.
fn concerns(rule: &Rule, action: &Action) -> bool {
    let Action::Shell { line, .. } = action else {
        return matches!(rule, Rule::Path { .. } | Rule::Text { .. });
    };
    let runs = |is_it: &dyn Fn(&[&str]) -> bool| {
        cerberus_record::shell::commands(line)
            .iter()
            .any(|command| super::stages::stages(command).iter().any(|words| is_it(words)))
    };
    let is_git = |words: &[&str], subs: &[&str]| {
        super::git::GitCommand::read(words).is_some_and(|git| subs.contains(&git.sub()))
    };
    match rule {
        Rule::Command { forbidden, .. } => {
            runs(&|words| forbidden.iter().any(|one| super::args::base(words[0]) == super::args::base(one.program())))
        }
        Rule::Prefix { on, .. } => runs(&|words| on.iter().any(|one| one.met_by(words).is_some())),
        Rule::Branch { .. } => runs(&|words| is_git(words, &["commit", "push"])),
        Rule::Commit { .. } => runs(&|words| is_git(words, &["commit"])),
        Rule::Order { before, .. } => runs(&|words| before.met_by(words).is_some()),
        Rule::Path { .. } | Rule::Stop { .. } | Rule::Text { .. } => false,
    }
}

/// The surroundings of a record.
struct PastScene<'a> {
    location: &'a Location<'a>,
    past: &'a [Past],
    heads: &'a Heads,
    sources: &'a dyn Sources,
}

impl Sources for PastScene<'_> {
    fn git_hook(&self, name: &str) -> Option<String> {
        self.sources.git_hook(name)
    }

    fn file(&self, folder: &str, name: &str) -> Option<String> {
        self.sources.file(folder, name)
    }
}

impl Scene for PastScene<'_> {
    fn place(&self, folder: &str) -> Option<SceneFolder> {
        let (root, folder) = (absolute(&self.location.root, "")?, absolute(&self.location.cwd, folder)?);
        let inside = below(&root, &folder);
        // A linked worktree has a branch of its own.
        let is_apart = inside.is_some_and(path::is_in_worktree);
        let head = self.heads.at(&folder, self.location).filter(|head| !is_apart || head.folder != root);
        let recorded = || self.location.branch.as_ref().filter(|_| inside.is_some() && !is_apart);
        let branch = match head {
            Some(head) => head.branch.clone(),
            None => recorded().map(|branch| branch.to_string()),
        };
        let worktree = head.filter(|head| head.is_worktree).and_then(|head| below(&head.folder, &folder));
        let is_temporary = |path: &str| {
            ["/tmp/", "/private/tmp/", "/var/folders/", "/var/tmp/"].iter().any(|at| format!("{path}/").starts_with(at))
        };
        Some(match worktree.or(inside) {
            Some(inside) => SceneFolder {
                project: self.location.project.clone(),
                folder: inside.to_string(),
                branch,
                is_scratch: false,
            },
            None => SceneFolder {
                project: ProjectId::of_anchor(folder.as_bytes()),
                folder: String::new(),
                branch,
                is_scratch: is_temporary(&folder) && !is_temporary(&root),
            },
        })
    }

    fn past(&self) -> Vec<Past> {
        self.past.to_vec()
    }
}
