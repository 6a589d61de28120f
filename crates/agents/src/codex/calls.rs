//! Codex's tool uses, joined from several lines of its transcript.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep, clip, clip_front};
use cerberus_record::event::{FileTouch, Outcome, ToolUse, Touch};
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use super::script;
use crate::code;
use crate::loose::{Entries, Flag, List, Object, RawJson, Text, TextOrList};
use crate::transcripts::tools::{self, ToolAnswer, ToolArguments, tool_use};
use crate::transcripts::{TranscriptBuilder, UseKey};

/// Longer than any output of which we keep the ends.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// What the client reported about a finished tool use.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub struct CodexEnded<'a> {
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
    unified_diff: Text<'a>,
    content: Text<'a>,
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
            let diff = change.unified_diff.0.as_deref().unwrap_or_default();
            match change.kind.0.as_deref() {
                Some("delete") => tools::touched(cleaner, &mut used, path, Touch::Edited, vec![FileTouch::SOMEWHERE]),
                _ => tools::changed(cleaner, &mut used, path, diff, change.content.0.as_deref().unwrap_or_default()),
            }
        }
        used.tool = Clean::word("apply_patch");
        used
    }
}

#[derive(Default)]
struct CodexCall<'a> {
    number: usize,
    began_at: Option<Timestamp>,
    tool: Cow<'a, str>,
    /// JSON of an object, or a patch.
    arguments: Cow<'a, str>,
    ended: Option<CodexEnded<'a>>,
    /// The output so far, if it runs in the background.
    output: String,
    /// A script whose commands the client reports itself.
    is_told: bool,
}

#[derive(Default)]
pub struct Calls<'a> {
    begun: usize,
    open: HashMap<Cow<'a, str>, CodexCall<'a>>,
    /// Commands running in the background, by the client's name for them, with their id.
    running: HashMap<String, (Cow<'a, str>, CodexCall<'a>)>,
    /// Scripts that poll such a command and are waited for themselves: the name of the script and that of the command.
    polling: HashMap<String, String>,
    emitted: HashSet<Cow<'a, str>>,
}

impl<'a> Calls<'a> {
    pub fn begin(&mut self, began_at: Option<Timestamp>, id: Cow<'a, str>, name: Cow<'a, str>, arguments: RawJson<'a>) {
        // The name that the hooks use.
        let arguments = tools::unpacked(&arguments);
        let tool = match &*name {
            "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec" => Cow::Borrowed("Bash"),
            "exec" if script::polled(&arguments).is_some() => Cow::Borrowed("write_stdin"),
            "exec" if code::commands(&arguments).is_some() => Cow::Borrowed("Bash"),
            _ => name,
        };
        self.begun += 1;
        self.open.insert(id, CodexCall { number: self.begun, began_at, tool, arguments, ..CodexCall::default() });
    }

    /// The client reported how a use ended. Its output may come before or after.
    pub fn ended(&mut self, builder: &mut TranscriptBuilder<'a>, id: Option<Cow<'a, str>>, ended: CodexEnded<'a>) {
        let Some(id) = id else { return };
        if let Some(call) = self.open.get_mut(&id) {
            call.ended = Some(ended);
            return;
        }
        let name = self.running.iter().find(|(_, (known, _))| *known == id).map(|(name, _)| name.clone());
        let call = match name.and_then(|name| self.running.remove(&name)) {
            Some((_, call)) => CodexCall { ended: Some(ended), ..call },
            None if self.emitted.contains(&id) => return,
            None => {
                let running = self.running.values_mut().map(|(_, call)| call);
                self.open.values_mut().chain(running).for_each(|call| call.is_told = true);
                let tool = Cow::Borrowed(if ended.changes.0.is_empty() { "Bash" } else { "apply_patch" });
                let arguments = Cow::Borrowed("{}");
                CodexCall { tool, arguments, ended: Some(ended), ..CodexCall::default() }
            }
        };
        let output = Cow::Owned(call.output.clone());
        self.emit(builder, id, call, ToolAnswer { output, ..ToolAnswer::default() });
    }

