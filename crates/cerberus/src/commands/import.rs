use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Context as _;
use cerberus_engine::import::{self, Report};
use cerberus_engine::{fold, identity};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::install::claude_dir;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Take over what an agent wrote down itself, so that the past is known from the first day
///
/// Importing twice changes nothing, nor does importing what hooks have seen. Imported sessions are ended at their last
/// event.
#[derive(clap::Args)]
pub struct Import {
    /// The agent: claude-code
    #[arg(value_name = "AGENT", value_parser = ["claude-code"])]
    agent: String,

    /// Map the folder that the transcripts speak of onto this one
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Transcripts (.jsonl, .jsonl.gz) or folders of them [default: all that the agent keeps]
    paths: Vec<PathBuf>,
}

/// How many transcripts are folded at once.
const FILES_PER_FOLD: usize = 50;

impl Import {
    pub fn run(self, context: &Context) -> Result<()> {
        let roots = match self.paths.is_empty() {
            false => self.paths,
            true => vec![claude_dir().hint("set HOME, or name the transcripts")?.join("projects")],
        };
        let mut files = Vec::new();
        for root in &roots {
            let found = import::transcripts(root).with_context(|| format!("cannot read {}", root.display()));
            files.extend(found.hint("name transcripts, or folders that hold some")?);
        }
        let project = match &self.project {
            Some(dir) if !dir.is_dir() => {
                return Err(anyhow::anyhow!("{} is not a folder", dir.display()))
                    .hint("give --project a folder that exists");
            }
            Some(dir) => Some(identity::locate(dir)),
            None => None,
        };
        let mut store = context.store()?;
        let (mut total, mut unreadable) = (Report::default(), Vec::new());
        let bar = progress_bar(files.len());
        for (index, file) in files.iter().enumerate() {
            match import::read(file) {
                Ok(bytes) => {
                    let imported = import::import(&context.home, &context.clock, &store, project.as_ref(), &bytes);
                    total.add(imported.hint("what was imported so far is kept; run it again when that is mended")?);
                }
                Err(error) => unreadable.push(format!("{}: {error}", file.display())),
            }
            if (index + 1) % FILES_PER_FOLD == 0 || index + 1 == files.len() {
                fold::fold(&context.home, &mut store).hint("`cerberus doctor` says what is wrong")?;
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        tell(context, files.len(), &total, &unreadable);
        match unreadable.first() {
            Some(first) => {
                Err(anyhow::anyhow!("{} could not be read: {first}", render::count(unreadable.len(), "file")))
                    .hint("the others were imported; mend these and run it again")
            }
            None => Ok(()),
        }
    }
}

fn tell(context: &Context, files: usize, total: &Report, unreadable: &[String]) {
    if context.json {
        render::json(&json!({
            "files": files, "sessions": total.sessions, "events": total.new_events, "known_events": total.known_events,
            "damaged_lines": total.damaged_lines, "unreadable": unreadable,
        }));
        return;
    }
    let events = render::count(total.new_events, "new event");
    let sessions = render::count(total.sessions, "session");
    render::line(&format!(
        "{}: {sessions}, {events}, {} known before",
        render::count(files, "file"),
        total.known_events
    ));
    if total.damaged_lines > 0 {
        eprintln!("cerberus: {} skipped", render::count(total.damaged_lines, "damaged line"));
    }
}

/// On a terminal only; nothing is drawn into a file or a pipe.
fn progress_bar(length: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() || length < 2 {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} transcripts, {eta} left");
    ProgressBar::new(length as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
