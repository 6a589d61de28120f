//! Why a loop ends. Every reason has a text and a class with its own exit code.

use cerberus_record::session::LoopEnd;
use cerberus_record::words;
use serde::{Deserialize, Serialize};

use super::failure::Remedy;

/// Another runner is already working in this project.
pub const ANOTHER_RUNNER_EXIT_CODE: u8 = 7;

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Limit {
        Iterations = "iterations",
        Duration = "duration",
        Tokens = "tokens",
        Cost = "cost",
        /// Waiting for the model's server.
        Wait = "waiting",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    CheckPassed,
    /// The check passed twice, but its own files were changed.
    CheckChanged {
        files: Vec<String>,
    },
    /// A context claimed it, and the next one found nothing left to change.
    ClaimedTwice,
    Limit(Limit),
    /// As `Limit`, but the last context made an unconfirmed claim that everything is done.
    LimitUnconfirmed(Limit),
    NoProgress {
        iterations: u32,
    },
    SameFailure {
        times: u32,
        words: String,
    },
    Failures {
        times: u32,
        words: String,
    },
    NeedsUser {
        remedy: Remedy,
        words: String,
    },
    Asked,
    AskedNow,
    StopFile,
    HookRefused {
        words: String,
    },
}

impl StopReason {
    pub fn class(&self) -> LoopEnd {
        match self {
            StopReason::CheckPassed | StopReason::ClaimedTwice => LoopEnd::Complete,
            StopReason::Limit(_) | StopReason::LimitUnconfirmed(_) => LoopEnd::Limit,
            StopReason::NoProgress { .. } => LoopEnd::NoProgress,
            StopReason::SameFailure { .. } | StopReason::Failures { .. } | StopReason::HookRefused { .. } => {
                LoopEnd::Failed
            }
            StopReason::NeedsUser { .. } | StopReason::CheckChanged { .. } => LoopEnd::NeedsUser,
            StopReason::Asked | StopReason::AskedNow | StopReason::StopFile => LoopEnd::Interrupted,
        }
    }

    pub fn words(&self) -> String {
        match self {
            StopReason::CheckPassed => "the check passed".to_string(),
            StopReason::CheckChanged { files } => {
                format!("the check passes, but it has been changed since the loop began: {}", files.join(", "))
            }
            StopReason::ClaimedTwice => {
                "two contexts in a row reported completion, and the second changed nothing".to_string()
            }
            StopReason::Limit(limit) => format!("the limit of {} is reached", limit.word()),
            StopReason::LimitUnconfirmed(limit) => format!(
                "the limit of {} is reached; the last context reported completion, but nothing confirmed it",
                limit.word()
            ),
            StopReason::NoProgress { iterations } => {
                format!("no new state of the files and no finished task in {iterations} iterations")
            }
            StopReason::SameFailure { times, words } => format!("the same failure occurred {times} times: {words}"),
            StopReason::Failures { times, words } => format!("{times} failures in a row, the last one: {words}"),
            StopReason::NeedsUser { words, .. } => words.clone(),
            StopReason::Asked => "asked to stop after the iteration".to_string(),
            StopReason::AskedNow => "asked to stop immediately".to_string(),
            StopReason::StopFile => "the stop file exists".to_string(),
            StopReason::HookRefused { words } => format!("the pre_reboot hook refused a fresh context: {words}"),
        }
    }

    /// What the user can do next.
    pub fn hint(&self) -> &'static str {
        match self {
            StopReason::CheckPassed | StopReason::ClaimedTwice => "`cerberus loop history` shows what happened",
            StopReason::CheckChanged { .. } => {
                "look at the change; if it is right, continue with `cerberus loop run --resume --allow-check-change`"
            }
            StopReason::Limit(Limit::Wait) => {
                "raise the limit, then continue with `cerberus loop run --resume`; `cerberus resume --in AGENT` goes on \
                 in another agent"
            }
            StopReason::Limit(_) => "raise the limit, then continue with `cerberus loop run --resume`",
            StopReason::LimitUnconfirmed(_) => {
                "check the result yourself, or give --until a command that proves completion"
            }
            StopReason::NoProgress { .. } => "see `cerberus loop history`; a clearer prompt or check may help",
            StopReason::SameFailure { .. } | StopReason::Failures { .. } => {
                "fix the cause, then continue with `cerberus loop run --resume`"
            }
            StopReason::NeedsUser { remedy, .. } => remedy.hint(),
            StopReason::Asked | StopReason::AskedNow => "continue with `cerberus loop run --resume`",
            StopReason::StopFile => "remove the file, then continue with `cerberus loop run --resume`",
            StopReason::HookRefused { .. } => "fix the hook, then continue with `cerberus loop run --resume`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_own_exit_code() {
        let mut codes: Vec<u8> = LoopEnd::ALL.iter().map(|class| class.exit_code()).collect();
        codes.extend([2, ANOTHER_RUNNER_EXIT_CODE]);
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), LoopEnd::ALL.len() + 2);
    }
}
