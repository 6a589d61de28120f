use cerberus_record::time::Timestamp;
use cerberus_store::view::Store;
use cerberus_sync::SyncError;
use cerberus_sync::files::Files;
use cerberus_sync::forget;
use cerberus_sync::local::{Space, label};
use cerberus_sync::status::{self, GrantStatus, ProjectStatus, SpaceStatus};
use cerberus_sync::transport::redacted;
use serde_json::{Value, json};

use super::failed::{failed, hint};
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::time::LocalTime;

/// Show devices, shared projects, what is not sent yet, and what is wrong
#[derive(clap::Args)]
pub struct SyncStatusArgs {}

impl SyncStatusArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let store = context.view()?;
        let spaces = status::status(&context.home, &store, context.clock.now).map_err(failed)?;
        if context.json {
            render::json(&json!({ "spaces": spaces }));
            return Ok(());
        }
        if spaces.is_empty() {
            render::line("sync is not set up; `cerberus sync init URL` starts it");
        }
        for space in &spaces {
            print(context, space);
        }
        Ok(())
    }
}

fn print(context: &Context, space: &SpaceStatus) {
    let local = LocalTime::new(context.clock.now);
    render::line(&format!("{}  ({})", label(space.team.as_deref()), space.hub));
    if space.waiting {
        render::line("  waiting to be let in");
        return;
    }
    let ago = |at: Option<Timestamp>| at.map_or_else(|| "never".to_string(), |at| local.ago(at));
    render::line(&format!("  space        {}", space.space));
    render::line(&format!("  this device  {} ({})", space.name, space.device));
    for device in space.devices.iter().filter(|device| !device.is_this) {
        let by = device.let_in_by.as_ref().map_or_else(String::new, |by| format!(", let in by {by}"));
        let (name, id) = (&device.name, &device.device);
        render::line(&format!("  device       {name} ({id}){by}, last heard {}", ago(device.last_head)));
    }
    for GrantStatus { grant, name, by } in &space.grants {
        render::line(&format!("  key          {name} ({grant}), printed by {by}"));
    }
    for project in &space.projects {
        let (name, root) = (&project.name, &project.root);
        match (&project.ended, &project.paused) {
            (None, None) => render::line(&format!("  shared       {name} ({root})")),
            (None, Some(paused)) => render::line(&format!("  shared       {name} ({root}), {paused}")),
            (Some(ended), _) => render::line(&format!("  ended        {name} ({root}): {ended}")),
        }
    }
    render::line(&format!("  exchanged    {}; {}", ago(space.last_pull), unsent(space)));
    let renewed = match space.epoch.saturating_sub(1) {
        0 => "never renewed".to_string(),
        times => format!("renewed {}", render::count(times as usize, "time")),
    };
    render::line(&format!("  space key    {renewed}"));
    forgotten(space).iter().for_each(|line| render::line(&format!("  forgotten    {line}")));
    space.problems.iter().for_each(|problem| render::line(&format!("  PROBLEM      {problem}")));
}

/// Which projects are no longer shared, and why.
fn ended(space: &SpaceStatus) -> impl Iterator<Item = String> {
    let why =
        |project: &ProjectStatus| Some(format!("{} is no longer shared: {}", project.name, project.ended.as_ref()?));
    space.projects.iter().filter_map(why)
}

fn unsent(space: &SpaceStatus) -> String {
    match space.unsent {
        0 => "everything is sent".to_string(),
        unsent => format!("{} not sent yet", render::count(unsent, "record")),
    }
}

/// How far the last request to forget has come.
fn forgotten(space: &SpaceStatus) -> Option<String> {
    let [confirmed, devices] = space.forget_confirmed?;
    Some(confirmed_line(confirmed, devices, space.hub_keeps))
}

