//! What goes to a team: the user decides about each item that is open.

use std::io::BufRead;

use cerberus_os::home::Home;
use cerberus_recall::brief::BriefLine;
use cerberus_record::clean::text::Keep;
use cerberus_record::event::Note;
use cerberus_record::memory::{MemoryStatus, Scope};
use cerberus_record::source::MemorySource;
use cerberus_store::view::{MemoryRow, Store};
use cerberus_sync::files::Files;
use cerberus_sync::local::Space;
use cerberus_sync::open::{self, OpenHere};
use serde_json::json;

use crate::commands::memory::changed;
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

/// Asks about everything that is open, and every memory of the project, that is not told to the team yet.
pub fn review(context: &Context) -> Result<()> {
    require_team(context)?;
    let store = context.swept_store()?;
    let OpenHere { for_team, others } = open::open_here(&context.clock, &store, &context.located())?;
    let memories = memories(context, &store)?;
    drop(store);
    let items = for_team.into_iter().map(|item| (true, ReviewedItem::Open(item)));
    let items = items.chain(others.into_iter().map(|item| (false, ReviewedItem::Open(item))));
    let memories =
        memories.into_iter().map(|row| (row.memory.background.for_team, ReviewedItem::Memory(Box::new(row))));
    let (told, others): (Vec<_>, Vec<_>) = items.chain(memories).partition(|(is_told, _)| *is_told);
    if context.json {
        let one = |(is_told, item): &(bool, ReviewedItem)| {
            let (kind, text) = item.words();
            json!({"kind": kind, "text": text, "told": is_told})
        };
        render::json(&json!({ "items": told.iter().chain(&others).map(one).collect::<Vec<_>>() }));
        return Ok(());
    }
    let line = |item: &ReviewedItem, before: &str| {
        let (kind, text) = item.words();
        render::line(&format!("{before}{kind}: {text}"));
    };
    told.iter().for_each(|(_, item)| line(item, "told    "));
    let (mut lines, mut approved) = (std::io::stdin().lock().lines(), Vec::new());
    for (_, item) in &others {
        line(item, "        ");
        render::ask("tell the team? [y/N] ");
        let Some(Ok(answer)) = lines.next() else { break };
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            approved.push(item);
        }
    }
    let count = approved.len();
    tell(context, &approved)?;
    render::line(&match (others.is_empty(), count) {
        (true, _) => "nothing else is open here".to_string(),
        (false, 0) => "nothing new is told".to_string(),
        (false, count) => format!("{} will be told with the next `cerberus sync`", render::count(count, "item")),
    });
    Ok(())
}

/// Something that a team may be told.
enum ReviewedItem {
    Open(BriefLine),
    Memory(Box<MemoryRow>),
}

impl ReviewedItem {
    fn words(&self) -> (&str, &str) {
        match self {
            ReviewedItem::Open(item) => (item.kind.word(), &item.text),
            ReviewedItem::Memory(row) => ("memory", &row.memory.content),
        }
    }
}

/// The approved memories of this project, except those that a teammate sent.
fn memories(context: &Context, store: &Store) -> Result<Vec<MemoryRow>> {
    let project = context.located().project;
    let mut rows = store.memories(MemoryStatus::Approved, context.clock.now)?;
    rows.retain(|row| {
        let is_here = matches!(row.scope(), Scope::Project(_)) && row.memory.project.as_ref() == Some(&project);
        is_here && !row.is_from(MemorySource::Team)
    });
    Ok(rows)
}

/// Notes what the user has approved for the team.
fn tell(context: &Context, approved: &[&ReviewedItem]) -> Result<()> {
    let (mut notes, located) = (Vec::new(), context.located());
    for item in approved {
        match item {
            ReviewedItem::Open(item) => notes.push(note(context, item)),
            ReviewedItem::Memory(row) => {
                let mut memory = row.memory.clone();
                memory.background.for_team = true;
                changed::changed(context.keeper(&located).revise(&mut context.store()?, row, memory))?;
            }
        }
    }
    if notes.is_empty() { Ok(()) } else { noted::append(context, notes, false).map(drop) }
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
