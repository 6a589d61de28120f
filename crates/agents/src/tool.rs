//! What is kept of a tool use, for any agent: a command and its output, files, a todo list, answers.
//!
//! Every list is bounded. File contents are never kept, only the names that new text defines.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{FileTouch, Outcome, Task, TaskState, ToolUse, Touch};
use cerberus_record::quotation;
use cerberus_record::runs::KeptOutput;
use cerberus_record::{git_report, names, runs};
use serde::Deserialize;

use super::code;
use super::loose::{Escaped, Text};

/// Limits per call, larger than any real use. Anything beyond them is dropped.
pub(crate) const TODOS_MAX: usize = 100;
pub(crate) const ANSWERS_MAX: usize = 20;
pub(crate) const FILES_MAX: usize = 100;
pub(crate) const RANGES_MAX: usize = 64;
pub(crate) const NAMES_MAX: usize = 64;

/// A tool use under construction.
pub(crate) struct Use<'a> {
    pub(crate) cleaner: &'a Cleaner,
    used: ToolUse<'a>,
}

impl<'a> Use<'a> {
    pub(crate) fn new(cleaner: &'a Cleaner) -> Use<'a> {
        Use { cleaner, used: ToolUse::default() }
    }

    /// Continues with an existing tool use.
    pub(crate) fn with(cleaner: &'a Cleaner, used: ToolUse<'a>) -> Use<'a> {
        Use { cleaner, used }
    }

    pub(crate) fn into_owned(self) -> ToolUse<'static> {
        self.used.into_owned()
    }

    /// Adds the names that this JSON-escaped text defines.
    pub(crate) fn define(&mut self, escaped: &'a str) {
        names::scan(self.cleaner, escaped, NAMES_MAX, &mut self.used.names);
    }

    pub(crate) fn of(mut self, tool: Cow<'a, str>) -> ToolUse<'a> {
        self.used.tool = self.cleaner.clean(tool, Keep::SUBJECT);
        self.used
    }
}

impl<'a> Deref for Use<'a> {
    type Target = ToolUse<'a>;

    fn deref(&self) -> &ToolUse<'a> {
        &self.used
    }
}

impl DerefMut for Use<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.used
    }
}

/// An item of an agent's todo list. The field names differ between agents.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct Todo<'a> {
    content: Text<'a>,
    step: Text<'a>,
    description: Text<'a>,
    status: Text<'a>,
}

impl<'a> Todo<'a> {
    /// The subject and the state.
    pub(crate) fn parts(self) -> (Text<'a>, Text<'a>) {
        let subject = self.content.0.or(self.step.0).or(self.description.0);
        (Text(subject), self.status)
    }

    pub(crate) fn borrowed(&'a self) -> (Text<'a>, Text<'a>) {
        let subject = [&self.content, &self.step, &self.description].into_iter().find_map(|text| text.0.as_deref());
        let text = |text: Option<&'a str>| Text(text.map(Cow::Borrowed));
        (text(subject), text(self.status.0.as_deref()))
    }
}

/// A question to the user.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct UserQuestion<'a> {
    pub id: Text<'a>,
    pub question: Text<'a>,
}

/// The folder that the agent had a command run in.
pub(crate) fn in_folder<'a>(used: &mut Use<'a>, folder: Text<'a>) {
    used.folder = folder.0.filter(|folder| !folder.is_empty()).map(|folder| used.cleaner.clean(folder, Keep::NAME));
}

/// A shell command. The output is kept only where it shows the result. `error` is the output of a failed command.
pub(crate) fn shell<'a>(
    used: &mut Use<'a>,
    command: Text<'a>,
    error: Option<Cow<'a, str>>,
    output: impl FnOnce() -> Cow<'a, str>,
) {
    let command = match command.0.as_deref().and_then(code::commands) {
        Some((line, folder)) => {
            used.folder = folder.map(|folder| used.cleaner.clean(folder, Keep::NAME)).or(used.folder.take());
            Text(Some(Cow::Owned(line)))
        }
        None => command,
    };
    let line = command.0.as_deref().unwrap_or_default();
    let may_report = git_report::may_report(line);
    let printed = runs::printed(line);
    used.command = command.0.map(|command| match runs::without_contents(&command) {
        Cow::Owned(kept) => used.cleaner.clean(kept, Keep::COMMAND),
        Cow::Borrowed(_) => used.cleaner.clean(command, Keep::COMMAND),
    });
    if let Some(error) = error {
        sign(used, &error);
        used.error = match printed {
            KeptOutput::Run => Some(used.cleaner.clean(error, Keep::OUTPUT)),
            KeptOutput::Mixed(run) => Some(used.cleaner.clean(runs::lines_of_run(&run, &error), Keep::OUTPUT)),
            KeptOutput::Other => reason(used.cleaner, error),
        };
        return;
    }
    // Other output may contain a file's content, which is never kept.
    let line = used.command.as_deref().unwrap_or_default();
    let output = match printed {
        KeptOutput::Run => output(),
        KeptOutput::Mixed(run) => {
            let output = output();
            let lines = [runs::lines_of_run(&run, &output), git_report::report_lines(line, &output)];
            Cow::Owned(lines.join("\n").trim().to_string())
        }
        KeptOutput::Other if may_report => Cow::Owned(git_report::report_lines(line, &output())),
        KeptOutput::Other => return,
    };
    sign(used, &output);
    used.output = Some(used.cleaner.clean(output, Keep::OUTPUT)).filter(|output| !output.is_empty());
}

