//! The operating system: files of the home and of others, processes, the clock.
//!
//! What differs between systems is in `platform`.
//!
//! The lowest folder. It knows nothing about records or sessions. Nothing here blocks or follows a link out of the
//! home.

pub mod ahead;
pub mod clock;
pub mod device;
pub mod failures;
pub mod fault;
pub mod home;
pub mod output;
pub mod outside;
pub mod platform;
pub mod process;
pub mod replace;
