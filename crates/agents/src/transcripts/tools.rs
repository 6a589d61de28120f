//! What is kept of the tool uses of all agents but Claude Code.
//!
//! Their tool names do not clash, so one table serves all, for hooks and transcripts alike. File contents are scanned for
//! names and dropped. Patches in hooks of Codex are read without unescaping them.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::{FileTouch, Outcome, ToolUse, Touch};
use cerberus_record::path;
use serde::Deserialize;

use crate::loose::{Escaped, List, Object, RawJson, Text, TextOrList};
use crate::tool::{CommandExit, Todo, Use, UserQuestion};
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
        "Bash" | "Shell" | "bash" | "powershell" | "shell" | "run_shell_command" | "run_commands" => Verb::Run,
        "edit" | "create" | "str_replace_editor" | "write" | "multiedit" | "write_file" | "replace" | "editor"
        | "Write" | "Edit" | "MultiEdit" | "StrReplace" | "Delete" => Verb::Edit,
        "apply_patch" | "patch" => Verb::Patch,
        "read" | "view" | "read_file" | "read_files" | "read_many_files" | "Read" => Verb::Read,
        "TodoWrite" | "update_plan" | "update_todo" | "todowrite" | "write_todos" | "todo_write" => Verb::List,
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
    cwd: Text<'a>,
    pub session_id: Text<'a>,
    pub cell_id: Text<'a>,
    pub path: Text<'a>,
    file_path: Text<'a>,
    #[serde(rename = "filePath")]
    file_path_in_camel_case: Text<'a>,
    absolute_path: Text<'a>,
    target_file: Text<'a>,
    files: List<Object<ReadFile<'a>>>,
    include: List<Text<'a>>,
    pub content: Option<Escaped<'a>>,
    contents: Option<Escaped<'a>>,
    file_text: Option<Escaped<'a>>,
    new_str: Escaped<'a>,
    pub new_text: Escaped<'a>,
    new_string: Escaped<'a>,
    #[serde(rename = "newString")]
    new_string_in_camel_case: Escaped<'a>,
    pub input: Text<'a>,
    patch: Escaped<'a>,
    #[serde(rename = "patchText")]
    patch_text: Escaped<'a>,
    todos: TextOrList<'a, Object<Todo<'a>>>,
    plan: TextOrList<'a, Object<Todo<'a>>>,
    query: Text<'a>,
    summary: Text<'a>,
    question: Text<'a>,
    questions: List<Object<UserQuestion<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ReadFile<'a> {
    path: Text<'a>,
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
        let paths =
            [&self.path, &self.file_path, &self.file_path_in_camel_case, &self.absolute_path, &self.target_file];
        paths.into_iter().find_map(|path| path.0.as_deref()).filter(|path| !path.is_empty())
    }

    fn read_paths(&self) -> impl Iterator<Item = &str> {
        let listed = self.files.0.iter().filter_map(|Object(file)| file.path.0.as_deref());
        // A glob pattern is not a file.
        let included = self.include.0.iter().filter_map(|path| path.0.as_deref());
        let included = included.filter(|path| !path.contains(['*', '?', '{', '[']));
        self.touched_path().into_iter().chain(listed).chain(included)
    }

    fn new_texts(&self) -> impl Iterator<Item = Escaped<'a>> {
        let parts = [self.new_str, self.new_text, self.new_string, self.new_string_in_camel_case];
        [self.content, self.contents, self.file_text].into_iter().flatten().chain(parts)
    }

    fn has_whole_text(&self) -> bool {
        self.content.or(self.contents).or(self.file_text).is_some()
    }

    fn patch_text(&self) -> Cow<'_, str> {
        match (self.patch.0, self.patch_text.0) {
            ("", "") => self.input.0.as_deref().map_or(Cow::Borrowed(""), |patch| Cow::Owned(escaped(patch))),
            ("", patch) | (patch, _) => Cow::Borrowed(patch),
        }
    }

    /// One text per question, so that answers can be counted off; empty if there is none.
    fn question_texts(&self) -> impl Iterator<Item = &str> {
        let listed = self.questions.0.iter().map(|Object(asked)| asked.question.0.as_deref().unwrap_or_default());
        self.question.0.as_deref().into_iter().chain(listed)
    }

    /// What a use is about: a command, or the first file that is touched.
    pub fn target(&self, tool: &str) -> Option<String> {
        let named = self.command_line().or_else(|| self.touched_path().map(Cow::Borrowed)).map(Cow::into_owned);
        let patch =
            || matches!(verb(tool), Verb::Patch).then(|| patch::first_file(&Escaped(&self.patch_text()).unescaped()));
        named.or_else(|| patch()?)
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
    pub diff: Escaped<'a>,
    /// The user's choices, one per question.
    pub chosen: Vec<Cow<'a, str>>,
}

