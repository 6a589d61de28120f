//! What becomes of what a container sends: it speaks about its one project, and its memories are proposals.

use cerberus_record::clean::text::Clean;
use cerberus_record::event::{Event, Location, MemoryChange, Note, Record};
use cerberus_record::memory::MemoryStatus;
use cerberus_record::source::MemorySource;

use super::outgoing::Arrival;
use super::team;

/// The key and the event of a container's record; `None` if it is not for a container to say.
pub fn arrived(
    record: &Record<'static>,
    location: &Location,
    arrival: &Arrival,
) -> Option<(Clean<'static>, Event<'static>)> {
    match &record.event {
        Event::Memory(MemoryChange { id, memory: Some(memory), .. }) if memory.status != MemoryStatus::Rejected => {
            team::proposal(id, memory, MemorySource::Agent, None, location, arrival)
        }
        // Whatever is decided about a memory, is not decided in a container.
        Event::Memory(_) => None,
        Event::Note(note) => Some((record.key.clone(), Event::Note(Note { for_team: false, ..note.clone() }))),
        event => Some((record.key.clone(), event.clone())),
    }
}
