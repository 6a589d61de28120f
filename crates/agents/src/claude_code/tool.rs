//! What is kept of Claude Code's tool uses.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Outcome, TaskState, ToolUse};
use serde::Deserialize;

use crate::loose::{Escaped, Flag, List, Number, Object, Pairs, Text};
use crate::patch;
use crate::tool::{self, Todo, Use, task, task_state};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct ToolInput<'a> {
    pub file_path: Text<'a>,
    pub notebook_path: Text<'a>,
    pub content: Escaped<'a>,
    pub new_string: Escaped<'a>,
    pub new_source: Escaped<'a>,
    pub edits: List<Object<ClaudeEdit<'a>>>,
    pub command: Text<'a>,
    pub todos: Option<List<Object<Todo<'a>>>>,
    pub subject: Text<'a>,
    pub plan: Text<'a>,
    #[serde(rename = "taskId")]
    pub task_id: Text<'a>,
    pub status: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct ClaudeEdit<'a> {
    pub new_string: Escaped<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
pub(crate) struct ToolResponse<'a> {
    pub structured_patch: List<Object<Hunk<'a>>>,
    pub task: Object<TaskResponse<'a>>,
    pub stdout: Escaped<'a>,
    pub stderr: Escaped<'a>,
    pub interrupted: Flag,
    pub answers: Pairs<'a>,
    pub plan: Text<'a>,
    pub bash_edit_diff: Object<BashEditDiff<'a>>,
}

/// What the client saw a command change, if its user lets it look.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
pub(crate) struct BashEditDiff<'a> {
    pub changed_files: List<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(crate) struct TaskResponse<'a> {
    pub id: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
pub(crate) struct Hunk<'a> {
    pub new_start: Number,
    pub lines: List<Escaped<'a>>,
}

/// What is kept of one tool use. `error` is the output of a failed one.
pub(crate) fn tool_use<'a>(
    cleaner: &'a Cleaner,
    call: ClaudeHookCall<'a, Object<ToolInput<'a>>, Object<ToolResponse<'a>>>,
) -> ToolUse<'a> {
    let ClaudeHookCall { tool: name, input: Object(input), response: Object(response), error, outcome } = call;
    let mut used = Use::new(cleaner);
    used.outcome = outcome;
    match &*name {
        "Bash" => {
            if response.interrupted.0 {
                used.outcome = Outcome::Interrupted;
            }
            tool::shell(&mut used, input.command, error, || printed(&response));
            for path in response.bash_edit_diff.0.changed_files.0 {
                tool::edited(&mut used, path, [], Vec::new());
            }
        }
        // "Clear context and implement" rejects the tool, and the plan is carried out by the next session.
        // Since 2.1.101 the plan is in a file, and hooks get its text in the response.
        "ExitPlanMode" => {
            used.plan = input.plan.0.or(response.plan.0).map(|plan| cleaner.clean(plan, Keep::PROMPT));
        }
        _ if outcome != Outcome::Done => tool::failed(&mut used, error.unwrap_or_default()),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "Update" => edit(&mut used, input, response),
        "Read" | "NotebookRead" => tool::read(&mut used, Text(input.file_path.0.or(input.notebook_path.0))),
        "TodoWrite" => {
            let items = input.todos.unwrap_or_default().0.into_iter();
            tool::todos(&mut used, items.map(|Object(todo)| todo.parts()));
        }
        "TaskCreate" => used.task = task(cleaner, response.task.0.id.0, input.subject.0, TaskState::Open),
        "TaskUpdate" if input.task_id.0.is_some() => {
            used.task = task(cleaner, input.task_id.0, input.subject.0, task_state(input.status.0.as_deref()));
        }
        "AskUserQuestion" => tool::answers(&mut used, response.answers.0.into_iter()),
        _ => {}
    }
    used.of(name)
}

/// Both output streams of a command as one text.
fn printed<'a>(response: &ToolResponse<'a>) -> Cow<'a, str> {
    match response.stderr.0 {
        "" => response.stdout.unescaped(),
        _ => Cow::Owned(format!("{}\n{}", response.stdout.unescaped(), response.stderr.unescaped())),
    }
}

fn edit<'a>(used: &mut Use<'a>, input: ToolInput<'a>, response: ToolResponse<'a>) {
    let mut lines = Vec::new();
    for Object(hunk) in response.structured_patch.0 {
        patch::changed_lines(hunk.new_start.0, hunk.lines.0.into_iter(), &mut lines);
    }
    let texts = [input.content, input.new_string, input.new_source];
    let edits = input.edits.0.into_iter().map(|edit| edit.0.new_string);
    tool::edited(used, Text(input.file_path.0.or(input.notebook_path.0)), texts.into_iter().chain(edits), lines);
}

/// One tool use, as in the payload.
pub(crate) struct ClaudeHookCall<'a, Input, Response> {
    pub tool: Cow<'a, str>,
    pub input: Input,
    pub response: Response,
    pub error: Option<Cow<'a, str>>,
    pub outcome: Outcome,
}