impl<'a> ToolAnswer<'a> {
    /// A command that exited. A failure starts with its exit code, as in the agents' own messages.
    pub fn exited(code: i64, output: Cow<'a, str>) -> ToolAnswer<'a> {
        match code {
            0 => ToolAnswer::ended(Outcome::Done, output),
            _ => ToolAnswer::ended(Outcome::Failed, Cow::Owned(format!("Exit code {code}\n{output}"))),
        }
    }

    pub(crate) fn exit(exit: CommandExit, output: Cow<'a, str>) -> ToolAnswer<'a> {
        match exit {
            CommandExit::Code(code) => ToolAnswer::exited(code, output),
            CommandExit::Interrupted => ToolAnswer::ended(Outcome::Interrupted, output),
            CommandExit::Unknown => ToolAnswer::ended(Outcome::Unknown, output),
        }
    }

    pub fn ended(outcome: Outcome, output: Cow<'a, str>) -> ToolAnswer<'a> {
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
    let patch_text = arguments.patch_text();
    let path = Text(arguments.touched_path().map(Cow::Borrowed));
    let mut used = Use::new(cleaner);
    used.outcome = answer.outcome;
    match verb(name) {
        Verb::Run => {
            let output = Cow::Borrowed(&*answer.output);
            let has_error_text = !answer.outcome.may_be_done() && !output.is_empty();
            let error = has_error_text.then(|| output.clone());
            let ToolArguments { workdir, dir_path, directory, working_directory, cwd, .. } = arguments;
            let folders = [workdir, dir_path, directory, working_directory, cwd];
            let folder = folders.into_iter().find_map(|folder| folder.0.as_deref());
            tool::in_folder(&mut used, Text(folder.map(Cow::Borrowed)));
            tool::shell(&mut used, Text(arguments.command_line()), error, || output);
        }
        _ if !answer.outcome.may_be_done() => tool::failed(&mut used, Cow::Borrowed(&*answer.output)),
        // Some have no name of its own for a patch.
        Verb::Edit if path.0.is_none() && !patch_text.is_empty() => {
            patch::apply_patch(&mut used, Escaped(&patch_text));
        }
        Verb::Edit => {
            let lines = patch::unified(answer.diff);
            // New text without a diff is the whole file.
            let is_whole = lines == [FileTouch::SOMEWHERE] && arguments.has_whole_text();
            let lines = if is_whole { Vec::new() } else { lines };
            tool::edited(&mut used, path, arguments.new_texts(), lines);
        }
        Verb::Patch => patch::apply_patch(&mut used, Escaped(&patch_text)),
        Verb::Read => {
            arguments.read_paths().for_each(|path| tool::read(&mut used, Text(Some(Cow::Borrowed(path)))));
        }
        Verb::List => todos(&mut used, arguments),
        Verb::Ask => {
            let chosen = answer.chosen.iter().map(|chosen| Cow::Borrowed(&**chosen));
            let answered = arguments.question_texts().map(Cow::Borrowed).zip(chosen);
            tool::answers(&mut used, answered.filter(|(asked, chosen)| !asked.is_empty() && !chosen.is_empty()));
        }
        Verb::Plan => used.plan = arguments.summary.0.as_deref().map(|plan| cleaner.clean(plan, Keep::PROMPT)),
        Verb::Query => copilot::todos::changed(&mut used, arguments.query.0.as_deref().unwrap_or_default()),
        Verb::Other => {}
    }
    used.of(Cow::Borrowed(name)).into_owned()
}

/// A change given as a diff, or as the whole new file.
pub fn changed(cleaner: &Cleaner, used: &mut ToolUse<'static>, path: &str, diff: Escaped, content: Escaped) {
    let added = diff.lines().filter_map(|line| line.0.strip_prefix('+')).map(Escaped);
    let lines = if diff.0.is_empty() { Vec::new() } else { patch::unified(diff) };
    let mut one = Use::with(cleaner, std::mem::take(used));
    tool::edited(&mut one, Text(Some(Cow::Borrowed(path))), added.chain([content]), lines);
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
pub fn escaped(text: &str) -> String {
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

/// `- [x] written` or `- [ ] to write`. Any other mark is of something unfinished.
fn checked_item(line: &str) -> Option<(Text<'_>, Text<'_>)> {
    let item = line.trim_start().strip_prefix(['-', '*'])?.trim_start();
    let (mark, subject) = item.strip_prefix('[')?.split_once(']')?;
    let status = if mark.trim().eq_ignore_ascii_case("x") { "completed" } else { "pending" };
    Some((Text(Some(Cow::Borrowed(subject.trim()))), Text(Some(Cow::Borrowed(status)))))
}
