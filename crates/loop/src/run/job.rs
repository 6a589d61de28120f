//! What a runner is given: what to do, and where.

use std::path::PathBuf;

use cerberus_agents::meter::price::Prices;
use cerberus_os::home::Home;
use cerberus_store::project::identity::Located;

use super::task::LoopTask;
use crate::reset::UtcOffset;
use crate::settings::{Layer, Settings};

/// What to do, and where.
pub struct Job {
    pub home: Home,
    pub located: Located,
    pub settings: Settings,
    /// The settings as they are recorded.
    pub layer: Layer,
    pub task: LoopTask,
    /// Our own program, which is started as the guard.
    pub program: PathBuf,
    /// The folder with the user's own settings for the agent.
    pub agent_dir: Option<PathBuf>,
    /// In which agents tell when a limit ends.
    pub utc_offset: UtcOffset,
    /// The user's own prices of models.
    pub prices: Prices,
}
