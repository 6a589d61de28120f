//! What is kept of the tool uses of Cline, Codex, Copilot, Gemini, opencode and Qwen Code.
//!
//! Their tool names do not clash, so one table serves all. File contents are scanned for names and dropped.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{Outcome, ToolUse, Touch};
use cerberus_record::path;
use serde::Deserialize;

use crate::loose::{Escaped, List, Object, RawJson, Text, TextOrList};
use crate::tool::{Todo, Use, UserQuestion};
use crate::{copilot, patch, tool};

/// What a tool does.
enum Verb {
    Run,
    Edit,
    Patch,
    Read,
    List,
    Ask,
    Plan,
    Query,
    Other,
}

fn verb(tool: &str) -> Verb {
    match tool {
        "Bash" | "bash" | "powershell" | "shell" | "run_shell_command" | "run_commands" => Verb::Run,
        "edit" | "create" | "str_replace_editor" | "write" | "multiedit" | "write_file" | "replace" | "editor" => {
            Verb::Edit
        }
        "apply_patch" | "patch" => Verb::Patch,
        "read" | "view" | "read_file" => Verb::Read,
        "update_plan" | "update_todo" | "todowrite" | "write_todos" | "todo_write" => Verb::List,
        "ask_user" | "question" | "request_user_input" | "ask_question" => Verb::Ask,
        "exit_plan_mode" => Verb::Plan,
        "sql" => Verb::Query,
        _ => Verb::Other,
    }
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub struct ToolArguments<'a> {
    pub command: TextOrList<'a, Text<'a>>,
    pub cmd: Text<'a>,
    pub workdir: Text<'a>,
    dir_path: Text<'a>,
    directory: Text<'a>,
    working_directory: Text<'a>,
    pub session_id: Text<'a>,
    pub cell_id: Text<'a>,
    pub path: Text<'a>,
    file_path: Text<'a>,
    #[serde(rename = "filePath")]
    opencode_path: Text<'a>,
    absolute_path: Text<'a>,
    pub content: Text<'a>,
    file_text: Text<'a>,
    new_str: Text<'a>,
    pub new_text: Text<'a>,
    new_string: Text<'a>,
    #[serde(rename = "newString")]
    opencode_string: Text<'a>,
    pub input: Text<'a>,
    #[serde(rename = "patchText")]
    patch_text: Text<'a>,
    patch: Text<'a>,
    todos: TextOrList<'a, Object<Todo<'a>>>,
    plan: TextOrList<'a, Object<Todo<'a>>>,
    query: Text<'a>,
    summary: Text<'a>,
    question: Text<'a>,
    questions: List<Object<UserQuestion<'a>>>,
}

impl<'a> ToolArguments<'a> {
    /// `json` is an object, or the content of a string that holds one. Anything else is taken as a patch.
    pub fn read(json: &'a str) -> ToolArguments<'a> {
        match serde_json::from_slice(json.as_bytes()) {
            Ok(Object(arguments)) => arguments,
            Err(_) => ToolArguments { input: Text(Some(Cow::Borrowed(json))), ..ToolArguments::default() },
        }
    }

    /// The command line without the shell that some agents put before it.
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
        let texts =
            [&self.content, &self.file_text, &self.new_str, &self.new_text, &self.new_string, &self.opencode_string];
        texts.into_iter().filter_map(|text| text.0.as_deref())
    }

    fn patch_text(&self) -> Option<&str> {
        [&self.input, &self.patch_text, &self.patch].into_iter().find_map(|text| text.0.as_deref())
    }

    fn question_texts(&self) -> impl Iterator<Item = &str> {
        let single = self.question.0.as_deref();
        single
            .into_iter()
            .chain(self.questions.0.iter().filter_map(|question_texts| question_texts.0.question.0.as_deref()))
    }

    /// What a use is about: a command, or the first file that is touched.
    pub fn target(&self, tool: &str) -> Option<String> {
        let named = self.command_line().or_else(|| self.touched_path().map(Cow::Borrowed)).map(Cow::into_owned);
        let patch = self.patch_text().filter(|_| matches!(verb(tool), Verb::Patch));
        named.or_else(|| patch::first_file(patch?))
    }
}

/// The arguments of a tool call: an object, or a string that holds one.
pub fn unpacked<'a>(arguments: &RawJson<'a>) -> Cow<'a, str> {
    match arguments.0.starts_with('"') {
        true => serde_json::from_slice(arguments.0.as_bytes()).map_or(Cow::Borrowed(""), Cow::Owned),
        false => Cow::Borrowed(arguments.0),
    }
}

/// The result of a tool use.
#[derive(Default)]
pub struct ToolAnswer<'a> {
    pub outcome: Outcome,
    pub output: Cow<'a, str>,
    /// The change to its one file.
    pub diff: Cow<'a, str>,
    /// The user's choices, one per question.
    pub chosen: Vec<Cow<'a, str>>,
}

