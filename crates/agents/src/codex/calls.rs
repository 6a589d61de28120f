//! Codex's tool uses, joined from several lines of its transcript.

use std::borrow::Cow;
use std::collections::HashSet;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep, clip, clip_front};
use cerberus_record::event::{FileTouch, Outcome, ToolUse, Touch};
use cerberus_record::id::fnv1a;
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use super::script;
use crate::code;
use crate::loose::{Entries, Escaped, Flag, List, Object, RawJson, Text, TextOrList};
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments, tool_use};
use crate::transcripts::{Pending, TranscriptBuilder, UseKey};

/// Longer than any output of which we keep the ends.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// What the client reported about a finished tool use.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexEnded<'a> {
    command: TextOrList<'a, Text<'a>>,
    cwd: Text<'a>,
    parsed_cmd: List<Object<ParsedCommand<'a>>>,
    aggregated_output: Text<'a>,
    exit_code: Text<'a>,
    status: Text<'a>,
    stderr: Text<'a>,
    changes: Entries<'a, Object<CodexChange<'a>>>,
    success: Option<Flag>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ParsedCommand<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    path: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexChange<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    unified_diff: Escaped<'a>,
    content: Escaped<'a>,
    move_path: Text<'a>,
}

impl<'a> CodexEnded<'a> {
    fn exit(&self) -> Option<i64> {
        self.exit_code.0.as_deref()?.parse().ok()
    }

    fn outcome(&self) -> Outcome {
        match (self.status.0.as_deref(), &self.success, self.exit()) {
            (Some("declined"), ..) => Outcome::Interrupted,
            (Some("failed"), ..) | (_, Some(Flag(false)), _) => Outcome::Failed,
            (_, _, Some(code)) if code != 0 => Outcome::Failed,
            _ => Outcome::Done,
        }
    }

    /// The changed files, under their current paths.
    fn change(&self, cleaner: &Cleaner) -> ToolUse<'static> {
        let mut used = ToolUse::default();
        for (path, Object(change)) in &self.changes.0 {
            let path = change.move_path.0.as_deref().unwrap_or(path);
            match change.kind.0.as_deref() {
                Some("delete") => tools::touched(cleaner, &mut used, path, Touch::Edited, vec![FileTouch::SOMEWHERE]),
                _ => tools::changed(cleaner, &mut used, path, change.unified_diff, change.content),
            }
        }
        used.tool = Clean::word("apply_patch");
        used
    }
}

#[derive(Default)]
struct CodexCall {
    id: String,
    number: usize,
    began_at: Option<Timestamp>,
    tool: String,
    /// JSON of an object, or a patch.
    arguments: String,
    /// What the client reported about its end, as JSON.
    ended: Option<String>,
    /// The output so far, if it runs in the background.
    output: String,
    /// A script whose commands the client reports itself.
    is_told: bool,
}

#[derive(Default)]
pub struct Calls {
    begun: usize,
    open: Pending<CodexCall>,
    /// Commands running in the background, by the client's name for them.
    running: Pending<CodexCall>,
    /// Scripts that poll such a command and are waited for themselves: the name of the script and that of the command.
    polling: Pending<String>,
    /// The ids of those that are in the transcript, as hashes.
    emitted: HashSet<u64>,
}

impl Calls {
    pub fn begin(&mut self, began_at: Option<Timestamp>, id: &str, name: &str, arguments: RawJson) {
        // The name that the hooks use.
        let arguments = tools::unpacked(&arguments).into_owned();
        let tool = match name {
            "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec" => "Bash",
            "exec" if script::polled(&arguments).is_some() => "write_stdin",
            "exec" if code::commands(&arguments).is_some() => "Bash",
            _ => name,
        };
        self.begun += 1;
        let (id, number, tool) = (id.to_string(), self.begun, tool.to_string());
        let call = CodexCall { id: id.clone(), number, began_at, tool, arguments, ..CodexCall::default() };
        self.open.insert(&id, call.arguments.len(), call);
    }

