use std::env;

use cerberus_core::agents::names;
use cerberus_core::model::id::Agent;
use cerberus_engine::agents::wiring::{self, Change, WiringError};
use cerberus_engine::agents::{self, Profile, Scope, SettingsFile, Surroundings};
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Failure, Hint, Result};
use crate::render;

/// Install Cerberus into the agents on this machine
///
/// Merges its hooks and its MCP server into the settings of every agent found. Order, comments and everything else in a
/// file are preserved. Each file is backed up first and then replaced atomically. A file that cannot be changed safely
/// is left alone. Running the command again changes nothing.
#[derive(clap::Args)]
pub struct Install {
    #[command(flatten)]
    target: Target,
}

/// Remove Cerberus from the agents' settings
///
/// A file that was not changed since the installation is restored byte for byte. Files that were created for Cerberus
/// are deleted. Captured data is kept.
#[derive(clap::Args)]
pub struct Uninstall {
    #[command(flatten)]
    target: Target,
}

#[derive(clap::Args)]
struct Target {
    #[arg(long = "agent", value_name = "NAME", num_args = 1.., hide_possible_values = true)]
    #[arg(help = format!("The agents: {} [default: every agent found]", names(|_| true)))]
    #[arg(value_parser = PossibleValuesParser::new(agents::ALL.map(|profile| profile.agent.name())))]
    agents: Vec<String>,

    /// user: your own settings; project: the settings in this project's folder
    #[arg(long, value_name = "SCOPE", default_value = "user", value_parser = ["user", "project"])]
    scope: String,

    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

/// The result for one file.
struct Outcome {
    profile: &'static Profile,
    file: SettingsFile,
    change: std::result::Result<Change, WiringError>,
}

impl Install {
    pub fn run(self, context: &Context) -> Result<()> {
        let surroundings = surroundings(context);
        let profiles: Vec<_> =
            self.target.named().into_iter().filter(|profile| self.target.is_wanted(profile, &surroundings)).collect();
        if profiles.is_empty() {
            return Err(anyhow::anyhow!("no agent was found"))
                .hint(format!("install an agent first, or name one with --agent: {}", names(|_| true)));
        }
        let command = own_command(&surroundings).hint("run cerberus by its full path")?;
        let plan = |profile: &'static Profile, file: &SettingsFile| {
            wiring::plan_install(&context.home, profile.agent, file, &command)
        };
        let outcomes = self.target.carry_out(context, &surroundings, &profiles, plan)?;
        self.target.report(context, &outcomes, &command);
        if !context.json && !self.target.dry_run {
            print_next_steps(&outcomes, &command);
        }
        all_succeeded(&outcomes, "fix the files, then run `cerberus install` again")
    }
}

impl Uninstall {
    pub fn run(self, context: &Context) -> Result<()> {
        let surroundings = surroundings(context);
        let plan =
            |profile: &'static Profile, file: &SettingsFile| wiring::plan_uninstall(&context.home, profile.agent, file);
        let mut outcomes = self.target.carry_out(context, &surroundings, &self.target.named(), plan)?;
        // Files without entries of ours are not reported.
        outcomes.retain(|outcome| !outcome.change.as_ref().is_ok_and(Change::is_none));
        self.target.report(context, &outcomes, "");
        if !context.json && outcomes.is_empty() {
            render::line("Cerberus was not found in the agents' settings");
        }
        if !context.json && !self.target.dry_run && context.home.root().is_dir() {
            let home = context.home.root().display();
            render::talk(&format!("cerberus: captured data is still in {home}; to delete it: rm -r '{home}'"));
        }
        all_succeeded(&outcomes, "remove the entries that run `cerberus` by hand")
    }
}

