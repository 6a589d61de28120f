//! What the tests share: a scripted model server, the real agents, scratch directories and processes.
//!
//! Development only: nothing a user runs depends on this crate. Servers listen on 127.0.0.1 only and stop when
//! dropped; real agents start with a cleared environment and a scratch home. It reads no credentials and never
//! logs an environment.

// This is test code: a broken expectation must stop the test where it is, with its message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod answering;
pub mod clients;
pub mod env;
pub mod fake_agent;
pub mod harness;
pub mod loops;
pub mod model_server;
pub mod process;
pub mod scratch;
pub mod simulation;
pub mod terminal;
pub mod tokens;
