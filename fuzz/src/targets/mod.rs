//! What is fuzzed: a name, what its inputs are made of, and what must hold of every input.

mod brief;
mod journal;
mod project;
mod search;
mod secret;
mod settings;
mod sync;
mod wire;

use cerberus_agents::{claude_code, cline, codex, copilot, cursor, gemini, opencode, qwen_code};

use crate::corpus::Kind;

/// What must hold of an input; what does not, in words.
pub type Check = Box<dyn Fn(&[u8]) -> Result<(), String>>;

pub struct Target {
    pub name: &'static str,
    pub corpus: Kind,
    pub make: fn() -> anyhow::Result<Check>,
    /// It works on files: a tenth of the inputs will do.
    pub is_slow: bool,
}

pub fn all() -> Vec<Target> {
    let quick = |name, corpus, make| Target { name, corpus, make, is_slow: false };
    let slow = |name, corpus, make| Target { name, corpus, make, is_slow: true };
    vec![
        quick("wire-claude-code", Kind::Payloads, || wire::payload(claude_code::AGENT)),
        quick("wire-codex", Kind::Payloads, || wire::payload(codex::AGENT)),
        quick("wire-gemini", Kind::Payloads, || wire::payload(gemini::AGENT)),
        quick("wire-opencode", Kind::Payloads, || wire::payload(opencode::AGENT)),
        quick("wire-cursor", Kind::Payloads, || wire::payload(cursor::AGENT)),
        quick("wire-copilot", Kind::Payloads, || wire::payload(copilot::AGENT)),
        quick("wire-qwen-code", Kind::Payloads, || wire::payload(qwen_code::AGENT)),
        quick("wire-cline", Kind::Payloads, || wire::payload(cline::AGENT)),
        quick("transcript-claude-code", Kind::Transcripts, || wire::transcript(claude_code::AGENT)),
        quick("transcript-codex", Kind::Transcripts, || wire::transcript(codex::AGENT)),
        quick("transcript-gemini", Kind::Transcripts, || wire::transcript(gemini::AGENT)),
        quick("transcript-opencode", Kind::Transcripts, || wire::transcript(opencode::AGENT)),
        quick("transcript-copilot", Kind::Transcripts, || wire::transcript(copilot::AGENT)),
        quick("transcript-qwen-code", Kind::Transcripts, || wire::transcript(qwen_code::AGENT)),
        quick("transcript-cline", Kind::Transcripts, || wire::transcript(cline::AGENT)),
        quick("seed-file", Kind::Payloads, wire::seed_file),
        quick("memory-line", Kind::Text, wire::memory_line),
        quick("brief", Kind::Text, brief::brief),
        quick("functions", Kind::Text, brief::functions),
        quick("redactor", Kind::Text, secret::redactor),
        quick("settings", Kind::Settings, settings::merger),
        quick("query", Kind::Queries, search::query),
        slow("search", Kind::Queries, search::search),
        quick("journal-line", Kind::Payloads, journal::line),
        slow("journal", Kind::Payloads, journal::reader),
        quick("git-log", Kind::Text, brief::git_log),
        quick("git-config", Kind::Text, project::git_config),
        quick("forget", Kind::Text, journal::forget),
        quick("sync", Kind::Text, sync::sync),
    ]
}

/// An error, unless it holds.
fn holds(is_so: bool, what: &str, about: impl std::fmt::Debug) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(format!("{what}: {about:?}")) }
}
