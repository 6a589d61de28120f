//! `cerberus sync`: one memory on several machines.

mod conversations;
mod exchanged;
mod failed;
mod hub;
mod leave;
mod pair;
mod review;
mod share;
mod status;

use std::time::Duration;

use cerberus_os::failures;
use cerberus_os::platform::processes::computer_name;
use cerberus_sync::exchange::ExchangeReport;
use cerberus_sync::files::Files;
use cerberus_sync::local::Space;
use cerberus_sync::transport::postgres::HUB_SQL;
use cerberus_sync::transport::{self, TimeLimit};
use cerberus_sync::{CONTAINER_RECORDS_MAX, SyncError, forget, names, token};
use serde_json::{Value, json};

pub use self::conversations::fetch;
use self::exchanged::{exchange, exchange_within};
use self::failed::hint;
use self::hub::{COMMAND_MAX, REQUEST_MAX};
pub use self::review::require_team;
pub use self::share::{ShareArgs, UnshareArgs};
pub use self::status::{checks, destinations, json_of, lines};
use crate::context::Context;
use crate::failure::{CommandFailure, Hint, Result};
use crate::render;

/// Exchange what is new with your other devices and your teams
///
/// Everything is sealed on this device before it leaves it; the hub sees neither words nor names. Nothing is shared
/// before `cerberus share` is typed in a project. No hook waits for this command: when a session ends, it is started in
/// the background.
#[derive(clap::Args)]
pub struct SyncArgs {
    #[command(subcommand)]
    pub(in crate::commands) command: Option<SyncCommand>,

    /// In a container, before an agent runs: join with the key in CERBERUS_SYNC, read the newest records of this project
    #[arg(long)]
    pub(in crate::commands) for_project: bool,

    /// Run as after the end of a session: silently, within a time limit
    #[arg(long, hide = true)]
    pub(in crate::commands) detached: bool,
}

#[derive(clap::Subcommand)]
pub(in crate::commands) enum SyncCommand {
    Init(pair::SyncInitArgs),
    Pair(pair::SyncPairArgs),
    Remove(pair::SyncRemoveArgs),
    Leave(leave::Leave),
    Move(leave::Move),
    RotateRecovery(leave::RotateRecovery),
    Settle(leave::Settle),
    Status(status::SyncStatusArgs),
    HubSql(SyncHubSqlArgs),
}

/// Print the SQL that makes a PostgreSQL database a hub, for its administrator
#[derive(clap::Args)]
pub(in crate::commands) struct SyncHubSqlArgs {}

/// Nobody waits for a detached exchange, but it must end.
const DETACHED_MAX: Duration = Duration::from_secs(30);

/// The variable with the key of a container.
const VARIABLE: &str = "CERBERUS_SYNC";
const FAILURE: &str = "sync";

impl SyncArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        context.require_privacy_rules()?;
        match self.command {
            Some(SyncCommand::Init(command)) => command.run(context),
            Some(SyncCommand::Pair(command)) => command.run(context),
            Some(SyncCommand::Remove(command)) => command.run(context),
            Some(SyncCommand::Leave(command)) => command.run(context),
            Some(SyncCommand::Move(command)) => command.run(context),
            Some(SyncCommand::RotateRecovery(command)) => command.run(context),
            Some(SyncCommand::Settle(command)) => command.run(context),
            Some(SyncCommand::Status(command)) => command.run(context),
            Some(SyncCommand::HubSql(SyncHubSqlArgs {})) => {
                match context.json {
                    true => render::json(&json!({ "sql": HUB_SQL })),
                    false => render::block(HUB_SQL.trim_end()),
                }
                Ok(())
            }
            None if self.detached => in_background(context),
            None if self.for_project => for_project(context),
            None => now(context),
        }
    }
}

/// Exchanges everything with every hub. One that cannot be reached does not keep the others waiting.
fn now(context: &Context) -> Result<()> {
    let done = exchange_all(context, TimeLimit::of(REQUEST_MAX, COMMAND_MAX))?;
    if done.is_empty() {
        return Err(anyhow::anyhow!("sync is not set up"))
            .hint("start with `cerberus sync init URL`; `cerberus sync init --help` shows the addresses of hubs");
    }
    tell(context, &done)?;
    let files = Files::new(&context.home);
    let _lock = files.lock()?;
    done.iter().try_for_each(|one| names::are_told(&files, &one.space))?;
    Ok(())
}

/// The result of one space.
struct SyncedSpace {
    space: Space,
    result: std::result::Result<ExchangeReport, SyncError>,
}

fn exchange_all(context: &Context, time: TimeLimit) -> Result<Vec<SyncedSpace>> {
    let files = Files::new(&context.home);
    let _lock = files.lock()?;
    let spaces = files.spaces()?.spaces;
    let mut done = Vec::new();
    for space in spaces {
        let result = exchange_within(context, &space, None, time);
        // A welcome may say what the space is.
        let space = files.spaces()?.spaces.into_iter().find(|one| one.number == space.number).unwrap_or(space);
        done.push(SyncedSpace { space, result });
    }
    Ok(done)
}

