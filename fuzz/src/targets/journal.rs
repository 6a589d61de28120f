//! The journal, whatever became of its bytes: what is whole is read, what is not is passed over, and forgetting never makes
//! a record longer.

use std::collections::HashSet;

use cerberus_agents::claude_code;
use cerberus_os::home::Home;
use cerberus_recall::forget::{ForgetRequest, Paths, RecordAction};
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::glob::Glob;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::{Event, Location, Record};
use cerberus_record::id::ProjectId;
use cerberus_record::order::Order;
use cerberus_record::time::Timestamp;
use cerberus_store::journal;
use cerberus_store::view::fold;

use super::wire::recorded;
use super::{Check, holds};

fn record(text: &str) -> Record<'_> {
    let word = Clean::word;
    let location = Location {
        project: ProjectId::of_anchor(b"/p"),
        name: word("p"),
        root: word("/p"),
        cwd: word("/p"),
        branch: None,
    };
    Record {
        at: Timestamp::EPOCH,
        key: word("k"),
        agent: claude_code::AGENT,
        imported: false,
        heard_by: None,
        by_agent: false,
        origin: None,
        session: word("s"),
        location,
        event: Event::Prompt { text: BUILT_IN.clean(text, Keep::PROMPT) },
    }
}

/// A line of anything decodes only if it is sealed; what is sealed and understood can be written again.
pub fn line() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let text = String::from_utf8_lossy(input);
        recorded(&record(&text))?;
        match journal::decode(input).and_then(|sealed| sealed.record()) {
            Some(read) => recorded(&read),
            None => Ok(()),
        }
    }))
}

/// A segment of anything, with a whole record at its end: that one is read, however often it is folded.
pub fn reader() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let dir = tempfile::tempdir().map_err(|error| said(&error))?;
        let home = Home::new(dir.path().join("home"));
        let last = journal::encode(&record("Next: go on with it"), Order::default()).map_err(|error| said(&error))?;
        std::fs::create_dir_all(home.journal_dir()).map_err(|error| said(&error))?;
        let segment = home.journal_dir().join("2026-01-22.jsonl");
        std::fs::write(segment, [input, &last].concat()).map_err(|error| said(&error))?;
        let sessions = |home: &Home| -> Result<Vec<String>, String> {
            let store = fold::open(home).map_err(|error| error.to_string())?;
            let found = store.sessions(&[], Timestamp::EPOCH, Timestamp::LAST).map_err(|error| error.to_string())?;
            Ok(found.into_iter().map(|session| format!("{session:?}")).collect())
        };
        let once = sessions(&home)?;
        holds(once.iter().any(|session| session.contains("\"s\"")), "a whole record is read", &once)?;
        holds(once == sessions(&home)?, "folding twice is once", &once)
    }))
}

/// Forgetting a path: what remains of the record does not name it any more.
pub fn forget() -> anyhow::Result<Check> {
    let glob = Glob::parse_exact("src/**").map_err(anyhow::Error::msg)?;
    let projects = HashSet::from([ProjectId::of_anchor(b"/p")]);
    let request = ForgetRequest::Paths(Paths {
        glob,
        projects,
        bases: HashSet::from(["a.rs".to_string()]),
        files: Vec::new(),
        elsewhere: Vec::new(),
    });
    Ok(Box::new(move |input| {
        let text = String::from_utf8_lossy(input);
        let said = record(&text);
        let RecordAction::Rewrite(json) = request.action_for(&said) else { return Ok(()) };
        let after: Record = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        holds(request.action_for(&after) == RecordAction::Keep, "forgetting twice is once", &json)
    }))
}
