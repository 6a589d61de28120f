//! Parses Claude Code's transcripts into the events that its hooks report.
//!
//! A tool use has the same key as in the hook, so a session seen by both counts once. Damaged lines are counted;
//! lines of an unknown kind are skipped. This module does no I/O.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::tag::without_private;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{CompactStage, Event, Outcome};
use cerberus_record::ours::without_handoff;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use memchr::memmem;

use super::line::{ClaudeLine, ClaudeMessage};
use super::rewind::Rewinds;
use super::titles::Titles;
use super::tool::{ClaudeHookCall, ToolInput, ToolResponse, tool_use};
use crate::key::prompt_key;
use crate::loose::{Escaped, Object, Text, TextOrList};
use crate::transcripts::{
    Pending, ReadTranscript, SeenPrompt, Transcript, TranscriptEvent, UnfinishedCall, edit_in_flight, in_flight_key,
    titled,
};

pub(crate) fn begin(cleaner: &Cleaner) -> Box<dyn ReadTranscript + '_> {
    Box::new(ClaudeReader {
        cleaner,
        read: Transcript::default(),
        context: None,
        titles: Titles::default(),
        rewinds: Rewinds::default(),
        pending: Pending::default(),
        last_message: None,
        is_at_work: false,
    })
}

/// Time, session and branch of a line. They carry over to lines that do not set them.
#[derive(Clone, Debug)]
struct LineContext {
    at: Timestamp,
    session: String,
    branch: Option<String>,
}

/// A tool use that has no result yet.
struct PendingCall {
    context: LineContext,
    tool: String,
    /// JSON.
    input: String,
}

struct ClaudeReader<'c> {
    cleaner: &'c Cleaner,
    read: Transcript,
    context: Option<LineContext>,
    titles: Titles,
    rewinds: Rewinds,
    pending: Pending<PendingCall>,
    /// The agent's last message of this turn, still escaped, with its line's id and context.
    last_message: Option<(String, String, LineContext)>,
    /// It used a tool after that message, so its turn goes on.
    is_at_work: bool,
}

impl ReadTranscript for ClaudeReader<'_> {
    fn line(&mut self, line: &[u8]) -> Option<()> {
        self.take(serde_json::from_slice(line).ok()?);
        Some(())
    }

    /// Tool uses that are still pending are in flight. A message before a tool use announces it: a turn that ended
    /// there was cut off.
    fn finish(&mut self) {
        if !self.is_at_work {
            self.finish_turn();
        }
        let title = std::mem::take(&mut self.titles).best();
        if let Some(((title, is_users), context)) = title.zip(self.context.clone()) {
            let (key, event) = titled(self.cleaner, title, is_users, context.at);
            self.push(&context, key, event);
        }
        let unfinished = self.pending.take().map(|(id, call)| unfinished(self.cleaner, id, call));
        self.read.in_flight = unfinished.collect();
    }

    fn read(&mut self) -> &mut Transcript {
        &mut self.read
    }
}

