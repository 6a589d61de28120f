use std::collections::BTreeSet;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use cerberus_os::platform::processes::computer_name;
use cerberus_sync::SyncError;
use cerberus_sync::chain::ChainState;
use cerberus_sync::files::Files;
use cerberus_sync::links;
use cerberus_sync::local::{Space, label};
use cerberus_sync::transport::{handed_on, redacted};
use cerberus_sync::{names, spaces, token};
use serde_json::json;

use super::exchanged::exchange;
use super::failed::failed;
use super::hub::open;
use crate::context::Context;
use crate::failure::{CommandFailure, Hint, Result};
use crate::render;
use crate::render::time::duration;

/// Set up sync with a hub: a folder, a git repository, PostgreSQL or object storage
///
/// Without a code, this makes a new space for your own devices, or with --team for a team, and prints a recovery code.
/// With --code it joins a space, with a code that `cerberus sync pair` printed on another device.
///
/// A hub is one of these:
///
/// - `/a/folder`: it must exist, and every device must be able to write to it: a share, a drive, a folder that is synced
///
/// - `git+ssh://…`, `git+https://…`, `git+file:///…`: a repository that you may push to
///
/// - `postgres://USER:PASSWORD@HOST/DB`: a database to which its administrator has applied `cerberus sync hub-sql`
///
/// - `s3://BUCKET/PREFIX?region=…`, `s3+https://HOST/BUCKET`: storage with `If-None-Match`, and a key that may get, put,
///   delete and list
#[derive(clap::Args)]
pub struct SyncInitArgs {
    /// The address: /a/folder, git+ssh://…, git+https://…, postgres://…, s3+https://…
    #[arg(value_name = "URL")]
    url: String,

    /// Make a space for this team instead of your own devices
    #[arg(long, value_name = "NAME", conflicts_with_all = ["code", "recovery"])]
    team: Option<String>,

    /// What this device, or you in a team, is called
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Join with a code from another device; `-` reads it from standard input
    #[arg(long, value_name = "CODE", conflicts_with = "recovery")]
    code: Option<String>,

    /// Join with the recovery code; `-` reads it from standard input
    #[arg(long, value_name = "CODE")]
    recovery: Option<String>,

    /// How many seconds to wait until the other device lets this one in
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    wait: u64,
}

impl SyncInitArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = Files::new(&context.home);
        let lock = files.lock()?;
        let address = absolute(context, &self.url);
        let mut hub = open(context, &address).map_err(|error| not_opened(error, &address))?;
        let name = self.name.clone().unwrap_or_else(|| default_name(self.team.is_some()));
        if let Some(code) = &self.recovery {
            let (space, notes) =
                spaces::recover(&context.home, hub.as_mut(), &address, &typed(code)?, &name).map_err(failed)?;
            tell_joined(context, &space, true);
            notes.iter().for_each(|note| render::talk(&format!("cerberus: {note}")));
            return Ok(());
        }
        if let Some(code) = &self.code {
            let space = spaces::ask(&context.home, hub.as_mut(), &address, &typed(code)?, &name).map_err(failed)?;
            drop(lock);
            return joined(context, &space, Duration::from_secs(self.wait));
        }
        let (space, recovery) =
            spaces::init(&context.home, hub.as_mut(), &address, self.team.as_deref(), &name).map_err(failed)?;
        if context.json {
            render::json(&json!({ "team": space.team, "name": space.name, "recovery_code": recovery, "joined": true }));
            return Ok(());
        }
        render::line(&format!("made a space for {}; this is {name}", of(&space)));
        render::line(&format!("recovery code: {recovery}"));
        render::talk("cerberus: write it down; with it you can join again after every device was lost");
        let team = option(&space);
        render::talk(&format!(
            "cerberus: next: `cerberus share{team}` in a project, and `cerberus sync pair{team}` to add a device"
        ));
        Ok(())
    }
}

fn of(space: &Space) -> String {
    match &space.team {
        Some(team) => format!("team {team}"),
        None => "your own devices".to_string(),
    }
}

/// A folder that does not exist is never made: it may be a drive that is not mounted.
fn not_opened(error: SyncError, address: &str) -> CommandFailure {
    if address.contains("://") || Path::new(address).is_dir() {
        return failed(error);
    }
    let hint = match Path::new(address).exists() {
        true => "give the path of a folder".to_string(),
        false => format!("mount the drive that it is on, or make the folder: mkdir -p '{address}'"),
    };
    CommandFailure { error: error.into(), hint }
}

/// What commands about this space must be told.
fn option(space: &Space) -> String {
    space.team.as_ref().map_or_else(String::new, |team| format!(" --team '{team}'"))
}

