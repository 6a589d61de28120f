use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cerberus_os::{outside, replace};
use cerberus_recall::learn::exchange::MemoryLine;
use cerberus_store::sessions::caller::CalledBy;
use serde_json::json;

use super::{changed, found};
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Export memories to a file, one JSON object per line
#[derive(clap::Args)]
pub struct MemoryExportArgs {
    /// The file to write, or - for standard output
    file: PathBuf,

    /// Also export proposals and rejected memories
    #[arg(long)]
    all: bool,
}

/// Import memories from a file of `memory export`, or from any JSON Lines with a `content` field
///
/// Each line becomes a memory of its own and is never merged with another. Existing memories are not changed; importing
/// the same file again adds nothing. If an agent runs this command, each line is only proposed, for this project.
#[derive(clap::Args)]
pub struct MemoryImportArgs {
    /// The file to read, or - for standard input
    file: PathBuf,
}

/// A larger file is not an export of memories.
const FILE_BYTES_MAX: u64 = 512 * 1024 * 1024;

impl MemoryExportArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.store()?;
        let now = context.clock.now;
        let rows = found::all(&store, self.all, now)?;
        let mut text = String::new();
        for row in &rows {
            let line = MemoryLine::of(&row.id, &row.memory, row.uses);
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
        }
        if self.file == Path::new("-") {
            text.lines().for_each(render::json_text);
            return Ok(());
        }
        let name = self.file.display().to_string();
        replace::replace(&self.file, text.as_bytes(), 0o600).context(name.clone()).hint("give a writable path")?;
        context.answer(&json!({"exported": rows.len(), "file": name}), || {
            render::line(&format!("{} written to {name}", render::counted(rows.len(), "memory", "memories")))
        })
    }
}

impl MemoryImportArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let text = self
            .read()
            .context(self.file.display().to_string())
            .hint("give a file written by `cerberus memory export`")?;
        let mut lines = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let parsed = MemoryLine::parse(line).with_context(|| format!("line {}", number + 1));
            lines.push(parsed.hint("nothing was imported; fix the line and import again")?);
        }
        let located = context.located();
        let mut store = context.store()?;
        let met = lines.len();
        let keeper = context.keeper(&located);
        const AGAIN: &str = "run the command again; memories that were already imported are skipped";
        let new = match context.called_by(&store)? {
            CalledBy::Person => keeper.import(&mut store, lines).hint(AGAIN)?,
            CalledBy::Agent => {
                context.may_agent_store()?;
                changed::changed(keeper.import_suggestions(&mut store, lines))?
            }
        };
        context.answer(&json!({"imported": new, "known": met - new}), || {
            let known = if met > new { format!(", {} already known", met - new) } else { String::new() };
            render::line(&format!("{} imported{known}", render::counted(new, "memory", "memories")));
        })
    }

    fn read(&self) -> std::io::Result<String> {
        let bytes = match self.file == Path::new("-") {
            true => outside::whole(std::io::stdin(), FILE_BYTES_MAX)?,
            false => outside::whole(std::fs::File::open(&self.file)?, FILE_BYTES_MAX)?,
        };
        String::from_utf8(bytes).map_err(std::io::Error::other)
    }
}
