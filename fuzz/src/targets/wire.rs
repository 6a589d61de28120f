//! Payloads, transcripts, files of the original tool, lines of memories: whatever comes in, what goes on is bounded, can
//! be written and read back, and says nothing that breaks a line.

use std::borrow::Cow;

use cerberus_agents::transcripts;
use cerberus_checks::decide::decide;
use cerberus_checks::scene::{Past, Scene, SceneFolder, Sources};
use cerberus_checks::{CheckLevel, Rule};
use cerberus_recall::extract::extract;
use cerberus_recall::learn::exchange::MemoryLine;
use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::{Clean, Keep, name};
use cerberus_record::event::{Event, Location, Record};
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::order::Order;
use cerberus_record::seed;
use cerberus_record::time::Timestamp;
use cerberus_store::journal;

use super::{Check, holds};

/// The longest text that any event keeps, its two ends and the mark between them.
const TEXT_BYTES_MAX: usize = 64 * 1024 + 16;

pub fn payload(agent: Agent) -> anyhow::Result<Check> {
    let words = ["--forbid", "git push --force", "--instead", "git push"];
    let rule = Rule::parse(&words)?;
    let check = cerberus_checks::Check {
        id: String::new(),
        sentence: String::new(),
        level: CheckLevel::Block,
        rule,
        projects: None,
    };
    Ok(Box::new(move |input| {
        if let Some(before) = cerberus_agents::before::before(agent, input) {
            decide(std::slice::from_ref(&check), &before.action, &Nowhere);
        }
        match cerberus_agents::parse(&BUILT_IN, agent, input) {
            Ok(Some(heard)) => event(heard.agent, heard.session, heard.key, heard.event),
            Ok(None) | Err(_) => Ok(()),
        }
    }))
}

/// Surroundings in which everything is in one project.
struct Nowhere;

impl Scene for Nowhere {
    fn place(&self, folder: &str) -> Option<SceneFolder> {
        let (project, folder) = (ProjectId::of_anchor(b"/p"), folder.to_string());
        Some(SceneFolder { project, folder, branch: Some("main".to_string()), is_scratch: false })
    }

    fn past(&self) -> Vec<Past> {
        Vec::new()
    }
}

impl Sources for Nowhere {
    fn git_hook(&self, _: &str) -> Option<String> {
        None
    }

    fn file(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}

pub fn transcript(agent: Agent) -> anyhow::Result<Check> {
    Ok(Box::new(move |input| {
        let Some(read) = transcripts::read(&BUILT_IN, agent, input) else { return Ok(()) };
        read.events.into_iter().try_for_each(|told| event(agent, told.session, told.key, told.event))
    }))
}

fn event(agent: Agent, session: Clean, key: Clean, event: Event) -> Result<(), String> {
    let location = Location {
        project: ProjectId::of_anchor(b"/p"),
        name: Clean::word("p"),
        root: Clean::word("/p"),
        cwd: Clean::word("/p"),
        branch: None,
    };
    let at = Timestamp::EPOCH;
    let record = Record {
        at,
        key,
        agent,
        imported: false,
        heard_by: None,
        by_agent: false,
        origin: None,
        session,
        location,
        event,
    };
    recorded(&record)?;
    for fact in extract(&record.event).facts {
        said(&fact.code, fact.kind.prefix())?;
    }
    Ok(())
}

/// Written and read back it is the same; no text in it is longer than any may be.
pub fn recorded(record: &Record) -> Result<(), String> {
    let line = journal::encode(record, Order::default()).map_err(|error| error.to_string())?;
    let (first, last) = (line.first(), line.last());
    holds((first, last) == (Some(&b'\n'), Some(&b'\n')), "a record is its own line", record)?;
    let inner = &line[1..line.len() - 1];
    holds(!inner.contains(&b'\n'), "a record has no line break in it", record)?;
    let whole = journal::decode(inner).ok_or("a record does not decode")?;
    let back = whole.record().ok_or("a record is not read back")?;
    holds(back == *record, "a record is read back as it was", record)?;
    let json = serde_json::to_value(&record.event).map_err(|error| error.to_string())?;
    holds(longest(&json) <= TEXT_BYTES_MAX, "a text is bounded", longest(&json))
}

fn longest(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => text.len(),
        serde_json::Value::Array(list) => list.iter().map(longest).max().unwrap_or(0),
        serde_json::Value::Object(map) => map.values().map(longest).max().unwrap_or(0),
        _ => 0,
    }
}

/// A code is one harmless line of its kind.
pub fn said(code: &str, prefix: &str) -> Result<(), String> {
    holds(matches!(name(code), Cow::Borrowed(_)), "a code holds nothing hostile", code)?;
    holds(code.starts_with(prefix), "a code begins with its prefix", code)
}

pub fn seed_file() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let Ok(file) = seed::parse(&BUILT_IN, &String::from_utf8_lossy(input)) else { return Ok(()) };
        event(Agent::SEED, Clean::word("s"), Clean::word("k"), Event::Seed(file.codes))
    }))
}

pub fn memory_line() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let text = String::from_utf8_lossy(input);
        for line in text.lines() {
            let Ok(parsed) = MemoryLine::parse(line) else { continue };
            let json = serde_json::to_string(&parsed).map_err(|error| error.to_string())?;
            let again = MemoryLine::parse(&json).map_err(|error| format!("not read back: {error}: {json}"))?;
            let twice = serde_json::to_string(&again).map_err(|error| error.to_string())?;
            holds(json == twice, "a line is read back as it was", json)?;
        }
        holds(BUILT_IN.clean(text, Keep::MEMORY).len() <= TEXT_BYTES_MAX, "a memory is bounded", ())
    }))
}
