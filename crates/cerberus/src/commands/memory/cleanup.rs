use std::time::Duration;

use cerberus_record::session::SessionStatus;
use cerberus_record::time::Timestamp;
use cerberus_store::config::Age;
use cerberus_store::erase::forget;
use cerberus_store::erase::retention;
use cerberus_store::sessions::lifecycle;
use serde_json::json;

use crate::capabilities;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Archive sessions that were inactive for seven days; with --older-than, delete archived sessions permanently
///
/// Also deletes what `[store]` in config.toml says: sessions older than `retention`, and the oldest sessions while
/// journal and view are larger than `max_size`. Without these settings nothing is deleted. Memories are always kept.
#[derive(clap::Args)]
pub struct SessionCleanupArgs {
    /// Delete archived sessions whose last activity is older than this: 30d, 12w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Only show what would be done
    #[arg(long)]
    pub(in crate::commands) dry_run: bool,
}

fn age(text: &str) -> std::result::Result<Duration, String> {
    Age::try_from(text.to_string()).map(|age| age.0)
}

impl SessionCleanupArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        match self.older_than {
            Some(older_than) => self.delete(context, older_than),
            None => self.archive(context),
        }
    }

    fn archive(&self, context: &Context) -> Result<()> {
        let mut store = context.store()?;
        let config = context.config()?.store;
        let due = retention::due(&context.home, &store, config, context.clock.now)?;
        if !self.dry_run {
            retention::apply(&context.home, &context.clock, &mut store, config, capabilities::ALL)?;
        }
        let archived = match self.dry_run {
            true => lifecycle::expired(&context.clock, &store)?,
            false => lifecycle::archive_expired(&context.home, &context.clock, &store)?,
        };
        match (context.json, self.dry_run) {
            (true, _) => {
                let left: Vec<&str> = due.iter().map(|session| session.id.as_str()).collect();
                render::json(&json!({
                    "archived": archived.len(), "sessions": archived, "left": left, "dry_run": self.dry_run,
                }));
            }
            (false, true) => render::line(&format!("would archive {}", render::count(archived.len(), "session"))),
            (false, false) => render::line(&format!("archived {}", render::count(archived.len(), "session"))),
        }
        if !due.is_empty() && !context.json {
            let left = render::count(due.len(), "session");
            let verb = if self.dry_run { "would delete" } else { "deleted" };
            render::line(&format!("{verb} {left} because of [store] in config.toml"));
        }
        Ok(())
    }

    fn delete(&self, context: &Context, older_than: Duration) -> Result<()> {
        let mut store = context.store()?;
        let before = context.clock.now.minus(older_than);
        let mut old = store.sessions(&[], Timestamp::EPOCH, context.clock.now)?;
        old.retain(|session| session.state.status == SessionStatus::Archived && session.last_activity < before);
        let ids: Vec<&str> = old.iter().map(|session| session.id.as_str()).collect();
        let what = render::count(ids.len(), "archived session");
        if !self.dry_run && !ids.is_empty() {
            render::confirm(&format!("Permanently delete {what}?"), self.yes)?;
            forget::forget(&context.home, &context.clock, &mut store, &forget::of_expired(&old), capabilities::ALL)
                .hint("some may already be deleted; run the command again to delete the rest")?;
        }
        match (context.json, self.dry_run) {
            (true, _) => render::json(&json!({"deleted": ids.len(), "sessions": ids, "dry_run": self.dry_run})),
            (false, true) => render::line(&format!("would delete {what}")),
            (false, false) => render::line(&format!("deleted {what}")),
        }
        Ok(())
    }
}
