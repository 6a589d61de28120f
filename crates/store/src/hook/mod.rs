//! What `cerberus hook` does: capture a payload, then answer the agent.
//!
//! Capturing opens neither the view nor the settings. Nothing here waits for another process.

pub mod answer;
pub mod capture;
pub mod subagent;
