//! Codex's rollouts: a line for what the model saw, one for what the client told its user, often both for one thing.
//!
//! Prompts and words are taken from the client's own events, in whichever of their two forms; what both forms tell
//! counts once. A tool use is one call and one output, joined by the call's id, which the hooks give too; what the
//! client told of it in between (exit code, changed files) is added. A command that went on in the background ends
//! when a later look at it says so.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::calls::{Calls, Ended};
use crate::agents::loose::{List, Object, Raw, Text, TextOrList};
use crate::agents::transcripts::{Scribe, Transcript, each_line};
use crate::clean::Cleaner;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    ordinal: Text<'a>,
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    payload: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SessionMeta<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    parent_thread_id: Text<'a>,
    #[serde(borrow)]
    thread_source: Text<'a>,
    #[serde(borrow)]
    source: Object<Source<'a>>,
    #[serde(borrow)]
    subagent_history_start_ordinal: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    git: Object<Git<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    #[serde(borrow)]
    subagent: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spawned<'a> {
    #[serde(borrow)]
    thread_spawn: Object<Spawn<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spawn<'a> {
    #[serde(borrow)]
    parent_thread_id: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Git<'a> {
    #[serde(borrow)]
    branch: Text<'a>,
}

/// What an `event_msg` says, of whatever kind.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    turn_id: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    last_agent_message: Text<'a>,
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    item: Raw<'a>,
}

/// The newer form of the same.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    content: List<Object<Piece<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Piece<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

/// What the model asked for, or was answered.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseItem<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    call_id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    action: Raw<'a>,
    #[serde(borrow)]
    output: TextOrList<'a, Object<Piece<'a>>>,
}

fn parsed<'a, T: Deserialize<'a> + Default>(raw: Raw<'a>) -> T {
    serde_json::from_str::<Object<T>>(raw.0).map(|found| found.0).unwrap_or_default()
}

/// Reads a whole rollout.
pub(in crate::agents) fn read<'a>(cleaner: &'a Cleaner, bytes: &'a [u8]) -> Transcript<'a> {
    let mut reader = Reader {
        scribe: Scribe::new(cleaner),
        thread: None,
        first_ordinal: 0,
        turn: None,
        prompts: HashMap::new(),
        calls: Calls::default(),
    };
    let damaged_lines = each_line(bytes, |line| reader.line(line));
    reader.calls.finish(&mut reader.scribe);
    reader.scribe.finish();
    Transcript { damaged_lines, ..reader.scribe.read }
}

/// The form in which a prompt was told.
#[derive(Clone, Copy)]
enum Form {
    Message,
    Item,
}

