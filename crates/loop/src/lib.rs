//! Runs an agent in one fresh context after another until its task is complete.
//!
//! Decisions are pure: when to replace a context, and what the next one starts with. Only [`run`] starts programs, reads
//! files and asks for the time.

pub mod check_files;
pub mod check_result;
pub mod completion;
pub mod entry;
pub mod failure;
pub mod fallback;
pub mod handoff;
pub mod history;
pub mod invoke;
pub mod machine;
pub mod memory;
pub mod preserve;
pub mod progress;
pub mod reset;
pub mod run;
pub mod run_sums;
pub mod settings;
pub mod stop;
pub mod texts;
pub mod totals;
