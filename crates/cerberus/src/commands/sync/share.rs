use cerberus_store::same_project::repository::Effort;
use cerberus_sync::SyncError;
use cerberus_sync::files::Files;
use cerberus_sync::local::{Space, label};
use cerberus_sync::{preview, spaces};
use serde_json::json;

use super::exchanged::exchange;
use super::failed::failed;
use super::hub::open;
use super::{local_names, review, tell_blocked};
use crate::context::Context;
use crate::failure::Result;
use crate::render;
use crate::render::page::page;
use crate::render::style::{Line, Screen, Style, wrapped};
use crate::render::time::LocalTime;
use crate::render::words;

/// Share this project with your other devices, or with a team
///
/// Your own devices get sessions and memories, without processes, absolute paths and receipts. A team gets approved
/// project memories, and decisions, blockers and next steps that you recorded for it (`cerberus record … --team`) or
/// approved (--review); never prompts, agents' words, commands, output or memories that apply everywhere. --dry-run
/// shows it first.
///
/// With --conversations this device also sends the whole conversations of this project, as its archive has them: what was
/// said, run and printed, with the absolute paths in it. Your other devices fetch one when `cerberus resume` or
/// `cerberus show --full` needs it there.
#[derive(clap::Args)]
pub struct ShareArgs {
    /// With this team instead of your own devices
    #[arg(long, value_name = "NAME")]
    pub(in crate::commands) team: Option<String>,

    /// Also the whole conversations; `cerberus unshare --conversations` takes that back
    #[arg(long, conflicts_with = "team")]
    pub(in crate::commands) conversations: bool,

    /// Only show what would be sent
    #[arg(long)]
    pub(in crate::commands) dry_run: bool,

    /// Decide which open items and memories the team is told; the project is shared with it already
    #[arg(long, conflicts_with_all = ["dry_run", "team", "conversations"])]
    pub(in crate::commands) review: bool,
}

/// Stop sharing this project
///
/// What this device sent is removed from the hub, and what came from others is removed here. Other devices keep what
/// they have read, unless --erase is given.
#[derive(clap::Args)]
pub struct UnshareArgs {
    /// With this team instead of your own devices
    #[arg(long, value_name = "NAME")]
    pub(in crate::commands) team: Option<String>,

    /// Only the whole conversations: they leave the hub, everything else stays shared
    #[arg(long, conflicts_with_all = ["team", "erase"])]
    pub(in crate::commands) conversations: bool,

    /// Other devices remove what they have from this one
    #[arg(long)]
    pub(in crate::commands) erase: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    pub(in crate::commands) yes: bool,
}

impl ShareArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        if self.review {
            return review::review(context);
        }
        let mut store = context.store()?;
        let located = context.located();
        context.may_store(&located)?;
        context.record_repository(&mut store, Effort::ForceGit)?;
        let files = Files::new(&context.home);
        let lock = files.lock()?;
        let mut all = files.spaces()?;
        let team = self.team.as_deref();
        let space = all.named(team).ok_or_else(|| failed(SyncError::NoSpace(label(team))))?;
        if space.is_waiting() {
            return Err(failed(SyncError::Waiting));
        }
        // A hub that cannot be reached now is asked later.
        let mut hub = if self.dry_run { None } else { open(context, &space.hub).ok() };
        let hub = hub.as_mut().map(|hub| &mut **hub as &mut dyn cerberus_sync::transport::Transport);
        let root = located.root.to_string_lossy();
        let shared = spaces::share(hub, &store, space, &located.project, &located.name, &root);
        let shared = match shared {
            Err(SyncError::Transport(_)) => spaces::share(None, &store, space, &located.project, &located.name, &root),
            shared => shared,
        };
        let mut shared = shared.map_err(failed)?;
        shared.names = local_names();
        shared.has_conversations |= self.conversations;
        space
            .projects
            .iter_mut()
            .filter(|known| known.number == shared.number)
            .for_each(|known| *known = shared.clone());
        if self.dry_run {
            let preview = preview::preview(&context.home, &store, space, &shared).map_err(failed)?;
            return tell_preview(context, space, &located.name, shared.has_conversations, &preview);
        }
        let space = space.clone();
        files.save_spaces(&all).map_err(failed)?;
        let report = exchange(context, &space, None);
        drop(lock);
        if context.json {
            let (sent, received) = report.as_ref().map_or((None, None), |one| (Some(one.sent), Some(one.received)));
            let error = report.as_ref().err().map(ToString::to_string);
            render::json(&json!({ "team": space.team, "sent": sent, "received": received, "error": error }));
            return Ok(());
        }
        render::line(&format!("{} is shared with {}", located.name, space.label()));
        match report {
            Ok(report) => {
                render::line(&format!("sent {}, received {}", report.sent, report.received));
                tell_blocked(&report);
                report.problems.iter().for_each(|problem| render::talk(&format!("cerberus: {problem}")));
            }
            Err(error) => render::talk(&format!("cerberus: {error}; the next `cerberus sync` sends it")),
        }
        Ok(())
    }
}

/// How many records are shown in words.
const SHOWN_MAX: usize = 20;
const KIND_COLUMNS: usize = 31;

