//! One line of the loop's ledger: what is written before a step is taken.
//!
//! Entries are lines of a file format: fields may be added, none renamed.

use cerberus_record::clean::text::Clean;
use cerberus_record::event::AgentProcess;
use cerberus_record::session::LoopEnd;
use cerberus_record::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use super::check_files::CheckFile;
use super::check_result::CheckResult;
use super::settings::{Layer, Worker};
use super::texts::{OneLine, Passage};
use super::totals::{AttemptEnd, EndedAttempt};

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    pub at: Timestamp,
    /// The run it belongs to, counted from 1 in the project.
    pub run: u32,
    pub step: LedgerStep,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerStep {
    /// A runner started or resumed a run. `token` is in the environment of every process it starts.
    Run {
        worker: Worker,
        #[serde(deserialize_with = "own")]
        token: Clean<'static>,
        #[serde(default, deserialize_with = "own_process")]
        runner: Option<AgentProcess<'static>>,
        is_resumed: bool,
        /// Its settings, without secrets, so that the run can be resumed.
        layer: Box<Layer>,
        /// The commit that was checked out.
        #[serde(default, deserialize_with = "own_option")]
        base: Option<Clean<'static>>,
    },
    /// Where the run works.
    Place(RunPlace),
    /// An attempt at an iteration is about to start.
    Begun {
        iteration: u32,
        attempt: u32,
    },
    /// The agent was started. Written by the guard, the only process that knows.
    Launched {
        iteration: u32,
        attempt: u32,
        #[serde(default, deserialize_with = "own_process")]
        agent: Option<AgentProcess<'static>>,
        #[serde(default, deserialize_with = "own_process")]
        guard: Option<AgentProcess<'static>>,
    },
    Session {
        #[serde(deserialize_with = "own")]
        id: Clean<'static>,
    },
    /// The agent is at work and has its predecessor's handoff.
    Acknowledged {
        reboot: Option<Reboot>,
    },
    /// Nothing happens until then.
    Waiting(WaitState),
    Ended(EndedAttempt),
    /// The files of the check as they were when the run began.
    CheckFiles {
        command: OneLine,
        files: Vec<CheckFile>,
    },
    /// The check was run after an iteration.
    Checked {
        iteration: u32,
        result: CheckResult,
    },
    /// A state of the project's files that an attempt left.
    Files {
        hash: u64,
    },
    /// The user has a message for the next context. Written by `loop tell`.
    Told {
        text: Passage,
    },
    /// How many files differ from the state before the iteration.
    Changed {
        files: u32,
    },
    Stopped {
        class: LoopEnd,
        #[serde(deserialize_with = "own")]
        words: Clean<'static>,
    },
}

/// The folder that a run works in, and the branch that was checked out there when it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlace {
    #[serde(deserialize_with = "own")]
    pub root: Clean<'static>,
    #[serde(default, deserialize_with = "own_option")]
    pub branch: Option<Clean<'static>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitState {
    pub until: Timestamp,
    #[serde(deserialize_with = "own")]
    pub reason: Clean<'static>,
}

/// How a fresh context was started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reboot {
    pub reason: AttemptEnd,
    #[serde(default, deserialize_with = "own_option")]
    pub old_session_id: Option<Clean<'static>>,
    #[serde(deserialize_with = "own")]
    pub new_session_id: Clean<'static>,
    #[serde(deserialize_with = "own")]
    pub handoff_message: Clean<'static>,
    pub transition_time_ms: u64,
    pub warmed_up: bool,
}

// Deserialized values must outlive the line they were read from.

fn own<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Clean<'static>, D::Error> {
    Clean::deserialize(deserializer).map(Clean::into_owned)
}

fn own_option<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Clean<'static>>, D::Error> {
    Ok(Option::<Clean>::deserialize(deserializer)?.map(Clean::into_owned))
}

fn own_process<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AgentProcess<'static>>, D::Error> {
    Ok(Option::<AgentProcess>::deserialize(deserializer)?.map(AgentProcess::into_owned))
}