/// Notes by what the failure is recognised when it happens again.
fn sign(used: &mut Use<'_>, printed: &str) {
    // A client that did not run a command says so in its own words.
    let is_clients = printed.trim_start().starts_with("<tool_use_error>");
    if is_clients || !matches!(used.outcome, Outcome::Failed | Outcome::Unknown) {
        return;
    }
    let command = used.command.as_deref().unwrap_or_default();
    used.failure = runs::failure(used.cleaner, command, printed, used.outcome);
}

/// How a command ended, for hosts that report an exit code or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandExit {
    Code(i64),
    Interrupted,
    Unknown,
}

/// A failed use changed and read nothing.
pub(crate) fn failed<'a>(used: &mut Use<'a>, error: Cow<'a, str>) {
    if used.outcome == Outcome::Done {
        used.outcome = Outcome::Failed;
    }
    used.error = reason(used.cleaner, error);
}

/// The first line of an error, or all of it where the user says why a use was rejected. The rest may be a file's content,
/// which is never kept.
fn reason<'a>(cleaner: &Cleaner, error: Cow<'a, str>) -> Option<Clean<'a>> {
    let kept = match quotation::feedback(&error) {
        Some(_) => error,
        None => Cow::Owned(error.lines().next().unwrap_or_default().to_string()),
    };
    Some(cleaner.clean(kept, Keep::ERROR)).filter(|kept| !kept.is_empty())
}

pub(crate) fn read<'a>(used: &mut Use<'a>, path: Text<'a>) {
    if let Some(path) = path.0 {
        push_file(used, path, Touch::Read, Vec::new());
    }
}

/// An edited file: the names that its new text defines, and the changed lines.
pub(crate) fn edited<'a>(
    used: &mut Use<'a>,
    path: Text<'a>,
    new_texts: impl IntoIterator<Item = Escaped<'a>>,
    mut lines: Vec<(u32, u32)>,
) {
    let Some(path) = path.0 else { return };
    for text in new_texts {
        used.define(text.0);
    }
    lines.truncate(RANGES_MAX);
    push_file(used, path, Touch::Edited, lines);
}

pub(crate) fn push_file<'a>(used: &mut Use<'a>, path: Cow<'a, str>, how: Touch, lines: Vec<(u32, u32)>) {
    if !path.is_empty() && used.files.len() < FILES_MAX {
        let path = used.cleaner.clean(path, Keep::NAME);
        used.files.push(FileTouch { path, how, lines });
    }
}

/// The whole todo list: subjects and states.
pub(crate) fn todos<'a>(used: &mut Use<'a>, items: impl Iterator<Item = (Text<'a>, Text<'a>)>) {
    let cleaner = used.cleaner;
    let todo = |(subject, status): (Text<'a>, Text<'a>)| {
        task(cleaner, None, Some(subject.0?), task_state(status.0.as_deref()))
    };
    used.todos = Some(items.take(TODOS_MAX).filter_map(todo).collect());
}

pub(crate) fn answers<'a>(used: &mut Use<'a>, pairs: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>) {
    let clean = |text| used.cleaner.clean(text, Keep::SUBJECT);
    used.answers = pairs.take(ANSWERS_MAX).map(|(question, answer)| (clean(question), clean(answer))).collect();
}

pub(crate) fn task<'a>(
    cleaner: &Cleaner,
    id: Option<Cow<'a, str>>,
    subject: Option<Cow<'a, str>>,
    state: TaskState,
) -> Option<Task<'a>> {
    if id.is_none() && subject.is_none() {
        return None;
    }
    let subject = subject.map(|subject| cleaner.clean(subject, Keep::SUBJECT));
    Some(Task { id: id.map(|id| cleaner.clean(id, Keep::NAME)), subject, state })
}

pub(crate) fn task_state(status: Option<&str>) -> TaskState {
    match status {
        Some("completed") => TaskState::Done,
        Some("deleted" | "cancelled") => TaskState::Dropped,
        _ => TaskState::Open,
    }
}
