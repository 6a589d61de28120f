//! What `cerberus hook` does: capture a payload, then answer the agent.
//!
//! Capturing opens neither the view nor the settings, and waits for no other process.

pub mod answer;
pub mod before;
pub mod capture;
mod echo;
mod notice;
pub mod subagent;
