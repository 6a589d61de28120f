//! Codex's transcripts (rollouts): lines for what the model saw and lines for what the client showed its user, often
//! both for the same thing.
//!
//! Prompts and messages come from the client's events. These exist in two forms, and what appears in both counts
//! once. A tool use is a call and an output with the same call id, which the hooks report too. What the client
//! reported in between (exit code, changed files) is added. A background command ends when a later poll reports its
//! end.

use std::borrow::Cow;
use std::collections::HashMap;

use cerberus_record::clean::Cleaner;
use cerberus_record::id::fnv1a;
use cerberus_record::source::MemorySource;
use serde::Deserialize;

use super::calls::Calls;
use crate::loose::{List, Object, RawJson, Text, TextOrList};
use crate::transcripts::{ReadTranscript, Transcript, TranscriptBuilder};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexLine<'a> {
    timestamp: Text<'a>,
    ordinal: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    payload: RawJson<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct SessionMeta<'a> {
    id: Text<'a>,
    session_id: Text<'a>,
    parent_thread_id: Text<'a>,
    thread_source: Text<'a>,
    /// `cli`, `vscode`, `exec`, …, or an object for a subagent.
    source: RawJson<'a>,
    subagent_history_start_ordinal: Text<'a>,
    cwd: Text<'a>,
    git: Object<CodexGit<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct SubagentSource<'a> {
    subagent: RawJson<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct SpawnedAgent<'a> {
    thread_spawn: Object<Spawn<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Spawn<'a> {
    parent_thread_id: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexGit<'a> {
    branch: Text<'a>,
}

/// An `event_msg` of any kind.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexMessage<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    turn_id: Text<'a>,
    cwd: Text<'a>,
    message: Text<'a>,
    last_agent_message: Text<'a>,
    thread_name: Text<'a>,
    call_id: Text<'a>,
    item: RawJson<'a>,
    turn_attribution: Object<Attribution<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Attribution<'a> {
    turn_trigger: Text<'a>,
}

/// The newer form of the same.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CodexItem<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    content: List<Object<Piece<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Piece<'a> {
    text: Text<'a>,
}

/// A tool call by the model, or its output.
#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct ResponseItem<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    call_id: Text<'a>,
    name: Text<'a>,
    arguments: RawJson<'a>,
    input: RawJson<'a>,
    action: RawJson<'a>,
    output: TextOrList<'a, Object<Piece<'a>>>,
}

fn parsed<'a, T: Deserialize<'a> + Default>(raw: RawJson<'a>) -> T {
    serde_json::from_slice::<Object<T>>(raw.0.as_bytes()).map(|found| found.0).unwrap_or_default()
}

pub(crate) fn begin(cleaner: &Cleaner) -> Box<dyn ReadTranscript + '_> {
    Box::new(CodexReader {
        builder: TranscriptBuilder::new(cleaner),
        thread: None,
        first_ordinal: 0,
        is_headless: false,
        turn: None,
        prompts: HashMap::new(),
        calls: Calls::default(),
    })
}

/// Sources of sessions that no person begins, as in the JSON text.
const HEADLESS: [&str; 2] = ["\"exec\"", "\"mcp\""];

/// The form in which a prompt was reported.
#[derive(Clone, Copy)]
enum CodexForm {
    Message,
    Item,
}

struct CodexReader<'c> {
    builder: TranscriptBuilder<'c>,
    thread: Option<String>,
    /// Lines before this one were copied from the parent session.
    first_ordinal: u64,
    /// `codex exec` or a program began the session.
    is_headless: bool,
    turn: Option<String>,
    /// How often each form reported the same text, by its hash. The real count is the larger of the two.
    prompts: HashMap<u64, [usize; 2]>,
    calls: Calls,
}

impl ReadTranscript for CodexReader<'_> {
    fn line(&mut self, line: &[u8]) -> Option<()> {
        self.take(serde_json::from_slice(line).ok()?);
        Some(())
    }

    fn finish(&mut self) {
        self.calls.finish(&mut self.builder);
        self.builder.finish();
    }

    fn read(&mut self) -> &mut Transcript {
        &mut self.builder.read
    }
}

