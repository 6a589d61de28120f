use std::env;

use cerberus_agents::install::wiring::{self, AgentMark, Repair, SettingsChange, WiringError};
use cerberus_agents::install::{self, InstallScope, Profile, SettingsFile, Surroundings, versions};
use cerberus_agents::names;
use cerberus_agents::settings::{InstallTarget, Part, ProgramVersion};
use cerberus_record::id::Agent;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use crate::commands::check::wire::needs_hook;
use crate::context::Context;
use crate::failure::{CommandFailure, Hint, Result};
use crate::render;

/// Install Cerberus into the agents on this machine
///
/// Merges its hooks and its MCP server, which costs about 400 tokens a session, into the settings of every agent found. Order, comments and everything else in a
/// file are preserved. Each file is backed up first and then replaced atomically. A file that cannot be changed safely
/// is left alone. Running the command again changes nothing, unless an agent was upgraded: then it adds what the new
/// version supports.
#[derive(clap::Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub(super) selection: SelectionArgs,

    /// Remove comments and trailing commas from a settings file that its agent ignores because of them; the file as it
    /// was is kept in the backups
    #[arg(long)]
    pub(super) repair_json: bool,

    /// Also show a status line where the agent has one; one that you already have is kept and shown first
    #[arg(long)]
    pub(super) statusline: bool,

    /// Only hooks, which capture and tell everything; the MCP server is left out, and taken out if it is there. Later
    /// installations leave it out too, until one with --mcp
    #[arg(long, conflicts_with = "mcp")]
    pub(super) no_mcp: bool,

    /// Add the MCP server again after --no-mcp
    #[arg(long)]
    pub(super) mcp: bool,
}

/// Remove Cerberus from the agents' settings
///
/// A file that was not changed since the installation is restored byte for byte. Files that were created for Cerberus
/// are deleted. Captured data is kept.
#[derive(clap::Args)]
pub struct UninstallArgs {
    #[command(flatten)]
    pub(super) selection: SelectionArgs,
}

#[derive(clap::Args)]
pub(super) struct SelectionArgs {
    #[arg(long = "agent", value_name = "NAME", num_args = 1.., hide_possible_values = true)]
    #[arg(help = format!("The agents: {} [default: every agent found]", names(|_| true)))]
    #[arg(value_parser = PossibleValuesParser::new(install::all().map(|profile| profile.agent.name())))]
    pub(super) agents: Vec<String>,

    /// user: your own settings; project: the settings in this project's folder
    #[arg(long, value_name = "SCOPE", default_value = "user", value_parser = ["user", "project"])]
    pub(super) scope: String,

    /// Only show what would change
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// The result for one file.
struct FileOutcome {
    profile: &'static Profile,
    file: SettingsFile,
    /// The oldest version of the agent, if it matters for this file and is known.
    client: Option<ProgramVersion>,
    change: std::result::Result<SettingsChange, WiringError>,
}

/// How often to try again if another program changes a file at the same time.
const TRIES_MAX: usize = 5;

impl InstallArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let mut surroundings = context.agent_surroundings();
        surroundings.wants_status_line = self.statusline;
        let selection = &self.selection;
        let profiles: Vec<_> =
            selection.named().into_iter().filter(|profile| selection.is_wanted(profile, &surroundings)).collect();
        if profiles.is_empty() {
            return Err(anyhow::anyhow!("no agent was found"))
                .hint(format!("install an agent first, or name one with --agent: {}", names(|_| true)));
        }
        let command = own_command(&surroundings).hint("run cerberus by its full path")?;
        let home = server_home(context);
        let repair = if self.repair_json { Repair::Yes } else { Repair::No };
        let plan = |profile: &'static Profile, file: &SettingsFile, client: Option<ProgramVersion>| {
            let checks = needs_hook(context, profile.agent);
            let has_server = self.wants_server(context, profile);
            let target = InstallTarget { command: &command, client, home: home.as_deref(), checks, has_server };
            wiring::plan_install(&context.home, profile.agent, file, &target, repair)
        };
        let clients: Vec<_> =
            profiles.iter().map(|profile| versions::oldest_client(profile, &surroundings, selection.scope())).collect();
        const WRITABLE: &str = "make that folder writable, or set CERBERUS_HOME to another one";
        let _lock = if selection.dry_run { None } else { Some(wiring::lock(&context.home).hint(WRITABLE)?) };
        let mut outcomes = selection.plan(&surroundings, profiles.iter().copied().zip(clients), plan)?;
        outcomes.retain(|outcome| !outcome.file.parts.is_empty());
        // A file that is only for the server, where there is none and none is wanted.
        let is_idle = |outcome: &FileOutcome| outcome.change.as_ref().is_ok_and(SettingsChange::is_none);
        let is_for_server = |outcome: &FileOutcome| outcome.file.parts.iter().all(Part::is_server);
        outcomes.retain(|outcome| {
            self.wants_server(context, outcome.profile) || !is_for_server(outcome) || !is_idle(outcome)
        });
        selection.apply(context, &mut outcomes, plan);
        selection.report(context, &outcomes, &command, |profile| self.wants_server(context, profile));
        if !selection.dry_run {
            for profile in &profiles {
                let marks =
                    [(AgentMark::Uninstalled, false), (AgentMark::NoServer, !self.wants_server(context, profile))];
                for (mark, holds) in marks {
                    wiring::set_mark(&context.home, profile.agent, mark, holds).hint(WRITABLE)?;
                }
            }
        }
        if !context.json && !selection.dry_run {
            print_next_steps(&outcomes, &command);
        }
        let is_ignored = |outcome: &FileOutcome| matches!(outcome.change, Err(WiringError::Ignored { .. }));
        let hint = match outcomes.iter().any(is_ignored) {
            true => "fix the lines, or let `cerberus install --repair-json` remove comments and trailing commas",
            false => "fix the files, then run `cerberus install` again",
        };
        all_succeeded(&outcomes, hint)
    }

    fn wants_server(&self, context: &Context, profile: &Profile) -> bool {
        self.mcp || !self.no_mcp && !wiring::has_mark(&context.home, profile.agent, AgentMark::NoServer)
    }
}

