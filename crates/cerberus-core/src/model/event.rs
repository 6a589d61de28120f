//! What a hook, a transcript or the user said, parsed: the one strict form that every agent's payload is reduced to.
//!
//! A [`Record`] is an event with its envelope: when, who, where. Records are the lines of the journal, so their field
//! names are a file format: fields may be added, none renamed. Every text in them is [`Clean`]: bounded, and with its
//! secrets cut. File contents never get here.

use serde::{Deserialize, Serialize};

use crate::clean::text::Clean;
use crate::model::fact::Kind;
use crate::model::id::{Agent, ProjectId};
use crate::model::memory::Memory;
use crate::model::repository::Repository;
use crate::model::time::Timestamp;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record<'a> {
    pub at: Timestamp,
    /// The same key in the same session is the same event, however often it arrives.
    #[serde(borrow)]
    pub key: Clean<'a>,
    pub agent: Agent,
    /// It was read from a transcript, perhaps long after it happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// The number of the process of ours that heard it, where another may have heard the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_by: Option<u32>,
    /// The agent's own name for the session: any text, never trusted as a path.
    #[serde(borrow)]
    pub session: Clean<'a>,
    #[serde(borrow)]
    pub place: Place<'a>,
    #[serde(borrow)]
    pub event: Event<'a>,
}