    /// The client reported how a use ended. Its output may come before or after.
    pub fn ended(&mut self, builder: &mut TranscriptBuilder, id: Option<Cow<str>>, ended: RawJson) {
        let Some(id) = id else { return };
        let json = Some(ended.0.to_string());
        if let Some(mut call) = self.open.remove(&id) {
            call.ended = json;
            self.open.insert(&id, call.bytes(), call);
            return;
        }
        let name = self.running.values_mut().find(|(_, call)| call.id == *id).map(|(name, _)| name.to_string());
        let call = match name.and_then(|name| self.running.remove(&name)) {
            Some(call) => CodexCall { ended: json, ..call },
            None if self.emitted.contains(&fnv1a(id.as_bytes())) => return,
            None => {
                let running = self.running.values_mut();
                self.open.values_mut().chain(running).for_each(|(_, call)| call.is_told = true);
                let is_command = CodexEnded::read(ended.0).changes.0.is_empty();
                let tool = if is_command { "Bash" } else { "apply_patch" }.to_string();
                let (id, arguments) = (id.into_owned(), "{}".to_string());
                CodexCall { id, tool, arguments, ended: json, ..CodexCall::default() }
            }
        };
        let output = Cow::Owned(call.output.clone());
        self.emit(builder, call, ToolAnswer::ended(Outcome::Done, output));
    }

    pub fn answered(&mut self, builder: &mut TranscriptBuilder, id: &str, output: Cow<str>) {
        let Some(mut call) = self.open.remove(id) else { return };
        if let Some(answered) = script::read(&output).filter(|_| matches!(&*call.tool, "Bash" | "write_stdin" | "wait"))
        {
            return self.script_answered(builder, call, answered);
        }
        let printed = CodexPrinted::read(&output);
        match (&*call.tool, printed.running) {
            ("write_stdin", _) => {
                let name = ToolArguments::read(&call.arguments).session_id.0.unwrap_or_default().into_owned();
                self.polled(builder, name, &printed);
            }
            ("Bash", Some(name)) if call.ended.is_none() => {
                call.output = clip(&printed.output, OUTPUT_BYTES_MAX).to_string();
                self.running.insert(name, call.bytes(), call);
            }
            _ => {
                let answer = match printed.exit {
                    Some(code) => ToolAnswer::exited(code, Cow::Borrowed(&*printed.output)),
                    None => {
                        let outcome = outcome(&output, &call.tool);
                        ToolAnswer::ended(outcome, Cow::Borrowed(&*output))
                    }
                };
                self.emit(builder, call, ToolAnswer { chosen: chosen(&output), ..answer });
            }
        }
    }

    /// A later poll of a background command: more output, perhaps its end.
    fn polled(&mut self, builder: &mut TranscriptBuilder, name: String, printed: &CodexPrinted<'_>) {
        let Some(mut command) = self.running.remove(&name) else { return };
        let room = OUTPUT_BYTES_MAX.saturating_sub(command.output.len());
        // The result is at the end of the output.
        command.output.push_str(clip_front(&printed.output, room));
        match printed.exit {
            Some(code) => {
                let answer = ToolAnswer::exited(code, Cow::Owned(std::mem::take(&mut command.output)));
                self.emit(builder, command, answer);
            }
            None => self.running.insert(&name, command.bytes(), command),
        }
    }

