//! What an agent says about a running session when it asks for a status line.

/// Parses what an agent passes to the command of a status line.
pub(super) type ReadStatus = fn(&[u8]) -> Option<AgentStatus>;

/// The state of a session, as far as the agent knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentStatus {
    pub session: Option<String>,
    pub cwd: Option<String>,
    /// How full the context is.
    pub percent: Option<f64>,
    /// The size of the context window in tokens.
    pub window: Option<u64>,
    pub cost_usd: Option<f64>,
}
