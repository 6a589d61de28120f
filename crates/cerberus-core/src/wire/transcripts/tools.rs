//! What the tools of Codex, Copilot, Gemini and opencode take and return, reduced to what outlives their use.
//!
//! Their names do not overlap in meaning, so one table serves all. File contents are scanned for names and dropped.

use std::borrow::Cow;

use serde::Deserialize;

use super::patch;
use crate::event::{FileTouch, Outcome, Task, TaskState, ToolUse, Touch};
use crate::extract::{git, names, runs};
use crate::path;
use crate::text::{Clean, Keep};
use crate::wire::loose::{List, Object, Raw, Text, TextOrList};

/// More than an agent lists, asks, touches or changes in one call; the rest is not kept.
const TODOS_MAX: usize = 100;
const ANSWERS_MAX: usize = 20;
const FILES_MAX: usize = 100;
const RANGES_MAX: usize = 64;
const NAMES_MAX: usize = 64;

/// What a tool is for.
enum Verb {
    Run,
    Edit,
    Patch,
    Read,
    List,
    Ask,
    Plan,
    Other,
}

fn verb(tool: &str) -> Verb {
    match tool {
        "Bash" | "bash" | "powershell" | "shell" | "run_shell_command" => Verb::Run,
        "edit" | "create" | "str_replace_editor" | "write" | "multiedit" | "write_file" | "replace" => Verb::Edit,
        "apply_patch" | "patch" => Verb::Patch,
        "read" | "view" | "read_file" => Verb::Read,
        "update_plan" | "update_todo" | "todowrite" | "write_todos" => Verb::List,
        "ask_user" | "question" | "request_user_input" => Verb::Ask,
        "exit_plan_mode" => Verb::Plan,
        _ => Verb::Other,
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Arguments<'a> {
    #[serde(borrow)]
    pub command: TextOrList<'a, Text<'a>>,
    #[serde(borrow)]
    pub cmd: Text<'a>,
    #[serde(borrow)]
    pub workdir: Text<'a>,
    #[serde(borrow)]
    pub session_id: Text<'a>,
    #[serde(borrow)]
    pub path: Text<'a>,
    #[serde(borrow)]
    file_path: Text<'a>,
    #[serde(rename = "filePath", borrow)]
    opencode_path: Text<'a>,
    #[serde(borrow)]
    absolute_path: Text<'a>,
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    file_text: Text<'a>,
    #[serde(borrow)]
    new_str: Text<'a>,
    #[serde(borrow)]
    new_string: Text<'a>,
    #[serde(rename = "newString", borrow)]
    opencode_string: Text<'a>,
    #[serde(borrow)]
    pub input: Text<'a>,
    #[serde(rename = "patchText", borrow)]
    patch_text: Text<'a>,
    #[serde(borrow)]
    patch: Text<'a>,
    #[serde(borrow)]
    todos: TextOrList<'a, Object<Todo<'a>>>,
    #[serde(borrow)]
    plan: TextOrList<'a, Object<Todo<'a>>>,
    #[serde(borrow)]
    summary: Text<'a>,
    #[serde(borrow)]
    question: Text<'a>,
    #[serde(borrow)]
    questions: List<Object<Question<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Todo<'a> {
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    step: Text<'a>,
    #[serde(borrow)]
    description: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Question<'a> {
    #[serde(borrow)]
    question: Text<'a>,
}

impl<'a> Arguments<'a> {
    /// `json` is an object, or the inside of a string that holds one. Anything else is taken as the text of a patch.
    pub fn read(json: &'a str) -> Arguments<'a> {
        match serde_json::from_str(json) {
            Ok(Object(arguments)) => arguments,
            Err(_) => Arguments { input: Text(Some(Cow::Borrowed(json))), ..Arguments::default() },
        }
    }

    /// The command line, without the shell that some agents spell out.
    pub fn command_line(&self) -> Option<Cow<'_, str>> {
        let TextOrList::List(words) = &self.command else {
            return match &self.command {
                TextOrList::Text(command) => Some(Cow::Borrowed(command)),
                _ => self.cmd.0.as_deref().map(Cow::Borrowed),
            };
        };
        let words: Vec<&str> = words.iter().filter_map(|word| word.0.as_deref()).collect();
        match words[..] {
            [] => None,
            [_, "-c" | "-lc" | "-Command", script] => Some(Cow::Borrowed(script)),
            _ => Some(Cow::Owned(words.join(" "))),
        }
    }

    fn touched_path(&self) -> Option<&str> {
        let paths = [&self.path, &self.file_path, &self.opencode_path, &self.absolute_path];
        paths.into_iter().find_map(|path| path.0.as_deref()).filter(|path| !path.is_empty())
    }

    fn new_texts(&self) -> impl Iterator<Item = &str> {
        let texts = [&self.content, &self.file_text, &self.new_str, &self.new_string, &self.opencode_string];
        texts.into_iter().filter_map(|text| text.0.as_deref())
    }

    fn patch_text(&self) -> Option<&str> {
        [&self.input, &self.patch_text, &self.patch].into_iter().find_map(|text| text.0.as_deref())
    }

    fn asked(&self) -> impl Iterator<Item = &str> {
        let single = self.question.0.as_deref();
        single.into_iter().chain(self.questions.0.iter().filter_map(|asked| asked.0.question.0.as_deref()))
    }

    /// What a use that never came to an end was about.
    pub fn shown(&self, tool: &str) -> String {
        let target = self.command_line().or_else(|| self.touched_path().map(Cow::Borrowed));
        target.map_or_else(|| tool.to_string(), |target| format!("{tool}: {target}"))
    }
}

/// Arguments as they stand in a transcript: an object, or a string.
pub fn unpacked<'a>(arguments: &Raw<'a>) -> Cow<'a, str> {
    match arguments.0.starts_with('"') {
        true => serde_json::from_str(arguments.0).map_or(Cow::Borrowed(""), Cow::Owned),
        false => Cow::Borrowed(arguments.0),
    }
}

