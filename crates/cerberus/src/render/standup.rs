//! A standup as text that people paste elsewhere: plain lines and bullets, nothing wrapped and no colours.

use cerberus_store::browse::standup::{DoneEntry, ProjectStandup};

use super::count;
use super::style::Line;

/// What is longer is cut.
const ITEM_COLUMNS_MAX: usize = 240;
/// How many items a list has.
const ITEMS_MAX: usize = 10;

/// `title` is the day, or the days.
pub fn lines(title: &str, projects: &[ProjectStandup]) -> Vec<String> {
    let mut lines = vec![title.to_string()];
    for project in projects {
        lines.push(String::new());
        lines.push(heading(project));
        let done: Vec<String> = project.done.iter().map(done).collect();
        let lists = [
            ("Asked", &project.asked),
            ("Done", &done),
            ("Decided", &project.decided),
            ("Committed", &project.committed),
            ("Open", &project.open),
        ];
        for (name, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
            lines.push(name.to_string());
            lines.extend(items.iter().take(ITEMS_MAX).map(|item| format!("- {}", short(item))));
            if items.len() > ITEMS_MAX {
                lines.push(format!("- and {} more", items.len() - ITEMS_MAX));
            }
        }
    }
    lines
}

/// One line; a sign says if something of it is missing.
fn short(item: &str) -> String {
    Line::new().plain(item).cut(ITEM_COLUMNS_MAX).shown(false)
}

/// `hydra: 3 sessions, 9 files`.
fn heading(project: &ProjectStandup) -> String {
    let sessions = count(project.sessions, "session");
    match project.files {
        0 => format!("{}: {sessions}", project.name),
        files => format!("{}: {sessions}, {}", project.name, count(files, "file")),
    }
}

/// The agent's own words are quoted.
pub fn done(entry: &DoneEntry) -> String {
    match entry {
        DoneEntry::Item(item) => item.clone(),
        DoneEntry::Said(words) => format!("“{words}”"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_plain_text_with_bullets() {
        let project = ProjectStandup {
            name: "hydra".to_string(),
            sessions: 2,
            files: 1,
            asked: (1..=12).map(|number| format!("Request {number}")).collect(),
            done: vec![DoneEntry::Item("Split the proxy".to_string()), DoneEntry::Said("All tests pass".to_string())],
            open: vec!["x".repeat(300)],
            ..ProjectStandup::default()
        };
        let lines = lines("Tue 17 Nov 2026", &[project]);
        assert_eq!(lines[..4], ["Tue 17 Nov 2026", "", "hydra: 2 sessions, 1 file", "Asked"]);
        assert_eq!(lines[13..18], ["- Request 10", "- and 2 more", "Done", "- Split the proxy", "- “All tests pass”"]);
        assert_eq!((lines[18].as_str(), lines.len()), ("Open", 20), "empty lists are left out");
        assert!(lines[19].chars().count() <= ITEM_COLUMNS_MAX + 2 && lines[19].ends_with('…'), "{}", lines[19]);
    }
}
