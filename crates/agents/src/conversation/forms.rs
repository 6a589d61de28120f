//! The forms in which agents write calls and answers, and what they have in common.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::patch;
use serde::{Deserialize, Serialize};

pub type Object = Map<String, Value>;

/// Where the parts of a call are in its object.
pub struct CallForm<'v> {
    pub id: &'v str,
    pub tool: &'v str,
    /// The fields that lead to the arguments.
    pub arguments: &'static [&'static str],
    /// The fields that lead to the answer, if the same object has it.
    pub answers: &'static [&'static [&'static str]],
}

/// Where the parts of an answer are in its object.
pub struct AnswerForm<'v> {
    pub id: &'v str,
    pub answers: &'static [&'static [&'static str]],
}

/// How the keys of a file's path are spelled.
const PATHS: [&str; 8] =
    ["file_path", "path", "filePath", "absolute_path", "notebook_path", "target_file", "filename", "relative_path"];

/// What a search is given besides a path.
const SEARCHES: [&str; 5] = ["pattern", "query", "regex", "glob", "search"];

/// The keys of the line that a command runs.
pub const COMMAND_LINES: [&str; 4] = ["command", "cmd", "commands", "script"];

/// The keys of what a call changes in a file.
const CHANGES: [&str; 12] = [
    "old_string",
    "new_string",
    "old_str",
    "new_str",
    "oldString",
    "newString",
    "old_text",
    "new_text",
    "patch",
    "patchText",
    "input",
    "diff",
];

pub fn text<'v>(object: &'v Object, key: &str) -> Option<&'v str> {
    object.get(key).and_then(Value::as_str)
}

pub fn at<'v>(object: &'v Object, path: &[&str]) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    let value = object.get(*first)?;
    if rest.is_empty() { Some(value) } else { at(value.as_object()?, rest) }
}

pub fn at_mut<'v>(object: &'v mut Object, path: &[&str]) -> Option<&'v mut Value> {
    let (first, rest) = path.split_first()?;
    let value = object.get_mut(*first)?;
    if rest.is_empty() { Some(value) } else { at_mut(value.as_object_mut()?, rest) }
}

/// The object as a call of a tool.
pub fn call(object: &Object) -> Option<CallForm<'_>> {
    let (id, tool, arguments, answers): (&str, &str, &'static [&'static str], &'static [&'static [&'static str]]) =
        match text(object, "type") {
            Some("tool_use") => ("id", text(object, "name")?, &["input"], &[]),
            Some("function_call") => ("call_id", text(object, "name")?, &["arguments"], &[]),
            Some("custom_tool_call") => ("call_id", text(object, "name")?, &["input"], &[]),
            Some("local_shell_call") => ("call_id", "shell", &["action"], &[]),
            Some("tool") if object.contains_key("state") => (
                "callID",
                text(object, "tool")?,
                &["state", "input"],
                &[&["state", "output"], &["state", "error"], &["state", "metadata"]],
            ),
            _ if object.contains_key("args") => {
                ("id", text(object, "name")?, &["args"], &[&["result"], &["resultDisplay"]])
            }
            _ if object.contains_key("toolCallId") && object.contains_key("arguments") => {
                ("toolCallId", text(object, "toolName").or(text(object, "name"))?, &["arguments"], &[])
            }
            _ => return None,
        };
    Some(CallForm { id: text(object, id).unwrap_or_default(), tool, arguments, answers })
}

/// The object as the answer to a call.
pub fn answer(object: &Object) -> Option<AnswerForm<'_>> {
    let (id, answers): (&str, &'static [&'static [&'static str]]) = match text(object, "type") {
        Some("tool_result") => ("tool_use_id", &[&["content"]]),
        Some("function_call_output" | "custom_tool_call_output") => ("call_id", &[&["output"]]),
        _ if object.get("response").is_some_and(Value::is_object) => ("id", &[&["response"]]),
        _ if object.contains_key("toolCallId") && object.contains_key("success") => {
            ("toolCallId", &[&["result"], &["error"]])
        }
        _ => return None,
    };
    Some(AnswerForm { id: text(object, id).unwrap_or_default(), answers })
}

/// Whether a call failed, as its object and what was printed say.
pub fn has_failed(object: &Object, printed: &str) -> bool {
    let flag = |key: &str| object.get(key).and_then(Value::as_bool);
    let state = object.get("state").and_then(|state| state.get("status")).and_then(Value::as_str);
    let response = object.get("response").is_some_and(|response| response.get("error").is_some());
    flag("is_error") == Some(true)
        || flag("success") == Some(false)
        || matches!(state.or(text(object, "status")), Some("error" | "failed"))
        || response
        || exit_code(printed).is_some_and(|code| code != 0)
}

