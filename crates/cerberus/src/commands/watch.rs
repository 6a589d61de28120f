use std::time::Duration;

use cerberus_engine::recover;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Settle sessions continuously, in the foreground: end what is idle, notice what died
///
/// Optional: every session start, `status`, `session-status` and `recover` settle sessions too. Ctrl-C ends it.
#[derive(clap::Args)]
pub struct Watch {
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    interval: u64,

    /// End a session after this many minutes without activity
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    idle_minutes: u64,
}

impl Watch {
    pub fn run(self, context: &Context) -> Result<()> {
        loop {
            let now = context.now_again();
            let mut store = now.store()?;
            let idle_after = Duration::from_secs(60 * self.idle_minutes);
            let changed = recover::sweep(&now.home, &now.clock, &mut store, idle_after);
            for session in changed.hint("`cerberus doctor` says what is wrong")? {
                let why = session.state.ended.map(|(_, why)| why).unwrap_or_default();
                render::line(&format!(
                    "{}  {}  {}: {why}",
                    session.id,
                    session.project_name,
                    session.state.status.word()
                ));
            }
            drop(store);
            now.learn()?;
            std::thread::sleep(Duration::from_secs(self.interval));
        }
    }
}
