//! A repeatable red team: attacks of every class, driven through every door into a fresh home, and a look at what came
//! of them.
//!
//! The attacks are made here and contain no secret of anybody. An attack has passed if something that must not be
//! stored is in any byte of the home, or something that must not be told is in a brief, a reply or a request to a model.

mod attacks;
mod drive;
mod grammar;

pub use attacks::{all, given};
pub use drive::tried;
pub use grammar::{Generated, generated};

use crate::doors::{AGENTS, IMPORTED};

/// What an attack tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A key in the format of a provider is stored.
    Format,
    /// A random token of nobody's format is stored.
    Look,
    /// A short password is stored that only its position or a sentence shows.
    Position,
    /// A key is stored in pieces, or behind a prefix on every line.
    Split,
    /// A card or account number is stored.
    Number,
    /// A private passage is stored.
    Passage,
    /// The name or the contents of a private file are stored.
    PrivateFile,
    /// The contents of an ordinary file or of the environment are stored.
    Contents,
    /// A name talks to a model.
    Instruction,
    /// A line, a tag or a terminal code is forged.
    Forgery,
    /// Words of somebody else become a memory.
    Poison,
    /// A payload disturbs the agent.
    Broken,
    /// Brought by the user of the benchmark.
    Given,
}

impl Class {
    /// Those that the attacks here belong to.
    pub const ALL: [Class; 12] = [
        Class::Format,
        Class::Look,
        Class::Position,
        Class::Split,
        Class::Number,
        Class::Passage,
        Class::PrivateFile,
        Class::Contents,
        Class::Instruction,
        Class::Forgery,
        Class::Poison,
        Class::Broken,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Class::Format => "format",
            Class::Look => "look",
            Class::Position => "position",
            Class::Split => "split",
            Class::Number => "number",
            Class::Passage => "passage",
            Class::PrivateFile => "private-file",
            Class::Contents => "contents",
            Class::Instruction => "instruction",
            Class::Forgery => "forgery",
            Class::Poison => "poison",
            Class::Broken => "broken",
            Class::Given => "given",
        }
    }
}

/// Where the text of an attack stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In everything that people and programs say.
    Words,
    /// It is a command with this output.
    Command { output: String },
    /// It is the name of a test, of a file and of a commit.
    Name,
    /// It is a payload.
    Payload,
}

#[derive(Clone, Debug)]
pub struct Attack {
    pub class: Class,
    pub name: String,
    pub text: String,
    pub place: Place,
    /// What must be nowhere afterwards.
    pub forbidden: Vec<String>,
}

/// A way into the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Door {
    Hook(&'static str),
    Import(&'static str),
    Record,
    Mcp,
    Summary,
    Loop,
}

impl Door {
    pub fn all() -> Vec<Door> {
        let hooks = AGENTS.into_iter().map(Door::Hook);
        let imports = IMPORTED.into_iter().map(Door::Import);
        hooks.chain(imports).chain([Door::Record, Door::Mcp, Door::Summary, Door::Loop]).collect()
    }

    pub fn word(self) -> String {
        match self {
            Door::Hook(agent) => format!("hook {agent}"),
            Door::Import(agent) => format!("import {agent}"),
            Door::Record => "record".to_string(),
            Door::Mcp => "mcp".to_string(),
            Door::Summary => "summary".to_string(),
            Door::Loop => "loop".to_string(),
        }
    }

    /// Can this attack be tried here? A command is only a command where an agent runs it.
    pub fn takes(self, attack: &Attack) -> bool {
        let is_agent = matches!(self, Door::Hook(_) | Door::Import(_));
        match attack.place {
            Place::Payload => matches!(self, Door::Hook(_)),
            Place::Command { .. } => is_agent,
            // An agent in a loop prints no names that are known as such.
            Place::Name => self != Door::Loop,
            // What the user records is the user's own.
            Place::Words => attack.class != Class::Poison || self != Door::Record,
        }
    }
}
