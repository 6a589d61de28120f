//! What teammates see, and what becomes of what they send: a proposal for the user, or a list of what is open.

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep, line};
use cerberus_record::event::{Event, Location, MemoryChange, OpenFact, OpenFacts, Record};
use cerberus_record::fact::Fact;
use cerberus_record::id::{MemoryId, ProjectId, fnv1a};
use cerberus_record::memory::{Background, Memory, MemoryStatus, Scope};
use cerberus_record::source::MemorySource;

use super::event;
use super::outgoing::{Arrival, FACTS_MAX, HERE, OutgoingText};

/// A name is told in every line, so it is short.
pub const AUTHOR_CHARS_MAX: usize = 24;
/// Nobody but a teammate, or a container, said it.
const CONFIDENCE: f64 = 0.5;

/// The event as a team may see it.
pub fn event(event: &Event, words: &OutgoingText) -> Option<Event<'static>> {
    match event {
        Event::Memory(MemoryChange { id, memory: Some(memory), .. }) => {
            let is_here = words.is_here(memory.project.as_ref());
            let is_projects = matches!(Scope::parse(&memory.scope), Some(Scope::Project(_)));
            let is_theirs = MemorySource::named(&memory.source) == MemorySource::Team;
            let is_approved = memory.status == MemoryStatus::Approved && memory.background.for_team;
            if !is_approved || !is_here || !is_projects || is_theirs {
                return None;
            }
            let memory = approved(memory, words);
            let id = words.name(id);
            Some(Event::Memory(MemoryChange { id, memory: Some(Box::new(memory)), based_on: None, parent: None }))
        }
        Event::Open(OpenFacts { facts }) => {
            let facts = facts.iter().filter(|fact| OpenFacts::KINDS.contains(&fact.kind)).take(FACTS_MAX);
            let fact = |fact: &OpenFact| OpenFact {
                kind: fact.kind,
                code: words.text(&fact.code),
                at: fact.at,
                session: words.name(&fact.session),
            };
            Some(Event::Open(OpenFacts { facts: facts.map(fact).collect() }))
        }
        // Words of the user and of agents, commands, output, files, what is only about this device, and what is new.
        _ => None,
    }
}

/// A memory without where it comes from.
fn approved(memory: &Memory, words: &OutgoingText) -> Memory<'static> {
    Memory {
        status: MemoryStatus::Approved,
        content: words.text(&memory.content),
        category: words.text(&memory.category),
        scope: Clean::word("project:here"),
        project: Some(ProjectId::from_stored(HERE.to_string())),
        confidence: memory.confidence,
        created_at: memory.created_at,
        updated_at: memory.updated_at,
        source: Clean::word(MemorySource::User.word()),
        background: Background { for_team: true, ..Background::default() },
    }
}

/// A name without what could be taken for something else.
pub fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@') { c } else { ' ' };
    line(&name.chars().map(plain).collect::<String>(), AUTHOR_CHARS_MAX)
}

/// A teammate's name as it is told: one short line that cannot be mistaken for anything else.
pub fn author(name: &str, cleaner: &Cleaner) -> Clean<'static> {
    let name = plain_name(name);
    let name = if name.is_empty() { "teammate".to_string() } else { name };
    cleaner.clean(name, Keep::NAME)
}

/// The key and the event of a teammate's record. Names of theirs are kept apart from ours by their device.
pub fn arrived(
    record: &Record<'static>,
    location: &Location,
    author: &Clean<'static>,
    arrival: &Arrival,
) -> Option<(Clean<'static>, Event<'static>)> {
    match &record.event {
        Event::Memory(MemoryChange { id, memory: Some(memory), .. }) => {
            proposal(id, memory, MemorySource::Team, Some(author.clone()), location, arrival)
        }
        Event::Open(OpenFacts { facts }) => {
            let facts = facts.iter().map(|fact| OpenFact {
                // Rebuilt, so that the code has the form of its kind.
                code: arrival.cleaner.clean(Fact::words(fact.kind, &fact.code).code, Keep::SUBJECT),
                at: arrival.time(fact.at),
                kind: fact.kind,
                session: Clean::hashes("", &[fnv1a(fact.session.as_bytes())]),
            });
            let device = arrival.device.to_string();
            Some((key(&["open", &device, &record.key]), Event::Open(OpenFacts { facts: facts.collect() })))
        }
        _ => None,
    }
}

fn key(parts: &[&str]) -> Clean<'static> {
    Clean::hashes("team", &[fnv1a(parts.join("\0").as_bytes())])
}

/// A memory of somebody who decides nothing here: a proposal for this project, under an id of its own.
pub fn proposal(
    id: &str,
    memory: &Memory,
    source: MemorySource,
    author: Option<Clean<'static>>,
    location: &Location,
    arrival: &Arrival,
) -> Option<(Clean<'static>, Event<'static>)> {
    let content = arrival.cleaner.clean(memory.content.trim().to_string(), Keep::MEMORY);
    if content.is_empty() {
        return None;
    }
    // Other words are another proposal: what the user decided about the first words does not change.
    let own = MemoryId::of(&[&arrival.device.to_string(), id, &content]);
    let memory = Memory {
        status: MemoryStatus::Proposed,
        category: arrival.cleaner.clean(memory.category.to_string(), Keep::SUBJECT),
        scope: event::own_scope(location, arrival.cleaner),
        project: Some(location.project.clone()),
        confidence: CONFIDENCE,
        created_at: arrival.time(memory.created_at),
        updated_at: arrival.time(memory.updated_at),
        source: Clean::word(source.word()),
        background: Background { author, ..Background::default() },
        content,
    };
    let id = arrival.cleaner.clean(own.as_str().to_string(), Keep::NAME);
    // Once proposed, it is the user's.
    let change = MemoryChange { id, memory: Some(Box::new(memory)), based_on: Some(0), parent: None };
    Some((key(&["memory", own.as_str()]), Event::Memory(change)))
}
