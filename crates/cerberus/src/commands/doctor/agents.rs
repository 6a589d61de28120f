use std::path::{Path, PathBuf};

use cerberus_agents::before::{self, HookRefusal};
use cerberus_agents::install::versions::{self, AgentProgram};
use cerberus_agents::install::wiring::{self, AgentMark, WiringError};
use cerberus_agents::install::{self, HookTrust, InstallScope, Profile, Surroundings};
use cerberus_agents::settings::servers::MCP;
use cerberus_agents::settings::{ProgramVersion, Wiring, check_events};
use cerberus_store::view::Store;

use super::health_check::{HealthCheck, bad, good};
use crate::commands::check::wire::is_enforcing;
use crate::commands::deleting::deleting;
use crate::context::Context;
use crate::render::time::LocalTime;

/// What is said of an agent that is not there.
pub const NOT_FOUND: &str = "not found on this machine";

/// What is wrong, and what to do about it.
type AgentProblem = (String, String);

/// One agent on this machine.
struct Subject<'a> {
    context: &'a Context,
    surroundings: &'a Surroundings<'a>,
    profile: &'static Profile,
    client: Option<ProgramVersion>,
}

/// One check per agent.
pub fn checks(context: &Context, store: Option<&Store>) -> Vec<HealthCheck> {
    let surroundings = context.agent_surroundings();
    let programs = |profile: &'static Profile| versions::programs(profile, &surroundings);
    install::all().map(|profile| check(context, &surroundings, store, profile, programs)).collect()
}

/// What is wrong with the agents that are there, without starting any of them.
pub fn problems(context: &Context) -> Vec<HealthCheck> {
    let surroundings = context.agent_surroundings();
    let checks = install::all().map(|profile| check(context, &surroundings, None, profile, |_| Vec::new()));
    checks.filter(|check| !check.ok).collect()
}

/// Whether any agent is there and has our hooks.
pub fn is_connected(context: &Context) -> bool {
    let surroundings = context.agent_surroundings();
    let is_wired = |profile: &'static Profile| {
        let subject = Subject { context, surroundings: &surroundings, profile, client: None };
        let has_hooks = |scope| subject.wired(scope).is_ok_and(|wiring| !wiring.is_empty());
        (profile.has_plugin)(&surroundings) || InstallScope::ALL.into_iter().any(has_hooks)
    };
    install::all().any(is_wired)
}

