//! What differs between operating systems. Code for one system is only here, and in the folder of the same name in the
//! binary.
//!
//! `unix.rs` and `windows.rs` offer the same functions. Processes are read by `proc.rs` on Linux, without a library,
//! because every hook asks for them, and by `table.rs` elsewhere.

mod kinds;
pub use kinds::*;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

#[cfg(target_os = "linux")]
pub mod proc;
#[cfg(target_os = "linux")]
pub use proc as processes;
#[cfg(not(target_os = "linux"))]
pub mod table;
#[cfg(not(target_os = "linux"))]
pub use table as processes;

/// How macOS and Windows name things, read alike. Compiled into tests everywhere.
#[cfg(any(test, not(target_os = "linux")))]
mod naming;
