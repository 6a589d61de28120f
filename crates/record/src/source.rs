//! Where a memory or proposal comes from: the user, or somebody the user did not ask.
//!
//! Only what the user said or did may be approved without asking. Everything else is a proposal for one project.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clean::text::Clean;

words! {
    /// The source of a memory or proposal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum MemorySource {
        /// The user typed it in a prompt.
        Prompt = "prompt",
        /// The user ran a command: `memory learn`, `memory edit`.
        User = "user",
        /// The user imported a file.
        Import = "import",
        /// An agent stored it through the MCP server.
        Mcp = "mcp",
        /// An agent ran one of our commands.
        Agent = "agent",
        /// It is in a prompt, but the user may have pasted it.
        Pasted = "pasted",
        /// A schedule sent the prompt. An agent can make one.
        Scheduled = "scheduled",
        /// The agent's program sent the prompt: a suggestion, a message of another agent, a task that ended.
        Client = "client",
        /// A program sent the prompt: `claude -p`, `codex exec`, an SDK, a CI job.
        Headless = "headless",
        /// It is in the transcript of another person.
        Others = "others",
        /// It is in the output of a tool.
        Tool = "tool",
        /// It is in a file of a repository.
        File = "file",
        /// The agent said it.
        Assistant = "assistant",
        /// A model wrote it in a summary.
        Model = "model",
        /// A teammate shared it.
        Team = "team",
        /// Recorded before sources were, or by a newer version.
        Unknown = "unknown",
    }
}

impl MemorySource {
    /// The source with this word. Older versions wrote `corrections` for prompts.
    pub fn named(word: &str) -> MemorySource {
        match word {
            "corrections" => MemorySource::Prompt,
            word => MemorySource::from_word(word).unwrap_or(MemorySource::Unknown),
        }
    }

    /// Whether the user said or did it.
    pub fn is_users(self) -> bool {
        matches!(self, MemorySource::Prompt | MemorySource::User | MemorySource::Import)
    }

    /// Whether an agent may remove it again, as long as the user has not decided about it.
    pub fn is_agents(self) -> bool {
        matches!(self, MemorySource::Mcp | MemorySource::Agent)
    }

    /// How a rule from this source is described.
    pub fn title(self) -> &'static str {
        match self {
            MemorySource::Prompt => "said by you in a prompt",
            MemorySource::User => "entered by you",
            MemorySource::Import => "from a file that you imported",
            MemorySource::Mcp => "from an agent, through MCP",
            MemorySource::Agent => "from an agent that ran a command",
            MemorySource::Pasted => "from text in a prompt that may be pasted",
            MemorySource::Scheduled => "from a scheduled prompt",
            MemorySource::Client => "from a prompt that the agent's program sent",
            MemorySource::Headless => "from a headless run",
            MemorySource::Others => "from another person's transcript",
            MemorySource::Tool => "from the output of a tool",
            MemorySource::File => "from a file of a repository",
            MemorySource::Assistant => "from an agent's words",
            MemorySource::Model => "from a model's summary",
            MemorySource::Team => "from a teammate",
            MemorySource::Unknown => "of unknown source",
        }
    }
}

impl Serialize for MemorySource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for MemorySource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MemorySource, D::Error> {
        Ok(MemorySource::named(&String::deserialize(deserializer)?))
    }
}

/// The owner of files that belong to no person.
const SYSTEM: u32 = 0;

/// Whether a transcript is another person's: its file, or the home that it is in, has another owner than `user`. A file
/// of the system is the user's, unless it is in the home of somebody else.
pub fn is_others(user: Option<u32>, file: Option<u32>, home: Option<u32>) -> bool {
    let is_other = |owner: &u32| user.is_some_and(|user| *owner != user);
    file.filter(|owner| *owner != SYSTEM).is_some_and(|owner| is_other(&owner))
        || home.is_some_and(|owner| is_other(&owner))
}

/// Prompts of a session that nobody typed, by the keys of their events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct UntypedPrompts<'a> {
    pub source: MemorySource,
    pub prompts: Vec<Clean<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_a_word_of_its_own() {
        for source in MemorySource::ALL {
            assert_eq!(MemorySource::named(source.word()), source);
        }
        assert_eq!(MemorySource::named("corrections"), MemorySource::Prompt, "as older versions wrote it");
        assert_eq!(MemorySource::named("somewhere"), MemorySource::Unknown);
    }

    #[test]
    fn a_transcript_is_anothers_if_its_file_or_its_home_is() {
        let (ana, tom, root) = (Some(1000), Some(1001), Some(0));
        for (user, file, home, expected) in [
            (ana, ana, ana, false),
            (ana, ana, None, false),
            (ana, tom, None, true),
            (ana, tom, tom, true),
            // Somebody's home, whoever wrote the file.
            (ana, ana, tom, true),
            (ana, root, root, true),
            // Installed or mounted by the system.
            (ana, root, None, false),
            (root, root, root, false),
            (root, ana, ana, true),
            (root, ana, None, true),
            // Nothing is known.
            (None, tom, tom, false),
            (ana, None, None, false),
        ] {
            assert_eq!(is_others(user, file, home), expected, "{user:?} {file:?} {home:?}");
        }
    }

    #[test]
    fn only_three_sources_are_the_users() {
        let users: Vec<&str> =
            MemorySource::ALL.into_iter().filter(|source| source.is_users()).map(MemorySource::word).collect();
        assert_eq!(users, ["prompt", "user", "import"]);
    }
}