fn check(
    context: &Context,
    surroundings: &Surroundings,
    store: Option<&Store>,
    profile: &'static Profile,
    programs: impl Fn(&'static Profile) -> Vec<AgentProgram>,
) -> HealthCheck {
    let name = profile.agent.name();
    if !profile.is_found(surroundings) {
        return good(name, NOT_FOUND);
    }
    let programs = programs(profile);
    let subject = Subject { context, surroundings, profile, client: versions::oldest(&programs) };
    let mut said = describe(&programs);
    let is_uninstalled = wiring::has_mark(&context.home, profile.agent, AgentMark::Uninstalled);
    let mut scopes = Vec::new();
    for scope in InstallScope::ALL {
        match subject.wired(scope) {
            // A broken file without entries of ours is not our concern.
            Err(_) if is_uninstalled => {}
            Err(error) => {
                let (problem, fix) = subject.unreadable(scope, &error);
                return bad(name, said_with(problem, &said), fix);
            }
            Ok(wiring) if wiring.is_empty() => {}
            Ok(wiring) => scopes.push((scope, wiring)),
        }
    }
    let has_plugin = (profile.has_plugin)(surroundings);
    if scopes.is_empty() && !has_plugin {
        let install = format!("cerberus install --agent {name}");
        if is_uninstalled {
            said.push(format!("uninstalled; `{install}` installs it again"));
            return good(name, said.join("; "));
        }
        said.push("found, but Cerberus is not installed in it".to_string());
        return bad(name, said.join("; "), subject.install(InstallScope::User, ""));
    }
    let mut problem = None;
    if has_plugin {
        said.push("installed by its plugin".to_string());
        problem = subject.trust(InstallScope::User, &mut Vec::new()).or_else(|| subject.plugin_problem());
    }
    for (scope, wiring) in &scopes {
        let commands = Vec::from_iter(wiring.commands()).join(", ");
        said.push(format!("installed ({}): {commands}", scope.word()));
        problem = problem.or_else(|| subject.problem(*scope, wiring, &mut said));
    }
    if is_enforcing(context) {
        problem = problem.or_else(|| subject.enforcement(&scopes, &mut said));
    }
    // `status` does not look at every transcript.
    if let Some(kept) = profile.transcripts.filter(|_| store.is_some()) {
        said.extend(deleting(context, surroundings, profile.agent, kept));
    }
    said.push(last_heard(context, store, profile));
    match problem {
        None => good(name, said.join("; ")),
        Some((problem, fix)) => bad(name, said_with(problem, &said), fix),
    }
}

fn said_with(problem: String, said: &[String]) -> String {
    [&[problem], said].concat().join("; ")
}

/// What the agent's programs say about themselves. If there are several, the oldest decides what is installed.
fn describe(programs: &[AgentProgram]) -> Vec<String> {
    let Some(first) = programs.first() else { return Vec::new() };
    let mut said = vec![first.printed.clone().unwrap_or_else(|| "does not say its version".to_string())];
    let oldest = programs.iter().filter(|program| program.version().is_some()).min_by_key(|program| program.version());
    if let Some(oldest) = oldest.filter(|oldest| oldest.version() != first.version())
        && let Some(version) = oldest.version()
    {
        said.push(format!("also installed: {version} in {}", oldest.path.display()));
    }
    said
}

impl Subject<'_> {
    /// Whether the rules of the user are enforced in this agent. Returns a problem if they are not.
    fn enforcement(&self, scopes: &[(InstallScope, Wiring)], said: &mut Vec<String>) -> Option<AgentProblem> {
        let files = (self.profile.files)(self.surroundings, InstallScope::User);
        let mut events = files.iter().flat_map(|file| check_events(file.parts)).peekable();
        let is_wired =
            |event: &str| scopes.iter().any(|(_, wiring)| wiring.hooks.iter().any(|hook| hook.event == event));
        // An agent without hooks has a plugin, which asks by itself.
        if events.peek().is_some() && !events.any(is_wired) {
            let problem = "it does not enforce your checks: the hook before tool uses is missing".to_string();
            return Some((problem, self.install(InstallScope::User, "")));
        }
        let can = |meant| before::refuse(self.profile.agent, meant, "").is_some();
        let words = match (can(HookRefusal::Deny), can(HookRefusal::GoOn)) {
            (false, _) => "cannot enforce checks",
            (true, false) => "enforces checks, except those at the end of a turn",
            (true, true) => "enforces checks",
        };
        said.push(words.to_string());
        None
    }

    /// Everything installed in the files of a scope.
    fn wired(&self, scope: InstallScope) -> Result<Wiring, WiringError> {
        let mut all = Wiring::default();
        let has_server = !wiring::has_mark(&self.context.home, self.profile.agent, AgentMark::NoServer);
        for file in (self.profile.files)(self.surroundings, scope) {
            let found = wiring::wiring(&file, self.client)?;
            all.hooks.extend(found.hooks);
            all.servers.extend(found.servers);
            all.missing.extend(found.missing.into_iter().filter(|missing| has_server || *missing != MCP));
        }
        Ok(all)
    }

    /// The command that installs again; a read-only file must be made writable first.
    fn install(&self, scope: InstallScope, option: &str) -> String {
        let scope_option = if scope == InstallScope::User { "" } else { " --scope project" };
        let command = format!("cerberus install --agent {}{scope_option}{option}", self.profile.agent);
        let files = (self.profile.files)(self.surroundings, scope);
        match files.iter().find(|file| !file.parts.is_empty() && wiring::is_read_only(file)) {
            Some(file) => format!("chmod u+w '{}' && {command}", file.path.display()),
            None => command,
        }
    }

    fn unreadable(&self, scope: InstallScope, error: &WiringError) -> AgentProblem {
        match error {
            WiringError::Ignored { path, at, extra } => {
                let problem = format!("{}: {at}: {extra}; the agent ignores the whole file", path.display());
                (problem, self.install(scope, " --repair-json"))
            }
            WiringError::Settings { path, source } => {
                let fix = format!("fix the file, then: {}", self.install(scope, ""));
                (format!("{}: {source}", path.display()), fix)
            }
            WiringError::NotText { path } => {
                (format!("{} is not UTF-8 text", path.display()), "save the file as UTF-8".to_string())
            }
            error => (error.to_string(), "make the file readable".to_string()),
        }
    }

    /// The plugin finds us by name.
    fn plugin_problem(&self) -> Option<AgentProblem> {
        if self.surroundings.on_path("cerberus").is_some() {
            return None;
        }
        let folder = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_path_buf));
        let folder = folder.unwrap_or_else(|| PathBuf::from("the folder of cerberus"));
        Some((
            "its plugin runs `cerberus`, which is not on PATH".to_string(),
            format!("add {} to PATH", folder.display()),
        ))
    }

    /// The first thing that is wrong with the entries of a scope.
    fn problem(&self, scope: InstallScope, wiring: &Wiring, said: &mut Vec<String>) -> Option<AgentProblem> {
        let install = || self.install(scope, "");
        if let Some(gone) = wiring.commands().iter().find(|command| !Path::new(command).is_file()) {
            return Some((format!("{gone} does not exist"), install()));
        }
        if let Some(problem) = self.other_version(scope, wiring) {
            return Some(problem);
        }
        if let (Some(hook), Some(client)) = (wiring.hooks.iter().find(|hook| hook.is_unknown), self.client) {
            let problem =
                format!("version {client} does not know {}, and may ignore the whole settings file", hook.event);
            return Some((problem, install()));
        }
        if wiring.hooks.iter().any(|hook| hook.has_args) {
            return Some(("the hooks were installed in a form that older versions misread".to_string(), install()));
        }
        if !wiring.missing.is_empty() {
            return Some((format!("hooks are missing for {}", wiring.missing.join(", ")), install()));
        }
        if let Some(problem) = self.other_home(wiring) {
            return Some((problem, install()));
        }
        self.trust(scope, said)
    }

    /// A server that would read and write another data folder than the hooks.
    fn other_home(&self, wiring: &Wiring) -> Option<String> {
        let ours = self.context.home.root();
        let default = self.surroundings.in_home(".cerberus").unwrap_or_default();
        let used = |home: &Option<String>| home.as_ref().map_or_else(|| default.clone(), PathBuf::from);
        let other = wiring.servers.iter().map(|server| used(&server.home)).find(|used| used != ours)?;
        Some(format!("its MCP server uses {}, but hooks use {}", other.display(), ours.display()))
    }

    /// A program in the hooks that is of another version than this one. Those of a project are not asked: a repository may
    /// have named them, and nothing that a repository names is started.
    fn other_version(&self, scope: InstallScope, wiring: &Wiring) -> Option<AgentProblem> {
        let this = std::env::current_exe().and_then(|exe| exe.canonicalize()).ok()?;
        let ours = ProgramVersion::find(env!("CARGO_PKG_VERSION"))?;
        let commands = wiring.commands();
        let is_other = |path: &&Path| scope == InstallScope::User && path.canonicalize().is_ok_and(|path| path != this);
        commands.iter().map(Path::new).filter(is_other).find_map(|path| {
            let theirs = versions::version_of(path).filter(|theirs| *theirs != ours)?;
            let (is, fix) = match theirs < ours {
                true => ("older", self.install(scope, "")),
                false => ("newer", "update this program, or put the newer one first on your PATH".to_string()),
            };
            Some((format!("{} is version {theirs}, {is} than this program ({ours})", path.display()), fix))
        })
    }

    /// Adds what is known about the agent's trust in the hooks. Returns a problem if the hooks certainly do not run.
    fn trust(&self, scope: InstallScope, said: &mut Vec<String>) -> Option<AgentProblem> {
        match (self.profile.trust)(self.surroundings, scope) {
            HookTrust::NotNeeded => None,
            HookTrust::Unknown(why) => {
                said.push(format!("trust unknown: {why}"));
                None
            }
            HookTrust::Disabled { setting, file } => Some((
                format!("its hooks are disabled: `{setting}` is true in {}", file.display()),
                format!("remove `{setting}` from {}", file.display()),
            )),
            HookTrust::Given { events, of } if events < of => Some((
                format!("it has accepted the hooks of only {events} of {of} events"),
                format!("start `{}` and accept its hooks", self.profile.program()),
            )),
            HookTrust::Given { .. } => {
                said.push("hooks accepted (only the agent knows whether in their current form)".to_string());
                None
            }
        }
    }
}

fn last_heard(context: &Context, store: Option<&Store>, profile: &Profile) -> String {
    match store.map(|store| store.last_heard_at(profile.agent, context.clock.now)) {
        Some(Ok(Some(at))) => format!("last event {}", LocalTime::new(context.clock.now).when(at)),
        Some(Ok(None)) => "no events yet".to_string(),
        None | Some(Err(_)) => "last event unknown".to_string(),
    }
}