/// Where an event happened, resolved when it happened: worktrees vanish and branches move on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place<'a> {
    pub project: ProjectId,
    /// What people call the project.
    #[serde(borrow)]
    pub name: Clean<'a>,
    /// The top of the worktree.
    #[serde(borrow)]
    pub root: Clean<'a>,
    #[serde(borrow)]
    pub cwd: Clean<'a>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Clean<'a>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event<'a> {
    /// A conversation began, or went on in a new or emptied context.
    Start {
        source: StartSource,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        transcript: Option<Clean<'a>>,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        phase: Option<Clean<'a>>,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        process: Option<AgentProcess<'a>>,
    },
    /// It is still going on, though nothing else was heard.
    Pulse,
    /// The user spoke.
    Prompt {
        #[serde(borrow)]
        text: Clean<'a>,
    },
    #[serde(borrow)]
    Tool(ToolUse<'a>),
    /// The agent finished its turn with these words.
    Stop {
        #[serde(borrow)]
        message: Clean<'a>,
    },
    /// A subagent finished; its words are not the session's last ones.
    SubagentStop {
        #[serde(borrow)]
        message: Clean<'a>,
    },
    StopFailure {
        #[serde(borrow)]
        error: Clean<'a>,
    },
    /// The context is about to be, or was, replaced by a summary.
    Compact {
        stage: CompactStage,
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        summary: Option<Clean<'a>>,
    },
    #[serde(borrow)]
    Task(Task<'a>),
    End {
        #[serde(borrow)]
        reason: Clean<'a>,
    },
    /// The user or the agent said explicitly what to keep.
    #[serde(borrow)]
    Note(Note<'a>),
    /// The definitions that an edit changed, as its file on disk told when it was looked at.
    #[serde(borrow)]
    Named(Named<'a>),
    /// The session was told these codes and memories: at its start, or on a prompt.
    Receipt {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<StartSource>,
        #[serde(borrow)]
        codes: Vec<Clean<'a>>,
        /// Ids, never the words: what is forgotten must not live on here.
        #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
        memories: Vec<Clean<'a>>,
    },
    /// A memory came to be, or stands otherwise than before. Of no session.
    #[serde(borrow)]
    Memory(MemoryChange<'a>),
    /// Somebody looked these memories up. Of no session.
    Used {
        #[serde(borrow)]
        memories: Vec<Clean<'a>>,
    },
    /// Records that were forgotten, so that none of them comes back. Of no session.
    #[serde(borrow)]
    Forgotten(Forgotten<'a>),
    /// It ended without saying so; this is how we know.
    Crash {
        #[serde(borrow)]
        evidence: Clean<'a>,
    },
    /// What a crashed session left was taken care of.
    #[serde(borrow)]
    Recover(Recovery<'a>),
    /// A model's sentences about it, checked against its facts.
    #[serde(borrow)]
    Summary(Summary<'a>),
    /// Its items no longer carry over.
    Complete,
    /// It left the brief for good, because of its age.
    Archive,
    /// A file of the original tool.
    #[serde(borrow)]
    Seed(SeedCodes<'a>),
    /// The state of the project's repository, recorded when it changes. Belongs to no session.
    #[serde(borrow)]
    Repository(Repository<'a>),
    /// The user said that this project is the same as another. Belongs to no session.
    SameProject { other: ProjectId },
    /// The user said that this project is not the same as another. Belongs to no session.
    SeparateProject { other: ProjectId },
}

/// What was forgotten, or taken back, named by keyed hashes: they say nothing to anybody without the key of the home.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forgotten<'a> {
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<ForgottenRecord<'a>>,
    /// Sessions of which nothing up to a moment comes back, not even what was never captured.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<(Clean<'a>, Timestamp)>,
    /// The user wants them back: they are forgotten no longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_taken_back: bool,
}

impl Forgotten<'_> {
    pub fn into_owned(self) -> Forgotten<'static> {
        let Forgotten { records, sessions, is_taken_back } = self;
        let record = |ForgottenRecord { record, kept }: ForgottenRecord<'_>| ForgottenRecord {
            record: record.into_owned(),
            kept: kept.map(Clean::into_owned),
        };
        Forgotten {
            records: records.into_iter().map(record).collect(),
            sessions: sessions.into_iter().map(|(session, until)| (session.into_owned(), until)).collect(),
            is_taken_back,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenRecord<'a> {
    #[serde(borrow)]
    pub record: Clean<'a>,
    /// The one version of it that is not forgotten, where only some words were.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Clean<'a>>,
}

/// How a memory stands from now on. Each change is whole in one record, so that none is ever half done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryChange<'a> {
    #[serde(borrow)]
    pub id: Clean<'a>,
    /// Nothing: the last change is taken back.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub stands: Option<Box<Memory<'a>>>,
    /// How many versions of the memory there were when this change was made. If there are more by now, somebody else
    /// came first, and this change is refused. Records of earlier versions of the program do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub based_on: Option<usize>,
}

/// The process an agent runs in, told apart from any other that ever had its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentProcess<'a> {
    pub pid: u32,
    /// When it started, in the kernel's own count.
    pub started_ticks: u64,
    /// Which run of which machine, and which namespace of processes, its number belongs to.
    #[serde(borrow)]
    pub boot: Clean<'a>,
    #[serde(borrow)]
    pub machine: Clean<'a>,
    #[serde(borrow)]
    pub namespace: Clean<'a>,
}

impl AgentProcess<'_> {
    pub fn into_owned(self) -> AgentProcess<'static> {
        let AgentProcess { pid, started_ticks, boot, machine, namespace } = self;
        let (boot, machine, namespace) = (boot.into_owned(), machine.into_owned(), namespace.into_owned());
        AgentProcess { pid, started_ticks, boot, machine, namespace }
    }
}

/// What was done for a crashed session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovery<'a> {
    #[serde(borrow)]
    pub actions: Vec<Clean<'a>>,
    /// What it was in the middle of.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<Clean<'a>>,
    /// At a session's start, nobody asked for it.
    #[serde(default)]
    pub is_automatic: bool,
}

/// What a model said about a session, and the facts that stood beside it then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary<'a> {
    #[serde(borrow)]
    pub text: Clean<'a>,
    /// Who wrote it: the provider's name, never where it is or how it is paid.
    #[serde(borrow)]
    pub provider: Clean<'a>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub key_context: Vec<Clean<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<Clean<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSource {
    Startup,
    Resume,
    Clear,
    Compact,
    Fork,
}

impl StartSource {
    pub const ALL: [StartSource; 5] =
        [StartSource::Startup, StartSource::Resume, StartSource::Clear, StartSource::Compact, StartSource::Fork];

    pub fn name(self) -> &'static str {
        match self {
            StartSource::Startup => "startup",
            StartSource::Resume => "resume",
            StartSource::Clear => "clear",
            StartSource::Compact => "compact",
            StartSource::Fork => "fork",
        }
    }

    pub fn from_name(name: &str) -> Option<StartSource> {
        StartSource::ALL.into_iter().find(|source| source.name() == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactStage {
    Before,
    After,
}

/// One use of a tool, reduced to what outlives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolUse<'a> {
    #[serde(borrow)]
    pub tool: Clean<'a>,
    #[serde(default, skip_serializing_if = "Outcome::is_done")]
    pub outcome: Outcome,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTouch<'a>>,
    /// Names that a cheap scan of the new text saw being defined.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Clean<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Clean<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Clean<'a>>,
    /// What a test, a build or git printed; of no other command.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Clean<'a>>,
    /// Questions put to the user, and what was chosen.
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(Clean<'a>, Clean<'a>)>,
    /// A plan that the user accepted.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Clean<'a>>,
    /// The whole list as it now stands; what is not in it any more was dropped.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Task<'a>>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task<'a>>,
}

impl ToolUse<'_> {
    pub fn into_owned(self) -> ToolUse<'static> {
        let owned = |text: Option<Clean<'_>>| text.map(Clean::into_owned);
        ToolUse {
            tool: self.tool.into_owned(),
            outcome: self.outcome,
            files: self.files.into_iter().map(|file| FileTouch { path: file.path.into_owned(), ..file }).collect(),
            names: self.names.into_iter().map(Clean::into_owned).collect(),
            command: owned(self.command),
            error: owned(self.error),
            output: owned(self.output),
            answers: self.answers.into_iter().map(|(asked, given)| (asked.into_owned(), given.into_owned())).collect(),
            plan: owned(self.plan),
            todos: self.todos.map(|todos| todos.into_iter().map(Task::into_owned).collect()),
            task: self.task.map(Task::into_owned),
        }
    }
}

