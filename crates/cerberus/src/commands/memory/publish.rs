use cerberus_store::memory::publish::{self, ChangeKind, PublishedFile, PublishingError};
use serde_json::json;

use crate::context::Context;
use crate::failure::{self, Hint, Result};
use crate::render;

/// Write the approved memories of this project into AGENTS.md
///
/// They go into a marked block, for teammates who do not use Cerberus; nothing else in the file changes. Other
/// instruction files at the top of the project, such as CLAUDE.md, get the block too, unless they include or link to
/// AGENTS.md. Only memories for this project are written, never those for all projects. What is written there is not
/// told again in briefs. Running it again updates the block; if no memory is left, the block is removed.
#[derive(clap::Args)]
pub struct MemoryPublishArgs {
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(in crate::commands) dry_run: bool,
}

/// Remove the block that `memory publish` wrote
#[derive(clap::Args)]
pub struct MemoryUnpublishArgs {
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(in crate::commands) dry_run: bool,
}

impl MemoryPublishArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let located = context.located();
        let store = context.store()?;
        let rows = publish::publishable(&store, &located, context.clock.now)?;
        let rules: Vec<&str> = rows.iter().map(|row| &*row.memory.content).collect();
        write(context, &rules, self.dry_run)
    }
}

impl MemoryUnpublishArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        write(context, &[], self.dry_run)
    }
}

fn write(context: &Context, rules: &[&str], is_dry: bool) -> Result<()> {
    let root = context.located().root.clone();
    let changes = hinted(publish::plan(&context.located(), rules))?;
    if !is_dry {
        hinted(publish::make(&changes))?;
    }
    let name = |change: &PublishedFile| change.path.strip_prefix(&root).unwrap_or(&change.path).display().to_string();
    if context.json {
        let files = changes.iter().map(|change| json!({"path": name(change), "change": change.kind.word()}));
        let files: Vec<_> = files.collect();
        render::json(&json!({"memories": rules.len(), "dry_run": is_dry, "files": files}));
        return Ok(());
    }
    if changes.iter().all(|change| change.kind == ChangeKind::Unchanged) {
        render::sentence(match rules {
            [] => "no memories of this project are approved, and nothing is published",
            _ => "already up to date",
        });
    }
    for change in changes.iter().filter(|change| change.kind != ChangeKind::Unchanged) {
        let would = if is_dry { "would be " } else { "" };
        let count = render::counted(rules.len(), "memory", "memories");
        render::line(&format!("{}: {would}{}, {count}", name(change), change.kind.word()));
    }
    if is_dry {
        rules.iter().for_each(|rule| render::line(&format!("  - {rule}")));
    }
    Ok(())
}

fn hinted<T>(result: std::result::Result<T, PublishingError>) -> Result<T> {
    let hint = match &result {
        Err(PublishingError::Link { .. }) => "replace the link by a file, or have it point to AGENTS.md",
        Err(PublishingError::Damaged { .. }) => "remove what is left of the block by hand, then run it again",
        Err(PublishingError::Write { .. }) => "make the file writable, then run it again",
        Err(PublishingError::Read { .. }) => "it must be a text file in UTF-8 of at most 1 MiB",
        _ => failure::DOCTOR,
    };
    result.hint(hint)
}
