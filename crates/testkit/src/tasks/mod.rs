//! Does memory help an agent with its work? Small tasks, each split over sessions that are interrupted, with acceptance
//! tests that the agent does not see.
//!
//! In its first session the user decides and corrects something that the repository does not say. A later session has
//! to respect it. Every task is played in each [`Arm`], by a real agent with its own model or with a scripted one
//! ([`scripted`]). A task is a file in `made`: repository, prompts, tests. Nothing here knows a task by name.

pub mod agents;
pub mod play;
pub mod scripted;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Deserialize;

/// All tasks, as name and text.
const MADE: [(&str, &str); 12] = [
    ("backup", include_str!("made/backup.toml")),
    ("config", include_str!("made/config.toml")),
    ("dates", include_str!("made/dates.toml")),
    ("ledger", include_str!("made/ledger.toml")),
    ("notes", include_str!("made/notes.toml")),
    ("queue", include_str!("made/queue.toml")),
    ("rates", include_str!("made/rates.toml")),
    ("report", include_str!("made/report.toml")),
    ("retry", include_str!("made/retry.toml")),
    ("slots", include_str!("made/slots.toml")),
    ("slug", include_str!("made/slug.toml")),
    ("table", include_str!("made/table.toml")),
];

/// What an agent remembers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arm {
    /// Nothing but the repository, and within a session its conversation.
    Nothing,
    /// The agent's own memory, and a file that asks it to keep notes.
    OwnFiles,
    /// Cerberus, and nothing else.
    Cerberus,
}

impl Arm {
    pub const ALL: [Arm; 3] = [Arm::Nothing, Arm::OwnFiles, Arm::Cerberus];

    pub fn name(self) -> &'static str {
        match self {
            Arm::Nothing => "no memory",
            Arm::OwnFiles => "its own files",
            Arm::Cerberus => "Cerberus",
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    #[serde(skip)]
    pub name: &'static str,
    /// What is special about it, in a sentence.
    pub about: String,
    /// The program that its tests need besides a shell.
    pub needs: String,
    /// A shell script that fails if the work is not as it was asked for. It runs in the repository, after the last session.
    pub accept: String,
    /// A shell script that succeeds if what the user corrected is done again. Runs after every later session.
    pub repeats: String,
    /// The repository.
    #[serde(default)]
    files: BTreeMap<String, String>,
    sessions: Vec<TaskSession>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskSession {
    end: TaskSessionEnd,
    turns: Vec<TaskTurn>,
}

/// How a session is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TaskSessionEnd {
    Exit,
    /// Killed with SIGKILL in its last turn, as soon as so many tools have been used there.
    KillAfter(usize),
    /// Compacted; the next one continues the same conversation.
    Compaction,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskTurn {
    prompt: String,
    /// What the scripted model does.
    #[serde(default)]
    does: Vec<TaskStep>,
    /// What it does instead if these words are in what it reads.
    told: Option<String>,
    #[serde(default)]
    does_if_told: Vec<TaskStep>,
    /// What it writes into its own notes, if it was asked to keep any.
    note: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TaskStep {
    /// A new file: its path in the repository, and its text.
    Write(String, String),
    Run(String),
}

/// Every task, in the order of their names.
pub fn all() -> Vec<Task> {
    let read = |(name, text)| {
        let task: Task = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        Task { name, ..task }
    };
    MADE.map(read).into()
}