impl UninstallArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let surroundings = context.agent_surroundings();
        let selection = &self.selection;
        let plan = |profile: &'static Profile, file: &SettingsFile, _: Option<ProgramVersion>| {
            wiring::plan_uninstall(&context.home, profile.agent, file)
        };
        let has_home = !selection.dry_run && context.home.root().is_dir();
        // Uninstalling works even if the data folder is not writable.
        let _lock = if has_home { wiring::lock(&context.home).ok() } else { None };
        let named = selection.named();
        let mut outcomes = selection.plan(&surroundings, named.iter().map(|profile| (*profile, None)), plan)?;
        selection.apply(context, &mut outcomes, plan);
        for profile in named.iter().filter(|profile| has_home && selection.is_wanted(profile, &surroundings)) {
            let _ = wiring::set_mark(&context.home, profile.agent, AgentMark::Uninstalled, true);
            let _ = wiring::set_mark(&context.home, profile.agent, AgentMark::NoServer, false);
        }
        // Files without entries of ours are not reported.
        outcomes.retain(|outcome| !outcome.change.as_ref().is_ok_and(SettingsChange::is_none));
        selection.report(context, &outcomes, "", |_| true);
        if !context.json && outcomes.is_empty() {
            render::line("Cerberus was not found in the agents' settings");
        }
        if !context.json && !selection.dry_run && context.home.root().is_dir() {
            let home = context.home.root().display();
            render::talk(&format!("cerberus: captured data is still in {home}; to delete it: rm -r '{home}'"));
        }
        all_succeeded(&outcomes, "remove the entries that run `cerberus` by hand")
    }
}

