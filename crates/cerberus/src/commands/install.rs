use std::env;
use std::path::{Path, PathBuf};

use cerberus_engine::agents::claude_code;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Wire Cerberus into the agents on this machine
///
/// Merges its hooks into the agent's settings: order, comments and everything else in the file stay as they are. The
/// file is backed up first and replaced as a whole. Running it again changes nothing.
#[derive(clap::Args)]
pub struct Install {
    #[command(flatten)]
    target: Target,
}

/// Take Cerberus out of the agents' settings again
///
/// A file that nobody else changed since is, byte for byte, what it was before. What was captured stays.
#[derive(clap::Args)]
pub struct Uninstall {
    #[command(flatten)]
    target: Target,
}

#[derive(clap::Args)]
struct Target {
    /// The agent: claude-code [default: every agent found]
    #[arg(long = "agent", value_name = "NAME", value_parser = ["claude-code"])]
    agents: Vec<String>,

    /// user: your own settings; project: the settings in this project's folder
    #[arg(long, value_name = "SCOPE", default_value = "user", value_parser = ["user", "project"])]
    scope: String,

    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

impl Install {
    pub fn run(self, context: &Context) -> Result<()> {
        let Some(path) = self.target.settings(context)? else {
            return Err(anyhow::anyhow!("no agent was found"))
                .hint("install Claude Code first, or name it: cerberus install --agent claude-code");
        };
        let command = own_command().hint("start cerberus by its full path")?;
        let plan = claude_code::plan_install(&path, &command);
        let change = plan.hint("correct the file, then run `cerberus install` again; nothing was changed")?;
        self.target.carry_out(context, &change, &command)?;
        if !context.json && !self.target.dry_run && command.contains("/target/") {
            eprintln!("cerberus: this is a build folder; copy the binary to a lasting place and install from there");
        }
        Ok(())
    }
}

impl Uninstall {
    pub fn run(self, context: &Context) -> Result<()> {
        let Some(path) = self.target.settings(context)? else {
            render::line("no agent was found; nothing to take out");
            return Ok(());
        };
        let plan = claude_code::plan_uninstall(&context.home, &path);
        let change = plan.hint("take the entries with `cerberus hook` out by hand; nothing was changed")?;
        self.target.carry_out(context, &change, "")?;
        if !context.json && !self.target.dry_run {
            let home = context.home.root().display();
            eprintln!("cerberus: what was captured is still in {home}; remove that folder to forget it");
        }
        Ok(())
    }
}

impl Target {
    /// The settings file meant; `None` when no agent was named and none is found.
    fn settings(&self, context: &Context) -> Result<Option<PathBuf>> {
        if self.scope == "project" {
            return Ok(Some(context.located().root.join(".claude").join("settings.json")));
        }
        let dir = claude_dir().hint("set HOME, or use --scope project")?;
        let is_meant = !self.agents.is_empty() || dir.is_dir() || on_path("claude").is_some();
        Ok(is_meant.then(|| dir.join("settings.json")))
    }

    fn carry_out(&self, context: &Context, change: &claude_code::Change, command: &str) -> Result<()> {
        if !self.dry_run {
            change
                .apply(&context.home)
                .hint("nothing was changed; mend the permissions or make room, then try again")?;
        }
        if context.json {
            let path = change.path.display().to_string();
            let diff = change.diff();
            render::json(&json!({"agents": [{"agent": "claude-code", "path": path, "changed": !change.is_none(),
                "dry_run": self.dry_run, "diff": diff, "command": command}]}));
            return Ok(());
        }
        let state = match (change.is_none(), self.dry_run) {
            (true, _) => "nothing to change",
            (false, true) => "would change",
            (false, false) => "changed",
        };
        render::line(&format!("claude-code: {}: {state}", change.path.display()));
        if self.dry_run && !change.is_none() {
            render::line(change.diff().trim_end());
        }
        Ok(())
    }
}

/// Where Claude Code keeps its settings and transcripts.
pub fn claude_dir() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CLAUDE_CONFIG_DIR").or_else(|| Some(set("HOME")?.join(".claude")))
}

/// The path by which agents will call this binary. The name on PATH is preferred: it outlives versions.
pub fn own_command() -> anyhow::Result<String> {
    let exe = env::current_exe()?;
    let by_name = on_path("cerberus").filter(|found| found.canonicalize().ok() == exe.canonicalize().ok());
    let path = by_name.unwrap_or(exe);
    path.to_str().map(str::to_string).ok_or_else(|| anyhow::anyhow!("{} is not UTF-8", path.display()))
}

pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file: &PathBuf| is_file(file))
}

fn is_file(path: &Path) -> bool {
    path.is_file()
}