/// The exit code near the beginning of what a command printed, as agents write it.
fn exit_code(printed: &str) -> Option<i64> {
    let beginning = beginning(printed);
    ["Exit code: ", "Exit code ", "Exit Code: ", "exited with code ", "\"exit_code\":"].into_iter().find_map(|before| {
        let rest = &beginning[beginning.find(before)? + before.len()..];
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        rest[..digits].parse().ok()
    })
}

fn beginning(printed: &str) -> &str {
    &printed[..printed.floor_char_boundary(400)]
}

/// Whether a call failed, as its object and its answers say.
pub fn answers_failure(object: &Object, answers: &[&[&str]]) -> bool {
    let printed: Vec<Cow<str>> = answers.iter().filter_map(|path| at(object, path)).map(printed).collect();
    has_failed(object, &printed.iter().map(|text| beginning(text)).collect::<Vec<_>>().join("\n"))
}

/// The arguments as an object; some agents write them as a text that holds one.
pub fn arguments(value: &Value) -> Value {
    match value {
        Value::String(text) => serde_json::from_slice(text.as_bytes()).unwrap_or_else(|_| value.clone()),
        _ => value.clone(),
    }
}

/// The command line that a call runs.
pub fn command(arguments: &Value) -> Option<String> {
    let object = arguments.as_object()?;
    if path(object).is_some() {
        return None;
    }
    COMMAND_LINES.into_iter().find_map(|key| match object.get(key)? {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words[..] {
                [] => None,
                [_, "-c" | "-lc" | "-Command", script] => Some(script.to_string()),
                _ => Some(words.join(if key == "commands" { "\n" } else { " " })),
            }
        }
        _ => None,
    })
}

fn path(object: &Object) -> Option<&str> {
    PATHS.into_iter().find_map(|key| text(object, key)).filter(|path| !path.is_empty())
}

/// What is known of a call when its answer comes.
pub fn awaited(tool: &str, arguments: &Value) -> Call {
    let plain = tool.to_lowercase();
    let is_listing = plain.contains("list") || plain.contains("glob") || matches!(&*plain, "ls" | "tree");
    let is_search = |object: &Object| SEARCHES.into_iter().any(|key| object.contains_key(key));
    let file = match arguments {
        Value::Object(object) if !is_listing && !is_search(object) => path(object).map(str::to_string),
        _ => None,
    };
    let patched = || plain.contains("patch").then(|| changed_text(arguments)).flatten();
    let file = file.or_else(|| patched().map(|patch| patch::first_file(&patch).unwrap_or_default()));
    Call { tool: tool.to_string(), file, ..Call::default() }
}

fn changed_text(arguments: &Value) -> Option<String> {
    match arguments {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => CHANGES.into_iter().find_map(|key| text(object, key)).map(str::to_string),
        _ => None,
    }
}

/// Whether the value of this key is the name of something, not the content of a file.
pub fn is_name(key: &str, value: &str) -> bool {
    PATHS.contains(&key)
        || key.to_lowercase().contains("path")
        || !is_content(key) && value.len() <= 40 && !value.contains(char::is_whitespace)
}

fn is_content(key: &str) -> bool {
    is_change(key)
        || matches!(key, "content" | "contents" | "file_text" | "text" | "new_source" | "code" | "originalFile")
}

/// Whether this key holds a changed part of a file.
pub fn is_change(key: &str) -> bool {
    CHANGES.contains(&key)
}

/// The texts in an answer, one below the other.
pub fn printed(value: &Value) -> Cow<'_, str> {
    let mut found = Vec::new();
    collect(value, &mut found);
    match found[..] {
        [text] => Cow::Borrowed(text),
        _ => Cow::Owned(found.join("\n")),
    }
}

fn collect<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(all) => all.iter().for_each(|value| collect(value, found)),
        Value::Object(object) => {
            // Of a part, its text alone; of anything else, every field that holds what was printed.
            if let Some(said) = text(object, "text") {
                found.push(said);
                return;
            }
            for key in
                ["output", "content", "stdout", "stderr", "error", "message", "result", "response", "functionResponse"]
            {
                if let Some(value) = object.get(key) {
                    collect(value, found);
                }
            }
        }
        _ => {}
    }
}

/// A call whose answer is awaited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub tool: String,
    /// The file that it reads or writes. Its answer is the content of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// It names something private. Its answer is not kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_private: bool,
    /// A call that waits longer has a smaller number.
    #[serde(default)]
    pub number: u64,
}
