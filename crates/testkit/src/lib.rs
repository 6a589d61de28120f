//! Shared by tests: a scripted model server, the real agents, scratch directories and processes.
//!
//! For development only: the program does not depend on this crate. Servers listen on 127.0.0.1 only and stop when
//! dropped; real agents start with a cleared environment and a scratch home. It reads no credentials and never
//! logs an environment.

// This is test code: a failed expectation must stop the test at once, with its message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod answering;
pub mod attack;
pub mod clients;
pub mod comparison;
pub mod doors;
pub mod env;
pub mod fake_agent;
pub mod harness;
pub mod hubs;
pub mod loops;
pub mod model_server;
pub mod need;
pub mod process;
pub mod processes;
pub mod scratch;
pub mod simulation;
pub mod tasks;
pub mod terminal;
pub mod tokens;
