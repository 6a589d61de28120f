//! What `cerberus hook` does: capture a payload, then answer the agent.

pub mod answer;
pub mod capture;
