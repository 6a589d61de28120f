use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cerberus_core::clean::text::line;
use cerberus_core::settings::Wiring;
use cerberus_engine::agents::wiring::{self, WiringError};
use cerberus_engine::agents::{self, Profile, Scope, Surroundings, Trust};
use cerberus_engine::store::Store;

use super::{Check, bad, good};
use crate::commands::install::surroundings;
use crate::context::Context;

/// How long to wait for an agent to print its version.
const VERSION_WAIT_MAX: Duration = Duration::from_secs(2);
const VERSION_CHARS_MAX: usize = 40;

/// One check per agent.
pub fn checks(context: &Context, store: Option<&Store>) -> Vec<Check> {
    let surroundings = surroundings(context);
    agents::ALL.into_iter().map(|profile| check(context, &surroundings, store, profile)).collect()
}

fn check(context: &Context, surroundings: &Surroundings, store: Option<&Store>, profile: &'static Profile) -> Check {
    let name = profile.agent.name();
    if !profile.is_found(surroundings) {
        return good(name, "not found on this machine");
    }
    let install = format!("cerberus install --agent {name}");
    let mut said = Vec::from_iter(version(surroundings, profile));
    let mut scopes = Vec::new();
    for scope in Scope::ALL {
        match wired(surroundings, profile, scope) {
            Err(error) => return bad(name, error.to_string(), "fix the file"),
            Ok(wiring) if wiring.is_empty() => {}
            Ok(wiring) => scopes.push((scope, wiring)),
        }
    }
    let has_plugin = (profile.has_plugin)(surroundings);
    if scopes.is_empty() && !has_plugin {
        said.push("found, but Cerberus is not installed in it".to_string());
        return bad(name, said.join("; "), install);
    }
    if has_plugin {
        said.push("installed by its plugin".to_string());
    }
    let mut wrong = None;
    for (scope, wiring) in &scopes {
        let commands = wiring.commands();
        said.push(format!("installed ({}): {}", scope.name(), Vec::from_iter(commands.iter().copied()).join(", ")));
        let install = format!("{install} --scope {}", scope.name());
        if let Some(gone) = commands.iter().find(|command| !Path::new(command).is_file()) {
            wrong = Some((format!("{gone} does not exist"), install));
        } else if !wiring.missing.is_empty() {
            wrong = Some((format!("hooks are missing for {}", wiring.missing.join(", ")), install));
        } else if let Some(untrusted) = trust(surroundings, profile, *scope, &mut said) {
            wrong = Some((untrusted, format!("start `{}` and accept its hooks", profile.program())));
        }
    }
    said.push(last_heard(context, store, profile));
    match wrong {
        None => good(name, said.join("; ")),
        Some((problem, fix)) => bad(name, format!("{problem}; {}", said.join("; ")), fix),
    }
}

/// Everything installed in the files of a scope.
fn wired(surroundings: &Surroundings, profile: &Profile, scope: Scope) -> Result<Wiring, WiringError> {
    let mut all = Wiring::default();
    for file in (profile.files)(surroundings, scope) {
        let found = wiring::wiring(&file)?;
        all.hooks.extend(found.hooks);
        all.servers.extend(found.servers);
        all.missing.extend(found.missing);
    }
    Ok(all)
}

/// Adds what is known about the agent's trust in the hooks. Returns a problem if the hooks certainly do not run.
fn trust(surroundings: &Surroundings, profile: &Profile, scope: Scope, said: &mut Vec<String>) -> Option<String> {
    match (profile.trust)(surroundings, scope) {
        Trust::NotNeeded => None,
        Trust::Unknown(why) => {
            said.push(format!("trust unknown: {why}"));
            None
        }
        Trust::Given { events, of } if events < of => {
            Some(format!("it has accepted the hooks of only {events} of {of} events"))
        }
        Trust::Given { .. } => {
            said.push("hooks accepted (only the agent knows whether in their current form)".to_string());
            None
        }
    }
}

fn last_heard(context: &Context, store: Option<&Store>, profile: &Profile) -> String {
    match store.map(|store| store.last_event_at(profile.agent, context.clock.now)) {
        Some(Ok(Some(at))) => format!("last event {at}"),
        Some(Ok(None)) => "no events yet".to_string(),
        None | Some(Err(_)) => "last event unknown".to_string(),
    }
}

/// The version that the program prints, if it does so quickly.
fn version(surroundings: &Surroundings, profile: &Profile) -> Option<String> {
    let mut child = Command::new(surroundings.on_path(profile.program())?)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > VERSION_WAIT_MAX {
            let _ = child.kill();
            let _ = child.wait();
            return Some("version unknown".to_string());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    child.stdout.take()?.take(4096).read_to_string(&mut text).ok()?;
    text.lines().next().map(|first| line(first, VERSION_CHARS_MAX))
}
