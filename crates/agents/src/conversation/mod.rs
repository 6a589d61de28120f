//! What is said in a transcript, line by line, whichever agent wrote it. Agents write the same few forms: a message with
//! a role, a call of a tool with its arguments, an answer to a call. They are recognised by their form.

use cerberus_record::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One piece of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub kind: PartKind,
    pub text: String,
    /// The tool that is called or answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The file that the call is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What connects a call with its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// What the user typed.
    Prompt,
    /// What the agent said.
    Message,
    /// What the agent thought.
    Thought,
    /// The use of a tool: a command, or the arguments.
    Call,
    /// What a tool printed.
    Output,
    /// What a tool printed that failed.
    Error,
    /// What the client wrote into the conversation, in the user's name or as the system.
    Note,
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
}