impl SelectionArgs {
    /// The agents that were named, or all agents if none was.
    fn named(&self) -> Vec<&'static Profile> {
        let is_named =
            |profile: &&Profile| self.agents.is_empty() || self.agents.iter().any(|name| name == profile.agent.name());
        install::all().filter(is_named).collect()
    }

    fn is_wanted(&self, profile: &Profile, surroundings: &Surroundings) -> bool {
        !self.agents.is_empty() || profile.is_found(surroundings)
    }

    fn scope(&self) -> InstallScope {
        InstallScope::from_word(&self.scope).unwrap_or(InstallScope::User)
    }

    /// Plans a change of every file.
    fn plan(
        &self,
        surroundings: &Surroundings,
        profiles: impl Iterator<Item = (&'static Profile, Option<ProgramVersion>)>,
        plan: impl Fn(
            &'static Profile,
            &SettingsFile,
            Option<ProgramVersion>,
        ) -> std::result::Result<SettingsChange, WiringError>,
    ) -> Result<Vec<FileOutcome>> {
        let mut outcomes = Vec::new();
        for (profile, client) in profiles {
            for file in (profile.files)(surroundings, self.scope()) {
                outcomes.push(FileOutcome { profile, change: plan(profile, &file, client), file, client });
            }
        }
        if outcomes.is_empty() {
            return Err(anyhow::anyhow!("no home folder was found")).hint("set HOME, or use --scope project");
        }
        Ok(outcomes)
    }

    /// Makes the planned changes. If one file fails, the others are still changed.
    fn apply(
        &self,
        context: &Context,
        outcomes: &mut [FileOutcome],
        plan: impl Fn(
            &'static Profile,
            &SettingsFile,
            Option<ProgramVersion>,
        ) -> std::result::Result<SettingsChange, WiringError>,
    ) {
        for outcome in outcomes.iter_mut().filter(|_| !self.dry_run) {
            for attempt in 1..=TRIES_MAX {
                let Ok(change) = &outcome.change else { break };
                match change.apply(&context.home) {
                    Ok(()) => break,
                    Err(WiringError::Outrun { .. }) if attempt < TRIES_MAX => {
                        outcome.change = plan(outcome.profile, &outcome.file, outcome.client);
                    }
                    Err(error) => outcome.change = Err(error),
                }
            }
        }
    }

    fn report(
        &self,
        context: &Context,
        outcomes: &[FileOutcome],
        command: &str,
        has_server: impl Fn(&Profile) -> bool,
    ) {
        if context.json {
            let agents: Vec<Value> = outcomes.iter().map(|outcome| self.as_json(outcome, command)).collect();
            return render::json(&json!({ "agents": agents }));
        }
        for FileOutcome { profile, file, change, client } in outcomes {
            let (agent, path) = (profile.agent, file.path.display());
            let change = match change {
                Err(error) => {
                    render::talk(&format!("cerberus: {agent}: {error}"));
                    continue;
                }
                Ok(change) => change,
            };
            let is_added = |part: &&Part| part.is_added() && (has_server(profile) || !part.is_server());
            let mut parts: Vec<String> =
                file.parts.iter().filter(is_added).map(|part| part.describe(*client)).collect();
            if parts.is_empty() && !has_server(profile) {
                parts.push("without the MCP server".to_string());
            }
            parts.extend(file.trusts.as_ref().filter(|_| parts.is_empty()).map(|_| "trust in hooks".to_string()));
            let parts = parts.join(", ");
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

    fn as_json(&self, outcome: &FileOutcome, command: &str) -> Value {
        let FileOutcome { profile, file, change, client } = outcome;
        let mut value = json!({"agent": profile.agent, "path": render::path(&file.path), "changed": false, "dry_run": self.dry_run,
            "diff": "", "command": command});
        match change {
            Ok(change) => {
                value["changed"] = (!change.is_none()).into();
                value["diff"] = change.diff().into();
            }
            Err(error) => value["error"] = error.to_string().into(),
        }
        if let Some(client) = client {
            value["client_version"] = client.to_string().into();
        }
        value
    }
}

fn print_next_steps(outcomes: &[FileOutcome], command: &str) {
    let mut shown: Vec<Agent> = Vec::new();
    for FileOutcome { profile, change, file, client } in outcomes {
        let agent = profile.agent;
        let Ok(change) = change else { continue };
        if let Some(left) = file.parts.iter().find_map(|part| left_out(part, *client)) {
            render::talk(&format!("cerberus: {agent}: {left}"));
        }
        if let Some(kept) = change.unrepaired() {
            let (path, kept) = (file.path.display(), kept.display());
            render::talk(&format!("cerberus: {agent}: {path} was repaired; the original is in {kept}"));
        }
        if let Some(afterwards) = profile.afterwards.filter(|_| !change.is_none() && !shown.contains(&agent)) {
            render::talk(&format!("cerberus: {agent}: {afterwards}"));
            shown.push(agent);
        }
    }
    if outcomes.iter().any(|outcome| outcome.change.is_ok()) {
        render::talk("");
        render::talk(
            "From now on, every session of these agents is captured, and the next one is told where it stopped.",
        );
        render::talk("  cerberus import    read the sessions that they had before");
        render::talk("  cerberus status    what is known about this project");
        render::talk("  cerberus doctor    whether everything works");
    }
    if command.contains("/target/") {
        render::talk(
            "cerberus: this binary is in a build folder; copy it to a permanent place and run `install` from there",
        );
    }
}

/// What was not installed because of the agent's version.
fn left_out(part: &Part, client: Option<ProgramVersion>) -> Option<String> {
    let Part::Hooks(style) = part else { return None };
    let (used, all) = (style.events_for(client).count(), style.events.len());
    let again = "run `cerberus install` again";
    match client {
        _ if used == all => None,
        Some(client) => Some(format!("version {client} knows {used} of {all} events; after an upgrade, {again}")),
        None => {
            Some(format!("its version is unknown, so {used} of {all} events are used; once it is on PATH, {again}"))
        }
    }
}

/// The data folder for servers, if the environment names one. Some agents start servers without their environment.
fn server_home(context: &Context) -> Option<String> {
    env::var_os("CERBERUS_HOME").filter(|home| !home.is_empty())?;
    context.home.root().to_str().map(str::to_string)
}

fn all_succeeded(outcomes: &[FileOutcome], hint: &str) -> Result<()> {
    match outcomes.iter().filter(|outcome| outcome.change.is_err()).count() {
        0 => Ok(()),
        failed => {
            let error = anyhow::anyhow!("{} could not be changed", render::count(failed, "file"));
            Err(CommandFailure { error, hint: hint.to_string() })
        }
    }
}

/// The path by which agents will call this binary. A path from PATH is preferred: it survives updates.
fn own_command(surroundings: &Surroundings) -> anyhow::Result<String> {
    let exe = env::current_exe()?;
    let by_name = surroundings.on_path("cerberus").filter(|found| found.canonicalize().ok() == exe.canonicalize().ok());
    let path = cerberus_os::platform::for_any_shell(by_name.unwrap_or(exe));
    path.to_str().map(str::to_string).ok_or_else(|| anyhow::anyhow!("{} is not UTF-8", path.display()))
}
