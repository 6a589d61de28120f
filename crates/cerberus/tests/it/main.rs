//! The whole program from outside: the real binary, in a hermetic place, at a time that the test sets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod archive;
mod attack;
mod bad_input;
mod book;
mod bounds;
mod browse;
mod budget;
mod capture;
mod checks;
mod circles;
mod cli;
mod clients;
mod concurrency;
mod continuity;
mod conversation;
mod doctor;
mod doors;
mod durable;
mod erase;
mod faults;
mod forget;
mod help;
mod hindsight;
mod hostile;
mod identity;
mod import;
mod import_agents;
mod install;
mod json;
mod kill;
mod layers;
mod learn;
mod left_off;
mod lifecycle;
#[cfg(feature = "loop")]
mod loops;
mod manners;
mod mcp;
mod memories;
mod moments;
mod network;
mod newcomer;
mod notes;
mod odd_paths;
mod order;
mod ordinary;
mod packages;
mod patterns;
mod poison;
mod private;
mod providers;
mod quote;
mod recover;
mod report;
mod repository;
mod screen;
mod secrets;
mod security;
mod seeds;
mod simulation;
mod skill;
mod statusline;
mod style;
mod summary;
#[cfg(feature = "sync")]
mod sync;
mod taken_back;
#[cfg(feature = "sync")]
mod team;
mod trust;
mod twice;
mod typed;
mod understand;
mod undo;
mod upgrade;
mod usage;
mod view;
mod wiring;

use cerberus_testkit::env::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_cerberus"))
}