/// What came of a use.
#[derive(Default)]
pub struct Answer<'a> {
    pub outcome: Outcome,
    pub output: Cow<'a, str>,
    /// What it changed in its one file.
    pub diff: Cow<'a, str>,
    /// What the user chose, question by question.
    pub chosen: Vec<Cow<'a, str>>,
}

impl<'a> Answer<'a> {
    /// A command that ended by itself; a failure says its code first, as the agents' own messages do.
    pub fn exited(code: i64, output: Cow<'a, str>) -> Answer<'a> {
        let (outcome, output) = match code {
            0 => (Outcome::Done, output),
            _ => (Outcome::Failed, Cow::Owned(format!("Exit code {code}\n{output}"))),
        };
        Answer { outcome, output, ..Answer::default() }
    }
}

/// What one use of a tool leaves.
pub fn tool_use(tool: &str, arguments: &Arguments<'_>, answer: &Answer<'_>) -> ToolUse<'static> {
    let mut used = ToolUse { outcome: answer.outcome, ..ToolUse::default() };
    match verb(tool) {
        Verb::Run => ran(&mut used, arguments.command_line().as_deref(), answer),
        // What failed changed and showed nothing.
        _ if answer.outcome != Outcome::Done => used.error = Some(kept(&answer.output, Keep::ERROR)),
        Verb::Edit => {
            arguments.new_texts().for_each(|text| scan(text, &mut used));
            let is_whole = arguments.content.0.is_some() || arguments.file_text.0.is_some();
            let lines = match is_whole && answer.diff.is_empty() {
                true => Vec::new(),
                false => patch::changed_lines(&answer.diff, RANGES_MAX),
            };
            touch(&mut used, arguments.touched_path(), Touch::Edited, lines);
        }
        Verb::Patch => {
            for file in patch::files(arguments.patch_text().unwrap_or_default()) {
                scan(&file.added, &mut used);
                let lines = if file.is_new { Vec::new() } else { vec![patch::SOMEWHERE] };
                touch(&mut used, Some(&file.path), Touch::Edited, lines);
            }
        }
        Verb::Read => touch(&mut used, arguments.touched_path(), Touch::Read, Vec::new()),
        Verb::List => used.todos = Some(todos(arguments)),
        Verb::Ask => {
            let pairs = arguments.asked().zip(&answer.chosen).take(ANSWERS_MAX);
            used.answers =
                pairs.map(|(asked, chosen)| (kept(asked, Keep::SUBJECT), kept(chosen, Keep::SUBJECT))).collect();
        }
        Verb::Plan => used.plan = arguments.summary.0.as_deref().map(|plan| kept(plan, Keep::PROMPT)),
        Verb::Other => {}
    }
    used.tool = kept(tool, Keep::SUBJECT);
    used
}