/// A folder is stored with its whole path.
pub(super) fn absolute(context: &Context, url: &str) -> String {
    let is_path = !url.contains("://");
    if is_path { context.cwd.join(url).to_string_lossy().into_owned() } else { url.to_string() }
}

/// A code as it was given, or from standard input.
pub(super) fn typed(code: &str) -> Result<String> {
    if code != "-" {
        return Ok(code.to_string());
    }
    if std::io::stdin().is_terminal() {
        render::ask("code: ");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).hint("type the code")?;
        return Ok(line);
    }
    let mut text = String::new();
    std::io::stdin().take(1_000).read_to_string(&mut text).hint("pass the code on standard input")?;
    Ok(text)
}

/// Waits until the other device has let this one in.
fn joined(context: &Context, space: &Space, wait: Duration) -> Result<()> {
    let begun = Instant::now();
    loop {
        let files = Files::new(&context.home);
        let lock = files.lock()?;
        match exchange(&context.now_again(), space, None) {
            Err(SyncError::Waiting) if begun.elapsed() < wait => {
                drop(lock);
                std::thread::sleep(EVERY);
            }
            Err(SyncError::Waiting) => {
                tell_joined(context, space, false);
                return Ok(());
            }
            Err(error) => return Err(failed(error)),
            Ok(_) => {
                let all = files.spaces()?.spaces;
                tell_joined(context, all.iter().find(|one| one.id == space.id).unwrap_or(space), true);
                return Ok(());
            }
        }
    }
}

fn tell_joined(context: &Context, space: &Space, is_in: bool) {
    if context.json {
        return render::json(
            &json!({ "team": space.team, "name": space.name, "recovery_code": null, "joined": is_in }),
        );
    }
    match is_in {
        true => {
            render::line(&format!("joined {}; `cerberus share{}` in a project shares it", of(space), option(space)));
        }
        false => {
            render::line("asked to be let in");
            render::talk("cerberus: run `cerberus sync` on the device that printed the code, then here");
        }
    }
}

/// How often the hub is asked while a person waits.
const EVERY: Duration = Duration::from_secs(1);

/// Print a code with which one more device can join
///
/// The code can be used once, for 15 minutes. This command waits until the other device has used it; with --wait 0, the
/// next `cerberus sync` lets the device in.
#[derive(clap::Args)]
pub struct SyncPairArgs {
    /// For a team instead of your own devices
    #[arg(long, value_name = "NAME")]
    team: Option<String>,

    /// Print a key for containers instead: it opens this project only
    #[arg(long)]
    for_project: bool,

    /// How many seconds to wait for the other device
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    wait: u64,
}

impl SyncPairArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = Files::new(&context.home);
        let lock = files.lock()?;
        let mut spaces = files.spaces()?;
        let team = self.team.as_deref();
        let space = spaces.named(team).cloned();
        let space = space.ok_or_else(|| failed(SyncError::NoSpace(label(team))))?;
        if self.for_project {
            return self.for_project(context, &space);
        }
        let code = spaces::code(&context.home, team, context.clock.wall).map_err(failed)?;
        drop(lock);
        let (hub, is_lacking) = handed_on(&space.hub, space.team.is_some());
        if context.json {
            render::json(&json!({ "code": code, "hub": hub, "token": null }));
        } else {
            render::line(&format!("cerberus sync init '{hub}' --code {code}"));
            render::talk("cerberus: type this on the other device within 15 minutes; it can be used once");
            if is_lacking {
                render::talk("cerberus: the address is shown without your login; on the other device, add its own");
            }
            if self.wait > 0 {
                let wait = duration(Duration::from_secs(self.wait));
                render::talk(&format!(
                    "cerberus: waiting for it, at most {wait}; Ctrl-C ends the waiting, not the code"
                ));
            }
        }
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(self.wait) {
            let lock = files.lock()?;
            let report = exchange(&context.now_again(), &space, None).map_err(failed)?;
            drop(lock);
            if !report.let_in.is_empty() {
                report.let_in.iter().for_each(|name| render::talk(&format!("cerberus: let in {name}")));
                return Ok(());
            }
            std::thread::sleep(EVERY);
        }
        render::talk(
            "cerberus: nobody has used the code yet; if it is used in time, `cerberus sync` lets the device in",
        );
        Ok(())
    }

    fn for_project(&self, context: &Context, space: &Space) -> Result<()> {
        let located = context.located();
        let shared =
            space.projects.iter().find(|shared| shared.project == located.project.as_str() && shared.ended.is_none());
        let shared = shared.ok_or_else(|| failed(SyncError::NotShared))?;
        let files = Files::new(&context.home);
        let device = files.device().map_err(failed)?;
        let stream = files.state(space).map_err(failed)?.streams.remove(&shared.number).unwrap_or_default();
        let mut hub = open(context, &space.hub).map_err(failed)?;
        let token = token::make(&files, hub.as_mut(), &device, space, shared, &stream.listing).map_err(failed)?;
        match context.json {
            true => render::json(&json!({ "code": null, "hub": redacted(&space.hub), "token": token })),
            false => {
                render::line(&format!("CERBERUS_SYNC={token}"));
                render::talk(
                    "cerberus: a secret that opens this project; containers run `cerberus sync --for-project`",
                );
            }
        }
        Ok(())
    }
}

