//! Shell commands that test, build or lint: how they are recognised, what their output means, what they leave open.
//!
//! [`printed`] decides what a hook may keep of an output; [`recognise`] classifies a command;
//! [`read`] interprets its output; [`RunLedger`] tracks what is failing across runs. All of it is pure, bounded and
//! linear in its input, and no output is an error. An unclear result is `Unknown`, never a guess: a green verdict
//! needs a passing test, a success message or an exit code that is known to be the command's own.

mod classify;
mod command;
mod failure;
mod go;
mod javascript;
mod jvm;
mod ledger;
mod other;
mod printed;
mod problems;
mod python;
mod reading;
mod report;
mod run;
mod rust;
mod scripts;
#[cfg(test)]
mod tests;
mod toolchain;
mod wrapper;

pub use command::{may_be_run, recognise};
pub use failure::{failure, is_preparation, quoted_error, signature_of};
pub use ledger::RunLedger;
pub use printed::{KeptOutput, lines_of_run, printed, without_contents};
pub use reading::{is_test_output, read};
use run::Family;
pub use run::{KEY_CHARS_MAX, Kind, NAME_CHARS_MAX, NAMES_MAX, OutcomeTrust, Run, RunCommand, RunVerdict, Runner};
pub use toolchain::{Toolchain, passed_toolchains, tested_by};
