use cerberus_store::erase::scan;
use serde_json::json;

use crate::capabilities;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Find secrets that an older version stored, and redact them
///
/// Searches the journal, the view and everything else in the home, except your settings, and the checkpoints of loops.
/// Prints the kinds of secrets and where they are, never the secrets themselves. Exits with 0 if none is left, with 1 if
/// some were found and not redacted.
#[derive(clap::Args)]
pub struct ScanArgs {
    /// Redact them in place: in the journal, in the view including its free pages, in backups and outputs of loops; remove
    /// checkpoints with a secret
    #[arg(long)]
    pub(super) redact: bool,
}

impl ScanArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        context.require_privacy_rules()?;
        const AGAIN: &str = "nothing else was changed; fix the problem and run the command again";
        let found = match self.redact {
            true => scan::clean(&context.home, &context.clock, &context.cwd, capabilities::ALL).hint(AGAIN)?,
            false => scan::scan(&context.home, &context.cwd, capabilities::ALL).hint(AGAIN)?,
        };
        let secrets: usize = found.iter().map(|finding| finding.kinds.len()).sum();
        if context.json {
            render::json(&json!({"secrets": secrets, "redacted": self.redact, "findings": found}));
        } else {
            for finding in &found {
                render::line(&format!("{}, {}: {}", finding.file, finding.at, finding.kinds.join(", ")));
            }
            let count = render::count(secrets, "secret");
            render::line(&if self.redact { format!("redacted {count}") } else { format!("found {count}") });
        }
        match found.is_empty() || self.redact {
            true => Ok(()),
            false => Err(anyhow::anyhow!("{} in the store", render::count(secrets, "secret")))
                .hint("`cerberus scan --redact` redacts them permanently"),
        }
    }
}
