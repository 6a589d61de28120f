//! Ids of agents, projects and sessions. Newtypes, so that one is never mistaken for another.
//!
//! Ids are never used as file names.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An agent, by name. The agents we support are listed in `agents`; a record may name one that only a newer version
/// knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Agent {
    /// Padded with zeros.
    name: [u8; Agent::NAME_BYTES_MAX],
}

impl Agent {
    pub const NAME_BYTES_MAX: usize = 24;
    /// Sessions opened by the user.
    pub const MANUAL: Agent = Agent::new("manual");
    /// Sessions from the files of the original tool.
    pub const SEED: Agent = Agent::new("seed");

    /// For names in our own source. An invalid name does not compile.
    pub const fn new(name: &'static str) -> Agent {
        assert!(Agent::is_name(name), "an agent's name is lower case letters, digits and hyphens");
        Agent::of_bytes(name.as_bytes())
    }

    pub fn from_name(name: &str) -> Option<Agent> {
        Agent::is_name(name).then(|| Agent::of_bytes(name.as_bytes()))
    }

    const fn is_name(name: &str) -> bool {
        let name = name.as_bytes();
        let mut at = 0;
        while at < name.len() {
            if !matches!(name[at], b'a'..=b'z' | b'0'..=b'9' | b'-') {
                return false;
            }
            at += 1;
        }
        !name.is_empty() && name.len() <= Agent::NAME_BYTES_MAX
    }

    const fn of_bytes(from: &[u8]) -> Agent {
        let mut name = [0; Agent::NAME_BYTES_MAX];
        let mut at = 0;
        while at < from.len() {
            name[at] = from[at];
            at += 1;
        }
        Agent { name }
    }

    pub fn name(&self) -> &str {
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        // It is always ASCII.
        std::str::from_utf8(&self.name[..end]).unwrap_or_default()
    }

    /// Is this a program whose hooks call us?
    pub fn is_program(self) -> bool {
        self != Agent::MANUAL && self != Agent::SEED
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agent({self})")
    }
}

impl Serialize for Agent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Agent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Agent, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Agent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an agent")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Agent, E> {
                Agent::from_name(name).ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
            }
        }
        deserializer.deserialize_str(Name)
    }
}

/// One repository, or one folder without git: a hash of what its worktrees share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProjectId(String);

impl ProjectId {
    /// `anchor` is the git common directory, or the folder itself.
    pub fn of_anchor(anchor: &[u8]) -> ProjectId {
        ProjectId(format!("{:016x}", fnv1a(anchor)))
    }

    /// The original tool identified projects by name only.
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

/// The name of a session: `20260122-133514`, with `-2` appended if two began in the same second. Shared, because every
/// fact has one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct SessionId(Arc<str>);

impl From<String> for SessionId {
    fn from(text: String) -> SessionId {
        SessionId::new(text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.as_str().to_string()
    }
}

impl SessionId {
    pub fn new(text: impl Into<Arc<str>>) -> SessionId {
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

/// The id of a memory and of the proposal it began as: `m-5f3a9c01d2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(String);

impl MemoryId {
    /// The same parts always give the same id.
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

/// FNV-1a, 64 bits. Stable across versions and machines, because its results are stored in the journal.
pub const fn fnv1a(bytes: &[u8]) -> u64 {
    let (mut hash, mut rest) = (0xcbf2_9ce4_8422_2325, bytes);
    while let [byte, after @ ..] = rest {
        hash = (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        rest = after;
    }
    hash
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
        for name in ["manual", "some-agent-2", "a", "abcdefghijklmnopqrstuvwx"] {
            let agent = Agent::from_name(name).unwrap();
            assert_eq!((agent.name(), agent.to_string().as_str()), (name, name));
            assert_eq!(serde_json::to_string(&agent).unwrap(), format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Agent>(&format!("\"{name}\"")).unwrap(), agent);
        }
        assert_eq!(Agent::from_name("manual"), Some(Agent::MANUAL));
        for wrong in ["", "Some", "a b", "a_b", "é", "abcdefghijklmnopqrstuvwxy"] {
            assert_eq!(Agent::from_name(wrong), None, "{wrong}");
            assert!(serde_json::from_str::<Agent>(&format!("\"{wrong}\"")).is_err(), "{wrong}");
        }
    }
}
