//! Events: the one strict form that every hook payload, transcript line and user command is parsed into.
//!
//! A [`Record`] is an event with its envelope. Records are the lines of the journal, so their field names are a file
//! format: fields may be added, never renamed. Every text is [`Clean`], and file contents are never stored.

use serde::{Deserialize, Serialize};

pub use crate::check::{CheckChange, CheckDecision, PauseChange};
use crate::clean::text::Clean;
use crate::fact::FactKind;
pub use crate::fact::Severity;
pub use crate::failure::FailedCommand;
pub use crate::forgotten::{Forgotten, ForgottenRecord};
use crate::id::{Agent, ProjectId};
pub use crate::lesson::Lesson;
pub use crate::memory::MemoryChange;
pub use crate::open::{OpenFact, OpenFacts};
pub use crate::quotation::{Quotation, QuoteKind};
use crate::repository::Repository;
pub use crate::seed_codes::SeedCodes;
pub use crate::source::UntypedPrompts;
pub use crate::summary::{ItemSort, Summary, SummaryItem};
use crate::time::Timestamp;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Record<'a> {
    pub at: Timestamp,
    /// The same key in the same session is the same event, however often it arrives.
    pub key: Clean<'a>,
    pub agent: Agent,
    /// Read from a transcript, perhaps long after it happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// The id of our process that received it. Set only if another process may have received the same event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_by: Option<u32>,
    /// An agent recorded it or had it imported. The user is asked before anything in it becomes a memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_agent: bool,
    /// Where it came from, if another device recorded it. Set when it arrives, never believed from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RecordOrigin<'a>>,
    /// The agent's own name for the session. Any text; never used as a path.
    pub session: Clean<'a>,
    #[serde(rename = "place")]
    pub location: Location<'a>,
    pub event: Event<'a>,
}

// Reading a record is a lot of code: it is here once, not in every place that reads one.
impl<'a> Record<'a> {
    pub fn read_json(json: &'a [u8]) -> Result<Record<'a>, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// Appends the record as JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        serde_json::to_writer(out, self)
    }
}

/// The device that recorded something, and the teammate it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct RecordOrigin<'a> {
    /// A device id, as it is written.
    pub device: Clean<'a>,
    /// The teammate's name. `None` for another device of the same user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Clean<'a>>,
}

/// Where an event happened. Resolved at that time, because worktrees vanish and branches move on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Location<'a> {
    pub project: ProjectId,
    /// The project's display name.
    pub name: Clean<'a>,
    /// The root of the worktree.
    pub root: Clean<'a>,
    pub cwd: Clean<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Clean<'a>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", bound(deserialize = "'de: 'a"))]
