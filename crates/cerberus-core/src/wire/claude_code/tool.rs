//! What Claude Code's tools take and return, reduced to what outlives their use.

use std::borrow::Cow;

use serde::Deserialize;

use crate::event::{FileTouch, Outcome, Task, TaskState, ToolUse, Touch};
use crate::extract::{git, names, runs};
use crate::text::{Clean, Keep};
use crate::wire::loose::{Escaped, Flag, List, Number, Object, Pairs, Text};

/// More than an agent lists, asks, touches or changes in one call; the rest is not kept.
const TODOS_MAX: usize = 100;
const ANSWERS_MAX: usize = 20;
const RANGES_MAX: usize = 64;
const NAMES_MAX: usize = 64;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput<'a> {
    #[serde(borrow)]
    pub file_path: Text<'a>,
    #[serde(borrow)]
    pub notebook_path: Text<'a>,
    #[serde(borrow)]
    pub content: Escaped<'a>,
    #[serde(borrow)]
    pub new_string: Escaped<'a>,
    #[serde(borrow)]
    pub new_source: Escaped<'a>,
    #[serde(borrow)]
    pub edits: List<Object<Edit<'a>>>,
    #[serde(borrow)]
    pub command: Text<'a>,
    #[serde(borrow)]
    pub todos: Option<List<Object<Todo<'a>>>>,
    #[serde(borrow)]
    pub subject: Text<'a>,
    #[serde(borrow)]
    pub plan: Text<'a>,
    #[serde(rename = "taskId", borrow)]
    pub task_id: Text<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Edit<'a> {
    #[serde(borrow)]
    pub new_string: Escaped<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Todo<'a> {
    #[serde(borrow)]
    pub content: Text<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolResponse<'a> {
    #[serde(rename = "structuredPatch", borrow)]
    pub structured_patch: List<Object<Hunk<'a>>>,
    #[serde(borrow)]
    pub task: Object<TaskResponse<'a>>,
    #[serde(borrow)]
    pub stdout: Escaped<'a>,
    #[serde(borrow)]
    pub stderr: Escaped<'a>,
    pub interrupted: Flag,
    #[serde(borrow)]
    pub answers: Pairs<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskResponse<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Hunk<'a> {
    #[serde(rename = "newStart")]
    pub new_start: Number,
    #[serde(borrow)]
    pub lines: List<Escaped<'a>>,
}

pub(super) fn task<'a>(id: Option<Cow<'a, str>>, subject: Option<Cow<'a, str>>, state: TaskState) -> Option<Task<'a>> {
    if id.is_none() && subject.is_none() {
        return None;
    }
    let subject = subject.map(|subject| Clean::new(subject, Keep::SUBJECT));
    Some(Task { id: id.map(|id| Clean::new(id, Keep::SUBJECT)), subject, state })
}

fn task_state(status: Option<&str>) -> TaskState {
    match status {
        Some("completed") => TaskState::Done,
        Some("deleted" | "cancelled") => TaskState::Dropped,
        _ => TaskState::Open,
    }
}

