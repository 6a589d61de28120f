//! What goes to a team: the user decides about each item that is open.

use std::io::BufRead;

use cerberus_os::home::Home;
use cerberus_recall::brief::BriefLine;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::Note;
use cerberus_sync::files::Files;
use cerberus_sync::local::Space;
use cerberus_sync::open::{self, OpenHere};
use serde_json::json;

use crate::commands::noted;
use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// The teams that a project is shared with.
fn teams(home: &Home, project: &str) -> Result<Vec<Space>> {
    let mut spaces = Files::new(home).spaces()?.spaces;
    spaces.retain(|space| {
        let is_shared = space.projects.iter().any(|shared| shared.project == project && shared.ended.is_none());
        space.team.is_some() && is_shared
    });
    Ok(spaces)
}

/// Fails if this project is shared with no team.
pub fn require_team(context: &Context) -> Result<()> {
    match teams(&context.home, context.located().project.as_str())?.is_empty() {
        true => Err(anyhow::anyhow!("this project is shared with no team"))
            .hint("share it first: `cerberus share --team NAME`"),
        false => Ok(()),
    }
}

/// Asks about everything that is open and not told to the team yet.
pub fn review(context: &Context) -> Result<()> {
    require_team(context)?;
    let store = context.swept_store()?;
    let OpenHere { for_team, others } = open::open_here(&context.clock, &store, &context.located())?;
    drop(store);
    if context.json {
        let one = |item: &BriefLine, told: bool| json!({"kind": item.kind.word(), "text": item.text, "told": told});
        let told = for_team.iter().map(|item| one(item, true));
        render::json(&json!({ "items": told.chain(others.iter().map(|item| one(item, false))).collect::<Vec<_>>() }));
        return Ok(());
    }
    for_team.iter().for_each(|item| render::line(&format!("told    {}: {}", item.kind.word(), item.text)));
    let (mut lines, mut approved) = (std::io::stdin().lock().lines(), Vec::new());
    for item in &others {
        render::line(&format!("        {}: {}", item.kind.word(), item.text));
        render::ask("tell the team? [y/N] ");
        let Some(Ok(answer)) = lines.next() else { break };
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            approved.push(note(context, item));
        }
    }
    let count = approved.len();
    if count > 0 {
        noted::append(context, approved, false)?;
    }
    render::line(&match (others.is_empty(), count) {
        (true, _) => "nothing else is open here".to_string(),
        (false, 0) => "nothing new is told".to_string(),
        (false, count) => format!("{} will be told with the next `cerberus sync`", render::count(count, "item")),
    });
    Ok(())
}

fn note(context: &Context, item: &BriefLine) -> Note<'static> {
    Note {
        kind: item.kind,
        text: context.home.cleaner().clean(item.text.clone(), Keep::SUBJECT),
        why: None,
        sort: None,
        severity: None,
        custom_key: None,
        resolved: false,
        for_team: true,
    }
}