pub enum Event<'a> {
    /// A conversation began, or continued with a new or cleared context.
    Start {
        source: StartSource,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transcript: Option<Clean<'a>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<Clean<'a>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<AgentProcess<'a>>,
    },
    /// The session is still running, although nothing else was reported.
    Pulse,
    /// The user sent a prompt.
    Prompt {
        text: Clean<'a>,
    },
    Tool(ToolUse<'a>),
    /// The agent finished its turn with this message.
    Stop {
        message: Clean<'a>,
    },
    /// A subagent finished, or the agent waits for one. The message is not the session's last message.
    SubagentStop {
        message: Clean<'a>,
    },
    StopFailure {
        error: Clean<'a>,
    },
    /// The context is about to be, or was, replaced by a summary.
    Compact {
        stage: CompactStage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Clean<'a>>,
    },
    Task(Task<'a>),
    End {
        reason: Clean<'a>,
    },
    /// The user or the agent explicitly recorded something.
    Note(Note<'a>),
    /// The definitions that an edit changed, as found in the file afterwards.
    Named(NamedSymbols<'a>),
    /// The session was given these codes and memories, at its start or with a prompt.
    Receipt {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<StartSource>,
        codes: Vec<Clean<'a>>,
        /// Ids only, never content: forgotten content must not survive here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        memories: Vec<Clean<'a>>,
        /// The estimated size of the text.
        #[serde(default)]
        tokens: usize,
        /// The user was told that the context passed the redline.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redline: bool,
    },
    /// A memory was created or changed. Belongs to no session.
    Memory(MemoryChange<'a>),
    /// These memories were looked up. Belongs to no session.
    Used {
        memories: Vec<Clean<'a>>,
    },
    /// Records that were forgotten, so that they are not imported again. Belongs to no session.
    Forgotten(Forgotten<'a>),
    /// The session ended without reporting it; `evidence` says how we know.
    Crash {
        evidence: Clean<'a>,
    },
    /// A crashed session was recovered.
    Recover(Recovery<'a>),
    /// A summary of the session by a model, checked against its facts.
    Summary(Summary<'a>),
    /// What the session is called: by its agent, or by its user in the agent.
    Title {
        text: Clean<'a>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_users: bool,
    },
    /// What the ended session shows about ranking files.
    Lesson(Lesson),
    /// Nobody typed these prompts.
    Untyped(UntypedPrompts<'a>),
    /// The user took these prompts back, with all that followed up to the next one, and went on from before them.
    Undone {
        prompts: Vec<Clean<'a>>,
    },
    /// An agent quoted words of the user.
    Quote(Quotation<'a>),
    /// What the session's agent has written about the project into its own memory file. Replaces what it said before.
    AgentNotes {
        text: Clean<'a>,
    },
    /// The session's items no longer carry over.
    Complete,
    /// The user took a [`Event::Complete`] back.
    Reopen,
    /// The session is too old for the brief and left it for good.
    Archive,
    /// A file of the original tool.
    Seed(SeedCodes<'a>),
    /// The state of the project's repository, recorded when it changes. Belongs to no session.
    Repository(Repository<'a>),
    /// The user said that this project is the same as another. Belongs to no session.
    SameProject {
        other: ProjectId,
        /// Nobody said it: the other one was recognised as a worktree that is gone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_found: bool,
    },
    /// The user said that this project is not the same as another. Belongs to no session.
    SeparateProject {
        other: ProjectId,
    },
    /// The user changed the check of a memory. Belongs to no session.
    Check(CheckChange<'a>),
    /// The user switched the checks off or on with a pause. Belongs to no session.
    Pause(PauseChange),
    /// What was decided about a tool use that breaks a rule of the user.
    Decision(CheckDecision<'a>),
    /// What is open in the project, for teammates. Replaces the list before it. Belongs to no session.
    Open(OpenFacts<'a>),
}

/// The process an agent runs in, identified so that a reused pid is not mistaken for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct AgentProcess<'a> {
    pub pid: u32,
    pub started_ticks: u64,
    /// The boot, machine and pid namespace that the pid belongs to.
    pub boot: Clean<'a>,
    pub machine: Clean<'a>,
    pub namespace: Clean<'a>,
}

impl AgentProcess<'_> {
    pub fn into_owned(self) -> AgentProcess<'static> {
        let AgentProcess { pid, started_ticks, boot, machine, namespace } = self;
        let (boot, machine, namespace) = (boot.into_owned(), machine.into_owned(), namespace.into_owned());
        AgentProcess { pid, started_ticks, boot, machine, namespace }
    }
}

/// What was done to recover a crashed session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Recovery<'a> {
    pub actions: Vec<Clean<'a>>,
    /// The work that was in progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<Clean<'a>>,
    /// Recovered at the start of another session, without a request.
    #[serde(default)]
    pub is_automatic: bool,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum StartSource {
        Startup = "startup",
        Resume = "resume",
        Clear = "clear",
        Compact = "compact",
        Fork = "fork",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactStage {
    Before,
    After,
}

/// One use of a tool, reduced to what is worth keeping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct ToolUse<'a> {
    pub tool: Clean<'a>,
    #[serde(default, skip_serializing_if = "Outcome::is_done")]
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTouch<'a>>,
    /// Names that a cheap scan found defined in the new text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Clean<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Clean<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Clean<'a>>,
    /// By what the failure of a command is recognised when it happens again.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<FailedCommand<'a>>>,
    /// The output of a test, a build or git. Other commands' output is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Clean<'a>>,
    /// Questions to the user, with the chosen answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(Clean<'a>, Clean<'a>)>,
    /// A plan that the user accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Clean<'a>>,
    /// The whole list after this use. An item that is no longer in it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Task<'a>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task<'a>>,
    /// Tasks that were added or changed, for agents that change several at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task<'a>>,
    /// The folder that the agent had a command run in, if it named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<Clean<'a>>,
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
            failure: self.failure.map(|failure| Box::new(failure.into_owned())),
            output: owned(self.output),
            answers: self.answers.into_iter().map(|(asked, given)| (asked.into_owned(), given.into_owned())).collect(),
            plan: owned(self.plan),
            todos: self.todos.map(|todos| todos.into_iter().map(Task::into_owned).collect()),
            task: self.task.map(Task::into_owned),
            tasks: self.tasks.into_iter().map(Task::into_owned).collect(),
            folder: owned(self.folder),
        }
    }
}

/// The definitions found in a file after it was edited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct NamedSymbols<'a> {
    pub path: Clean<'a>,
    /// Empty if the file was gone or no definition was found; the names from the edit's own scan then apply.
    pub names: Vec<Clean<'a>>,
    /// The keys of the edits these names belong to.
    pub edits: Vec<Clean<'a>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    #[default]
    Done,
    Failed,
    Interrupted,
    /// The host does not report the outcome; it can only be inferred from the output.
    Unknown,
}

impl Outcome {
    /// Nothing indicates that it failed.
    pub fn may_be_done(self) -> bool {
        matches!(self, Outcome::Done | Outcome::Unknown)
    }

    fn is_done(&self) -> bool {
        *self == Outcome::Done
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct FileTouch<'a> {
    /// Relative to the project's worktree, or absolute if outside it.
    pub path: Clean<'a>,
    pub how: Touch,
    /// First and last changed line in the new file. Empty: the whole file; [`FileTouch::SOMEWHERE`]: unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u32, u32)>,
}

impl FileTouch<'_> {
    /// No line has number zero, so no definition is found there and the names from the edit's own scan apply.
    pub const SOMEWHERE: (u32, u32) = (0, 0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touch {
    Edited,
    Read,
}

/// An item of the agent's own task list. Payloads may lack `id` or `subject`, never both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Task<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Clean<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// An explicit fact, as passed to `cerberus record`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Note<'a> {
    pub kind: FactKind,
    pub text: Clean<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Clean<'a>>,
    /// The type of a blocker: `need`, `unclear`, `race`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<Clean<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The key of the custom state it sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_key: Option<Clean<'a>>,
    /// It is resolved, not open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolved: bool,
    /// The user wants teammates to know it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_team: bool,
}