struct Reader<'a> {
    scribe: Scribe<'a>,
    thread: Option<Cow<'a, str>>,
    /// What stands before it was copied from the session that started this one.
    first_ordinal: u64,
    turn: Option<Cow<'a, str>>,
    /// How often the same words were told in each form. They were said as often as the more frequent form tells.
    prompts: HashMap<Cow<'a, str>, [usize; 2]>,
    calls: Calls<'a>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: Line<'a>) {
        let ordinal = line.ordinal.0.and_then(|ordinal| ordinal.parse().ok());
        let is_copied = ordinal.is_some_and(|ordinal: u64| ordinal < self.first_ordinal);
        let kind = line.kind.0.unwrap_or_default();
        if is_copied && kind != "session_meta" {
            return;
        }
        self.scribe.stands_at(line.timestamp.0);
        match &*kind {
            "session_meta" => self.session(parsed(line.payload)),
            "turn_context" => self.stands(parsed(line.payload)),
            "event_msg" => self.message(parsed(line.payload), line.payload),
            "response_item" => self.response(parsed(line.payload)),
            "compacted" => {
                let key = self.moment();
                self.scribe.compacted(parsed::<Message>(line.payload).message.0.unwrap_or_default(), &key);
            }
            _ => {}
        }
    }

    fn session(&mut self, meta: SessionMeta<'a>) {
        if self.thread.is_none() {
            let spawned: Spawned = parsed(meta.source.0.subagent);
            let parent = meta.parent_thread_id.0.or(spawned.thread_spawn.0.parent_thread_id.0);
            let is_subagent = parent.is_some()
                || !matches!(meta.source.0.subagent.0, "" | "null")
                || meta.thread_source.0.as_deref() == Some("subagent");
            let whole = meta.session_id.0.filter(|session| Some(session) != meta.id.0.as_ref());
            self.scribe.is_subagent = is_subagent;
            self.scribe.session = if is_subagent { whole.or(parent) } else { None }.or_else(|| meta.id.0.clone());
            self.first_ordinal = meta.subagent_history_start_ordinal.0.and_then(|at| at.parse().ok()).unwrap_or(0);
            self.scribe.stands_in(meta.cwd.0);
        } else if self.thread != meta.id.0 {
            // A fork carries the description of what it was forked from.
            return;
        }
        self.scribe.on_branch(meta.git.0.branch.0);
        self.thread = meta.id.0;
    }

    fn stands(&mut self, context: Message<'a>) {
        self.scribe.stands_in(context.cwd.0);
        self.turn = context.turn_id.0.or(self.turn.take());
    }

    fn message(&mut self, said: Message<'a>, whole: Raw<'a>) {
        match said.kind.0.as_deref() {
            Some("task_started" | "turn_started") => {
                self.scribe.finish_turn();
                self.turn = said.turn_id.0;
            }
            Some("user_message") => self.prompt(said.message.0.unwrap_or_default(), Form::Message),
            Some("agent_message") => self.says(said.message.0),
            Some("task_complete" | "turn_complete") => {
                self.turn = said.turn_id.0.or(self.turn.take());
                self.says(said.last_agent_message.0);
                self.scribe.finish_turn();
            }
            // It never came to its end; what it said on the way is not its answer.
            Some("turn_aborted") => self.scribe.last_words = None,
            Some("exec_command_end" | "patch_apply_end") => {
                self.calls.ended(&mut self.scribe, said.call_id.0, parsed(whole));
            }
            Some("item_completed") => {
                let item: Item = parsed(said.item);
                match item.kind.0.as_deref() {
                    Some("UserMessage") => self.prompt(text_of(item.content.0), Form::Item),
                    Some("AgentMessage") => self.says(Some(text_of(item.content.0))),
                    Some("CommandExecution" | "FileChange") => {
                        let ended: Ended = parsed(said.item);
                        self.calls.ended(&mut self.scribe, item.id.0, ended);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn response(&mut self, item: ResponseItem<'a>) {
        let Some(id) = item.call_id.0 else { return };
        let at = self.scribe.at;
        self.scribe.uses_tool();
        match item.kind.0.as_deref() {
            Some("function_call") => self.calls.begin(at, id, item.name.0.unwrap_or_default(), item.arguments),
            Some("custom_tool_call") => self.calls.begin(at, id, item.name.0.unwrap_or_default(), item.input),
            Some("local_shell_call") => self.calls.begin(at, id, Cow::Borrowed("local_shell"), item.action),
            Some("function_call_output" | "custom_tool_call_output") => {
                let output = match item.output {
                    TextOrList::Text(text) => text,
                    TextOrList::List(pieces) => text_of(pieces),
                    TextOrList::Neither => Cow::Borrowed(""),
                };
                self.calls.answered(&mut self.scribe, &id, output);
            }
            _ => {}
        }
    }

    fn prompt(&mut self, words: Cow<'a, str>, form: Form) {
        let told = self.prompts.entry(words.clone()).or_default();
        let before = told[0].max(told[1]);
        told[form as usize] += 1;
        if told[form as usize] > before {
            let source = format!("{}-{before}", self.moment());
            self.scribe.prompt(request(words), &source);
        }
    }

    fn says(&mut self, words: Option<Cow<'a, str>>) {
        let key = self.turn.clone().unwrap_or_else(|| Cow::Owned(self.moment()));
        self.scribe.says(words.unwrap_or_default(), key);
    }

    fn moment(&self) -> String {
        self.scribe.at.map_or_else(String::new, |at| at.millis().to_string())
    }
}

fn text_of<'a>(pieces: Vec<Object<Piece<'a>>>) -> Cow<'a, str> {
    let mut texts = pieces.into_iter().filter_map(|piece| piece.0.text.0);
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |all, text| Cow::Owned(format!("{all}\n{text}")))
}

/// An editor puts what is open in it before what the user asks.
fn request(words: Cow<'_, str>) -> Cow<'_, str> {
    const ASKED: &str = "## My request for Codex:";
    match words.trim_start().starts_with("# Context from my IDE setup") {
        true => words.split_once(ASKED).map_or(Cow::Borrowed(""), |(_, asked)| Cow::Owned(asked.trim().to_string())),
        false => words,
    }
}