/// What one use of a tool leaves. `error` is what a failed one printed.
pub(super) fn tool_use<'a>(
    tool: Cow<'a, str>,
    input: ToolInput<'a>,
    response: ToolResponse<'a>,
    error: Option<Cow<'a, str>>,
    outcome: Outcome,
) -> ToolUse<'a> {
    let mut used = ToolUse { outcome, ..ToolUse::default() };
    match &*tool {
        "Bash" => shell(&mut used, input.command, response, error),
        // What failed changed and showed nothing.
        _ if outcome != Outcome::Done => used.error = error.map(|error| Clean::new(error, Keep::ERROR)),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "Update" | "Read" | "NotebookRead" => {
            touch(&mut used, &tool, input, &response);
        }
        "TodoWrite" => {
            let todos = input.todos.unwrap_or_default().0.into_iter().take(TODOS_MAX);
            let todo = |todo: Todo<'a>| task(None, Some(todo.content.0?), task_state(todo.status.0.as_deref()));
            used.todos = Some(todos.filter_map(|item| todo(item.0)).collect());
        }
        "TaskCreate" => used.task = task(response.task.0.id.0, input.subject.0, TaskState::Open),
        "TaskUpdate" if input.task_id.0.is_some() => {
            used.task = task(input.task_id.0, input.subject.0, task_state(input.status.0.as_deref()));
        }
        "AskUserQuestion" => {
            let answers = response.answers.0.into_iter().take(ANSWERS_MAX);
            let clean = |text| Clean::new(text, Keep::SUBJECT);
            used.answers = answers.map(|(question, answer)| (clean(question), clean(answer))).collect();
        }
        "ExitPlanMode" => used.plan = input.plan.0.map(|plan| Clean::new(plan, Keep::PROMPT)),
        _ => {}
    }
    used.tool = Clean::new(tool, Keep::SUBJECT);
    used
}

/// A command, and its output where that says what came of it.
fn shell<'a>(used: &mut ToolUse<'a>, command: Text<'a>, response: ToolResponse<'a>, error: Option<Cow<'a, str>>) {
    if response.interrupted.0 {
        used.outcome = Outcome::Interrupted;
    }
    let said = command.0.as_deref().unwrap_or_default();
    let (is_run, may_commit) = (runs::may_be_run(said), git::may_commit(said));
    used.command = command.0.map(|command| Clean::new(command, Keep::COMMAND));
    if let Some(error) = error {
        used.error = Some(Clean::new(error, if is_run { Keep::OUTPUT } else { Keep::ERROR }));
        return;
    }
    // Any other output may be a file's content, which is never kept.
    let output = match (is_run, may_commit) {
        (true, _) if response.stderr.0.is_empty() => response.stdout.unescaped(),
        (true, _) => Cow::Owned(format!("{}\n{}", response.stdout.unescaped(), response.stderr.unescaped())),
        (false, true) => Cow::Owned(git::telling_lines(&response.stdout.unescaped())),
        (false, false) => return,
    };
    used.output = Some(Clean::new(output, Keep::OUTPUT)).filter(|output| !output.is_empty());
}

fn touch<'a>(used: &mut ToolUse<'a>, tool: &str, input: ToolInput<'a>, response: &ToolResponse<'a>) {
    let Some(path) = input.file_path.0.or(input.notebook_path.0) else {
        return;
    };
    let how = if matches!(tool, "Read" | "NotebookRead") { Touch::Read } else { Touch::Edited };
    let mut lines = Vec::new();
    if how == Touch::Edited {
        let edits = input.edits.0.iter().map(|edit| &edit.0.new_string);
        for text in [&input.content, &input.new_string, &input.new_source].into_iter().chain(edits) {
            names::scan(text.0, NAMES_MAX, &mut used.names);
        }
        for hunk in &response.structured_patch.0 {
            changed_lines(&hunk.0, &mut lines);
        }
        lines.truncate(RANGES_MAX);
    }
    used.files.push(FileTouch { path: Clean::new(path, Keep::NAME), how, lines });
}

/// The ranges of new lines in a hunk; a deletion counts as the line it happened at.
fn changed_lines(hunk: &Hunk<'_>, ranges: &mut Vec<(u32, u32)>) {
    let mut number = hunk.new_start.0;
    for line in &hunk.lines.0 {
        let sign = line.0.as_bytes().first();
        if matches!(sign, Some(b'+' | b'-')) {
            match ranges.last_mut() {
                Some((first, last)) if (*first..=last.saturating_add(1)).contains(&number) => *last = number.max(*last),
                _ => ranges.push((number, number)),
            }
        }
        if !matches!(sign, Some(b'-' | b'\\')) {
            number = number.saturating_add(1);
        }
    }
}