/// Remove a device: it gets no new key, and what it writes is ignored
///
/// A removal cannot be undone, but the device can be let in again as a new one. Devices that it had let in stay; they
/// are listed.
#[derive(clap::Args)]
pub struct SyncRemoveArgs {
    /// The device, by its name or the beginning of its id
    #[arg(value_name = "DEVICE")]
    device: String,

    /// From a team instead of your own devices
    #[arg(long, value_name = "NAME")]
    team: Option<String>,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl SyncRemoveArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = Files::new(&context.home);
        let _lock = files.lock()?;
        let mut all = files.spaces()?;
        let team = self.team.as_deref();
        let device = files.device().map_err(failed)?;
        let space = all.named(team).ok_or_else(|| failed(SyncError::NoSpace(label(team))))?;
        let mut hub = open(context, &space.hub).map_err(failed)?;
        let mut chain = links::current(hub.as_mut(), &files, space, &device, false).map_err(failed)?;
        let gone = self.meant(space, &chain.state)?;
        let ended = names::grants(space, &chain.state);
        let ids = gone.iter().cloned().collect::<Vec<_>>().join(", ");
        render::confirm(&format!("Remove {} ({ids}) from {}?", self.device, space.label()), self.yes)?;
        let let_in = links::remove(hub.as_mut(), &files, space, &mut chain, &device, &gone).map_err(failed)?;
        // Somebody may have come in meanwhile.
        let names = names::told(space, &chain.state);
        let ended = ended.into_iter().filter(|[id, ..]| !gone.contains(id) && !chain.state.grants.contains_key(id));
        let ended: Vec<String> = ended.map(|[id, name, _]| format!("{name} ({id})")).collect();
        let let_in: Vec<String> = let_in.iter().map(|id| format!("{} ({id})", names[id])).collect();
        let label = space.label();
        files.save_spaces(&all).map_err(failed)?;
        if context.json {
            render::json(&json!({ "removed": ids, "let_in": let_in, "ended_keys": ended }));
            return Ok(());
        }
        render::line(&format!("removed {} from {label}; a new key is in use", self.device));
        if !let_in.is_empty() {
            render::line(&format!("it had let in, and these stay: {}", let_in.join(", ")));
            render::talk("cerberus: remove those that you do not know, too");
        }
        if !ended.is_empty() {
            render::line(&format!("the keys that it had printed ended with it: {}", ended.join(", ")));
        }
        render::talk("cerberus: it keeps what it has read so far");
        Ok(())
    }

    /// The devices, or the keys of containers, that are meant.
    fn meant(&self, space: &Space, state: &ChainState) -> Result<BTreeSet<String>> {
        let names = names::told(space, state).into_iter().chain(names::given(space, state));
        let names = names.chain(names::grants(space, state).into_iter().map(|[id, name, _]| (id, name)));
        let is_meant = |(id, name): &(String, String)| {
            *name == self.device || self.device.len() >= ID_CHARS_MIN && id.starts_with(&self.device)
        };
        let found: BTreeSet<String> = names.filter(is_meant).map(|(id, _)| id).collect();
        // Every key that was printed for the containers of a project has the same name.
        let is_clear = found.len() == 1 || found.iter().all(|id| state.grants.contains_key(id));
        match found.is_empty() {
            true => Err(failed(SyncError::NoDevice(self.device.clone()))),
            false if !is_clear => {
                let ids = found.into_iter().collect::<Vec<_>>().join(", ");
                Err(failed(SyncError::SeveralDevices(self.device.clone(), ids)))
            }
            false => Ok(found),
        }
    }
}

const ID_CHARS_MIN: usize = 4;

/// What this device is called unless the user says otherwise.
fn default_name(team: bool) -> String {
    let host = computer_name();
    let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
    match user {
        Some(user) if team => user,
        _ if host.is_empty() => "device".to_string(),
        _ => host,
    }
}