impl ClaudeReader<'_> {
    fn take(&mut self, line: ClaudeLine) {
        let untyped = line.untyped();
        let ClaudeLine {
            kind,
            uuid,
            parent,
            session,
            timestamp,
            cwd,
            branch,
            is_api_error,
            is_sidechain,
            is_meta,
            is_compact_summary,
            feedback,
            message,
            result,
            summary,
            leaf,
            ai_title,
            custom_title,
            ..
        } = line;
        let titles = &mut self.titles;
        match kind.0.as_deref() {
            Some("custom-title") => titles.users = given_title(custom_title),
            Some("ai-title") => titles.agents = given_title(ai_title),
            Some("summary") => {
                let leaf = leaf.0.unwrap_or_default().into_owned();
                summary.0.into_iter().for_each(|text| titles.summary(text.into_owned(), leaf.clone()));
            }
            _ => uuid.0.iter().for_each(|uuid| titles.message(uuid)),
        }
        if self.read.cwd.is_none() {
            self.read.cwd = cwd.0.filter(|cwd| !cwd.is_empty()).map(Cow::into_owned);
        }
        let at = timestamp.0.and_then(|at| Timestamp::parse(&at).ok());
        let Some(at) = at.or(self.context.as_ref().map(|context| context.at)) else { return };
        let session = session.0.map(Cow::into_owned);
        let Some(session) = session.or_else(|| self.context.as_ref().map(|context| context.session.clone())) else {
            return;
        };
        let branch = branch.0.filter(|branch| !branch.is_empty()).map(Cow::into_owned);
        let context = LineContext { at, session, branch };
        self.context = Some(context.clone());
        let uuid = uuid.0.unwrap_or_default();
        match kind.0.as_deref() {
            Some("assistant") if is_api_error.0 => {}
            Some("assistant") => self.assistant_message(message.0, &uuid, context, is_sidechain.0),
            Some("user") if is_compact_summary.0 => self.compacted(message.0, &uuid, &context),
            Some("user") => {
                let words = self.results(message.0, result, &context);
                if let Some(feedback) = feedback.0.filter(|_| !is_sidechain.0) {
                    self.feedback(feedback, &uuid, &context, untyped);
                } else if !is_sidechain.0 && !words.is_empty() {
                    let before = self.read.prompts.len();
                    let is_prompt = self.user_message(words, &uuid, &context, untyped, is_meta.0);
                    let parent = parent.as_ref().map(|parent| parent.0.as_deref());
                    let undone = self.rewinds.follow(&uuid, parent, before, is_prompt);
                    undone.for_each(|at| self.read.prompts[at].is_undone = true);
                }
            }
            _ => {}
        }
    }

    fn assistant_message(&mut self, message: ClaudeMessage, uuid: &str, context: LineContext, is_sidechain: bool) {
        let TextOrList::List(blocks) = message.content else { return };
        for Object(block) in blocks {
            match block.kind.0.as_deref() {
                Some("tool_use") => {
                    if let (Some(id), Some(tool)) = (block.id.0, block.name.0) {
                        self.is_at_work |= !is_sidechain;
                        let (context, tool) = (context.clone(), tool.into_owned());
                        let input = block.input.0.to_string();
                        self.pending.insert(&id, input.len(), PendingCall { context, tool, input });
                    }
                }
                Some("text") if !is_sidechain && !block.text.0.is_empty() => {
                    self.last_message = Some((block.text.0.to_string(), uuid.to_string(), context.clone()));
                    self.is_at_work = false;
                }
                _ => {}
            }
        }
    }

    /// Takes the tool results out of a user message and returns the user's text.
    fn results<'l>(
        &mut self,
        message: ClaudeMessage<'l>,
        mut result: Option<Object<ToolResponse<'l>>>,
        context: &LineContext,
    ) -> Cow<'l, str> {
        let blocks = match message.content {
            TextOrList::Text(text) => return text,
            TextOrList::List(blocks) => blocks,
            TextOrList::Neither => return Cow::Borrowed(""),
        };
        let mut words = Cow::Borrowed("");
        for Object(block) in blocks {
            match (block.kind.0.as_deref(), block.tool_use_id.0) {
                (Some("tool_result"), Some(id)) => {
                    let Some(PendingCall { tool, input, .. }) = self.pending.remove(&id) else { continue };
                    let outcome = outcome(block.is_error.0, block.content.0);
                    let error = (outcome != Outcome::Done).then(|| block.content.unescaped());
                    // Without the client's own result, what the model was told is all there is.
                    let told = || Object(ToolResponse { stdout: block.content, ..ToolResponse::default() });
                    let response = result.take().unwrap_or_else(told);
                    let (tool, input) = (Cow::Borrowed(&*tool), read_input(&input));
                    let used = tool_use(self.cleaner, ClaudeHookCall { tool, input, response, error, outcome });
                    let key = self.cleaner.clean(id, Keep::NAME).into_owned();
                    self.push(context, key, Event::Tool(used.into_owned()));
                }
                (Some("text"), _) if words.is_empty() => words = block.text.unescaped(),
                (Some("text"), _) => words = Cow::Owned(format!("{words}\n{}", block.text.unescaped())),
                _ => {}
            }
        }
        words
    }

    /// Returns whether it is a prompt.
    fn user_message(
        &mut self,
        words: Cow<str>,
        uuid: &str,
        context: &LineContext,
        untyped: Option<MemorySource>,
        is_meta: bool,
    ) -> bool {
        let words = without_handoff(words);
        // Lines from the client: command output, reminders, interruptions. The user's text may start with a private
        // tag too.
        let text = without_private(&words);
        let begins = |word| text.trim_start().starts_with(word);
        let is_prompt = !["<", "[Request interrupted", "Caveat:"].into_iter().any(begins);
        // Whatever it looks like, a hook may have reported it as a prompt: then its marks say who sent it.
        if text.trim().is_empty() || (!is_prompt && untyped.is_none()) {
            return false;
        }
        let text = self.cleaner.clean(words, Keep::PROMPT).into_owned();
        let key = prompt_key(&text, uuid.as_bytes());
        let session = self.cleaner.clean(context.session.clone(), Keep::NAME);
        let (is_undone, is_unreported) = (false, false);
        self.read.prompts.push(SeenPrompt { session, key: key.clone(), source: untyped, is_undone, is_unreported });
        if is_prompt && !is_meta {
            self.finish_turn();
            self.push(context, key, Event::Prompt { text });
        }
        is_prompt
    }

    /// The turn goes on with what the user said instead.
    fn feedback(&mut self, words: Cow<str>, uuid: &str, context: &LineContext, source: Option<MemorySource>) {
        if without_private(&words).trim().is_empty() {
            return;
        }
        let text = self.cleaner.clean(words, Keep::PROMPT).into_owned();
        let key = prompt_key(&text, uuid.as_bytes());
        let session = self.cleaner.clean(context.session.clone(), Keep::NAME);
        let (is_undone, is_unreported) = (false, true);
        self.read.prompts.push(SeenPrompt { session, key: key.clone(), source, is_undone, is_unreported });
        self.push(context, key, Event::Prompt { text });
    }

    fn compacted(&mut self, message: ClaudeMessage, uuid: &str, context: &LineContext) {
        let summary = match message.content {
            TextOrList::Text(text) => text,
            TextOrList::List(blocks) => blocks.into_iter().next().map_or(Cow::Borrowed(""), |b| b.0.text.unescaped()),
            TextOrList::Neither => return,
        };
        let summary = Some(self.cleaner.clean(summary, Keep::MESSAGE).into_owned());
        let event = Event::Compact { stage: CompactStage::After, summary };
        self.push(context, self.cleaner.clean(format!("compact-{uuid}"), Keep::NAME), event);
    }

    /// The agent's last message before the next prompt ends its turn.
    fn finish_turn(&mut self) {
        if let Some((words, uuid, context)) = self.last_message.take() {
            let message = self.cleaner.clean(Escaped(&words).unescaped(), Keep::MESSAGE).into_owned();
            self.push(&context, self.cleaner.clean(format!("stop-{uuid}"), Keep::NAME), Event::Stop { message });
        }
    }

    fn push(&mut self, context: &LineContext, key: Clean<'static>, event: Event<'static>) {
        let clean = |text: &String| self.cleaner.clean(text.clone(), Keep::NAME);
        let (session, branch) = (clean(&context.session), context.branch.as_ref().map(clean));
        self.read.events.push(TranscriptEvent { at: context.at, key, session, branch, event });
    }
}