    pub fn answered(&mut self, builder: &mut TranscriptBuilder<'a>, id: &str, output: Cow<'a, str>) {
        let Some((id, mut call)) = self.open.remove_entry(id) else { return };
        if let Some(answered) = script::read(&output).filter(|_| matches!(&*call.tool, "Bash" | "write_stdin" | "wait"))
        {
            return self.script_answered(builder, id, call, answered);
        }
        let printed = CodexPrinted::read(&output);
        match (&*call.tool, printed.running) {
            ("write_stdin", _) => {
                let name = ToolArguments::read(&call.arguments).session_id.0.unwrap_or_default().into_owned();
                self.polled(builder, name, &printed);
            }
            ("Bash", Some(name)) if call.ended.is_none() => {
                call.output = clip(&printed.output, OUTPUT_BYTES_MAX).to_string();
                self.running.insert(name.to_string(), (id, call));
            }
            _ => {
                let answer = match printed.exit {
                    Some(code) => ToolAnswer::exited(code, Cow::Borrowed(&*printed.output)),
                    None => {
                        let outcome = outcome(&output, &call.tool);
                        ToolAnswer { outcome, output: Cow::Borrowed(&*output), ..ToolAnswer::default() }
                    }
                };
                self.emit(builder, id, call, ToolAnswer { chosen: chosen(&output), ..answer });
            }
        }
    }

    /// A later poll of a background command: more output, perhaps its end.
    fn polled(&mut self, builder: &mut TranscriptBuilder<'a>, name: String, printed: &CodexPrinted<'_>) {
        let Some((id, mut command)) = self.running.remove(&name) else { return };
        let room = OUTPUT_BYTES_MAX.saturating_sub(command.output.len());
        // The result is at the end of the output.
        command.output.push_str(clip_front(&printed.output, room));
        match printed.exit {
            Some(code) => {
                let answer = ToolAnswer::exited(code, Cow::Owned(std::mem::take(&mut command.output)));
                self.emit(builder, id, command, answer);
            }
            None => drop(self.running.insert(name, (id, command))),
        }
    }

    /// A script with a command was answered, or a poll of one, or a wait for either.
    fn script_answered(
        &mut self,
        builder: &mut TranscriptBuilder<'a>,
        id: Cow<'a, str>,
        call: CodexCall<'a>,
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
            None => Some((id, call)),
        };
        let Some((id, mut command)) = started else { return };
        let room = OUTPUT_BYTES_MAX.saturating_sub(command.output.len());
        command.output.push_str(clip_front(&answered.output, room));
        let name = match (answered.state, answered.exit, answered.session) {
            (script::ScriptState::Running(name), ..) if is_poll => {
                let command = waited.unwrap_or_default();
                self.polling.insert(cell(name), command.clone());
                Some(command)
            }
            (script::ScriptState::Running(name), ..) => Some(cell(name)),
            (_, None, Some(session)) => Some(session),
            (script::ScriptState::Completed, None, None) if is_poll => waited,
            (state, exit, _) => {
                let output = Cow::Owned(std::mem::take(&mut command.output));
                let answer = match (exit, state) {
                    (Some(code), _) => ToolAnswer::exited(code, output),
                    (None, script::ScriptState::Failed) => {
                        ToolAnswer { outcome: Outcome::Failed, output, ..ToolAnswer::default() }
                    }
                    (None, _) => ToolAnswer { outcome: Outcome::Unknown, output, ..ToolAnswer::default() },
                };
                return self.emit(builder, id, command, answer);
            }
        };
        self.running.insert(name.unwrap_or_default(), (id, command));
    }

    /// A call without an answer is in flight. A command still running at the end of the transcript has no outcome.
    pub fn finish(&mut self, builder: &mut TranscriptBuilder<'a>) {
        let mut running: Vec<_> = self.running.drain().map(|(_, call)| call).collect();
        running.sort_by_key(|(_, call)| call.number);
        for (id, mut call) in running {
            let output = Cow::Owned(std::mem::take(&mut call.output));
            self.emit(builder, id, call, ToolAnswer { outcome: Outcome::Unknown, output, ..ToolAnswer::default() });
        }
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_by_key(|(_, call)| call.number);
        for (id, call) in open {
            match call.ended {
                Some(_) => self.emit(builder, id, call, ToolAnswer::default()),
                None => {
                    let arguments = ToolArguments::read(&call.arguments);
                    builder.in_flight(UseKey::Id(id), call.began_at, &call.tool, &arguments);
                }
            }
        }
    }

    fn emit(
        &mut self,
        builder: &mut TranscriptBuilder<'a>,
        id: Cow<'a, str>,
        call: CodexCall<'a>,
        answer: ToolAnswer<'_>,
    ) {
        if self.emitted.insert(id.clone()) {
            builder.tool(UseKey::Id(id), call.used(builder.cleaner, answer));
        }
    }
}

impl CodexCall<'_> {
    fn used(mut self, cleaner: &Cleaner, answer: ToolAnswer<'_>) -> ToolUse<'static> {
        let mut arguments = ToolArguments::read(&self.arguments);
        let mut ended = self.ended.take().unwrap_or_default();
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
