//! Copilot CLI's session events: `events.jsonl`, one event per line.
//!
//! The hooks report no tool use ids, so a tool use is identified by its arguments. A subagent's events carry its
//! name; its tool uses count, its messages do not.

use std::borrow::Cow;

use cerberus_record::clean::Cleaner;
use cerberus_record::event::Outcome;
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use serde::Deserialize;

use crate::loose::{Escaped, Flag, Object, RawJson, Text};
use crate::transcripts::tools::{ToolAnswer, ToolArguments, tool_use, unpacked};
use crate::transcripts::{Pending, ReadTranscript, Transcript, TranscriptBuilder, UseKey};

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CopilotLine<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    timestamp: Text<'a>,
    /// The subagent, if the event is not the main agent's.
    #[serde(rename = "agentId")]
    agent: Text<'a>,
    data: Object<CopilotData<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CopilotData<'a> {
    #[serde(rename = "sessionId")]
    session: Text<'a>,
    context: Object<CopilotContext<'a>>,
    // Changes to the context are beside the other fields.
    cwd: Text<'a>,
    branch: Text<'a>,
    content: Text<'a>,
    source: Text<'a>,
    #[serde(rename = "isAutopilotContinuation")]
    is_continuation: Flag,
    title: Text<'a>,
    #[serde(rename = "summaryContent")]
    summary: Text<'a>,
    #[serde(rename = "toolCallId")]
    call: Text<'a>,
    #[serde(rename = "parentToolCallId")]
    parent_call: Text<'a>,
    #[serde(rename = "toolName")]
    tool: Text<'a>,
    arguments: RawJson<'a>,
    success: Flag,
    result: Object<Outcomes<'a>>,
    error: Object<Error<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct CopilotContext<'a> {
    cwd: Text<'a>,
    #[serde(rename = "gitRoot")]
    root: Text<'a>,
    branch: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Outcomes<'a> {
    content: Text<'a>,
    #[serde(rename = "detailedContent")]
    detailed: Escaped<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct Error<'a> {
    message: Text<'a>,
    code: Text<'a>,
}

pub(crate) fn begin(cleaner: &Cleaner) -> Box<dyn ReadTranscript + '_> {
    Box::new(CopilotReader { builder: TranscriptBuilder::new(cleaner), open: Pending::default() })
}

/// Where a message of the user is from, if nobody typed it.
fn untyped(source: Option<&str>, is_continuation: bool) -> Option<MemorySource> {
    match source {
        _ if is_continuation => Some(MemorySource::Client),
        None | Some("user") => None,
        Some(source) if source.starts_with("schedule") => Some(MemorySource::Scheduled),
        Some(_) => Some(MemorySource::Client),
    }
}

struct CopilotReader<'c> {
    builder: TranscriptBuilder<'c>,
    open: Pending<CopilotOpen>,
}

/// A tool use that has no result yet.
struct CopilotOpen {
    tool: String,
    /// JSON.
    given: String,
    began_at: Option<Timestamp>,
}

impl ReadTranscript for CopilotReader<'_> {
    fn line(&mut self, line: &[u8]) -> Option<()> {
        self.take(serde_json::from_slice(line).ok()?);
        Some(())
    }

    fn finish(&mut self) {
        self.builder.finish();
        for (id, CopilotOpen { tool, given, began_at }) in self.open.take() {
            let key = UseKey::Given { arguments: &given, id: &id };
            self.builder.in_flight(key, began_at, &tool, &ToolArguments::read(&unpacked(&RawJson(&given))));
        }
    }

    fn read(&mut self) -> &mut Transcript {
        &mut self.builder.read
    }
}

impl CopilotReader<'_> {
    fn take(&mut self, line: CopilotLine) {
        let data = line.data.0;
        let is_own = line.agent.0.is_none() && data.parent_call.0.is_none();
        let id = line.id.0.unwrap_or_default();
        self.builder.set_time(line.timestamp.0);
        match line.kind.0.as_deref() {
            Some("session.start" | "session.resume") => self.session(data),
            Some("session.context_changed") => {
                self.builder.set_cwd(data.cwd.0);
                self.builder.set_branch(data.branch.0);
            }
            Some("user.message") if is_own => {
                let words = data.content.0.unwrap_or_default();
                self.builder.untyped = untyped(data.source.0.as_deref(), data.is_continuation.0);
                if self.builder.untyped.is_none() {
                    self.builder.finish_turn();
                    self.builder.prompt(words, &id);
                } else {
                    self.builder.saw_prompt(words, &id);
                }
            }
            Some("assistant.message") if is_own => self.builder.agent_message(data.content.0.unwrap_or_default(), &id),
            Some("session.title_changed") if is_own => self.builder.set_title(data.title.0),
            Some("abort") => self.builder.last_message = None,
            Some("session.compaction_complete") if data.success.0 => {
                self.builder.compacted(data.summary.0.unwrap_or_default(), &id);
            }
            Some("tool.execution_start") => {
                if is_own {
                    self.builder.uses_tool();
                }
                if let (Some(call), Some(tool)) = (data.call.0, data.tool.0) {
                    let (tool, given) = (tool.into_owned(), data.arguments.0.to_string());
                    let began_at = self.builder.at;
                    self.open.insert(&call, given.len(), CopilotOpen { tool, given, began_at });
                }
            }
            Some("tool.execution_complete") => self.answered(data),
            _ => {}
        }
    }

    fn session(&mut self, data: CopilotData) {
        self.builder.set_session(data.session.0);
        let context = data.context.0;
        self.builder.read.cwd = self.builder.read.cwd.take().or(context.root.0.map(Cow::into_owned));
        self.builder.set_cwd(context.cwd.0);
        self.builder.set_branch(context.branch.0);
    }

    fn answered(&mut self, data: CopilotData) {
        let Some(id) = data.call.0 else { return };
        let Some(CopilotOpen { tool, given, .. }) = self.open.remove(&id) else { return };
        let content = data.result.0.content.0.unwrap_or_default();
        let answer = match data.success.0 {
            true => {
                let ended = match exit(&content) {
                    Some((code, output)) => ToolAnswer::exited(code, Cow::Borrowed(output)),
                    None if matches!(&*tool, "bash" | "powershell") => {
                        ToolAnswer::ended(Outcome::Unknown, Cow::Borrowed(&*content))
                    }
                    None => ToolAnswer::default(),
                };
                let chosen = content.strip_prefix("User responded: ").map(Cow::Borrowed);
                ToolAnswer { diff: data.result.0.detailed, chosen: chosen.into_iter().collect(), ..ended }
            }
            false => {
                let is_stopped = matches!(data.error.0.code.0.as_deref(), Some("rejected" | "denied" | "aborted"));
                let outcome = if is_stopped { Outcome::Interrupted } else { Outcome::Failed };
                ToolAnswer::ended(outcome, data.error.0.message.0.unwrap_or_default())
            }
        };
        let used = tool_use(self.builder.cleaner, &tool, &ToolArguments::read(&unpacked(&RawJson(&given))), &answer);
        self.builder.tool(UseKey::Given { arguments: &given, id: &id }, used);
    }
}

/// The exit code in the last line of a command's output, and the output without that line.
fn exit(content: &str) -> Option<(i64, &str)> {
    let (output, last) = content.rsplit_once('\n').unwrap_or(("", content));
    let (_, code) = last.strip_prefix('<')?.strip_suffix('>')?.split_once("exit code ")?;
    Some((code.parse().ok()?, output))
}