/// What a look at an edited file added to the edit's event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named<'a> {
    #[serde(borrow)]
    pub path: Clean<'a>,
    /// Empty when the file was gone or told nothing; the scan of the edit then stands.
    #[serde(borrow)]
    pub names: Vec<Clean<'a>>,
    /// The keys of the edits that it names.
    #[serde(borrow)]
    pub edits: Vec<Clean<'a>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    #[default]
    Done,
    Failed,
    Interrupted,
    /// The host does not say how it ended; only what it printed can tell.
    Unknown,
}

impl Outcome {
    /// Nothing says that it failed.
    pub fn may_be_done(self) -> bool {
        matches!(self, Outcome::Done | Outcome::Unknown)
    }

    fn is_done(&self) -> bool {
        *self == Outcome::Done
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileTouch<'a> {
    /// Relative to the project's worktree; absolute when it lies outside.
    #[serde(borrow)]
    pub path: Clean<'a>,
    pub how: Touch,
    /// First and last changed line, in the new file. None means all of it; [`FileTouch::SOMEWHERE`], that nobody said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u32, u32)>,
}

impl FileTouch<'_> {
    /// No line has the number zero: nothing is found around it, and what a scan of the new text saw stands.
    pub const SOMEWHERE: (u32, u32) = (0, 0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touch {
    Edited,
    Read,
}

/// An item of the agent's own list. `id` and `subject` are each missing in some payloads, never both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Clean<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Clean<'a>>,
    pub state: TaskState,
}

impl Task<'_> {
    pub fn into_owned(self) -> Task<'static> {
        let owned = |text: Option<Clean<'_>>| text.map(Clean::into_owned);
        Task { id: owned(self.id), subject: owned(self.subject), state: self.state }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Open,
    Done,
    Dropped,
}

/// An explicit fact, as `cerberus record` takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note<'a> {
    pub kind: Kind,
    #[serde(borrow)]
    pub text: Clean<'a>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Clean<'a>>,
    /// What sort of blocker: `need`, `unclear`, `race`, …
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<Clean<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The custom state it sets.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub custom_key: Option<Clean<'a>>,
    /// It is settled, not open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolved: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub const ALL: [Severity; 4] = [Severity::Low, Severity::Medium, Severity::High, Severity::Critical];

    pub fn word(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }

    pub fn from_word(word: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|severity| severity.word() == word)
    }
}

/// The codes of a seed file, section by section, as they stood there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeedCodes<'a> {
    #[serde(borrow, default)]
    pub files: Vec<Clean<'a>>,
    #[serde(borrow, default)]
    pub functions: Vec<Clean<'a>>,
    #[serde(borrow, default)]
    pub decisions: Vec<Clean<'a>>,
    #[serde(borrow, default)]
    pub blockers: Vec<Clean<'a>>,
    #[serde(borrow, default)]
    pub next_actions: Vec<Clean<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Clean<'a>>,
}
