//! What a check would have stopped in the past, from the user's own records.

use std::collections::HashMap;
use std::path::Path;

use cerberus_os::home::Home;
use cerberus_record::event::Event;
use cerberus_store::journal::{self, JournalError, JournalLine};
use cerberus_store::project::identity::{self, Located};

use crate::Check;
use crate::replay::Replay;

/// Goes through every record of the projects that the check is about.
pub fn replay(home: &Home, check: Check) -> Result<Replay, JournalError> {
    let projects = check.projects.clone();
    let mut replay = Replay::new(check);
    let mut places: HashMap<String, Located> = HashMap::new();
    journal::each_line(home, |_, line| {
        let JournalLine::Whole(sealed) = line else { return };
        let Some(record) = sealed.record() else { return };
        let is_there = projects.as_ref().is_none_or(|ids| ids.contains(&record.location.project));
        if !is_there || !matches!(record.event, Event::Tool(_) | Event::Prompt { .. } | Event::Stop { .. }) {
            return;
        }
        let root = record.location.root.to_string();
        let located = &*places.entry(root.clone()).or_insert_with(|| identity::locate(Path::new(&root)));
        // As they are now: how they were is not known.
        replay.see(&record, located);
    })?;
    Ok(replay)
}