/// The same, after an exchange.
pub fn forgotten_line(context: &Context, space: &Space) -> Option<String> {
    let state = Files::new(&context.home).state(space).ok()?;
    let [confirmed, devices] = forget::confirmed(space, &state)?;
    Some(confirmed_line(confirmed, devices, state.hub_keeps))
}

fn confirmed_line(confirmed: usize, devices: usize, hub_keeps: bool) -> String {
    let kept = if hub_keeps { "; the hub keeps the sealed bytes until it collects its garbage" } else { "" };
    format!("gone here; {confirmed} of {} confirmed{kept}", render::count(devices, "device"))
}

/// Lines for `cerberus status`.
pub fn lines(context: &Context, store: &Store) -> Vec<(&'static str, String)> {
    let local = LocalTime::new(context.clock.now);
    let one = |space: &SpaceStatus| -> Vec<(&'static str, String)> {
        let label = label(space.team.as_deref());
        if space.waiting {
            return vec![("sync", format!("{label}: waiting to be let in"))];
        }
        let last = space.last_pull.map_or_else(|| "never".to_string(), |at| local.ago(at));
        let devices = render::count(space.devices.len(), "device");
        let mut lines = vec![("sync", format!("{label}: {devices}, exchanged {last}, {}", unsent(space)))];
        lines.extend(forgotten(space).map(|line| ("", line)));
        lines.extend(ended(space).map(|line| ("", line)));
        lines.extend(space.problems.iter().map(|problem| ("", problem.clone())));
        lines
    };
    match status::status(&context.home, store, context.clock.now) {
        Ok(spaces) => spaces.iter().flat_map(one).collect(),
        Err(error) => vec![("sync", error.to_string())],
    }
}

/// The same for `cerberus status --json`.
pub fn json_of(context: &Context, store: &Store) -> Value {
    match status::status(&context.home, store, context.clock.now) {
        Ok(spaces) => json!(spaces),
        Err(error) => json!([{ "problems": [error.to_string()] }]),
    }
}

/// What leaves this machine for each hub.
pub fn destinations(context: &Context) -> Vec<String> {
    let one = |space: &Space| {
        let shared = space.projects.iter().filter(|shared| !shared.is_space()).map(|shared| shared.name.as_str());
        let shared: Vec<&str> = shared.collect();
        let (hub, label) = (redacted(&space.hub), space.label());
        match shared.is_empty() {
            true => format!("no project is shared yet with {label} at {hub}"),
            false => format!("{} shared with {label} at {hub}", shared.join(", ")),
        }
    };
    match Files::new(&context.home).spaces() {
        Ok(spaces) => spaces.spaces.iter().map(one).collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// What `cerberus doctor` finds: whether each space is good, what to say, and what to do.
pub fn checks(context: &Context, store: &Store) -> Vec<(bool, String, &'static str)> {
    let spaces = match status::status(&context.home, store, context.clock.now) {
        Ok(spaces) => spaces,
        Err(error @ SyncError::EarlierFormat) => return vec![(false, error.to_string(), hint(&error))],
        Err(error) => return vec![(false, error.to_string(), "restore the file, or join again with a code")],
    };
    let local = LocalTime::new(context.clock.now);
    let one = |space: &SpaceStatus| {
        let label = label(space.team.as_deref());
        let last = |at: Option<Timestamp>| at.map_or_else(|| "never".to_string(), |at| local.ago(at));
        let mut detail = format!(
            "{label}: {}, pushed {}, pulled {}, {}",
            render::count(space.devices.len(), "device"),
            last(space.last_push),
            last(space.last_pull),
            unsent(space),
        );
        forgotten(space).iter().for_each(|line| detail.push_str(&format!("; forgotten: {line}")));
        ended(space).for_each(|line| detail.push_str(&format!("; {line}")));
        space.problems.iter().for_each(|problem| detail.push_str(&format!("; {problem}")));
        (space.problems.is_empty(), detail, "run `cerberus sync` again; `cerberus sync status` shows each device")
    };
    spaces.iter().map(one).collect()
}
