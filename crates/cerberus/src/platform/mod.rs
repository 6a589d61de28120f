//! What differs between operating systems in the binary: signals, the terminal, standard input. `cerberus-os`
//! has a folder of the same name for files and processes.
//!
//! `unix.rs` and `windows.rs` offer the same functions.

mod terminal;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

pub use terminal::{StandardStream, TerminalSize};

/// The one of musl, with which the program is shipped, takes several times as many instructions.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