impl<'a> ToolAnswer<'a> {
    /// A command that exited. A failure starts with its exit code, as in the agents' own messages.
    pub fn exited(code: i64, output: Cow<'a, str>) -> ToolAnswer<'a> {
        let (outcome, output) = match code {
            0 => (Outcome::Done, output),
            _ => (Outcome::Failed, Cow::Owned(format!("Exit code {code}\n{output}"))),
        };
        ToolAnswer { outcome, output, ..ToolAnswer::default() }
    }
}

/// What is kept of one tool use.
pub fn tool_use(
    cleaner: &Cleaner,
    name: &str,
    arguments: &ToolArguments<'_>,
    answer: &ToolAnswer<'_>,
) -> ToolUse<'static> {
    let (new_texts, diff) = (arguments.new_texts().map(escaped).collect::<Vec<_>>(), escaped(&answer.diff));
    let patch_text = escaped(arguments.patch_text().unwrap_or_default());
    let path = Text(arguments.touched_path().map(Cow::Borrowed));
    let mut used = Use::new(cleaner);
    used.outcome = answer.outcome;
    match verb(name) {
        Verb::Run => {
            let output = Cow::Borrowed(&*answer.output);
            let has_error_text = !answer.outcome.may_be_done() && !output.is_empty();
            let error = has_error_text.then(|| output.clone());
            let folders = [&arguments.workdir, &arguments.dir_path, &arguments.directory, &arguments.working_directory];
            let folder = folders.into_iter().find_map(|folder| folder.0.as_deref());
            tool::in_folder(&mut used, Text(folder.map(Cow::Borrowed)));
            tool::shell(&mut used, Text(arguments.command_line()), error, || output);
        }
        _ if !answer.outcome.may_be_done() => tool::failed(&mut used, Cow::Borrowed(&*answer.output)),
        Verb::Edit => {
            // New text without a diff is the whole file.
            let is_whole = diff.is_empty() && (arguments.content.0.is_some() || arguments.file_text.0.is_some());
            let lines = if is_whole { Vec::new() } else { patch::unified(Escaped(&diff)) };
            tool::edited(&mut used, path, new_texts.iter().map(|text| Escaped(text)), lines);
        }
        Verb::Patch => patch::apply_patch(&mut used, Escaped(&patch_text)),
        Verb::Read => tool::read(&mut used, path),
        Verb::List => todos(&mut used, arguments),
        Verb::Ask => {
            let chosen = answer.chosen.iter().map(|chosen| Cow::Borrowed(&**chosen));
            tool::answers(&mut used, arguments.question_texts().map(Cow::Borrowed).zip(chosen));
        }
        Verb::Plan => used.plan = arguments.summary.0.as_deref().map(|plan| cleaner.clean(plan, Keep::PROMPT)),
        Verb::Query => copilot::todos::changed(&mut used, arguments.query.0.as_deref().unwrap_or_default()),
        Verb::Other => {}
    }
    used.of(Cow::Borrowed(name)).into_owned()
}

/// A change given as a diff, or as the whole new file.
pub fn changed(cleaner: &Cleaner, used: &mut ToolUse<'static>, path: &str, diff: &str, content: &str) {
    let (diff, content) = (escaped(diff), escaped(content));
    let added = Escaped(&diff).lines().filter_map(|line| line.0.strip_prefix('+')).map(Escaped);
    let lines = if diff.is_empty() { Vec::new() } else { patch::unified(Escaped(&diff)) };
    let mut one = Use::with(cleaner, std::mem::take(used));
    tool::edited(&mut one, Text(Some(Cow::Borrowed(path))), added.chain([Escaped(&content)]), lines);
    *used = one.into_owned();
}

/// Another file that was touched.
pub fn touched(cleaner: &Cleaner, used: &mut ToolUse<'static>, path: &str, how: Touch, lines: Vec<(u32, u32)>) {
    let mut one = Use::with(cleaner, std::mem::take(used));
    tool::push_file(&mut one, Cow::Borrowed(path), how, lines);
    *used = one.into_owned();
}

/// Makes relative paths absolute, starting at `cwd`.
pub fn resolve_paths(cleaner: &Cleaner, used: &mut ToolUse<'static>, cwd: &str) {
    for touched in &mut used.files {
        touched.path = cleaner.clean(path::joined(cwd, &touched.path).into_owned(), Keep::NAME);
    }
}

/// The text with JSON escapes, which is what the name and patch parsers read.
fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')).unwrap_or_default().to_string()
}

fn todos<'a>(used: &mut Use<'a>, arguments: &'a ToolArguments<'_>) {
    for list in [&arguments.todos, &arguments.plan] {
        match list {
            TextOrList::List(items) => {
                let items = items.iter().map(|Object(todo)| todo.borrowed());
                return tool::todos(used, items);
            }
            TextOrList::Text(checklist) => return tool::todos(used, checklist.lines().filter_map(checked_item)),
            TextOrList::Neither => {}
        }
    }
}

/// `- [x] written` or `- [ ] to write`.
fn checked_item(line: &str) -> Option<(Text<'_>, Text<'_>)> {
    let (mark, subject) = line.trim_start().trim_start_matches(['-', '*', ' ']).strip_prefix('[')?.split_once(']')?;
    let status = if mark.trim().is_empty() { "pending" } else { "completed" };
    Some((Text(Some(Cow::Borrowed(subject.trim()))), Text(Some(Cow::Borrowed(status)))))
}