/// What somebody agrees to who shares the project.
fn tell_preview(
    context: &Context,
    space: &Space,
    project: &str,
    has_conversations: bool,
    preview: &preview::Preview,
) -> Result<()> {
    if context.json {
        render::json(
            &json!({ "team": space.team, "records": preview.records, "kinds": preview.kinds, "lines": preview.lines }),
        );
        return Ok(());
    }
    let (screen, local) = (Screen::of_stdout(), LocalTime::new(context.clock.now));
    let who = match &space.team {
        Some(team) => format!("the members of team {team}"),
        None => "your own devices".to_string(),
    };
    let records = render::count(preview.records, "record");
    let mut lines = vec![Line::of(Style::Strong, format!("If you share {project}, {who} get {records}:"))];
    let mut add =
        |text: &str| lines.extend(wrapped(text, screen.room()).into_iter().map(|text| Line::new().plain(text)));
    add(&words::counts(preview.kinds.iter().map(|(kind, count)| (*kind, *count))));
    add("");
    add(match (space.team.is_some(), has_conversations) {
        (true, _) => NEVER_TO_TEAMS,
        (false, true) => CONVERSATIONS,
        (false, false) => NEVER,
    });
    add("They are sealed here: the hub sees neither words nor names. Nothing was sent yet.");
    if !preview.items.is_empty() {
        lines.extend([Line::new(), Line::of(Style::Heading, "the newest")]);
    }
    for item in preview.items.iter().take(SHOWN_MAX) {
        let kind = words::counts([(item.kind, 1)]);
        let start =
            Line::new().faint(format!("  {}", local.when(item.at))).pad(19).faint(kind.trim_start_matches("1 "));
        lines.push(start.pad(KIND_COLUMNS + 10).plain(format!("  {}", item.words)).cut(screen.room()));
    }
    let option = match &space.team {
        Some(team) => format!(" --team '{team}'"),
        None if has_conversations => " --conversations".to_string(),
        None => String::new(),
    };
    lines.extend([Line::new(), Line::new().plain(format!("To share it: cerberus share{option}"))]);
    if preview.items.len() > SHOWN_MAX {
        lines.push(Line::new().faint("To see every record first: cerberus share --dry-run --json"));
    }
    page(&screen, &lines);
    Ok(())
}

const NEVER: &str = "Processes, absolute paths and what sessions were told stay on this device.";
const CONVERSATIONS: &str = "With them go the whole conversations of this project, as the archive of this device has them: what was \
    said, run and printed, with absolute paths. Another device reads one when you ask for it there. Processes and what \
    sessions were told stay on this device.";
const NEVER_TO_TEAMS: &str =
    "Prompts, the agents' words, commands, output and memories that apply everywhere stay on this device.";

impl UnshareArgs {
    pub fn run(self, context: &Context) -> Result<()> {
        let files = Files::new(&context.home);
        let _lock = files.lock()?;
        let mut all = files.spaces()?;
        let team = self.team.as_deref();
        let space = all.named(team).ok_or_else(|| failed(SyncError::NoSpace(label(team))))?;
        let project = context.located().project;
        let shared = space.projects.iter_mut().find(|shared| shared.project == project.as_str() && !shared.is_space());
        let shared = shared.ok_or_else(|| failed(SyncError::NotShared))?;
        shared.has_conversations = false;
        if self.conversations {
            let space = space.clone();
            files.save_spaces(&all).map_err(failed)?;
            return without_conversations(context, &space);
        }
        (shared.is_ending, shared.ended, shared.is_kept) = (true, None, !self.erase);
        let number = shared.number;
        let space = space.clone();
        let others = others(&files, &space, number)?;
        if self.erase && !others.is_empty() {
            render::confirm(&format!("Remove what this device sent from {others}?"), self.yes || context.json)?;
        }
        files.save_spaces(&all).map_err(failed)?;
        match exchange(context, &space, None) {
            result if context.json => {
                render::json(&json!({ "team": space.team, "error": result.err().map(|error| error.to_string()) }));
            }
            Ok(_) => {
                render::line("no longer shared; what this device sent is gone from the hub");
                match (others.as_str(), self.erase) {
                    ("", _) => {}
                    (others, true) => render::line(&format!("removed with their next exchange: {others}")),
                    (others, false) => render::line(&format!("kept by {others}; --erase would have removed it")),
                }
            }
            Err(error) => {
                render::line("no longer shared");
                render::talk(&format!("cerberus: {error}; the next `cerberus sync` removes what was sent"));
            }
        }
        Ok(())
    }
}

/// Removes the conversations from the hub that this device sent.
fn without_conversations(context: &Context, space: &Space) -> Result<()> {
    let error = exchange(context, space, None).err().map(|error| error.to_string());
    if context.json {
        render::json(&json!({ "team": space.team, "error": error }));
        return Ok(());
    }
    render::line("whole conversations are not sent any more");
    match error {
        None => render::line("those that this device sent are gone from the hub"),
        Some(error) => render::talk(&format!("cerberus: {error}; the next `cerberus sync` removes what was sent")),
    }
    Ok(())
}

/// Who may have read what this device sent, and how much that is: `laptop, tablet (214 records)`; empty if nobody.
fn others(files: &Files, space: &Space, number: u32) -> Result<String> {
    let (mut state, own) = (files.state(space)?, files.device()?.id.to_string());
    let Some(stream) = state.streams.remove(&number).filter(|stream| stream.records > 0) else {
        return Ok(String::new());
    };
    let readers = state.names.iter().filter(|(device, _)| **device != own);
    let readers: Vec<&str> = readers.map(|(_, name)| name.as_str()).collect();
    let records = render::count(usize::try_from(stream.records).unwrap_or(usize::MAX), "record");
    Ok(if readers.is_empty() { String::new() } else { format!("{} ({records})", readers.join(", ")) })
}