/// A change that is told as a diff, or as a whole new file.
pub fn changed(used: &mut ToolUse<'static>, path: &str, diff: &str, content: &str) {
    scan(&patch::added_lines(diff), used);
    scan(content, used);
    let lines = if diff.is_empty() { Vec::new() } else { patch::changed_lines(diff, RANGES_MAX) };
    touch(used, Some(path), Touch::Edited, lines);
}

/// A file that a use changed or showed, if it has room for it.
pub fn touch(used: &mut ToolUse<'static>, path: Option<&str>, how: Touch, lines: Vec<(u32, u32)>) {
    let Some(path) = path.filter(|path| !path.is_empty()).map(|path| kept(path, Keep::NAME)) else { return };
    if used.files.len() < FILES_MAX && !used.files.iter().any(|known| known.path == path && known.how == how) {
        used.files.push(FileTouch { path, how, lines });
    }
}

/// Relative paths begin at `cwd`.
pub fn stands_in(used: &mut ToolUse<'static>, cwd: &str) {
    for touched in &mut used.files {
        touched.path = kept(&path::joined(cwd, &touched.path), Keep::NAME);
    }
}

/// Adds the names that new text defines.
pub fn scan(text: &str, used: &mut ToolUse<'static>) {
    // The scan reads text as it stands in JSON.
    let Ok(escaped) = serde_json::to_string(text) else { return };
    let mut found = Vec::new();
    names::scan(escaped.trim_matches('"'), NAMES_MAX, &mut found);
    for name in found.into_iter().map(Clean::into_owned) {
        if used.names.len() < NAMES_MAX && !used.names.contains(&name) {
            used.names.push(name);
        }
    }
}

/// A command, and its output where that says what came of it.
fn ran(used: &mut ToolUse<'static>, command: Option<&str>, answer: &Answer<'_>) {
    let said = command.unwrap_or_default();
    let (is_run, may_commit) = (runs::may_be_run(said), git::may_commit(said));
    used.command = command.map(|command| kept(command, Keep::COMMAND));
    if answer.outcome == Outcome::Failed {
        used.error = Some(kept(&answer.output, if is_run { Keep::OUTPUT } else { Keep::ERROR }));
        return;
    }
    // Any other output may be a file's content, which is never kept.
    let output = match (is_run, may_commit) {
        (true, _) => kept(&answer.output, Keep::OUTPUT),
        (false, true) => kept(&git::telling_lines(&answer.output), Keep::OUTPUT),
        (false, false) => return,
    };
    used.output = Some(output).filter(|output| !output.is_empty());
}

fn todos(arguments: &Arguments<'_>) -> Vec<Task<'static>> {
    let task = |subject: &str, state| Task { id: None, subject: Some(kept(subject, Keep::SUBJECT)), state };
    for list in [&arguments.todos, &arguments.plan] {
        match list {
            TextOrList::List(items) => {
                let item = |todo: &Todo| {
                    let subject =
                        [&todo.content, &todo.step, &todo.description].into_iter().find_map(|t| t.0.as_deref())?;
                    Some(task(subject, task_state(todo.status.0.as_deref())))
                };
                return items.iter().filter_map(|todo| item(&todo.0)).take(TODOS_MAX).collect();
            }
            TextOrList::Text(checklist) => return ticked(checklist, task).take(TODOS_MAX).collect(),
            TextOrList::Neither => {}
        }
    }
    Vec::new()
}

fn task_state(status: Option<&str>) -> TaskState {
    match status {
        Some("completed") => TaskState::Done,
        Some("cancelled") => TaskState::Dropped,
        _ => TaskState::Open,
    }
}

/// `- [x] written` and `- [ ] to write`, line by line.
fn ticked<T>(checklist: &str, task: impl Fn(&str, TaskState) -> T) -> impl Iterator<Item = T> {
    checklist.lines().filter_map(move |line| {
        let (mark, subject) =
            line.trim_start().trim_start_matches(['-', '*', ' ']).strip_prefix('[')?.split_once(']')?;
        let state = if mark.trim().is_empty() { TaskState::Open } else { TaskState::Done };
        Some(task(subject.trim(), state))
    })
}

fn kept(text: &str, keep: Keep) -> Clean<'static> {
    Clean::new(text, keep).into_owned()
}
