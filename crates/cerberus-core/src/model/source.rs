//! Where a memory or proposal comes from: the user, or somebody the user did not ask.
//!
//! Only what the user said or did may be approved without asking. Everything else is a proposal for one project.

/// The source of a memory or proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The user typed it in a prompt.
    Prompt,
    /// The user ran a command: `memory learn`, `memory edit`.
    User,
    /// The user imported a file.
    Import,
    /// An agent stored it through the MCP server.
    Mcp,
    /// An agent ran one of our commands.
    Agent,
    /// It is in a prompt, but the user may have pasted it.
    Pasted,
    /// It is in the output of a tool.
    Tool,
    /// It is in a file of a repository.
    File,
    /// The agent said it.
    Assistant,
    /// A model wrote it in a summary.
    Model,
    /// A teammate shared it.
    Team,
    /// Recorded before sources were, or by a newer version.
    Unknown,
}

impl Source {
    pub const ALL: [Source; 12] = [
        Source::Prompt,
        Source::User,
        Source::Import,
        Source::Mcp,
        Source::Agent,
        Source::Pasted,
        Source::Tool,
        Source::File,
        Source::Assistant,
        Source::Model,
        Source::Team,
        Source::Unknown,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Source::Prompt => "prompt",
            Source::User => "user",
            Source::Import => "import",
            Source::Mcp => "mcp",
            Source::Agent => "agent",
            Source::Pasted => "pasted",
            Source::Tool => "tool",
            Source::File => "file",
            Source::Assistant => "assistant",
            Source::Model => "model",
            Source::Team => "team",
            Source::Unknown => "unknown",
        }
    }

    /// The source with this word. Older versions wrote `corrections` for prompts.
    pub fn from_word(word: &str) -> Source {
        match word {
            "corrections" => Source::Prompt,
            word => Source::ALL.into_iter().find(|source| source.word() == word).unwrap_or(Source::Unknown),
        }
    }

    /// Whether the user said or did it.
    pub fn is_users(self) -> bool {
        matches!(self, Source::Prompt | Source::User | Source::Import)
    }

    /// Whether an agent may remove it again, as long as the user has not decided about it.
    pub fn is_agents(self) -> bool {
        matches!(self, Source::Mcp | Source::Agent)
    }

    /// How a rule from this source is described.
    pub fn title(self) -> &'static str {
        match self {
            Source::Prompt => "said by you in a prompt",
            Source::User => "entered by you",
            Source::Import => "from a file that you imported",
            Source::Mcp => "from an agent, through MCP",
            Source::Agent => "from an agent that ran a command",
            Source::Pasted => "from text in a prompt that may be pasted",
            Source::Tool => "from the output of a tool",
            Source::File => "from a file of a repository",
            Source::Assistant => "from an agent's words",
            Source::Model => "from a model's summary",
            Source::Team => "from a teammate",
            Source::Unknown => "of unknown source",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_a_word_of_its_own() {
        for source in Source::ALL {
            assert_eq!(Source::from_word(source.word()), source);
        }
        assert_eq!(Source::from_word("corrections"), Source::Prompt, "as older versions wrote it");
        assert_eq!(Source::from_word("somewhere"), Source::Unknown);
    }

    #[test]
    fn only_three_sources_are_the_users() {
        let users: Vec<&str> = Source::ALL.into_iter().filter(|source| source.is_users()).map(Source::word).collect();
        assert_eq!(users, ["prompt", "user", "import"]);
    }
}
