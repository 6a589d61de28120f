//! The loop's decisions: how full a context is, when to replace it, and what the next one starts with.
//!
//! Pure: nothing here starts a program, reads a file or asks for the time.

pub mod check_files;
pub mod check_result;
pub mod completion;
pub mod crossing;
pub mod failure;
pub mod fallback;
pub mod handoff;
pub mod history;
pub mod invoke;
pub mod machine;
pub mod memory;
pub mod meter;
pub mod morning;
pub mod preserve;
pub mod price;
pub mod progress;
pub mod redline;
pub mod reset;
pub mod settings;
pub mod status_line;
pub mod stop;
pub mod totals;