/// The input of a tool, as it was in a line.
fn read_input(json: &str) -> Object<ToolInput<'_>> {
    serde_json::from_slice(json.as_bytes()).unwrap_or_default()
}

fn given_title(title: Text) -> Option<String> {
    title.0.filter(|title| !title.trim().is_empty()).map(Cow::into_owned)
}

fn unfinished(cleaner: &Cleaner, id: String, pending: PendingCall) -> UnfinishedCall {
    let PendingCall { context, tool, input } = pending;
    let input = read_input(&input);
    let named = [&input.0.command, &input.0.file_path, &input.0.notebook_path];
    let target = named.into_iter().find_map(|named| named.0.clone()).map(Cow::into_owned);
    let key = cleaner.clean(id, Keep::NAME).to_string();
    let (response, error, outcome) = (Object(ToolResponse::default()), None, Outcome::Done);
    let call = ClaudeHookCall { tool: Cow::Borrowed(&*tool), input, response, error, outcome };
    let used = tool_use(cleaner, call).into_owned();
    let clean = |text: String| cleaner.clean(text, Keep::NAME);
    let LineContext { at, session, branch } = context;
    let edit = edit_in_flight(used).map(|used| TranscriptEvent {
        at,
        key: in_flight_key(cleaner, &key),
        session: clean(session),
        branch: branch.map(clean),
        event: Event::Tool(used),
    });
    UnfinishedCall { key, began_at: at, tool, target, edit }
}

/// A rejected or interrupted use is marked as an error too; only its text shows the difference.
fn outcome(is_error: bool, words: &str) -> Outcome {
    const STOPPED: [&str; 3] =
        ["The user doesn't want to proceed", "[Request interrupted", "The user doesn't want to take this action"];
    match is_error {
        false => Outcome::Done,
        true if STOPPED.iter().any(|stopped| words.starts_with(stopped)) => Outcome::Interrupted,
        true => Outcome::Failed,
    }
}

