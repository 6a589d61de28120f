//! The operating system: files of the home and of others, processes, the clock.

pub mod clock;
pub mod device;
pub mod failures;
pub mod fault;
pub mod home;
pub mod output;
pub mod outside;
pub mod process;
pub mod replace;