    /// A script with a command was answered, or a poll of one, or a wait for either.
    fn script_answered(
        &mut self,
        builder: &mut TranscriptBuilder,
        call: CodexCall,
        answered: script::ScriptAnswer<'_>,
    ) {
        let cell = |name: &str| format!("cell {name}");
        let waited = match &*call.tool {
            "wait" => {
                let name = cell(&ToolArguments::read(&call.arguments).cell_id.0.unwrap_or_default());
                Some(self.polling.remove(&name).unwrap_or(name))
            }
            "write_stdin" => script::polled(&call.arguments),
            _ => None,
        };
        let is_poll = waited.as_ref().is_some_and(|name| !name.starts_with("cell "));
        let started = match &waited {
            Some(name) => self.running.remove(name),
            None => Some(call),
        };
        let Some(mut command) = started else { return };
        let room = OUTPUT_BYTES_MAX.saturating_sub(command.output.len());
        command.output.push_str(clip_front(&answered.output, room));
        let name = match (answered.state, answered.exit, answered.session) {
            (script::ScriptState::Running(name), ..) if is_poll => {
                let command = waited.unwrap_or_default();
                self.polling.insert(&cell(name), command.len(), command.clone());
                Some(command)
            }
            (script::ScriptState::Running(name), ..) => Some(cell(name)),
            (_, None, Some(session)) => Some(session),
            (script::ScriptState::Completed, None, None) if is_poll => waited,
            (state, exit, _) => {
                let output = Cow::Owned(std::mem::take(&mut command.output));
                let answer = match (exit, state) {
                    (Some(code), _) => ToolAnswer::exited(code, output),
                    (None, script::ScriptState::Failed) => ToolAnswer::ended(Outcome::Failed, output),
                    (None, _) => ToolAnswer::ended(Outcome::Unknown, output),
                };
                return self.emit(builder, command, answer);
            }
        };
        self.running.insert(&name.unwrap_or_default(), command.bytes(), command);
    }

    /// A call without an answer is in flight. A command still running at the end of the transcript has no outcome.
    pub fn finish(&mut self, builder: &mut TranscriptBuilder) {
        let mut running: Vec<CodexCall> = self.running.take().map(|(_, call)| call).collect();
        running.sort_by_key(|call| call.number);
        for mut call in running {
            let output = Cow::Owned(std::mem::take(&mut call.output));
            self.emit(builder, call, ToolAnswer::ended(Outcome::Unknown, output));
        }
        let mut open: Vec<CodexCall> = self.open.take().map(|(_, call)| call).collect();
        open.sort_by_key(|call| call.number);
        for call in open {
            match call.ended {
                Some(_) => self.emit(builder, call, ToolAnswer::default()),
                None => {
                    let arguments = ToolArguments::read(&call.arguments);
                    builder.in_flight(UseKey::Id(&call.id), call.began_at, &call.tool, &arguments);
                }
            }
        }
    }

    fn emit(&mut self, builder: &mut TranscriptBuilder, call: CodexCall, answer: ToolAnswer) {
        if self.emitted.insert(fnv1a(call.id.as_bytes())) {
            builder.tool(UseKey::Id(&call.id), call.used(builder.cleaner, answer));
        }
    }
}

impl<'a> CodexEnded<'a> {
    fn read(json: &'a str) -> CodexEnded<'a> {
        serde_json::from_slice::<Object<CodexEnded>>(json.as_bytes()).map(|found| found.0).unwrap_or_default()
    }
}

impl CodexCall {
    /// How much it holds.
    fn bytes(&self) -> usize {
        self.arguments.len() + self.output.len() + self.ended.as_ref().map_or(0, String::len)
    }