fn in_background(context: &Context) -> Result<()> {
    std::thread::spawn(|| {
        std::thread::sleep(DETACHED_MAX);
        transport::git::end_all();
        std::process::exit(1);
    });
    let note = |detail: &str| failures::note(&context.home, context.clock.now, FAILURE, &detail);
    match exchange_all(context, TimeLimit::of(REQUEST_MAX, DETACHED_MAX)) {
        Err(failure) => note(&format!("{:#}", failure.error)),
        // That a hub cannot be reached now is shown by `sync status`; it is no failure.
        Ok(done) => done.iter().for_each(|one| match &one.result {
            Err(SyncError::Transport(transport::TransportError::Unreachable { .. }) | SyncError::Waiting) | Ok(_) => {}
            Err(error) => note(&error.to_string()),
        }),
    }
    Ok(())
}

fn for_project(context: &Context) -> Result<()> {
    let given = std::env::var(VARIABLE).unwrap_or_default();
    if !token::is_token(&given) {
        return Err(anyhow::anyhow!("{VARIABLE} is not set to a key"))
            .hint("print one on a device that shares the project: `cerberus sync pair --for-project`");
    }
    let files = Files::new(&context.home);
    let _lock = files.lock()?;
    let located = context.located();
    context.may_store(&located)?;
    let root = located.root.to_string_lossy();
    let space = token::open(&context.home, &given, &located.project, &root).hint(CODE)?;
    let result = exchange(context, &space, Some(CONTAINER_RECORDS_MAX));
    tell(context, &[SyncedSpace { space, result }])
}

const CODE: &str = "print a new key with `cerberus sync pair --for-project`";

/// Says what happened. Fails if nothing could be exchanged with some hub.
fn tell(context: &Context, done: &[SyncedSpace]) -> Result<()> {
    if context.json {
        let one = |SyncedSpace { space, result }: &SyncedSpace| -> Value {
            match result {
                Ok(report) => json!({
                    "team": space.team, "sent": report.sent, "received": report.received, "let_in": report.let_in, "news": report.news,
                    "ended": report.ended, "paused": report.paused, "problems": report.problems, "new_device": report.is_new_device, "error": null,
                }),
                Err(error) => json!({ "team": space.team, "error": error.to_string() }),
            }
        };
        render::json(&json!({ "spaces": done.iter().map(one).collect::<Vec<_>>() }));
    }
    for SyncedSpace { space, result } in done.iter().filter(|_| !context.json) {
        let Ok(report) = result else { continue };
        report.let_in.iter().for_each(|name| render::line(&format!("{}: let in {name}", space.label())));
        report.news.iter().for_each(|line| render::line(&format!("{}: {line}", space.label())));
        if report.is_new_device {
            render::line("this home is a copy of another one; it is now a device of its own");
        }
        render::line(&format!("{}: sent {}, received {}", space.label(), report.sent, report.received));
        tell_blocked(report);
        report.problems.iter().for_each(|problem| render::talk(&format!("cerberus: {problem}")));
        status::forgotten_line(context, space).iter().for_each(|line| render::line(&format!("forgotten: {line}")));
    }
    match done.iter().find_map(|one| Some((&one.space, one.result.as_ref().err()?))) {
        None => Ok(()),
        Some((space, error)) => {
            Err(CommandFailure { error: anyhow::anyhow!("{}: {error}", space.label()), hint: hint(error).to_string() })
        }
    }
}

/// Says what was not exchanged because the user said so.
fn tell_blocked(report: &ExchangeReport) {
    report.ended.iter().for_each(|line| render::line(&format!("{line}; `cerberus share` shares it again")));
    report.paused.iter().for_each(|line| render::line(&format!("{line}; nothing was sent or stored")));
}

/// What this machine and its user are called.
fn local_names() -> Vec<String> {
    let users = ["USER", "LOGNAME", "USERNAME"].into_iter().filter_map(|variable| std::env::var(variable).ok());
    // Every machine has these.
    let is_own = |name: &String| !name.is_empty() && name != "root" && name != "localhost";
    let mut names: Vec<String> = users.chain([computer_name()]).filter(is_own).collect();
    // The name of a computer may have a domain.
    names.extend(computer_name().split_once('.').map(|(first, _)| first.to_string()));
    names.sort();
    names.dedup();
    names
}

/// After something was forgotten here: nothing that waits to be sent may contain it, and other devices must hear of it.
pub fn after_forget(context: &Context) -> Result<()> {
    let files = Files::new(&context.home);
    let spaces = match files.spaces() {
        // Nothing is exchanged any more with spaces of an earlier format.
        Err(SyncError::EarlierFormat) => return Ok(()),
        spaces => spaces?.spaces,
    };
    if spaces.iter().all(|space| space.projects.is_empty()) {
        return Ok(());
    }
    let _lock = files.lock()?;
    forget::drop_unsent(&context.home)?;
    let mut devices = 0;
    for space in spaces {
        let state = files.state(&space)?;
        let readers = state.streams.values().map(|stream| stream.seen.len()).max().unwrap_or(0);
        devices = devices.max(readers);
    }
    if devices > 0 {
        let devices = render::count(devices, "device");
        render::talk(&format!("cerberus: gone here; 0 of {devices} confirmed; `cerberus sync` tells them"));
    }
    Ok(())
}
