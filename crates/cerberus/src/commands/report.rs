use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use cerberus_os::platform::set_mode;
use cerberus_os::replace::{is_writable, replace};
use serde_json::json;

use crate::commands::standup;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::platform::OPENER;
use crate::render;
use crate::render::progress::Progress;
use crate::render::time::LocalTime;
use crate::report::gather::{self, ReportSources};
use crate::report::{PromptsShown, html};

/// Draw the last 26 weeks as one HTML file
///
/// What getting started took before Cerberus was installed and since, sessions by day, time, tokens and cost by project,
/// agent, model and week, how full contexts became, tests, files, memories, loops. The file needs no server and no network,
/// contains no script, and only you can read it. Private projects are not in it.
#[derive(clap::Args)]
pub struct ReportArgs {
    /// Show it in the browser
    #[arg(long)]
    open: bool,

    /// Where to write it [default: report.html in the folder of Cerberus]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    /// Leave out titles, requests, open points and memories, so that it can be shared
    #[arg(long)]
    no_prompts: bool,

    /// Print the last seven days as text to paste instead: by project, what was asked, done, decided and committed, and
    /// what is open now
    #[arg(long, conflicts_with_all = ["open", "output", "no_prompts"])]
    week: bool,
}

impl ReportArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        context.require_privacy_rules()?;
        if self.week {
            return standup::print_week(context, &context.swept_store()?);
        }
        let output = self.output.as_ref().map(|file| absolute(context, file)).transpose()?;
        let config = context.config()?;
        let store = context.swept_store()?;
        let local = LocalTime::new(context.clock.now);
        let (surroundings, day) = (context.agent_surroundings(), |at| local.day_number(at));
        let sources = ReportSources {
            home: &context.home,
            store: &store,
            clock: &context.clock,
            surroundings: &surroundings,
            prices: &config.prices,
            redline: config.redline(),
            day: &day,
        };
        let mut progress = Progress::new("sessions");
        let report = gather::report(&sources, |done, of| progress.at(done, of))?;
        drop(progress);
        let prompts = if self.no_prompts { PromptsShown::Hidden } else { PromptsShown::Shown };
        let page = html(&report, &local, prompts);
        let file = write(context, output, page.as_bytes())?;
        if context.json {
            render::json(&json!({
                "file": render::path(&file), "bytes": page.len(), "sessions": report.sessions.len(),
                "older_sessions": report.older,
            }));
        } else {
            render::line(&file.display().to_string());
        }
        if self.open { open(&file) } else { Ok(()) }
    }
}

/// The file to write; its folder must exist.
fn absolute(context: &Context, file: &Path) -> Result<PathBuf> {
    let file = context.cwd.join(file);
    let folder = file.parent().unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        return Err(anyhow::anyhow!("the folder {} does not exist", folder.display()))
            .hint("create it first, or give another file to -o");
    }
    if file.exists() && !file.is_file() {
        return Err(anyhow::anyhow!("{} is not a regular file", file.display())).hint("give another file to -o");
    }
    Ok(file)
}

const MODE: u32 = 0o600;

/// Writes it so that only the user can read it, also where a file was before.
fn write(context: &Context, output: Option<PathBuf>, page: &[u8]) -> Result<PathBuf> {
    let (file, written) = match output {
        Some(file) => {
            let written = match is_writable(&file) {
                true => set_mode(&file, MODE),
                false => Ok(()),
            };
            let written = written.and_then(|()| replace(&file, page, MODE));
            (file, written)
        }
        None => (context.home.report(), context.home.replace(&context.home.report(), page)),
    };
    written.with_context(|| format!("cannot write {}", file.display())).hint("give another file to -o")?;
    Ok(file)
}

/// Starts the program that opens files. It may become the browser, so nobody waits for it.
fn open(file: &Path) -> Result<()> {
    let mut command = Command::new(OPENER);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = command.spawn().with_context(|| format!("cannot start {OPENER}"));
    started.map(drop).hint(format!("open {} in a browser", file.display()))
}
