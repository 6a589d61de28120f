//! A line of Claude Code's transcripts, as far as it is read.

use cerberus_record::source::MemorySource;
use serde::{Deserialize, Deserializer};

use super::tool::ToolResponse;
use super::typed::PromptMarks;
use crate::loose::{Escaped, Flag, Object, RawJson, Text, TextOrList};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "'de: 'a")]
pub(super) struct ClaudeLine<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) uuid: Text<'a>,
    /// The line that it follows; the first one follows none.
    #[serde(rename = "parentUuid", deserialize_with = "given")]
    pub(super) parent: Option<Text<'a>>,
    #[serde(rename = "sessionId")]
    pub(super) session: Text<'a>,
    pub(super) timestamp: Text<'a>,
    pub(super) cwd: Text<'a>,
    #[serde(rename = "gitBranch")]
    pub(super) branch: Text<'a>,
    /// The client's own words about a request that failed.
    #[serde(rename = "isApiErrorMessage")]
    pub(super) is_api_error: Flag,
    pub(super) is_sidechain: Flag,
    pub(super) is_meta: Flag,
    turn_origin: Text<'a>,
    prompt_source: Text<'a>,
    origin: Object<PromptOrigin<'a>>,
    #[serde(rename = "wakeupSource")]
    wakeup: Text<'a>,
    entrypoint: Text<'a>,
    pub(super) is_compact_summary: Flag,
    /// What the user typed while rejecting a tool use. The result of the use has it too, among words of the client.
    #[serde(rename = "userFeedback")]
    pub(super) feedback: Text<'a>,
    pub(super) message: Object<ClaudeMessage<'a>>,
    #[serde(rename = "toolUseResult")]
    pub(super) result: Option<Object<ToolResponse<'a>>>,
    pub(super) summary: Text<'a>,
    /// The message up to which a summary goes. It may be one of another file.
    #[serde(rename = "leafUuid")]
    pub(super) leaf: Text<'a>,
    pub(super) ai_title: Text<'a>,
    pub(super) custom_title: Text<'a>,
}

/// A value that is there, even if it is null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Text<'de>>, D::Error> {
    Text::deserialize(deserializer).map(Some)
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
struct PromptOrigin<'a> {
    kind: Text<'a>,
}

impl ClaudeLine<'_> {
    /// Where the prompt in it is from, if nobody typed it.
    pub(super) fn untyped(&self) -> Option<MemorySource> {
        let marks = PromptMarks {
            is_meta: self.is_meta.0,
            is_wakeup: self.wakeup.0.is_some(),
            turn_origin: self.turn_origin.0.as_deref(),
            prompt_source: self.prompt_source.0.as_deref(),
            origin: self.origin.0.kind.0.as_deref(),
            entrypoint: self.entrypoint.0.as_deref(),
        };
        marks.untyped()
    }
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(super) struct ClaudeMessage<'a> {
    pub(super) content: TextOrList<'a, Object<ClaudeBlock<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound = "'de: 'a")]
pub(super) struct ClaudeBlock<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) text: Escaped<'a>,
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) input: RawJson<'a>,
    pub(super) tool_use_id: Text<'a>,
    pub(super) content: Escaped<'a>,
    pub(super) is_error: Flag,
}
