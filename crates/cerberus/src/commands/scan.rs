use cerberus_engine::erase::scan;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Find secrets that an older version stored, and cut them
///
/// Looks through the journal, the view and everything else in the home but your settings and their backups. Prints
/// which sorts of secrets are where, never the secrets. Exits with 0 when none is left, with 1 when some were found and
/// left in place.
#[derive(clap::Args)]
pub struct Scan {
    /// Cut them: in the journal where they stand, in the view with its free pages
    #[arg(long)]
    redact: bool,
}

impl Scan {
    pub fn run(self, context: &Context) -> Result<()> {
        context.wishes_known()?;
        const AGAIN: &str = "nothing else was changed; run it again when that is mended";
        let found = match self.redact {
            true => scan::clean(&context.home, &context.clock).hint(AGAIN)?,
            false => scan::scan(&context.home).hint(AGAIN)?,
        };
        let secrets: usize = found.iter().map(|finding| finding.kinds.len()).sum();
        if context.json {
            render::json(&json!({"secrets": secrets, "redacted": self.redact, "findings": found}));
        } else {
            for finding in &found {
                render::line(&format!("{}, {}: {}", finding.file, finding.at, finding.kinds.join(", ")));
            }
            let count = render::count(secrets, "secret");
            render::line(&if self.redact { format!("cut {count}") } else { format!("found {count}") });
        }
        match found.is_empty() || self.redact {
            true => Ok(()),
            false => Err(anyhow::anyhow!("{} stored", render::count(secrets, "secret")))
                .hint("`cerberus scan --redact` cuts them for good"),
        }
    }
}