    fn used(&self, cleaner: &Cleaner, answer: ToolAnswer<'_>) -> ToolUse<'static> {
        let mut arguments = ToolArguments::read(&self.arguments);
        let mut ended = self.ended.as_deref().map(CodexEnded::read).unwrap_or_default();
        let answer = match (ended.exit(), ended.outcome()) {
            (Some(code), _) => ToolAnswer::exited(code, ended.aggregated_output.0.take().unwrap_or(answer.output)),
            (None, Outcome::Done) => answer,
            (None, outcome) => ToolAnswer { outcome, output: ended.stderr.0.take().unwrap_or(answer.output), ..answer },
        };
        if arguments.command_line().is_none() {
            arguments.command = std::mem::take(&mut ended.command);
        }
        if arguments.command_line().is_none() && self.tool == "Bash" && !self.is_told {
            // A script.
            arguments.command = arguments.input.0.take().map_or(TextOrList::Neither, TextOrList::Text);
        }
        let folder = arguments.workdir.0.take().or(ended.cwd.0.take());
        let mut used = match patch_in_shell(&arguments, &answer) {
            _ if answer.outcome == Outcome::Done && !ended.changes.0.is_empty() => ended.change(cleaner),
            Some(patch) => tool_use(cleaner, "apply_patch", &ToolArguments::read(&patch), &answer),
            None => tool_use(cleaner, &self.tool, &arguments, &answer),
        };
        if answer.outcome == Outcome::Done {
            let read = ended.parsed_cmd.0.into_iter().filter(|parsed| parsed.0.kind.0.as_deref() == Some("read"));
            for path in read.filter_map(|parsed| parsed.0.path.0) {
                tools::touched(cleaner, &mut used, &path, Touch::Read, Vec::new());
            }
        }
        if let Some(folder) = folder {
            let folder = folder.strip_prefix("file://").unwrap_or(&folder);
            tools::resolve_paths(cleaner, &mut used, folder);
            used.folder = used.command.is_some().then(|| cleaner.clean(folder.to_string(), Keep::NAME));
        }
        used
    }
}

/// A patch that was applied through the shell.
fn patch_in_shell(arguments: &ToolArguments<'_>, answer: &ToolAnswer<'_>) -> Option<String> {
    let line = arguments.command_line().filter(|line| line.contains("*** Begin Patch"))?;
    answer.output.contains("Success. Updated the following files").then(|| line.into_owned())
}

/// The output as the model saw it: a few lines of metadata, then what was printed.
#[derive(Default)]
struct CodexPrinted<'a> {
    exit: Option<i64>,
    /// The command continues in the background under this name.
    running: Option<&'a str>,
    output: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OlderOutput<'a> {
    output: Text<'a>,
    metadata: Object<OlderMetadata<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct OlderMetadata<'a> {
    exit_code: Text<'a>,
}

impl<'a> CodexPrinted<'a> {
    fn read(text: &'a str) -> CodexPrinted<'a> {
        if text.starts_with("{\"output\"")
            && let Ok(OlderOutput { output, metadata }) = serde_json::from_slice(text.as_bytes())
        {
            let exit = metadata.0.exit_code.0.and_then(|code| code.parse().ok());
            return CodexPrinted { exit, output: output.0.unwrap_or_default(), ..CodexPrinted::default() };
        }
        let is_described =
            ["Chunk ID:", "Wall time:", "Exit code:", "Process "].iter().any(|word| text.starts_with(word));
        let Some((head, output)) = text.split_once("Output:\n").filter(|_| is_described) else {
            return CodexPrinted { output: Cow::Borrowed(text), ..CodexPrinted::default() };
        };
        let after = |words: &[&str]| {
            head.lines().find_map(|line| words.iter().find_map(|word| line.strip_prefix(word))).map(str::trim)
        };
        let exit = after(&["Process exited with code ", "Exit code:"]).and_then(|code| code.parse().ok());
        CodexPrinted { exit, running: after(&["Process running with session ID "]), output: Cow::Borrowed(output) }
    }
}

/// Output without an exit code is a message from the client.
fn outcome(message: &str, tool: &str) -> Outcome {
    let line = message.lines().next().unwrap_or_default();
    if line.starts_with("aborted") || line.contains("rejected by user") {
        Outcome::Interrupted
    } else if line.contains(" failed for ") || line.contains(" failed: ") || line.starts_with("unsupported call") {
        Outcome::Failed
    } else if tool == "Bash" {
        Outcome::Unknown
    } else {
        Outcome::Done
    }
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ChosenAnswer<'a> {
    answers: Entries<'a, Object<ChosenOne<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ChosenOne<'a> {
    answers: List<Text<'a>>,
}

/// The user's answers, one per question.
fn chosen(output: &str) -> Vec<Cow<'_, str>> {
    if !output.starts_with("{\"answers\"") {
        return Vec::new();
    }
    let chosen: ChosenAnswer = serde_json::from_slice(output.as_bytes()).unwrap_or_default();
    let joined = |one: ChosenOne| one.answers.0.into_iter().filter_map(|text| text.0).collect::<Vec<_>>().join(", ");
    chosen.answers.0.into_iter().map(|(_, Object(one))| Cow::Owned(joined(one))).collect()
}
