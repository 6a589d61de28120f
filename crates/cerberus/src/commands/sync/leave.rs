use cerberus_sync::SyncError;
use cerberus_sync::files::Files;
use cerberus_sync::local::{Space, label};
use cerberus_sync::spaces;
use cerberus_sync::transport::redacted;
use serde_json::json;

use super::exchanged::exchange;
use super::failed::failed;
use super::hub::open;
use super::pair::{absolute, typed};
use crate::context::Context;
use crate::failure::Result;
use crate::render;

/// Leave your other devices, or a team, with this device
///
/// The others begin a new key. What was received stays here; what this device sent stays with them.
#[derive(clap::Args)]
pub struct Leave {
    /// A team instead of your own devices
    #[arg(long, value_name = "NAME")]
    team: Option<String>,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// Exchange through another hub from now on
///
/// What the new hub does not have is sent there. Type it on every device.
#[derive(clap::Args)]
pub struct Move {
    /// The new address
    #[arg(value_name = "URL")]
    url: String,

    /// Of a team instead of your own devices
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
}

/// Print a new recovery code; the old one stops working
#[derive(clap::Args)]
pub struct RotateRecovery {
    /// The recovery code that counts now; `-` reads it from standard input
    #[arg(long, value_name = "CODE", default_value = "-")]
    recovery: String,

    /// Of a team instead of your own devices
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
}

/// Resolve a fork: this device's history counts, confirmed with the recovery code
///
/// Type it on a device that you trust. Then remove the device that wrote the other history.
///
/// If the code was made in the other history, that one counts.
#[derive(clap::Args)]
pub struct Settle {
    /// The recovery code; `-` reads it from standard input
    #[arg(long, value_name = "CODE", default_value = "-")]
    recovery: String,

    /// Of a team instead of your own devices
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
}

fn named(files: &Files, team: Option<&str>) -> Result<Space> {
    let found = files.spaces()?.named(team).cloned();
    found.ok_or_else(|| failed(SyncError::NoSpace(label(team))))
}

impl Leave {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = Files::new(&context.home);
        let _lock = files.lock()?;
        let space = named(&files, self.team.as_deref())?;
        render::confirm(&format!("Take this device out of {}?", space.label()), self.yes)?;
        let mut hub = open(context, &space.hub).map_err(failed)?;
        spaces::leave(&files, hub.as_mut(), space.number).map_err(failed)?;
        match context.json {
            true => render::json(&json!({ "left": space.label() })),
            false => render::line(&format!("left {}; what was received stays here", space.label())),
        }
        Ok(())
    }
}

impl Move {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = Files::new(&context.home);
        let _lock = files.lock()?;
        let space = named(&files, self.team.as_deref())?;
        let address = absolute(context, &self.url);
        let mut hub = open(context, &address).map_err(failed)?;
        spaces::relocate(&files, hub.as_mut(), space.number, &address).map_err(failed)?;
        let report = exchange(context, &named(&files, self.team.as_deref())?, None).map_err(failed)?;
        let shown = redacted(&address);
        match context.json {
            true => render::json(&json!({ "hub": shown, "sent": report.sent, "received": report.received })),
            false => render::line(&format!("{} now uses {shown}; sent {}", space.label(), report.sent)),
        }
        Ok(())
    }
}

impl RotateRecovery {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = Files::new(&context.home);
        let _lock = files.lock()?;
        let space = named(&files, self.team.as_deref())?;
        let mut hub = open(context, &space.hub).map_err(failed)?;
        let code = spaces::rotate_recovery(&files, hub.as_mut(), &space, &typed(&self.recovery)?).map_err(failed)?;
        match context.json {
            true => render::json(&json!({ "recovery_code": code })),
            false => {
                render::line(&format!("recovery code: {code}"));
                render::talk("cerberus: write it down; the old one stops working");
            }
        }
        Ok(())
    }
}

impl Settle {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = Files::new(&context.home);
        let _lock = files.lock()?;
        let space = named(&files, self.team.as_deref())?;
        let mut hub = open(context, &space.hub).map_err(failed)?;
        let is_own = spaces::settle(&files, hub.as_mut(), space.number, &typed(&self.recovery)?).map_err(failed)?;
        let (label, which) = (space.label(), if is_own { "what this device knows" } else { "what the hub shows" });
        match context.json {
            true => render::json(&json!({ "settled": label })),
            false => render::line(&format!("{which} about {label} counts; a new key is in use")),
        }
        Ok(())
    }
}
