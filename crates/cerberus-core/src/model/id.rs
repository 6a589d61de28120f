//! Names of things: agents, projects, sessions. Newtypes, so that one is never taken for another.
//!
//! Ids are never used as file names.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who a session was held with. `Manual` sessions are opened by the user, `Seed` ones come from the original tool's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    Cursor,
    Copilot,
    Manual,
    Seed,
}

impl Agent {
    pub const ALL: [Agent; 8] = [
        Agent::ClaudeCode,
        Agent::Codex,
        Agent::Gemini,
        Agent::Opencode,
        Agent::Cursor,
        Agent::Copilot,
        Agent::Manual,
        Agent::Seed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude-code",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::Opencode => "opencode",
            Agent::Cursor => "cursor",
            Agent::Copilot => "copilot",
            Agent::Manual => "manual",
            Agent::Seed => "seed",
        }
    }

    pub fn from_name(name: &str) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// A program whose hooks we are called from.
    pub fn is_program(self) -> bool {
        !matches!(self, Agent::Manual | Agent::Seed)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One repository, or one folder without git: the hash of what its worktrees share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProjectId(String);

impl ProjectId {
    /// `anchor` is the git common directory, or the folder itself.
    pub fn of_anchor(anchor: &[u8]) -> ProjectId {
        ProjectId(format!("{:016x}", fnv1a(anchor)))
    }

    /// The original tool knew projects by name alone.
    pub fn of_name(name: &str) -> ProjectId {
        ProjectId(format!("name:{name}"))
    }

    pub fn from_stored(text: String) -> ProjectId {
        ProjectId(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What users call a session: `20260122-133514`, with `-2` appended when two began in the same second.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    pub fn new(text: impl Into<String>) -> SessionId {
        SessionId(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What users call a memory, and the proposal it was before: `m-5f3a9c01d2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(String);

impl MemoryId {
    /// The same parts always make the same id.
    pub fn of(parts: &[&str]) -> MemoryId {
        let hash = fnv1a(parts.join("\0").as_bytes());
        MemoryId(format!("m-{:010x}", hash & 0xff_ffff_ffff))
    }

    pub fn new(text: impl Into<String>) -> MemoryId {
        MemoryId(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// FNV-1a, 64 bits: stable across versions and machines, since what it names is kept in the journal.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_published_ones() {
        assert_eq!(fnv1a(b""), 0xcbf29ce484222325);
        assert_eq!(fnv1a(b"foobar"), 0x85944171f73967e8);
    }

    #[test]
    fn agents_have_one_name_everywhere() {
        for agent in Agent::ALL {
            assert_eq!(Agent::from_name(agent.name()), Some(agent));
            assert_eq!(serde_json::to_string(&agent).unwrap(), format!("\"{agent}\""));
        }
        assert_eq!(Agent::from_name("vim"), None);
    }
}