/// Whether the user ended the turn with this line. Any other line of the conversation goes on with it.
pub(super) fn ends_turn(line: &[u8]) -> Option<bool> {
    let has = |part: &str| memmem::find(line, part.as_bytes()).is_some();
    let is_own = has("\"type\":\"user\"") || has("\"type\":\"assistant\"");
    // In somebody's words the quotation mark would be escaped.
    (is_own && !has("\"isSidechain\":true")).then(|| has(":\"[Request interrupted by user"))
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;
    use serde_json::{Value, json};

    use super::*;

    fn line(kind: &str, number: u32, extra: Value) -> Value {
        let mut line = json!({
            "type": kind, "uuid": format!("u{number}"), "sessionId": "s1", "cwd": "/home/dev/project", "gitBranch": "main",
            "timestamp": format!("2026-01-22T13:35:{number:02}.000Z"), "isSidechain": false,
        });
        line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        line
    }

    fn read(bytes: &[u8]) -> Transcript {
        crate::transcripts::read(&BUILT_IN, crate::claude_code::AGENT, bytes).unwrap()
    }

    fn events_of(lines: &[Value]) -> (Vec<(i64, String, Value)>, usize) {
        let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let read = read(text.as_bytes());
        let start = Timestamp::parse("2026-01-22T13:35:00Z").unwrap();
        let shown = |event: &TranscriptEvent| {
            let seconds = event.at.since(start).as_secs() as i64;
            (seconds, event.key.to_string(), serde_json::to_value(&event.event).unwrap())
        };
        (read.events.iter().map(shown).collect(), read.damaged_lines)
    }

    fn tool(number: u32, id: &str, name: &str, input: Value) -> Value {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        line("assistant", number, json!({"message": {"role": "assistant", "content": [block]}}))
    }

    fn result(number: u32, id: &str, content: &str, is_error: bool, extra: Value) -> Value {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error});
        line("user", number, json!({"message": {"role": "user", "content": [block]}, "toolUseResult": extra}))
    }

    #[test]
    fn a_session_is_read_back_as_its_events() {
        let text = |words: &str| json!({"message": {"content": [{"type": "text", "text": words}]}});
        let lines = [
            json!({"type": "summary", "summary": "Old title", "leafUuid": "x"}),
            line("user", 1, json!({"message": {"role": "user", "content": "Write \"it\""}})),
            line("assistant", 2, text("I will.")),
            tool(3, "toolu_1", "Write", json!({"file_path": "/home/dev/project/a.rs", "content": "fn a() {}\n"})),
            result(4, "toolu_1", "File created", false, json!({"type": "create", "structuredPatch": []})),
            tool(5, "toolu_2", "Bash", json!({"command": "cargo test"})),
            result(6, "toolu_2", "Exit code 101\nboom", true, json!("Error: Exit code 101\nboom")),
            line("assistant", 7, text("It fails.\nNext: mend it.")),
            line(
                "assistant",
                7,
                json!({"isApiErrorMessage": true, "message": {"content": [
                {"type": "text", "text": "API Error: 500"}]}}),
            ),
            line("user", 8, json!({"isMeta": true, "message": {"content": "meta"}})),
            line("user", 9, text("go on")),
            line("user", 10, json!({"isCompactSummary": true, "message": {"content": "We wrote a.rs"}})),
            line("user", 11, json!({"message": {"content": "<command-name>/clear</command-name>"}})),
            tool(12, "toolu_3", "Edit", json!({"file_path": "b.rs", "new_string": "x"})),
            result(13, "toolu_3", "The user doesn't want to proceed with this tool use.", true, json!("User rejected")),
            tool(14, "toolu_4", "Read", json!({"file_path": "never answered"})),
        ];
        let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let read = read(text.as_bytes());
        let unfinished: Vec<_> = read.in_flight.iter().map(|open| (&*open.key, open.shown("/home"))).collect();
        assert_eq!(unfinished, [("toolu_4", "Read: never answered".to_string())]);
        let (events, damaged) = events_of(&lines);
        assert_eq!(damaged, 0);
        let kinds: Vec<(i64, &Value)> = events.iter().map(|(at, _, event)| (*at, event)).collect();
        let expected = [
            (1, json!({"prompt": {"text": "Write \"it\""}})),
            (
                4,
                json!({"tool": {"tool": "Write", "names": ["a"], "files": [{"path": "/home/dev/project/a.rs", "how": "edited"}]}}),
            ),
            (
                6,
                json!({"tool": {"tool": "Bash", "outcome": "failed", "command": "cargo test", "error": "Exit code 101\nboom"}}),
            ),
            (7, json!({"stop": {"message": "It fails.\nNext: mend it."}})),
            (9, json!({"prompt": {"text": "go on"}})),
            (10, json!({"compact": {"stage": "after", "summary": "We wrote a.rs"}})),
            (
                13,
                json!({"tool": {"tool": "Edit", "outcome": "interrupted",
                "error": "The user doesn't want to proceed with this tool use."}}),
            ),
            (14, json!({"title": {"text": "Old title"}})),
        ];
        assert_eq!(kinds, expected.iter().map(|(at, event)| (*at, event)).collect::<Vec<_>>());
        assert_eq!(events[1].1, "toolu_1", "the key is the one the hook uses");
    }

    #[test]
    fn without_the_clients_own_result_the_output_is_what_the_model_was_told() {
        let block = |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "content": content});
        let blocks =
            [block("toolu_1", json!("1 passed\n")), block("toolu_2", json!("2 passed\n")), block("toolu_3", json!([]))];
        let answer = json!({"message": {"role": "user", "content": blocks}});
        let mut with_result = answer.clone();
        with_result["toolUseResult"] = json!({"stdout": "own\n", "stderr": ""});
        for (answer, expected) in [
            (answer, [Some("1 passed\n"), Some("2 passed\n"), None]),
            (with_result, [Some("own\n"), Some("2 passed\n"), None]),
        ] {
            let calls = ["toolu_1", "toolu_2", "toolu_3"].map(|id| tool(1, id, "Bash", json!({"command": "pytest"})));
            let lines: Vec<String> = calls.iter().chain([&line("user", 2, answer)]).map(Value::to_string).collect();
            let text = lines.join("\n");
            let read = read(text.as_bytes());
            let outputs = read.events.iter().map(|event| match &event.event {
                Event::Tool(used) => used.output.as_deref(),
                _ => None,
            });
            assert_eq!(outputs.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_sidechains_tools_count_but_not_its_messages() {
        let side = |mut line: Value| {
            line["isSidechain"] = json!(true);
            line
        };
        let lines = [
            side(line("user", 1, json!({"message": {"content": "do the sub job"}}))),
            side(tool(2, "toolu_1", "Read", json!({"file_path": "a.rs"}))),
            side(result(3, "toolu_1", "content", false, json!({}))),
            side(line("assistant", 4, json!({"message": {"content": [{"type": "text", "text": "done"}]}}))),
        ];
        let (events, _) = events_of(&lines);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].2["tool"]["tool"], "Read");
    }

    #[test]
    fn damage_is_counted_and_skipped() {
        let text = format!(
            "not json\n{{\"type\":\"user\"\n\n[]\n5\n{}\n",
            line("user", 1, json!({"message": {"content": "hi"}}))
        );
        let read = read(text.as_bytes());
        assert_eq!((read.events.len(), read.damaged_lines), (1, 3));
        assert_eq!(read.cwd.as_deref(), Some("/home/dev/project"));
    }

    #[test]
    fn the_best_title_names_the_session() {
        let said = line("user", 1, json!({"message": {"content": "hi"}}));
        let title = |lines: &[Value]| {
            let (events, _) = events_of(&[std::slice::from_ref(&said), lines].concat());
            events.into_iter().filter_map(|(_, _, event)| event.get("title").cloned()).collect::<Vec<_>>()
        };
        let foreign = json!({"type": "summary", "summary": "Before", "leafUuid": "x"});
        let own = json!({"type": "summary", "summary": "Own", "leafUuid": "u2"});
        let later = line("assistant", 2, json!({}));
        let ai = json!({"type": "ai-title", "aiTitle": "By the agent", "sessionId": "s1"});
        let custom = json!({"type": "custom-title", "customTitle": "By me", "sessionId": "s1"});
        assert_eq!(title(&[]), [Value::Null; 0]);
        assert_eq!(title(std::slice::from_ref(&foreign)), [json!({"text": "Before"})]);
        assert_eq!(title(&[own.clone(), foreign.clone(), later]), [json!({"text": "Own"})]);
        assert_eq!(title(&[foreign, own, ai.clone()]), [json!({"text": "By the agent"})]);
        assert_eq!(title(&[custom, ai]), [json!({"text": "By me", "is_users": true})]);
    }
}
