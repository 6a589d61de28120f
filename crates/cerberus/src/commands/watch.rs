use std::process::Child;
use std::time::Duration;

use cerberus_store::sessions::upkeep::UpkeepOccasion;
use serde_json::json;

use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Watch sessions in the foreground: end idle ones and detect crashed ones
///
/// This is optional: every session start, `status`, `session-status` and `recover` do the same. Stop it with Ctrl-C.
#[derive(clap::Args)]
pub struct WatchArgs {
    /// Seconds between two checks
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    interval: u64,

    /// End a session after this many minutes without activity
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    idle_minutes: u64,
}

impl WatchArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut summarizing: Vec<Child> = Vec::new();
        loop {
            let now = context.now_again();
            let idle_after = Duration::from_secs(60 * self.idle_minutes);
            let (store, changed) = now.upkept(UpkeepOccasion::Sessions { idle_after })?;
            for session in &changed {
                let why = session.state.ended.as_ref().map_or("", |(_, why)| why);
                let (id, project, status) = (&session.id, &session.project_name, session.state.status.word());
                match context.json {
                    true => render::json_text(
                        &json!({"id": id, "project": project, "status": status, "reason": why}).to_string(),
                    ),
                    false => render::line(&format!("{id}  {project}  {status}: {why}")),
                }
            }
            drop(store);
            summarizing.extend(now.ended(&changed)?);
            summarizing.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
            std::thread::sleep(Duration::from_secs(self.interval));
        }
    }
}