impl CodexReader<'_> {
    fn take(&mut self, line: CodexLine) {
        let ordinal = line.ordinal.0.and_then(|ordinal| ordinal.parse().ok());
        let is_copied = ordinal.is_some_and(|ordinal: u64| ordinal < self.first_ordinal);
        let kind = line.kind.0.unwrap_or_default();
        if is_copied && kind != "session_meta" {
            return;
        }
        self.builder.set_time(line.timestamp.0);
        match &*kind {
            "session_meta" => self.session(parsed(line.payload)),
            "turn_context" => self.turn_context(parsed(line.payload)),
            "event_msg" => self.message(parsed(line.payload), line.payload),
            "response_item" => self.response(parsed(line.payload)),
            "compacted" => {
                let key = self.time_key();
                self.builder.compacted(parsed::<CodexMessage>(line.payload).message.0.unwrap_or_default(), &key);
            }
            _ => {}
        }
    }

    fn session(&mut self, meta: SessionMeta) {
        if self.thread.is_none() {
            self.is_headless = HEADLESS.contains(&meta.source.0);
            self.builder.untyped = self.is_headless.then_some(MemorySource::Headless);
            let source: SubagentSource = parsed(meta.source);
            let spawned: SpawnedAgent = parsed(source.subagent);
            let parent = meta.parent_thread_id.0.or(spawned.thread_spawn.0.parent_thread_id.0);
            let is_subagent = parent.is_some()
                || !matches!(source.subagent.0, "" | "null")
                || meta.thread_source.0.as_deref() == Some("subagent");
            let whole = meta.session_id.0.filter(|session| Some(session) != meta.id.0.as_ref());
            self.builder.is_subagent = is_subagent;
            self.builder.set_session(if is_subagent { whole.or(parent) } else { None }.or_else(|| meta.id.0.clone()));
            self.first_ordinal = meta.subagent_history_start_ordinal.0.and_then(|at| at.parse().ok()).unwrap_or(0);
            self.builder.set_cwd(meta.cwd.0);
        } else if self.thread.as_deref() != meta.id.0.as_deref() {
            // A fork also carries its parent's metadata.
            return;
        }
        self.builder.set_branch(meta.git.0.branch.0);
        self.thread = meta.id.0.map(Cow::into_owned);
    }

    /// Newer versions say of each turn what began it: a session can go on in another program.
    fn untyped(&self, trigger: Option<&str>) -> Option<MemorySource> {
        match trigger {
            None => self.is_headless.then_some(MemorySource::Headless),
            Some("user") => None,
            Some("exec") => Some(MemorySource::Headless),
            Some(_) => Some(MemorySource::Client),
        }
    }

    fn turn_context(&mut self, context: CodexMessage) {
        self.builder.set_cwd(context.cwd.0);
        self.turn = context.turn_id.0.map(Cow::into_owned).or(self.turn.take());
    }

    fn message(&mut self, message: CodexMessage, whole: RawJson) {
        match message.kind.0.as_deref() {
            Some("task_started" | "turn_started") => {
                self.builder.finish_turn();
                self.builder.untyped = self.untyped(message.turn_attribution.0.turn_trigger.0.as_deref());
                self.turn = message.turn_id.0.map(Cow::into_owned);
            }
            Some("user_message") => self.prompt(message.message.0.unwrap_or_default(), CodexForm::Message),
            Some("agent_message") => self.agent_message(message.message.0),
            Some("task_complete" | "turn_complete") => {
                self.turn = message.turn_id.0.map(Cow::into_owned).or(self.turn.take());
                self.agent_message(message.last_agent_message.0);
                self.builder.finish_turn();
            }
            Some("thread_name_updated") => self.builder.set_title(message.thread_name.0),
            // The turn was cut short; its last message is not an answer.
            Some("turn_aborted") => self.builder.last_message = None,
            Some("exec_command_end" | "patch_apply_end") => {
                self.calls.ended(&mut self.builder, message.call_id.0, whole);
            }
            Some("item_completed") => {
                let item: CodexItem = parsed(message.item);
                match item.kind.0.as_deref() {
                    Some("UserMessage") => self.prompt(text_of(item.content.0), CodexForm::Item),
                    Some("AgentMessage") => self.agent_message(Some(text_of(item.content.0))),
                    Some("CommandExecution" | "FileChange") => {
                        self.calls.ended(&mut self.builder, item.id.0, message.item);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn response(&mut self, item: ResponseItem) {
        let Some(id) = item.call_id.0 else { return };
        let at = self.builder.at;
        self.builder.uses_tool();
        match item.kind.0.as_deref() {
            Some("function_call") => self.calls.begin(at, &id, &item.name.0.unwrap_or_default(), item.arguments),
            Some("custom_tool_call") => self.calls.begin(at, &id, &item.name.0.unwrap_or_default(), item.input),
            Some("local_shell_call") => self.calls.begin(at, &id, "local_shell", item.action),
            Some("function_call_output" | "custom_tool_call_output") => {
                let output = match item.output {
                    TextOrList::Text(text) => text,
                    TextOrList::List(pieces) => text_of(pieces),
                    TextOrList::Neither => Cow::Borrowed(""),
                };
                self.calls.answered(&mut self.builder, &id, output);
            }
            _ => {}
        }
    }

    fn prompt(&mut self, words: Cow<str>, form: CodexForm) {
        let counts = self.prompts.entry(fnv1a(words.as_bytes())).or_default();
        let before = counts[0].max(counts[1]);
        counts[form as usize] += 1;
        if counts[form as usize] > before {
            let source = format!("{}-{before}", self.time_key());
            self.builder.prompt(request(words), &source);
        }
    }

    fn agent_message(&mut self, words: Option<Cow<str>>) {
        let key = self.turn.clone().unwrap_or_else(|| self.time_key());
        self.builder.agent_message(words.unwrap_or_default(), &key);
    }

    fn time_key(&self) -> String {
        self.builder.at.map_or_else(String::new, |at| at.millis().to_string())
    }
}

fn text_of<'a>(pieces: Vec<Object<Piece<'a>>>) -> Cow<'a, str> {
    let mut texts = pieces.into_iter().filter_map(|piece| piece.0.text.0);
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |all, text| Cow::Owned(format!("{all}\n{text}")))
}

/// An editor puts its own context before the user's request.
fn request(words: Cow<'_, str>) -> Cow<'_, str> {
    const ASKED: &str = "## My request for Codex:";
    match words.trim_start().starts_with("# Context from my IDE setup") {
        true => words.split_once(ASKED).map_or(Cow::Borrowed(""), |(_, asked)| Cow::Owned(asked.trim().to_string())),
        false => words,
    }
}
