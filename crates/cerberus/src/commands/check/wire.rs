//! Adds the hook before tool uses to the agents that we are installed in, and removes it when nobody needs it.

use std::path::PathBuf;

use cerberus_agents::host::Occasion;
use cerberus_agents::install::wiring::{self, Repair};
use cerberus_agents::install::{self, InstallScope, versions};
use cerberus_agents::settings::{InstallTarget, check_events};
use cerberus_checkpoint::switch::UndoSwitch;
use cerberus_checks::enforce;
use cerberus_record::id::Agent;
use cerberus_store::config;

use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// A settings file that was changed, or could not be.
pub struct WiredFile {
    pub agent: Agent,
    pub path: PathBuf,
    problem: Option<String>,
    afterwards: Option<&'static str>,
}

/// Whether hooks enforce rules.
pub fn is_enforcing(context: &Context) -> bool {
    enforce::are_on(&context.home)
}

/// Whether an agent needs the hook before tool uses: a rule is enforced, files are kept, or the agent is told there what
/// others work on, or what is known about a file.
pub fn needs_hook(context: &Context, agent: Agent) -> bool {
    let keeps_files = || UndoSwitch::read(&context.home).is_ok_and(|switch| switch.is_on_anywhere());
    let is_told = || config::load(&context.home).is_ok_and(|config| config.moments.live || config.moments.edits);
    is_enforcing(context) || keeps_files() || cerberus_agents::accepts(agent, Occasion::Before) && is_told()
}

/// Brings the settings of all agents that run our hooks in line with that. Returns what changed.
pub fn rewire(context: &Context) -> Result<Vec<WiredFile>> {
    let surroundings = context.agent_surroundings();
    let mut changed = Vec::new();
    let _lock = wiring::lock(&context.home).ok();
    for profile in install::all() {
        let checks = needs_hook(context, profile.agent);
        for scope in InstallScope::ALL {
            for file in (profile.files)(&surroundings, scope) {
                if check_events(file.parts).next().is_none() {
                    continue;
                }
                let Ok(wired) = wiring::wiring(&file, None) else { continue };
                let Some(command) = wired.hooks.first().map(|hook| hook.command.clone()) else { continue };
                let is_wired = check_events(file.parts).any(|event| wired.hooks.iter().any(|hook| hook.event == event));
                if is_wired == checks {
                    continue;
                }
                let home = wired.servers.iter().find_map(|server| server.home.clone());
                let client = versions::oldest_client(profile, &surroundings, scope);
                let has_server = !wired.servers.is_empty();
                let target = InstallTarget { command: &command, client, home: home.as_deref(), checks, has_server };
                let made = wiring::plan_install(&context.home, profile.agent, &file, &target, Repair::No);
                let problem = made.and_then(|change| change.apply(&context.home)).err().map(|error| error.to_string());
                let afterwards = profile.afterwards.filter(|_| checks);
                changed.push(WiredFile { agent: profile.agent, path: file.path, problem, afterwards });
            }
        }
    }
    Ok(changed)
}

pub fn print(changed: &[WiredFile]) {
    for WiredFile { agent, path, problem, afterwards } in changed {
        match problem {
            Some(problem) => render::talk(&format!("cerberus: {agent}: {problem}")),
            None => render::line(&format!("{agent}: {}: changed", path.display())),
        }
        if let (None, Some(afterwards)) = (problem, afterwards) {
            render::talk(&format!("cerberus: {agent}: {afterwards}"));
        }
    }
}