impl Target {
    /// The agents that were named, or all agents if none was.
    fn named(&self) -> Vec<&'static Profile> {
        let is_named =
            |profile: &&Profile| self.agents.is_empty() || self.agents.iter().any(|name| name == profile.agent.name());
        agents::ALL.into_iter().filter(is_named).collect()
    }

    fn is_wanted(&self, profile: &Profile, surroundings: &Surroundings) -> bool {
        !self.agents.is_empty() || profile.is_found(surroundings)
    }

    /// Plans the changes, then makes them. If one file fails, the others are still changed.
    fn carry_out(
        &self,
        context: &Context,
        surroundings: &Surroundings,
        profiles: &[&'static Profile],
        plan: impl Fn(&'static Profile, &SettingsFile) -> std::result::Result<Change, WiringError>,
    ) -> Result<Vec<Outcome>> {
        let scope = Scope::from_name(&self.scope).unwrap_or(Scope::User);
        let mut outcomes = Vec::new();
        for profile in profiles {
            for file in (profile.files)(surroundings, scope) {
                outcomes.push(Outcome { profile, change: plan(profile, &file), file });
            }
        }
        if outcomes.is_empty() {
            return Err(anyhow::anyhow!("no home folder was found")).hint("set HOME, or use --scope project");
        }
        for outcome in outcomes.iter_mut().filter(|_| !self.dry_run) {
            if let Ok(change) = &outcome.change
                && let Err(error) = change.apply(&context.home)
            {
                outcome.change = Err(error);
            }
        }
        Ok(outcomes)
    }

    fn report(&self, context: &Context, outcomes: &[Outcome], command: &str) {
        if context.json {
            let agents: Vec<Value> = outcomes.iter().map(|outcome| self.as_json(outcome, command)).collect();
            return render::json(&json!({ "agents": agents }));
        }
        for Outcome { profile, file, change } in outcomes {
            let (agent, path) = (profile.agent, file.path.display());
            let change = match change {
                Err(error) => {
                    render::talk(&format!("cerberus: {agent}: {error}"));
                    continue;
                }
                Ok(change) => change,
            };
            let parts = file.parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            match (change.is_none(), self.dry_run) {
                (true, _) => render::line(&format!("{agent}: {path}: nothing to change")),
                (false, true) => render::line(&format!("{agent}: {path}: would change ({parts})")),
                (false, false) => render::line(&format!("{agent}: {path}: changed ({parts})")),
            }
            if self.dry_run && !change.is_none() {
                render::block(change.diff().trim_end());
            }
        }
    }

    fn as_json(&self, outcome: &Outcome, command: &str) -> Value {
        let Outcome { profile, file, change } = outcome;
        let mut value = json!({"agent": profile.agent, "path": render::path(&file.path), "changed": false, "dry_run": self.dry_run,
            "diff": "", "command": command});
        match change {
            Ok(change) => {
                value["changed"] = (!change.is_none()).into();
                value["diff"] = change.diff().into();
            }
            Err(error) => value["error"] = error.to_string().into(),
        }
        value
    }
}

fn print_next_steps(outcomes: &[Outcome], command: &str) {
    let mut shown: Vec<Agent> = Vec::new();
    for Outcome { profile, change, .. } in outcomes {
        let is_new = change.as_ref().is_ok_and(|change| !change.is_none()) && !shown.contains(&profile.agent);
        if let Some(afterwards) = profile.afterwards.filter(|_| is_new) {
            render::talk(&format!("cerberus: {}: {afterwards}", profile.agent));
            shown.push(profile.agent);
        }
    }
    if command.contains("/target/") {
        render::talk(
            "cerberus: this binary is in a build folder; copy it to a permanent place and run `install` from there",
        );
    }
}

fn all_succeeded(outcomes: &[Outcome], hint: &str) -> Result<()> {
    match outcomes.iter().filter(|outcome| outcome.change.is_err()).count() {
        0 => Ok(()),
        failed => {
            let error = anyhow::anyhow!("{} could not be changed", render::count(failed, "file"));
            Err(Failure { error, hint: hint.to_string() })
        }
    }
}

/// This process's environment, and the project it is in.
pub fn surroundings(context: &Context) -> Surroundings<'static> {
    Surroundings::new(&|name| env::var_os(name), context.located().root)
}

/// The path by which agents will call this binary. A path from PATH is preferred: it survives updates.
fn own_command(surroundings: &Surroundings) -> anyhow::Result<String> {
    let exe = env::current_exe()?;
    let by_name = surroundings.on_path("cerberus").filter(|found| found.canonicalize().ok() == exe.canonicalize().ok());
    let path = by_name.unwrap_or(exe);
    path.to_str().map(str::to_string).ok_or_else(|| anyhow::anyhow!("{} is not UTF-8", path.display()))
}
